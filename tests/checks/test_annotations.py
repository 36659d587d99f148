"""Findings as commands of a GitHub workflow."""

import re
from pathlib import Path

import pytest

from render.checks.formats import format_annotations
from render.checks.model import Finding, Place

HOSTILE = (
    "x\n::set-env name=PATH::/tmp",
    "x\r::add-mask::y",
    "x\r\n::stop-commands::z",
    "::error::y",
    "a,line=9,title=mine::b",
    "%0A::error::y",
    "x\u2028::error::y",
    "x\x1b[2J",
)


def finding(text: str, *, file: str = "app/crossplane.lock.yaml") -> Finding:
    return Finding("lock-stale", text, text, (text,), (text,), 3, Place(Path(file), 7))


def test_a_finding_is_one_command_with_its_place_and_all_that_there_is_to_say() -> None:
    stale = Finding(
        "lock-stale", "app", "it is out of date", ("a changed", "b changed"), ("lock it",), 3,
        Place(Path("app/crossplane.lock.yaml"), 7),
    )  # fmt: skip

    assert format_annotations([stale]) == (
        "::error file=app/crossplane.lock.yaml,line=7,title=xplock lock-stale::"
        "it is out of date%0A  why:  a changed%0A        b changed%0A  next: lock it\n"
    )


def test_files_are_named_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")

    inside = format_annotations([finding("x", file=str(tmp_path / "repository/a/b.yaml"))])
    beside = format_annotations([finding("x", file=str(tmp_path / "other/b.yaml"))])

    assert inside.startswith("::error file=a/b.yaml,")
    assert beside.startswith("::error file=../other/b.yaml,")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_ends_its_command_or_begins_another(text: str) -> None:
    output = format_annotations([finding(text, file=f"app/{text}")])

    # What GitHub's runner takes for one command: up to the next :: are properties, and the rest of the line is text.
    command = re.fullmatch(r"::error file=([^,:]*),line=7,title=xplock lock-stale::([^\r\n]*)\n", output)
    assert command is not None
    assert len(output.splitlines()) == 1
    assert not any(ord(char) < 0x20 and char != "\n" for char in output)


def test_what_is_escaped_reads_as_it_was() -> None:
    output = format_annotations([finding("100%, a:b", file="a,b:c%.yaml")])

    assert "file=a%2Cb%3Ac%25.yaml," in output
    assert "::100%25, a:b%0A" in output
