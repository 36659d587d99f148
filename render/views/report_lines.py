"""The lines of a report in 80 columns: what sources share is written once, and names are aligned."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from render.views.fitting import GAP, WIDTH, fold

# The first word of a line, and the rest of it.
Told = tuple[str, str]

WORD_WIDTH = len("Detached")
_INDENT = " " * (WORD_WIDTH + 1)
# A command in a line is pasted as it is.
_COMMAND = "xplock "


def format_lines(told: Iterable[Told]) -> list[str]:
    """Write every line in full."""
    return [f"{word:<{WORD_WIDTH}} {text}" for word, text in told]


def fits(lines: Iterable[str]) -> bool:
    """Return whether no line is too long for a narrow terminal."""
    return all(len(line) <= WIDTH for line in lines)


def fit_lines(told: Iterable[Told], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines in 80 columns; where that takes it, packages of one place that follow each other are below it.

    `names` has the sources that a line may begin with.
    """
    for (word, home, _), group in groupby(enumerate(told), lambda item: _place(item, names)):
        texts = [text for _, (_, text) in group]
        lines = format_lines((word, text) for text in texts)
        if fits(lines):
            yield from lines
        elif len(texts) == 1:
            yield from _fold(texts[0], first=f"{word:<{WORD_WIDTH}} ", rest=_INDENT + GAP)
        else:
            yield f"{word:<{WORD_WIDTH}} {home}/"
            yield from _below([text.removeprefix(f"{home}/") for text in texts])


def _below(texts: Sequence[str]) -> Iterator[str]:
    parts = [text.partition(" ") for text in texts]
    width = max(len(name) for name, _, _ in parts)
    for name, _, rest in parts:
        yield from _fold(f"{name:<{width}}{GAP}{rest}", first=_INDENT + GAP, rest=_INDENT + 2 * GAP)


def _place(item: tuple[int, Told], names: Mapping[str, str]) -> tuple[str, str, int]:
    """Return the word and the place of the source that a line begins with; a line without one stands alone."""
    i, (word, text) = item
    source = text.partition(" ")[0]
    return (word, source.rpartition("/")[0], 0) if source in names else (word, "", i + 1)


def _fold(text: str, *, first: str, rest: str) -> Iterator[str]:
    """Yield a line, or the package and the reason below it; a command has a line of its own, to be pasted."""
    head, opening, reason = text.partition(" (")
    if not opening or fits([f"{first}{text}"]):
        yield from fold(text, first=first, rest=rest)
        return
    yield from fold(head, first=first, rest=rest)
    prose, word, arguments = reason.partition(_COMMAND)
    if word:
        yield from fold(prose, first=rest, rest=rest)
        yield f"{rest}{word}{arguments.removesuffix(')')}"
    else:
        yield from fold(f"({reason}", first=rest, rest=f"{rest} ")
