"""xplock why: how a package came into the lock."""

import json
from pathlib import Path

import pytest
from rig.closures import lock_of, write_lock_of

from render.cli.run import run

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
    return write_lock_of(tmp_path / "shop", SHOP)


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
    assert "run: xplock lock" in failed(capsys, "net", str(tmp_path), code=3)


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    run(["why", "--help"])

    assert "Example: xplock why provider-aws-s3" in capsys.readouterr().out
