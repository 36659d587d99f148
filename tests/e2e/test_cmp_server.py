"""The plugin behind a real argocd-cmp-server: what Argo CD gets is what xplock rendered."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from rig.cmp import CmpServer, cmp_server
from rig.projects import World, small_world
from rig.repositories import clone, git, new_repository, paths_in, save, text_at

from render.cli.run import run
from render.documents import file_rules, parse_documents
from render.files import LOCK_FILE
from render.limits import Limits

PLUGIN = Path(__file__).parents[2] / "plugin.yaml"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path / "world")


@pytest.fixture
def repository(world: World, tmp_path: Path) -> Path:
    """A repository with the project `shop`, which is not locked."""
    root = new_repository(tmp_path / "repository")
    (root / "shop").mkdir()
    asked = world.project("template", "app:v1.0.0") / "xplock.yaml"
    (root / "shop/xplock.yaml").write_text(asked.read_text())
    save(root)
    return root


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory, sidecar: Mapping[str, str]) -> Iterator[CmpServer]:
    """The server, with the plugin.yaml that is shipped."""
    # A socket's path has to be short.
    with cmp_server(tmp_path_factory.mktemp("cmp"), PLUGIN, sidecar) as running:
        yield running


@pytest.fixture
def sidecar(tmp_path: Path) -> dict[str, str]:
    """The environment of the sidecar: the command in its PATH, and where it may commit."""
    program = tmp_path / "bin/xplock"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m render "$@"\n')
    program.chmod(0o755)
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "XPLOCK_COMMIT_TO": f"file://{tmp_path}/*.git#main",
    }


def test_what_argo_cd_gets_are_the_objects_that_render_writes(
    server: CmpServer, repository: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run(["-q", "lock", str(repository / "shop")])
    run(["render", str(repository / "shop")])
    rendered = parse_documents(capsysbinary.readouterr().out, file_rules(Limits()))

    assert server.generate(repository, "shop") == rendered


def test_the_plugin_is_used_by_name_alone_and_announces_its_parameters(
    server: CmpServer, repository: Path
) -> None:
    assert not server.has_discovery()
    assert server.parameters(repository, "shop") == {"waves": "flat", "overlay": ""}


def test_a_parameter_of_the_application_arrives(server: CmpServer, repository: Path) -> None:
    run(["-q", "lock", str(repository / "shop")])
    chosen = json.dumps([{"name": "waves", "string": "graph"}])

    flat, graph = (
        server.generate(repository, "shop", {"ARGOCD_APP_PARAMETERS": text}) for text in ("null", chosen)
    )

    assert flat != graph


def test_an_error_is_shown_whole_and_is_the_same_every_time(server: CmpServer, repository: Path) -> None:
    shown = [failure(server, repository) for _ in range(2)]

    assert shown[0] == shown[1]
    assert f"failed exit status 3: error: . has no {LOCK_FILE}" in shown[0]
    assert "next: run `xplock lock shop` in a clone, and commit what it writes" in shown[0]


def test_many_calls_at_once_commit_one_lock_which_is_rendered_next(
    server: CmpServer, repository: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "server.git")
    source = {
        "ARGOCD_APP_SOURCE_REPO_URL": f"file://{tmp_path}/server.git",
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "HEAD",
        "ARGOCD_APP_REVISION": git(repository, "rev-parse", "HEAD"),
    }

    with ThreadPoolExecutor(4) as pool:
        shown = set(pool.map(lambda _: failure(server, repository, source), range(4)))

    tip = git(tmp_path / "server.git", "rev-parse", "main")
    assert paths_in(tmp_path / "server.git", "main") == [f"shop/{LOCK_FILE}"]
    assert git(tmp_path / "server.git", "rev-list", "--count", "main") == "2"
    assert len(shown) == 1
    assert shown.pop().endswith(f"error: lock committed as {tip}; the next refresh renders it")
    assert text_at(tmp_path / "server.git", "main", f"shop/{LOCK_FILE}")
    assert server.generate(clone(tmp_path / "server.git", tmp_path / "next"), "shop", source)


def failure(server: CmpServer, repository: Path, environ: Mapping[str, str] | None = None) -> str:
    """Return what Argo CD shows when nothing comes out."""
    with pytest.raises(grpc.RpcError) as caught:
        server.generate(repository, "shop", {"ARGOCD_APP_SOURCE_PATH": "shop", **(environ or {})})
    return str(caught.value.details()).strip()
