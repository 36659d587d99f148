"""Commands that refuse: the exit code, and the error as a person sees it; and locks that a person edited."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from render.cli.run import run
from render.system.files import LOCK_FILE

_HEADS = {"error": "what", "why": "why", "next": "next"}


@dataclass(frozen=True)
class Refusal:
    """How a command ended that did not do what was asked."""

    code: int
    what: str
    why: list[str]
    next: list[str]


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> Refusal:
    """Run a command that has to fail; its error has all three parts, and nothing goes to stdout."""
    capsys.readouterr()
    code = run(arguments)
    output = capsys.readouterr()
    assert code != 0 and output.out == ""
    return parse_refusal(code, output.err)


def parse_refusal(code: int, text: str) -> Refusal:
    """Read the last error that a command printed; it has all three parts."""
    parts = _parts(text)
    assert all(parts.values()), text
    (what,) = parts["what"]
    return Refusal(code, what, parts["why"], parts["next"])


def edit_lock(folder: Path, old: str, new: str) -> bytes:
    """Replace a text that is in a folder's lock once; return what the file holds then."""
    path = folder / LOCK_FILE
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    path.write_text(text.replace(old, new))
    return path.read_bytes()


def _parts(text: str) -> dict[str, list[str]]:
    """Return the parts of the last error in a text; a part goes on with lines that are indented as its first."""
    parts: dict[str, list[str]] = {"what": [], "why": [], "next": []}
    lines = text[text.rindex("error: ") :].splitlines()
    current = ""
    for line in lines:
        head, colon, rest = line.strip().partition(":")
        starts = colon and head in _HEADS and not line.startswith(" " * 8)
        current = _HEADS[head] if starts else current
        parts[current].append(rest.lstrip() if starts else line[8:])
    return parts
