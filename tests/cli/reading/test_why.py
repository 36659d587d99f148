"""xplock why: how a package came into the lock."""

import json
from pathlib import Path

import pytest
from rig.builders.locks import deactivated, lock, lock_of, package, provided, replaced, source, write_lock

from render.cli.run import run
from render.lock.model import State

SHOP = lock_of(
    {
        "shop v1.0.0": {"provider-net": "^1.0", "other/provider-net": "*"},
        "provider-net v1.2.0": {},
        "other/provider-net v0.1.0": {},
    },
    {"shop": "v1.0.0"},
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a lock."""
    return write_lock(tmp_path / "shop", SHOP)


def failed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    """Return what a command that fails says."""
    found = run(["why", *arguments])
    output = capsys.readouterr()
    assert (found, output.out) == (code, "")
    return output.err


def test_a_package_is_explained(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["why", "acme/provider-net", str(project)])

    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    assert (
        output.out
        == """\
xpkg.example.org/acme/provider-net v1.2.0 [Provider]

Asked for by (1)
  xpkg.example.org/acme/shop v1.0.0  ^1.0  satisfied

Paths (1)
  xpkg.example.org/acme/shop v1.0.0, asked for: v1.0.0
    → xpkg.example.org/acme/provider-net v1.2.0, satisfies ^1.0
"""
    )


def test_json_tells_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["why", "shop", str(project), "-o", "json"])

    document = json.loads(capsys.readouterr().out)
    assert (code, document["source"], document["pathCount"]) == (0, "xpkg.example.org/acme/shop", 1)


def test_a_name_that_several_packages_end_with_is_refused_with_all_of_them(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = failed(capsys, "provider-net", str(project), code=2)

    assert "xpkg.example.org/acme/provider-net" in said
    assert "xpkg.example.org/other/provider-net" in said


def test_an_unknown_package_is_told_the_nearest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = failed(capsys, "acme/provider-nett", str(project), code=2)

    assert "did you mean xpkg.example.org/acme/provider-net?" in said


def test_without_a_lock_it_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: net}\n"
        "spec: {package: xpkg.example.org/acme/net:v1.0.0}\n"
    )

    assert "run: xplock lock" in failed(capsys, "net", str(tmp_path), code=3)


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder whose lock has an alias, something that is off, something leaving, and something of another folder."""
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
    )
    found = lock(
        [
            package("app v1.0.0", "net *", "dns *"),
            alias,
            package("store v3.0.0", replaces=(replaced("disk"), replaced("tape", "repoint"))),
            package("gone v1.0.0", state=State.ORPHANED),
        ],
        deactivated=[deactivated("disk v1.0.0", "store")],
        provided=[provided("dns v1.5.0")],
    )
    write_lock(tmp_path / "moved", found)
    monkeypatch.chdir(tmp_path)
    return "moved"


@pytest.mark.parametrize(
    ("name", "first", "somewhere"),
    [
        ("net", "mesh v2.0.0 [Provider, alias of net]", "  net, by alias, consent: moves"),
        ("mesh", "mesh v2.0.0 [Provider, alias of net]", "  app v1.0.0  *  satisfied, for net"),
        ("disk", "disk v1.0.0 [Provider, off]", "  store v3.0.0, by deactivate, consent: moves"),
        ("tape", "tape is not installed from here: other packages have replaced it", "Replaced by (1)"),
        (
            "gone",
            "gone v1.0.0 [Provider, orphaned]",
            "Nothing requires it: orphaned, held until: xplock retire gone -C moved",
        ),
        ("dns", "dns v1.5.0 [Provider, provided by ../platform]", "  app v1.0.0  *  satisfied"),
    ],
)
def test_whatever_a_lock_tells_of_is_explained(
    moved: str, capsys: pytest.CaptureFixture[str], name: str, first: str, somewhere: str
) -> None:
    code = run(["why", name, moved])

    lines = capsys.readouterr().out.replace("xpkg.example.org/acme/", "").splitlines()
    assert (code, lines[0]) == (0, first)
    assert somewhere in lines


def test_json_tells_what_took_the_place_of_something(moved: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["why", "disk", moved, "-o", "json"])

    document = json.loads(capsys.readouterr().out)
    assert (code, [one["object"] for one in document["successors"]]) == (0, ["acme-store"])


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    run(["why", "--help"])

    assert "Example: xplock why provider-aws-s3" in capsys.readouterr().out
