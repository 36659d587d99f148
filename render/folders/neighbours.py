"""Other folders of the same cluster: their locked packages are taken as they are."""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from render.commands import xplock
from render.errors import Differs, Unsatisfiable
from render.folders.members import Member, Uses, find_used, read_members
from render.limits import LimitExceeded, Limits
from render.lock.candidates import installed_candidate
from render.lock.freshness import check_closure
from render.lock.graph import LockGraph, find_successors
from render.lock.model import Lock, LockedPackage, Provided, named_source
from render.lock.text.file import read_lock
from render.moves import Consent, Move, add_moves, follow_moves
from render.references import Source
from render.resolve.model import Candidate
from render.settings import SETTINGS_FILE
from render.system.boundary import Boundary, real_path
from render.system.files import LOCK_FILE, is_file
from render.texts import first_lines

_SHOWN = 20

# The names of folders, and their locks.
NamedLocks: TypeAlias = Sequence[tuple[str, Lock]]


class UnlockedNeighbour(Differs):
    """A folder that is used and has no lock."""


class StaleNeighbour(Differs):
    """A folder that is used and whose lock contradicts itself."""


class ProvidedTwice(Unsatisfiable):
    """A package that two used folders have locked."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The other folders of a cluster, as one of them sees them."""

    # The folders that it uses, and those that use it.
    used: NamedLocks = ()
    using: NamedLocks = ()
    # The active packages of the used folders.
    provided: Mapping[Source, Provided] = field(default_factory=dict)
    # The moves in the used folders, which have the consent of those.
    moves: tuple[Move, ...] = ()

    @property
    def released(self) -> set[Source]:
        """The packages that used folders are about to drop."""
        return {
            source for _, lock in self.used for source, package in lock.packages.items() if package.released
        }

    @property
    def deactivated(self) -> list[LockedPackage]:
        """The deactivated packages of the used folders."""
        return [package for _, lock in self.used for package in lock.deactivated.values()]

    @property
    def candidates(self) -> dict[Source, Candidate]:
        """The provided packages, as the solver sees them."""
        return {source: installed_candidate(package) for source, package in self.provided.items()}

    @property
    def folders(self) -> dict[Source, str]:
        """The folder that provides each package."""
        return {source: package.folder for source, package in self.provided.items()}

    @property
    def groups(self) -> dict[Source, tuple[str, ...]]:
        """The API groups in which each provided package defines kinds."""
        return {
            source: package.groups
            for _, lock in self.used
            for source, package in lock.packages.items()
            if source in self.provided
        }

    @property
    def using_packages(self) -> list[LockedPackage]:
        """The active packages of the using folders."""
        return [package for _, lock in self.using for package in lock.packages.values()]

    @property
    def needed_by_using(self) -> set[Source]:
        """The sources that using folders have installed, and those that their packages name."""
        packages = [package for _, lock in self.using for package in lock.installed()]
        named = {named_source(dependency, p.source) for p in packages for dependency in p.dependencies}
        return named | {package.cluster_source for package in packages}

    def after_moves(self, own: Iterable[Move], before: Lock) -> "Neighbours":
        """Return the same, with the moves of this folder, and those that its lock records, applied to the packages."""
        moves = (*self.moves, *self._recorded(before))
        replaced = {source: set(package.replaces) for source, package in self.provided.items()}
        for source, move in add_moves(follow_moves(own), moves).items():
            for target in replaced.keys() & move.targets:
                replaced[target].add(source)
        seen = {s: replace(p, replaces=tuple(sorted(replaced[s]))) for s, p in self.provided.items()}
        return replace(self, provided=seen, moves=moves)

    def _recorded(self, before: Lock) -> Iterator[Move]:
        for source, targets in LockGraph(before).successors.items():
            elsewhere = tuple(t for t in targets if t in before.provided and t in self.provided)
            if elsewhere:
                yield Move(source, elsewhere, place="the lock")

    def leaving_out(self, own: Collection[Source]) -> "Neighbours":
        """Return the same, without the packages of using folders that this folder will provide to them."""
        using = [
            (folder, replace(lock, packages={s: p for s, p in lock.packages.items() if s not in own}))
            for folder, lock in self.using
        ]
        return replace(self, using=tuple(using))


