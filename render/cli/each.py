"""One job for each of several folders: a folder that fails does not stop the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from render.app.reporter import report_failures
from render.cli.failures import error_document
from render.cli.output import Output
from render.errors import RenderError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Each(Generic[T]):
    """What a job made of each folder, and the errors of the others."""

    found: Sequence[tuple[Path, T]]
    failures: Mapping[Path, RenderError]
    folders: Sequence[Path]

    @property
    def worst(self) -> int:
        """The exit code of the gravest error."""
        return max((error.exit_code for error in self.failures.values()), default=0)

    def documents(self, document: Callable[[T], Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return one JSON value for each folder, in their order: what the job made of it, or its error."""
        made = {folder: dict(document(value)) for folder, value in self.found}
        made |= {folder: error_document(error) for folder, error in self.failures.items()}
        return [{"folder": str(folder), **made[folder]} for folder in dict.fromkeys(self.folders)]


def for_each(folders: Sequence[Path], job: Callable[[Path], T], output: Output) -> Each[T]:
    """Return what the job makes of each folder; errors are reported, and a single folder's is raised."""
    done: list[tuple[Path, T]] = []
    failures: dict[Path, RenderError] = {}
    for folder in folders:
        try:
            done.append((folder, job(folder)))
        except RenderError as error:
            if len(folders) == 1:
                raise
            failures[folder] = error
    report_failures(failures, output)
    return Each(done, failures, folders)


def format_folders(texts: Sequence[tuple[Path, str]]) -> str:
    """Write the texts of several folders below their names; one that is empty is left out."""
    return "\n".join(f"{folder}:\n{text}" for folder, text in texts if text)
