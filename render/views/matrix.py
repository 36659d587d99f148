"""Several locks side by side, as text, Markdown and JSON."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from render.lean import dataclass
from render.lock.fleets import Standing
from render.lock.model import LockedPackage
from render.references import Source
from render.texts import visible
from render.views.diff import code

_WIDTH = 80
_GAP = "  "
_EQUAL, _NONE = "=", "-"
# A digest is told by its beginning where the versions are the same.
_DIGITS = 7


@dataclass(frozen=True, slots=True)
class Cell:
    """A package in one folder, and how it stands beside that of the reference; None where one of them lacks it."""

    package: LockedPackage | None
    standing: Standing | None


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The folders by their names, the reference first, and one row of cells for each source."""

    folders: tuple[str, ...]
    rows: Mapping[Source, Sequence[Cell]]


def format_matrix(view: MatrixView) -> str:
    """Write tables of 80 columns: as many folders side by side as there is room for, the reference always first."""
    first, *others = _short(view.folders)
    shown = {source: [_text(cell, i == 0) for i, cell in enumerate(row)] for source, row in view.rows.items()}
    names = max((len(source.name) + 2 * len(_GAP) for source in shown), default=0)
    widths = [
        max(len(title), *(len(texts[i]) for texts in shown.values()), 1)
        for i, title in enumerate([first, *others])
    ]
    blocks = [
        "".join(_table([first, *others], shown, [0, *chunk], names, widths))
        for chunk in _chunks(widths, names)
    ]
    return "\n".join(blocks)


def format_matrix_markdown(view: MatrixView) -> str:
    """Write one table for a pull request."""
    titles = [code(title) for title in view.folders]
    lines = [f"| package | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}"]
    for source, row in view.rows.items():
        cells = [_marked(_text(cell, i == 0), cell) for i, cell in enumerate(row)]
        lines.append(f"| {code(str(source))} | {' | '.join(cells)} |")
    return "".join(f"{line}\n" for line in lines)


def matrix_document(view: MatrixView, behind: Mapping[str, int]) -> dict[str, Any]:
    """Return the matrix as JSON values."""
    return {
        "reference": view.folders[0],
        "folders": list(view.folders),
        "behind": dict(behind),
        "packages": [
            {
                "source": str(source),
                "folders": {
                    folder: _cell_document(cell) for folder, cell in zip(view.folders, row, strict=True)
                },
            }
            for source, row in view.rows.items()
        ],
    }


def _cell_document(cell: Cell) -> dict[str, Any] | None:
    if cell.package is None:
        return None
    return {
        "version": cell.package.version_tag or cell.package.digest,
        "digest": cell.package.digest,
        "standing": cell.standing,
    }


def _marked(text: str, cell: Cell) -> str:
    shown = text if text in (_EQUAL, _NONE) else code(text)
    return f"**{shown}**" if cell.standing and cell.standing.lacks_something else shown


def _text(cell: Cell, is_reference: bool) -> str:
    if cell.package is None:
        return _NONE
    if cell.standing is Standing.EQUAL and not is_reference:
        return _EQUAL
    version, digest = cell.package.version_tag, cell.package.digest.removeprefix("sha256:")[:_DIGITS]
    told = version or f"@{digest}"
    return visible(f"{told}@{digest}" if version and cell.standing is Standing.OTHER else told)


def _short(folders: Sequence[str]) -> list[str]:
    """Return folders without what all of their paths begin with."""
    together = (
        os.path.commonpath(folders) if len(folders) > 1 and len(set(map(os.path.isabs, folders))) == 1 else ""
    )
    names = [os.path.relpath(name, together) if together else name for name in folders]
    return [visible(name if name != "." else folder) for name, folder in zip(names, folders, strict=True)]


def _chunks(widths: Sequence[int], names: int) -> Iterator[list[int]]:
    """Yield the columns that stand side by side, beside names and the reference; at least one."""
    chunk: list[int] = []
    taken = base = names + widths[0]
    for i, width in enumerate(widths[1:], start=1):
        if chunk and taken + len(_GAP) + width > _WIDTH:
            yield chunk
            chunk, taken = [], base
        chunk.append(i)
        taken += len(_GAP) + width
    yield chunk


def _table(
    titles: Sequence[str],
    rows: Mapping[Source, Sequence[str]],
    columns: Sequence[int],
    names: int,
    widths: Sequence[int],
) -> Iterator[str]:
    def line(name: str, cell: Callable[[int], str]) -> str:
        cells = [f"{cell(i):<{widths[i]}}" for i in columns]
        return f"{f'{name:<{names}}{_GAP.join(cells)}'.rstrip()}\n"

    yield line("", lambda i: titles[i])
    for home, group in _by_home(rows):
        yield f"{visible(home)}/\n"
        for source in group:
            yield line(f"{_GAP}{source.name}", lambda i, source=source: rows[source][i])  # type: ignore[misc]


def _by_home(rows: Iterable[Source]) -> Iterator[tuple[str, Iterator[Source]]]:
    return groupby(rows, key=lambda source: str(source).rpartition("/")[0])