NO_NEIGHBOURS = Neighbours()


def read_neighbours(
    folder: Path,
    uses: Uses,
    limits: Limits,
    known: dict[Path, Member] | None = None,
    boundary: Boundary | None = None,
) -> Neighbours:
    """Read the locks of all folders this one uses, directly or indirectly. Reuses and extends `known`."""
    members = {} if known is None else known
    here = real_path(folder)
    members |= read_members({here: members.get(here) or Member(folder, uses)}, limits, members, boundary)
    used: list[tuple[str, Lock]] = []
    found = find_used(here, members)
    _check_sizes([members[path].folder for path in found], folder, limits)
    for path, text in found.items():
        lock = members[path].lock or _read_lock(members[path], limits)
        members[path] = replace(members[path], lock=lock)
        used.append((text, lock))
    return gather_neighbours(used)


def gather_neighbours(used: NamedLocks, using: NamedLocks = ()) -> Neighbours:
    """Join the locks of several folders."""
    provided: dict[Source, Provided] = {}
    names: dict[Source, str] = {}
    for folder, lock in used:
        for package in lock.in_order():
            for name in sorted({package.source, package.cluster_source}):
                if names.setdefault(name, folder) != folder:
                    raise _provided_twice(name, names[name], folder)
            provided[package.source] = _provide(package, folder)
    return Neighbours(tuple(used), tuple(using), dict(sorted(provided.items())), tuple(_moves(used)))


def _check_sizes(folders: Iterable[Path], using: Path, limits: Limits) -> None:
    # A lock that is missing or cannot be read is an error of its own.
    paths = [path for folder in folders if is_file(path := folder / LOCK_FILE)]
    if sum(path.stat().st_size for path in paths) > limits.used_locks_bytes:
        what = f"the locks of the folders that {using} uses are too large"
        raise LimitExceeded(what, "used_locks_bytes", limits)


def _read_lock(member: Member, limits: Limits) -> Lock:
    lock = read_lock(member.folder, limits)
    advice = f"lock it first: {xplock('lock', folder=member.folder)}"
    if lock is None:
        raise UnlockedNeighbour(
            f"{member.folder} is used, and has no {LOCK_FILE}",
            why="what it provides is not known before it is locked",
            next=advice,
        )
    problems = check_closure(lock)
    if problems:
        raise StaleNeighbour(
            f"{member.folder} is used, and its {LOCK_FILE} is out of date",
            why=first_lines(problems, _SHOWN),
            next=advice,
        )
    return lock


def _provided_twice(source: Source, first: str, second: str) -> ProvidedTwice:
    return ProvidedTwice(
        f"{source} is locked in two of the folders that are used",
        why=f"{first} and {second} both render it, and a cluster has room for one",
        next=[
            f"ask for it in {first} alone, and let {second} use that, in its {SETTINGS_FILE}:",
            "  uses:",
            f"    - {posixpath.relpath(first, second)}",
        ],
    )


def _provide(package: LockedPackage, folder: str) -> Provided:
    return Provided(
        source=package.source,
        folder=folder,
        version=package.version,
        digest=package.digest,
        kind=package.kind,
        object_name=package.object_name,
        tag=package.tag,
        detached=bool(package.detached),
        installed_as=package.installed_as,
        replaces=tuple(replaced.source for replaced in package.replaces),
    )


def _moves(used: NamedLocks) -> Iterator[Move]:
    for folder, lock in used:
        for source, successors in find_successors(lock.in_order()).items():
            last = successors[-1].replaced
            consent = last.consent if last else Consent.MOVES
            targets = tuple(one.package.source for one in successors)
            yield Move(source, targets, consent, place=f"the lock of {folder}")
