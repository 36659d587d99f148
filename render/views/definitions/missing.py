"""Packages whose definitions could not be compared: which, why, and the command that helps."""

from collections.abc import Iterable, Sequence

from render.definitions.model import Comparison, NotCompared
from render.texts import first_lines, first_names, visible

_SHOWN = 5


def format_not_compared(comparison: Comparison, advice: Sequence[str]) -> list[str]:
    """Return a line for everything that is not compared; advice only helps where content could not be had."""
    missing = [one for one in comparison.not_compared if one.is_missing]
    others = [one for one in comparison.not_compared if not one.is_missing]
    lines = first_lines([_line([one], visible(_reason(one))) for one in others], _SHOWN)
    if missing:
        # The reason names its package, so that the first one shows what the others are like.
        lines = [_line(missing, visible(missing[0].reason)), *lines, *(f"next: {line}" for line in advice)]
    return lines


def format_packages(some: Iterable[NotCompared]) -> list[str]:
    """Name packages with their versions, each once."""
    return list(dict.fromkeys(visible(f"{one.package.rpartition('/')[2]} {one.version}") for one in some))


def _line(some: Sequence[NotCompared], reason: str) -> str:
    packages = format_packages(some)
    named = packages[0] if len(packages) == 1 else f"{len(packages):,} packages ({first_names(packages, 3)})"
    return f"not compared: {named}: {reason}"


def _reason(one: NotCompared) -> str:
    return f"{one.definition}: {one.reason}" if one.definition else one.reason
