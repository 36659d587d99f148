"""Folders of one cluster: which folder uses which, and the order in which they are locked."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from render.errors import InvalidInput
from render.inputs.projects import read_settings
from render.limits import LimitExceeded, Limits
from render.lock.model import Lock
from render.settings import SETTINGS_FILE
from render.system.boundary import Boundary, real_path
from render.system.files import is_folder
from render.texts import linked

# Each folder as it was written, and where that is.
Uses: TypeAlias = Sequence[tuple[str, Path]]


class MissingFolder(InvalidInput):
    """A used folder that does not exist."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} is used, and is not a folder",
            why=f"`uses` in {SETTINGS_FILE} names it, and what it provides is not known without it",
            next="correct the path, or get the folder, too",
        )


class UsedOutside(InvalidInput):
    """A used folder that is outside of the repository, which someone else wrote."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} is used, and is outside of the repository",
            why=f"`uses` in {SETTINGS_FILE} names it, and other files than those of the repository are not read",
            next="move the folder into the repository, or correct `uses`",
        )


class CircularUses(InvalidInput):
    """Folders that use each other."""


@dataclass(frozen=True, slots=True)
class Member:
    """A folder, the folders that it uses, and its lock where it is known already."""

    folder: Path
    uses: Uses = ()
    lock: Lock | None = None

    @property
    def used(self) -> list[Path]:
        """The real paths of the folders that it uses."""
        return [real_path(path) for _, path in self.uses]


# By the real path of each folder; with every folder that one of them uses.
Members: TypeAlias = Mapping[Path, Member]
_NONE: Members = MappingProxyType({})


def read_members(
    starts: Members, limits: Limits, known: Members = _NONE, boundary: Boundary | None = None
) -> dict[Path, Member]:
    """Return folders with all that they use, directly or indirectly; those in `known` are not read again."""
    members = dict(starts)
    waiting = [path for member in starts.values() for _, path in member.uses]
    while waiting:
        path = waiting.pop()
        if boundary and not boundary.includes(path):
            raise UsedOutside(Path(posixpath.normpath(path)))
        there = real_path(path)
        if there in members:
            continue
        if len(members) - len(starts) >= limits.used_folders:
            raise LimitExceeded("too many folders use each other", "used_folders", limits)
        members[there] = known.get(there) or _read_member(plain_path(path), limits, boundary)
        waiting += [path for _, path in members[there].uses]
    _refuse_circles(members)
    return members


def _read_member(folder: Path, limits: Limits, boundary: Boundary | None) -> Member:
    if not is_folder(folder):
        raise MissingFolder(folder)
    return Member(folder, read_settings(folder, limits, boundary).uses)


def find_used(start: Path, members: Members) -> dict[Path, str]:
    """Return all folders that one uses, the nearest first, each with its path from there."""
    found: dict[Path, str] = {}
    reached = [(start, "")]
    for path, name in reached:
        for (text, _), there in zip(members[path].uses, members[path].used, strict=True):
            if there not in found and there in members:
                found[there] = _joined(start, name, text)
                reached.append((there, found[there]))
    return found


def in_order(folders: Sequence[Path], members: Members) -> list[Path]:
    """Return folders with used ones before those that use them, and otherwise in the given order."""
    levels: dict[Path, int] = {}
    for path in TopologicalSorter({path: member.used for path, member in members.items()}).static_order():
        levels[path] = 1 + max((levels[used] for used in members[path].used), default=0)
    return sorted(folders, key=lambda path: levels[path])


def find_clusters(members: Members) -> dict[Path, int]:
    """Return a number for each folder; folders that are connected by `uses` have the same one."""
    # A folder that could not be read connects no others.
    neighbours = {path: members.keys() & set(member.used) for path, member in members.items()}
    for path, member in members.items():
        for used in members.keys() & set(member.used):
            neighbours[used].add(path)
    numbers: dict[Path, int] = {}
    for number, start in enumerate(neighbours):
        waiting = [start]
        while waiting:
            path = waiting.pop()
            if path not in numbers:
                numbers[path] = number
                waiting += neighbours[path]
    return numbers


def plain_path(path: Path) -> Path:
    """Return a path without `..`, if it still names the same folder: a part can be a link."""
    plain = Path(posixpath.normpath(path))
    return plain if real_path(plain) == real_path(path) else path


def _joined(start: Path, name: str, text: str) -> str:
    """Return the path of a folder from the first one, through another one."""
    if not name:
        return text
    joined = posixpath.join(name, text)
    plain = posixpath.normpath(joined)
    return plain if real_path(start / plain) == real_path(start / joined) else joined


def _refuse_circles(members: Members) -> None:
    try:
        TopologicalSorter({path: member.used for path, member in members.items()}).prepare()
    except CycleError as error:
        names = [str(members[path].folder) for path in reversed(error.args[1])][1:]
        first = names.index(min(names))
        ordered = [*names[first:], *names[: first + 1]]
        raise CircularUses(
            "folders use each other in a circle",
            why=linked(ordered, " uses "),
            next="remove one of these from `uses`: what both need belongs in a folder of its own",
        ) from None
