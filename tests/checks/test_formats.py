"""Findings as text and as JSON."""

from pathlib import Path

from render.checks.formats import findings_document, format_findings
from render.checks.model import Finding, Place

LOCK = Place(Path("clusters/app/crossplane.lock.yaml"), 7)
STALE = Finding(
    "lock-stale", "clusters/app", "the lock is out of date", ("a changed", "b changed"), ("lock it",), 3, LOCK
)
BARE = Finding("rendered-twice", "clusters/b", "both have it", (), (), 4, LOCK)


def test_a_finding_looks_like_an_error_with_its_folder_and_rule_in_front() -> None:
    assert format_findings([STALE, BARE], 3) == (
        "clusters/app: lock-stale: the lock is out of date\n"
        "  why:  a changed\n"
        "        b changed\n"
        "  next: lock it\n"
        "clusters/b: rendered-twice: both have it\n"
        "3 folders, 2 findings\n"
    )


def test_the_rule_stands_out_and_nothing_else() -> None:
    text = format_findings([BARE], 1, lambda word: f"<{word}>")

    assert text.splitlines()[0] == "clusters/b: <rendered-twice>: both have it"


def test_one_of_a_kind_is_counted_as_one() -> None:
    assert format_findings([BARE], 1).splitlines()[-1] == "1 folder, 1 finding"


def test_nothing_found_is_said() -> None:
    assert format_findings([], 2) == "2 folders, nothing found\n"


def test_a_program_gets_everything() -> None:
    assert findings_document([STALE]) == [
        {
            "rule": "lock-stale",
            "folder": "clusters/app",
            "file": "clusters/app/crossplane.lock.yaml",
            "line": 7,
            "message": "the lock is out of date",
            "why": ["a changed", "b changed"],
            "next": ["lock it"],
            "exitCode": 3,
        }
    ]


def test_nothing_of_a_finding_reaches_a_terminal_as_a_command() -> None:
    odd = Finding("lock-stale", "a\x1b]0;x\x07", "\x1b[2J", ("\x9b1m",), ("\u202e",), 3, LOCK)

    text = format_findings([odd], 1)

    assert not any((ord(char) < 0x20 and char != "\n") or 0x7F <= ord(char) < 0xA0 for char in text)
    assert "\u202e" not in text
