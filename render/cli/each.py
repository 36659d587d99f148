"""One job for each of several folders: a folder that fails does not stop the others."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from render.cli.output import Output
from render.errors import RenderError

T = TypeVar("T")


def for_each(
    folders: Sequence[Path], job: Callable[[Path], T], output: Output
) -> tuple[list[tuple[Path, T]], int]:
    """Return what the job makes of each folder, and the worst exit code; a single folder's error is raised."""
    done, worst = [], 0
    for folder in folders:
        try:
            done.append((folder, job(folder)))
        except RenderError as error:
            if len(folders) == 1:
                raise
            output.say(f"in {folder}:")
            output.error(error)
            worst = max(worst, error.exit_code)
    return done, worst


def format_folders(texts: Sequence[tuple[Path, str]]) -> str:
    """Write the texts of several folders below their names; one that is empty is left out."""
    return "\n".join(f"{folder}:\n{text}" for folder, text in texts if text)
