"""The plugin behind a real argocd-cmp-server: what Argo CD gets is what xplock rendered, in whatever sidecar."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import grpc
import pytest
from rig.argocd.cmp_server import SECONDS, CmpServer, cmp_server, plugin_with, sidecar_environment
from rig.builders.projects import World, small_world
from rig.git.repositories import REAL_GIT, clone, git, new_repository, paths_in, save, text_at, write_program
from rig.registry.http_server import RecordingServer, silence

from render.cli.run import run
from render.limits import Limits
from render.system.files import LOCK_FILE
from render.yaml.documents import file_rules, parse_documents

Start: TypeAlias = Callable[..., CmpServer]

# As somebody without a name, who can write to one folder alone; whoever runs the tests needs no rights for that.
READ_ONLY = (
    'mount --bind "$0" "$0" && mount -o remount,bind,ro / && '
    'exec setpriv --ambient-caps=-all --inh-caps=-all --bounding-set=-all "$@"'
)
NOBODY = (
    "unshare",
    "--user",
    "--map-user=999",
    "--map-group=999",
    "--keep-caps",
    "--mount",
    "sh",
    "-c",
    READ_ONLY,
)


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
    # The layout is in the repository: the plugin reads no other one.
    shutil.copytree(world.layout, root / "registry")
    (root / "shop/xplock.yaml").write_text(asked.read_text().replace(str(world.layout), "../registry"))
    save(root)
    return root


@pytest.fixture
def locked(repository: Path) -> Path:
    """The same repository with a lock in it."""
    assert run(["-q", "lock", str(repository / "shop")]) == 0
    save(repository)
    return repository


@pytest.fixture
def rendered(locked: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> list[Any]:
    """What render makes of the project."""
    capsysbinary.readouterr()
    assert run(["render", str(locked / "shop")]) == 0
    return parse_documents(capsysbinary.readouterr().out, file_rules(Limits()))


@pytest.fixture
def start(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start the server, in a sidecar that may commit to the branch main."""
    with ExitStack() as stack:

        def start_it(*, policy: str = "commit", nobody: bool = False, **environ: str) -> CmpServer:
            usual = sidecar_environment(tmp_path, first=f"[ -w {tmp_path} ] && echo $$ > {tmp_path}/plugin")
            listed = {"XPLOCK_COMMIT_TO": f"file://{tmp_path}/*.git#main"}
            # A socket's path has to be short.
            folder = tmp_path_factory.mktemp("cmp")
            server = cmp_server(
                folder,
                {**usual, **listed, **environ},
                plugin=plugin_with(tmp_path, policy),
                before=(*NOBODY, str(folder)) if nobody else (),
            )
            return stack.enter_context(server)

        yield start_it


@pytest.fixture
def origin(repository: Path, tmp_path: Path) -> dict[str, str]:
    """What Argo CD tells about the repository, which is on a server."""
    return put_on_server(repository, tmp_path)


def put_on_server(repository: Path, folder: Path) -> dict[str, str]:
    """Let a server in a folder have a repository, and return what Argo CD tells about it."""
    git(folder, "clone", "--quiet", "--bare", str(repository), "server.git")
    return {
        "ARGOCD_APP_SOURCE_REPO_URL": f"file://{folder}/server.git",
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "HEAD",
        "ARGOCD_APP_REVISION": git(repository, "rev-parse", "HEAD"),
    }


def failure(server: CmpServer, repository: Path, environ: Mapping[str, str] | None = None) -> str:
    """Return what Argo CD shows when nothing comes out."""
    with pytest.raises(grpc.RpcError) as caught:
        server.generate(repository, "shop", {"ARGOCD_APP_SOURCE_PATH": "shop", **(environ or {})})
    return str(caught.value.details()).strip()


def test_what_argo_cd_gets_are_the_objects_that_render_writes(
    start: Start, locked: Path, rendered: list[Any]
) -> None:
    assert start().generate(locked, "shop") == rendered


def test_the_plugin_is_used_by_name_alone_and_announces_its_parameters(
    start: Start, repository: Path
) -> None:
    server = start()

    assert not server.has_discovery()
    assert server.parameters(repository, "shop") == {"waves": "flat", "overlay": ""}


def test_parameters_are_announced_with_the_values_that_hold(start: Start, repository: Path) -> None:
    with (repository / "shop/xplock.yaml").open("a") as file:
        file.write("waves: graph\n")

    assert start().parameters(repository, "shop") == {"waves": "graph", "overlay": ""}


