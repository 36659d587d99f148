"""Text that fits 80 columns: what sources share is written once, names are aligned, words are never broken."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap

from render.texts import visible

WIDTH = 80
GAP = "  "


def short_names(sources: Iterable[str]) -> dict[str, str]:
    """Return the shortest ending of each source that no other source has."""
    parts = {source: source.split("/") for source in dict.fromkeys(sources)}
    endings: dict[str, int] = {}
    for words in parts.values():
        for ending in _endings(words):
            endings[ending] = endings.get(ending, 0) + 1
    return {
        source: next((ending for ending in _endings(words) if endings[ending] == 1), source)
        for source, words in parts.items()
    }


def _endings(words: Sequence[str]) -> Iterator[str]:
    for i in range(len(words) - 1, -1, -1):
        yield "/".join(words[i:])


def short_digests(text: str) -> str:
    """Return a text with only the beginning of each digest."""
    return re.sub(r"sha256:[0-9a-f]{64}", lambda digest: f"{digest[0][:19]}…", text)


def fold(text: str, *, first: str = "", rest: str = "") -> list[str]:
    """Return text in lines that fit, where its words allow that; the first line and the others have an indent each."""
    found = wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return found or [first.rstrip()]


def format_table(
    header: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    notes: Callable[[str], str] = lambda _source: "",
) -> Iterator[str]:
    """Yield the lines of a table by source: below what sources share, each with its cells, and a note of its own."""
    names = max((len(_name(source)) for source in rows), default=0) + len(GAP)
    widths = [max(map(len, cells)) for cells in zip(header, *rows.values(), strict=True)]

    def line(name: str, cells: Iterable[str]) -> str:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
        return GAP.join([f"{name:<{names}}", *padded]).rstrip()

    yield line("", header)
    for home, sources in groupby(rows, key=_home):
        yield f"{visible(home)}/"
        for source in sources:
            yield line(f"{GAP}{_name(source)}", rows[source])
            note = notes(source)
            if note:
                yield from fold(note, first=2 * GAP, rest=3 * GAP)


def _home(source: str) -> str:
    return source.rpartition("/")[0]


def _name(source: str) -> str:
    return visible(source.rpartition("/")[2])
