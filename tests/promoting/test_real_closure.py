"""Promotion of a real closure of 27 packages: by a mirror, under a name of one's own, from cold and warm caches."""

import json
import shutil
from pathlib import Path

import pytest
from rig.builders.fleets import NAME, NEW, OLD, ROOT, closure_folder, closure_layout
from rig.builders.projects import locked, text_of
from rig.commands.run import Outcome, run_command
from rig.registry.layout_server import serve_layout

from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.references import parse_source
from render.registry.layout import Layout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Staging has the newer version; production the older one, under a name of its own."""
    folder = tmp_path_factory.mktemp("fleet")
    closure_layout(folder)
    staging = closure_folder(folder / "staging", NEW)
    production = closure_folder(folder / "production", OLD, name=NAME)
    assert run_command("lock", str(staging), str(production)).code == 0
    return folder


@pytest.fixture
def fleet(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of both, and of their registry."""
    shutil.copytree(built, tmp_path / "fleet")
    monkeypatch.chdir(tmp_path / "fleet")
    return tmp_path / "fleet"


def promote(*arguments: str) -> Outcome:
    return run_command("promote", *arguments)


@pytest.mark.usefixtures("fleet")
def test_every_version_and_digest_is_taken_over_and_the_name_is_kept() -> None:
    done = promote("staging", "production")

    staging, there = (read_lock(Path(name), Limits()) or Lock() for name in ("staging", "production"))
    assert (done.code, len(there.packages)) == (0, 27)
    assert {s: p.digest for s, p in there.packages.items()} == {
        s: p.digest for s, p in staging.packages.items()
    }
    assert there.packages[parse_source(ROOT)].object_name == NAME
    assert f"package: {ROOT}:{NEW}  # tested in staging" in Path("production/caas.yaml").read_text()
    assert run_command("check", "production").code == 0
    assert run_command("lock", "--check", "production").code == 0


@pytest.mark.usefixtures("fleet")
def test_a_second_promotion_changes_nothing() -> None:
    promote("staging", "production")
    before = text_of(Path("production"))

    done = promote("staging", "production")

    assert (done.code, text_of(Path("production"))) == (0, before)
    assert "27 packages, 27 unchanged" in done.stdout


def mirrored(host: str) -> None:
    """Let production pull from a registry of its own."""
    rewrites = "".join(
        f"  - {{from: {registry}, to: {host}}}\n" for registry in ("xpkg.upbound.io", "xpkg.crossplane.io")
    )
    Path("production/xplock.yaml").write_text(f"rewrites:\n{rewrites}")


def test_a_mirror_that_lacks_bytes_is_an_error_that_names_all_of_them(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: text_of(Path(name)) for name in ("staging", "production")}
    with serve_layout(fleet / "registry", "xpkg.upbound.io") as full:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", full.host)
        mirrored(full.host)
        assert run_command("lock", "production").code == 0
        Layout(fleet / "empty", Limits()).add_image(b"{}", "application/json", None)
        with serve_layout(fleet / "empty", "xpkg.upbound.io") as empty:
            monkeypatch.setenv("XPLOCK_PLAIN_HTTP", empty.host)
            mirrored(empty.host)
            locked_before = text_of(Path("production"))
            lacking = promote("staging", "production")
            unwritten = text_of(Path("production")) == locked_before
            host = empty.host
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", full.host)
        mirrored(full.host)
        done = promote("staging", "production")

    lacking.assert_refused(1, "3 of 3 packages that change in production are not where it pulls from")
    assert f"xplock mirror --to {host} --paths bare staging\n" in lacking.stderr
    assert lacking.stderr.count(" has no version sha256:") == 3
    assert unwritten
    assert (done.code, locked(Path("production"))) == (0, locked(Path("staging")))
    assert text_of(Path("staging")) == before["staging"]


def test_offline_a_warm_cache_is_enough_and_an_empty_one_is_said(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_layout(fleet / "registry", "xpkg.upbound.io") as server:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
        mirrored(server.host)
        settings = Path("production/xplock.yaml").read_text()
        Path("staging/xplock.yaml").write_text(f"roots:\n  - package: {ROOT}:{NEW}\n{settings}")
        warm = {"XPLOCK_CACHE_DIR": str(tmp_path / "cache")}
        assert run_command("lock", "production", "staging", environ=warm).code == 0
    asked = len(server.requests)

    said = promote("--offline", "staging", "production")
    done = run_command("promote", "--offline", "staging", "production", environ=warm)

    said.assert_refused(1, "is not available offline")
    assert (done.code, locked(Path("production"))) == (0, locked(Path("staging")))
    assert len(server.requests) == asked


@pytest.mark.usefixtures("fleet")
def test_json_has_what_was_promoted_and_where_from() -> None:
    [entry] = json.loads(promote("staging", "production", "-o", "json").stdout)

    assert entry["origin"] == "staging"
    assert {one["source"].rpartition("/")[2]: one["step"] for one in entry["promoted"]}["configuration-caas"]
    assert entry["provenance"]["packages"] == 27
    assert entry["files"] == ["caas.yaml"]