def test_a_parameter_wins_over_the_applications_env_and_that_over_the_sidecars(
    start: Start, locked: Path, rendered: list[Any]
) -> None:
    server = start(XPLOCK_WAVES="graph")
    chosen = {"ARGOCD_APP_PARAMETERS": json.dumps([{"name": "waves", "string": "flat"}])}
    env = {"ARGOCD_ENV_XPLOCK_WAVES": "flat"}
    other = {"ARGOCD_ENV_XPLOCK_WAVES": "graph"}

    assert server.generate(locked, "shop", {"ARGOCD_APP_PARAMETERS": "null"}) != rendered
    assert server.generate(locked, "shop", env) == rendered
    assert server.generate(locked, "shop", {**chosen, **other}) == rendered


def test_only_the_whole_list_of_parameters_counts_and_not_what_is_made_of_each(
    start: Start, locked: Path, rendered: list[Any]
) -> None:
    colliding = {"PARAM_WAVES": "graph", "ARGOCD_APP_PARAMETERS": "null"}

    assert start().generate(locked, "shop", colliding) == rendered


@pytest.mark.parametrize(
    "environ",
    [
        {"KUBE_VERSION": "", "KUBE_API_VERSIONS": ""},
        {"ARGOCD_APP_REVISION": "streamed"},
        {"ARGOCD_APP_NAME": "teams_shop", "ARGOCD_APP_NAMESPACE": ""},
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("without", [(), (".git",)], ids=["with .git", "without .git"])
def test_nothing_but_the_folder_decides_what_is_rendered(
    start: Start, locked: Path, rendered: list[Any], environ: dict[str, str], without: tuple[str, ...]
) -> None:
    server = start()

    assert server.generate(locked, "shop", environ, without=without) == rendered
    assert server.left_behind() == []


def test_four_at_once_get_the_same_objects(start: Start, locked: Path, rendered: list[Any]) -> None:
    server = start()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: server.generate(locked, "shop"), range(4)))

    assert answers == [rendered] * 4


def test_an_error_is_shown_whole_and_is_the_same_every_time(start: Start, repository: Path) -> None:
    server = start()

    shown = [failure(server, repository) for _ in range(2)]

    assert shown[0] == shown[1]
    assert f"failed exit status 3: error: . has no {LOCK_FILE}" in shown[0]
    assert "next: run `xplock lock shop` in a clone, and commit what it writes" in shown[0]
    assert server.left_behind() == []


def test_files_that_are_in_no_commit_get_no_lock(
    start: Start, repository: Path, origin: Mapping[str, str], tmp_path: Path
) -> None:
    before = git(tmp_path / "server.git", "for-each-ref")

    shown = failure(start(), repository, {**origin, "ARGOCD_APP_REVISION": "streamed"})

    assert "no lock is committed for revision 'streamed', which is not a commit" in shown
    assert git(tmp_path / "server.git", "for-each-ref") == before


def test_many_calls_at_once_commit_one_lock_which_is_rendered_next(
    start: Start, repository: Path, origin: Mapping[str, str], tmp_path: Path
) -> None:
    server = start()

    with ThreadPoolExecutor(4) as pool:
        shown = set(pool.map(lambda _: failure(server, repository, origin), range(4)))

    tip = git(tmp_path / "server.git", "rev-parse", "main")
    assert paths_in(tmp_path / "server.git", "main") == [f"shop/{LOCK_FILE}"]
    assert git(tmp_path / "server.git", "rev-list", "--count", "main") == "2"
    assert len(shown) == 1
    assert shown.pop().endswith(f"error: lock committed as {tip}; the next refresh renders it")
    assert text_at(tmp_path / "server.git", "main", f"shop/{LOCK_FILE}")
    assert server.generate(clone(tmp_path / "server.git", tmp_path / "next"), "shop", origin)
    assert server.left_behind() == []


def test_a_sidecar_without_a_name_a_home_and_a_root_to_write_to_renders(
    start: Start, locked: Path, rendered: list[Any]
) -> None:
    assert start(nobody=True).generate(locked, "shop") == rendered


