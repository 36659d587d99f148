"""The other folders of the same cluster that xplock.yaml names."""

import errno
from collections.abc import Iterator
from pathlib import Path

from render.inputs.keys import Entry


def parse_uses(top: Entry, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each folder that is used, as it is written and where it is."""
    taken: dict[Path, str] = {}
    for text in top.plain.get("uses", ()):
        problem = _problem(text, folder, taken)
        if problem:
            top.fields.complain("uses", f"{text!r} {problem}")
        else:
            taken[(folder / text).resolve()] = text
            yield text, folder / text


def _problem(text: str, folder: Path, taken: dict[Path, str]) -> str:
    # The lock holds it as it is written, and is the same on every machine.
    if Path(text).is_absolute():
        return "is an absolute path; write it relative to this file"
    if not _leads_somewhere(folder / text):
        return "is not a folder"
    there = (folder / text).resolve()
    if there == folder.resolve():
        return "is this folder itself"
    return f"is the same folder as {taken[there]!r}" if there in taken else ""


def _leads_somewhere(path: Path) -> bool:
    """Tell whether a folder may be there: a lock is rendered without it, from a part of the repository too."""
    try:
        path.stat()
    except OSError as error:
        return error.errno != errno.ELOOP
    except ValueError:
        return False
    return True
