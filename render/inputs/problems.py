"""All problems of a folder's files in one error, each with its place."""

from collections.abc import Iterable
from pathlib import Path

from render.errors import InvalidInput
from render.texts import first_lines

_SHOWN = 100


class InvalidInputs(InvalidInput):
    """Files that are invalid, or that contradict each other."""

    def __init__(self, folder: Path, problems: Iterable[str]) -> None:
        self.problems = sorted(set(problems))
        count = "one problem" if len(self.problems) == 1 else f"{len(self.problems):,} problems"
        super().__init__(
            f"the files in {folder} have {count}",
            why=first_lines(self.problems, _SHOWN),
            next="correct each of them at the place it names",
        )


def placed(place: str, problems: Iterable[str]) -> list[str]:
    """Return problems with their place in front."""
    return [f"{place}: {problem}" for problem in problems]


def find_conflict(data: bytes) -> str:
    """Return what is to be said about the first conflict marker in a file, with its line; nothing without one."""
    if b"\n>>>>>>> " not in data:
        return ""
    start = (b"\n" + data).find(b"\n<<<<<<< ")
    if start < 0:
        return ""
    line = data.count(b"\n", 0, start) + 1
    return f"line {line}: a conflict marker of Git; choose a side in this file, and remove the markers"
