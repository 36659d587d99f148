"""Packages that two folders of one cluster have locked, and what to write instead."""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from render.errors import Unsatisfiable
from render.folders.members import Members, find_used
from render.lock.model import Lock
from render.settings import SETTINGS_FILE
from render.texts import first_lines

_SHOWN = 5

# Names that several folders have, by these folders.
Shared: TypeAlias = Mapping[tuple[Path, ...], Sequence[str]]


class LockedTwice(Unsatisfiable):
    """A package that two folders of one cluster have locked, and neither provides to the other."""


def refuse_shared(locks: Mapping[Path, Lock], members: Members) -> None:
    """Raise for locks of one cluster with the same package; the folders are given by their real paths."""
    shared = find_shared({path: package_names(lock) for path, lock in locks.items()}, dict.fromkeys(locks, 0))
    for paths, names in shared.items():
        folders = " and ".join(str(members[path].folder) for path in paths)
        raise LockedTwice(
            f"{folders} have locked the same package" + ("s" if len(names) > 1 else ""),
            why=[*shown_names(names), "they belong to one cluster, which has room for one of it"],
            next=advise_sharing(paths, members),
        )


def find_shared(names: Mapping[Path, Iterable[str]], clusters: Mapping[Path, int]) -> Shared:
    """Return the names that several folders of one cluster have."""
    owners: dict[tuple[int, str], list[Path]] = defaultdict(list)
    for path, own in names.items():
        for name in own:
            owners[clusters[path], name].append(path)
    found: dict[tuple[Path, ...], list[str]] = defaultdict(list)
    for (_, name), paths in sorted(owners.items(), key=lambda item: item[0]):
        if len(paths) > 1:
            found[tuple(paths)].append(name)
    return found


def package_names(lock: Lock) -> set[str]:
    """Return the sources of the packages of a lock: those in the cluster, and those of their bytes."""
    packages = lock.installed()
    return {str(source) for package in packages for source in (package.source, package.cluster_source)}


def shown_names(names: Sequence[str]) -> list[str]:
    """Return a line for each of the first names, and one for the rest."""
    return first_lines(names, _SHOWN)


def advise_sharing(paths: Sequence[Path], members: Members) -> list[str]:
    """Return the lines that make one folder lock a package and the others use that folder."""
    ways = [find_used(path, members) for path in paths]
    common = next((path for path in ways[0] if all(path in way for way in ways)), None)
    place = common or paths[0].parent / "shared"
    texts = [way.get(place) or posixpath.relpath(place, path) for path, way in zip(paths, ways, strict=True)]
    kind = "a folder that they use" if common else "a new folder"
    name = posixpath.normpath(members[paths[0]].folder / texts[0])
    lines = [f"ask for it in {kind}, {name}, and nowhere else; each of them needs:"]
    for path, text in zip(paths, texts, strict=True):
        lines += [f"  # {members[path].folder / SETTINGS_FILE}", "  uses:", f"    - {text}"]
    return lines
