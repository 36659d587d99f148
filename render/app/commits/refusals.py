"""Locks that are not committed, because the commit would not have what they were made from."""

import os
from collections.abc import Sequence

from render.app.commits.inputs import Difference, Uncommitted
from render.app.commits.projects import Project
from render.commands import as_path, git, xplock
from render.errors import Differs
from render.folders.members import plain_path
from render.texts import first_lines

WITH_INPUTS = "to commit the files of the folder in the same commit, add: --with-inputs"
_SHOWN = 20
_MESSAGE = "change what is asked for"
# All files are committed, so one must be named that no clone has.
_OUTSIDE = "a clone of the repository has to have all that the folder names: move it into the repository"


class InputsNotCommitted(Differs):
    """Locks whose inputs are not in the commit that would have the locks."""

    def __init__(self, found: Sequence[Uncommitted], *, with_inputs: bool) -> None:
        names = " and ".join(str(one.project.folder) for one in found)
        what = "the lock" if len(found) == 1 else "the locks"
        lines = [str(file) for one in found for file in one.files]
        reasons = [reason for one in found for reason in one.reasons]
        ways = [*_with_inputs(found, with_inputs=with_inputs), *_with_used(found), *_with_git(found)]
        super().__init__(
            f"{what} of {names} cannot be committed without what {'it was' if len(found) == 1 else 'they were'} "
            "made from",
            why=first_lines(list(dict.fromkeys(lines or reasons)), _SHOWN),
            next=ways or _OUTSIDE,
        )


def _with_inputs(found: Sequence[Uncommitted], *, with_inputs: bool) -> list[str]:
    own = [one for one in found if any(_is_own(file, one.project) for file in one.files)]
    if with_inputs or not own:
        return []
    return [WITH_INPUTS]


def _with_used(found: Sequence[Uncommitted]) -> list[str]:
    """Return the command that commits used folders together with those that use them."""
    used = [plain_path(one.project.folder / name) for one in found for name in one.used]
    if not used:
        return []
    folders = dict.fromkeys(map(str, [*used, *(one.project.folder for one in found)]))
    return [f"commit the folders together: {xplock('commit', *map(as_path, folders))}"]


def _with_git(found: Sequence[Uncommitted]) -> list[str]:
    """Return the commands that commit the files first; files of a submodule are committed there before."""
    lines: list[str] = []
    for one in found:
        files = [file for file in one.files if not one.used]
        if any(file.submodule for file in files):
            names = sorted({file.submodule for file in files if file.submodule})
            lines.append(
                f"commit the changes in the submodule {' and '.join(names)}, then the submodule itself"
            )
        plain = [file for file in files if not file.submodule]
        if plain:
            lines.append(f"to commit them before the lock: {_git_commands(one.project, plain)}")
    return lines


def _git_commands(project: Project, files: Sequence[Difference]) -> str:
    """Return the commands that commit files; a deletion need not be added, and cannot be if it is staged already."""
    folder, force = project.folder, ["-f"] if any(file.ignored for file in files) else []
    added = [_as_pathspec(file, project) for file in files if file.data is not None]
    add = [git("add", *force, *added, folder=folder)] if added else []
    commit = git("commit", "-m", _MESSAGE, *(_as_pathspec(file, project) for file in files), folder=folder)
    return " && ".join([*add, commit])


def _as_pathspec(file: Difference, project: Project) -> str:
    path = os.path.relpath(file.path, project.prefix or ".")
    # Git reads a colon at the start as a pattern of its own.
    return f"./{path}" if path.startswith(":") else as_path(path)


def _is_own(file: Difference, project: Project) -> bool:
    return file.path.startswith(project.prefix) and not (file.ignored or file.special or file.submodule)
