"""xplock outdated: what is newer than what is locked."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from rig.builders.locks import deactivated, lock, lock_of, package, replaced, source, write_lock

from render.app.upstream import fetch_tags
from render.cli.run import run
from render.errors import RenderError
from render.limits import Limits
from render.lock.model import State
from render.references import Reference, Source
from render.registry.layout import Layout
from render.registry.oci import OCI_INDEX

SECONDS = 120.0

SHOP = lock_of(
    {
        "app v1.0.0": {"base": "^1", "provider-net": "^2"},
        "base v1.2.0": {},
        "provider-net v2.3.0": {},
    },
    {"app": "v1.0.0"},
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a lock, and what it was made from."""
    folder = write_lock(tmp_path / "shop", SHOP)
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {source('app')}:v1.0.0\n")
    return folder


def layout_of(folder: Path, tags: dict[str, list[str]]) -> str:
    """Make a layout that has these tags, and return the option that names it."""
    layout = Layout(folder, Limits())
    for name, of_source in tags.items():
        for tag in of_source:
            layout.add_image(b"{}", OCI_INDEX, Reference(source(name), tag))
    return f"--layout=xpkg.example.org={folder}"


def held_back(folder: Path) -> str:
    """Make a layout in which only a new major version is newer."""
    return layout_of(folder, {"app": ["v1.0.0"], "base": ["v1.2.0"], "provider-net": ["v2.3.0", "v3.0.0"]})


def upgradable(folder: Path) -> str:
    """Make a layout in which something newer suits everyone."""
    return layout_of(folder, {"app": ["v1.0.0"], "base": ["v1.2.0"], "provider-net": ["v2.3.0", "v2.4.0"]})


def test_what_has_something_newer_is_listed(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["outdated", str(project), held_back(tmp_path / "layout")])

    output = capsys.readouterr()
    assert (
        output.out
        == """\
Held back
                LOCKED  LATEST  STEP
xpkg.example.org/acme/
  provider-net  v2.3.0  v3.0.0  major
    by app (^2)
"""
    )
    assert (code, output.err) == (0, "something newer for 1 of 3 packages\n")


def test_all_lists_the_others_too(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["outdated", str(project), "--all", "-o", "json", held_back(tmp_path / "layout")])

    document = json.loads(capsys.readouterr().out)
    assert (code, len(document["packages"])) == (0, 3)


def test_what_is_leaving_is_not_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = lock(
        [
            package("app v1.0.0", replaces=(replaced("off"),)),
            package("old v1.0.0", state=State.ORPHANED),
        ],
        deactivated=[deactivated("off v1.0.0", "app")],
    )
    folder = write_lock(tmp_path / "shop", left)
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {source('app')}:v1.0.0\n")

    code = run(["outdated", str(folder), layout_of(tmp_path / "layout", {"app": ["v1.0.0"]})])

    output = capsys.readouterr()
    assert (code, output.out, output.err) == (0, "", "something newer for 0 of 1 package\n")


def test_nothing_newer_is_no_table(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = layout_of(
        tmp_path / "layout", {"app": ["v1.0.0"], "base": ["v1.2.0"], "provider-net": ["v2.3.0"]}
    )

    code = run(["outdated", str(project), layout])

    output = capsys.readouterr()
    assert (code, output.out, output.err) == (0, "", "something newer for 0 of 3 packages\n")


def test_what_cannot_be_compared_is_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = write_lock(tmp_path / "shop", lock_of({"app nightly": {}}, {"app": "nightly"}))
    (project / "xplock.yaml").write_text(f"roots:\n  - package: {source('app')}:nightly\n")

    run(["outdated", str(project), layout_of(tmp_path / "layout", {"app": ["nightly", "v1.0.0"]})])

    said = capsys.readouterr().err
    assert said == "something newer for 0 of 1 package; 1 locked without a version to compare\n"


def test_exit_code_tells_of_something_newer_that_suits_everyone(project: Path, tmp_path: Path) -> None:
    beyond, within = held_back(tmp_path / "beyond"), upgradable(tmp_path / "within")

    codes = [
        run(["outdated", str(project), *flags])
        for flags in ([beyond, "--exit-code"], [within, "--exit-code"], [within])
    ]

    assert codes == [0, 3, 0]


def test_with_exit_code_the_table_is_still_shown(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["outdated", str(project), "--exit-code", upgradable(tmp_path / "layout")])

    assert "v2.3.0  v2.4.0  minor" in capsys.readouterr().out


def test_a_source_that_is_gone_is_an_error(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["outdated", str(project), layout_of(tmp_path / "layout", {"app": ["v1.0.0"]})])

    output = capsys.readouterr()
    assert (code, output.out) == (1, "")
    assert "has no xpkg.example.org/acme/base" in output.err


def test_without_a_lock_it_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: net}\n"
        "spec: {package: xpkg.example.org/acme/net:v1.0.0}\n"
    )

    code = run(["outdated", str(tmp_path)])

    output = capsys.readouterr()
    assert (code, output.out) == (3, "")
    assert "run: xplock lock" in output.err


def test_tags_are_asked_for_side_by_side_within_the_bound() -> None:
    together = threading.Barrier(4, timeout=SECONDS)

    def fetch(source: Source) -> Sequence[str]:
        # Passes only if four ask at once.
        together.wait()
        return [source.name]

    tags = fetch_tags([source(f"p{i}") for i in range(8)], fetch, parallel=4)

    assert list(tags.values()) == [[f"p{i}"] for i in range(8)]


def test_of_several_failures_the_first_in_order_is_raised() -> None:
    others_failed = threading.Semaphore(0)

    def fetch(source: Source) -> Sequence[str]:
        if source.name != "p0":
            others_failed.release()
        else:
            # The first fails last.
            assert all(others_failed.acquire(timeout=SECONDS) for _ in range(3))
        raise RenderError(f"{source.name} failed")

    with pytest.raises(RenderError, match="p0 failed"):
        fetch_tags([source(f"p{i}") for i in range(4)], fetch, parallel=4)


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    run(["outdated", "--help"])

    assert "Examples: xplock outdated platform/ --exit-code; xplock outdated" in capsys.readouterr().out


def test_layouts_and_families_of_the_settings_count(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held_back(tmp_path / "layout")
    with (project / "xplock.yaml").open("a") as settings:
        settings.write("layouts:\n  - prefix: xpkg.example.org\n    folder: ../layout\n")

    code = run(["outdated", str(project)])

    assert code == 0
    assert "v3.0.0" in capsys.readouterr().out
