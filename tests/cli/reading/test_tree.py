"""xplock tree: what is locked, as a tree."""

import json
from pathlib import Path

import pytest
from rig.builders.locks import deactivated, lock, lock_of, package, provided, replaced, source, write_lock

from render.cli.run import run
from render.lock.model import Lock

SHOP = lock_of(
    {
        "shop v1.0.0": {"network": "^1.0", "function-ready": "*"},
        "network v1.2.0": {"function-ready": ">=v0.2.0"},
        "function-ready v0.2.0": {},
    },
    {"shop": "v1.0.0"},
)


def moved_lock() -> Lock:
    """Return a lock with an alias, something that is off, and something of another folder."""
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
    )
    return lock(
        [
            package("app v1.0.0", "net *", "dns *"),
            alias,
            package("store v3.0.0", replaces=(replaced("disk"),)),
        ],
        deactivated=[deactivated("disk v1.0.0", "store")],
        provided=[provided("dns v1.5.0")],
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a lock."""
    return write_lock(tmp_path / "shop", SHOP)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the result of a command that does not fail, and that says nothing else."""
    code = run(["tree", *arguments])
    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    return output.out.replace("xpkg.example.org/acme/", "")


def test_the_folder_is_where_you_are(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)

    text = shown(capsys)

    assert (
        text
        == """\
shop v1.0.0 [Configuration, asked for]
├── function-ready v0.2.0 [Function, shared]
└── network v1.2.0 [Configuration]
    └── function-ready v0.2.0 [Function, shared]
"""
    )


def test_a_package_is_inverted_by_its_last_component(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, str(project), "--invert", "function-ready", "--depth", "1", "--constraints")

    assert (
        text
        == """\
function-ready v0.2.0 [Function, shared]
├── network v1.2.0 [Configuration] (requires: >=v0.2.0)
└── shop v1.0.0 [Configuration, asked for] (requires: *)
"""
    )


def test_invert_alone_starts_from_what_needs_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, str(project), "--invert", "--depth", "0")

    assert text == "function-ready v0.2.0 [Function, shared]\n"


def test_no_dedupe_is_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = lock_of({"a v1.0.0": {"b": "*"}, "b v1.0.0": {"c": "*"}, "c v1.0.0": {}}, {"a": "*", "b": "*"})
    folder = str(write_lock(tmp_path, lock))

    lines = [len(shown(capsys, folder, *flags).splitlines()) for flags in ([], ["--no-dedupe"])]

    assert lines == [4, 5]


def test_json_is_a_flat_list(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(shown(capsys, str(project), "-o", "json", "--depth", "0"))

    assert (document["tops"], [package["source"] for package in document["packages"]]) == (["shop"], ["shop"])


def test_without_a_lock_it_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "app.yaml").write_text("# something to lock\n")

    code = run(["tree", str(tmp_path)])

    output = capsys.readouterr()
    assert (code, output.out) == (3, "")
    assert f"error: {tmp_path} has no crossplane.lock.yaml" in output.err
    assert f"next: run: xplock lock {tmp_path}" in output.err


def test_a_lock_that_contradicts_itself_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = lock_of({"app v1.0.0": {"net": "^2"}, "net v1.0.0": {}}, {"app": "*"})

    code = run(["tree", str(write_lock(tmp_path, lock))])

    output = capsys.readouterr()
    assert (code, output.out) == (3, "")
    assert "accepts ^2 of xpkg.example.org/acme/net; locked is v1.0.0" in output.err


def test_an_unknown_package_is_told_the_nearest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["tree", str(project), "--invert", "function-raedy"])

    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert "did you mean xpkg.example.org/acme/function-ready?" in output.err


def test_what_is_provided_can_be_inverted_and_what_is_off_tells_what_to_name_instead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_lock(tmp_path, moved_lock())

    inverted = shown(capsys, str(folder), "--invert", "dns")
    alias = shown(capsys, str(folder), "--invert", "net", "--depth", "0")
    code = run(["tree", str(folder), "--invert", "disk"])

    assert (
        inverted == "dns v1.5.0 [Provider, provided by ../platform]\n└── app v1.0.0 [Provider, asked for]\n"
    )
    assert alias == "mesh v2.0.0 [Provider, alias of net]\n"
    assert code == 2
    assert "name xpkg.example.org/acme/store instead" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Examples: xplock tree --depth 1" in shown(capsys, "--help")
