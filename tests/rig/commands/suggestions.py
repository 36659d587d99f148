"""What an error offers to paste, taken at its word."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from render.inputs.settings.file import parse_settings
from render.limits import Limits
from render.moves import follow_moves
from render.references import Source


def offered_moves(lines: Sequence[str]) -> Mapping[Source, tuple[Source, ...]]:
    """Return the moves that lines of an error declare, read as settings are; other lines are left out."""
    start = lines.index("  moves:")
    pasted = [line for line in lines[start:] if line.startswith((" " * 4, "  moves:"))]
    problems: list[str] = []
    settings = parse_settings("\n".join(pasted).encode(), Path(), Limits(), problems)
    assert problems == []
    return {source: move.targets for source, move in follow_moves(settings.moves).items()}
