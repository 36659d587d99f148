"""What is wrong with a folder's files: each problem with its place, all of them in one error."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from render.errors import InvalidInput, RenderError
from render.texts import first_lines
from render.yaml.fields import Fields

_SHOWN = 100


class InvalidInputs(InvalidInput):
    """Files that cannot be understood, or that contradict each other."""

    def __init__(self, folder: Path, problems: Iterable[str]) -> None:
        self.problems = sorted(set(problems))
        count = "one problem" if len(self.problems) == 1 else f"{len(self.problems):,} problems"
        super().__init__(
            f"the files in {folder} have {count}",
            why=first_lines(self.problems, _SHOWN),
            next="correct each of them at the place it names",
        )


def describe(error: RenderError) -> str:
    """Return an error as one line, to stand behind its place."""
    return "; ".join([error.what, *error.why, *error.next])


def placed(place: str, problems: Iterable[str]) -> list[str]:
    """Return problems with their place in front."""
    return [f"{place}: {problem}" for problem in problems]


@contextmanager
def complaints(fields: Fields, key: str) -> Iterator[None]:
    """Turn an error about the value of a key into one of the problems."""
    try:
        yield
    except RenderError as error:
        fields.complain(key, describe(error))