def test_such_a_sidecar_resolves_too_whatever_becomes_of_its_cache(
    start: Start, locked: Path, rendered: list[Any], tmp_path: Path
) -> None:
    server = start(policy="resolve", nobody=True, XPLOCK_CACHE_DIR=str(tmp_path / "cache"))

    # As Argo CD does: without .git, its path alone shows how large the repository is.
    sent = {"ARGOCD_APP_SOURCE_PATH": "shop"}
    objects = server.generate(locked, "shop", sent, without=(".git", f"shop/{LOCK_FILE}"))

    assert objects == rendered
    assert not (tmp_path / "cache").exists()
    assert server.left_behind() == []


def test_such_a_sidecar_commits_too(
    start: Start, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # The folder that can be written stands for the server, too.
    listed = f"file://{tmp_path_factory.getbasetemp()}/*/server.git#main"
    server = start(nobody=True, XPLOCK_COMMIT_TO=listed)
    source = put_on_server(repository, server.folder)

    shown = failure(server, repository, source)

    tip = git(server.folder / "server.git", "rev-parse", "main")
    assert shown.endswith(f"error: lock committed as {tip}; the next refresh renders it")
    assert server.left_behind() == []


def wait_for(path: Path) -> int:
    """Return the number that somebody writes to a file."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if path.exists() and path.read_text().endswith("\n"):
            return int(path.read_text())
        time.sleep(0.02)
    raise AssertionError(f"nobody wrote {path.name}")


def wait_for_end(process: int) -> None:
    """See that a process ends; who has no parent any more is waited for by the system, a moment later."""
    end = time.monotonic() + SECONDS / 3
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("a child is left behind")


def _hang_in_kustomize(folder: Path) -> None:
    (folder / "kustomization.yaml").write_text("resources: []\n")


def _hang_in_overlay(folder: Path) -> None:
    (folder / "overlay").mkdir()
    (folder / "overlay/kustomization.yaml").write_text("resources: []\n")
    with (folder / "xplock.yaml").open("a") as file:
        file.write("overlay: overlay\n")


def _hang_in_git(folder: Path) -> None:
    (folder / LOCK_FILE).unlink()


@pytest.mark.parametrize(
    ("change", "hanging"),
    [
        (_hang_in_kustomize, "kustomize build"),
        (_hang_in_overlay, "kustomize build"),
        # The first one is asked by GitPython itself, while it is imported.
        (_hang_in_git, "git version"),
        (_hang_in_git, "git * ls-remote"),
    ],
)
def test_who_is_ended_with_all_its_group_says_so_and_leaves_nothing_behind(
    start: Start,
    locked: Path,
    origin: Mapping[str, str],
    tmp_path: Path,
    change: Callable[[Path], None],
    hanging: str,
) -> None:
    change(locked / "shop")
    server = start()
    program, arguments = hanging.split(" ", 1)
    hang = f"echo $$ > {tmp_path}/child; exec /bin/sleep 600"
    script = f'#!/bin/sh\ncase "$*" in {arguments.replace(" ", "?")}*) {hang};; esac\nexec {REAL_GIT} "$@"\n'
    write_program(tmp_path / "bin" / program, script)

    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(failure, server, locked, origin)
        child = wait_for(tmp_path / "child")
        os.killpg(wait_for(tmp_path / "plugin"), signal.SIGTERM)
        # Less than its own deadline, which would end it, too.
        text = shown.result(SECONDS / 3)

    assert text.endswith("failed exit status 1: error: stopped before the manifests were ready")
    assert server.left_behind() == []
    wait_for_end(child)


@pytest.mark.parametrize("policy", ["resolve", "commit"])
def test_who_is_ended_while_a_registry_hangs_says_so_and_leaves_nothing_behind(
    start: Start, repository: Path, tmp_path: Path, policy: str
) -> None:
    with RecordingServer(silence()) as registry:
        asked = f"roots:\n  - package: {registry.host}/acme/app:v1.0.0\n"
        (repository / "shop/xplock.yaml").write_text(asked)
        save(repository)
        server = start(policy=policy, XPLOCK_PLAIN_HTTP=registry.host)
        with ThreadPoolExecutor(1) as pool:
            shown = pool.submit(failure, server, repository, put_on_server(repository, tmp_path))
            registry.wait_for(1)

            os.killpg(wait_for(tmp_path / "plugin"), signal.SIGTERM)
            text = shown.result(SECONDS / 3)

    assert text.endswith("failed exit status 1: error: stopped before the manifests were ready")
    assert server.left_behind() == []
