"""Which package of a lock a name means: a source in full, or shortened to its last components."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import PurePath
from typing import Generic, TypeVar

from render.commands import xplock
from render.errors import InvalidInput
from render.lock.graph import LockGraph, Target
from render.lock.model import Lock, LockedPackage, Provided
from render.references import Source

# Why a name is unknown, where no other one is near.
NO_SUCH_NAME = "no package that is locked has this name, be it in full or its last part"

_SHOWN = 5

T = TypeVar("T")


def write_in_full(*folders: str | PurePath) -> str:
    """Return the advice on a name that is unknown or ambiguous in these folders."""
    commands = " and ".join(f"`{xplock('tree', folder=folder)}`" for folder in folders[:_SHOWN])
    return f"write the source in full; {commands} {'shows' if len(folders) == 1 else 'show'} what is locked"


class UnknownPackage(InvalidInput):
    """A name on the command line that no package of the lock has, or several."""


class NameIndex(Generic[T]):
    """Finds values by the sources that they are known by."""

    def __init__(self, named: Iterable[tuple[Source, T]]) -> None:
        self._full: dict[str, list[T]] = {}
        self._short: dict[str, list[T]] = {}
        for source, value in named:
            parts = str(source).split("/")
            self._add(self._full, str(source), value)
            for i in range(len(parts)):
                self._add(self._short, "/".join(parts[i:]), value)

    def full(self, text: str) -> list[T]:
        """Return the values of a source that is written in full."""
        return self._full.get(text, [])

    def short(self, text: str) -> list[T]:
        """Return the values of all sources that end in these components."""
        return self._short.get(text, [])

    def find(self, text: str) -> list[T]:
        """Return the values of a source in full, or else of all that end in these components."""
        return self.full(text) or self.short(text)

    @staticmethod
    def _add(found: dict[str, list[T]], text: str, value: T) -> None:
        values = found.setdefault(text, [])
        # An alias is known by two sources.
        if value not in values:
            values.append(value)


def find_source(text: str, lock: Lock, *, provided: bool = False, folder: str | PurePath = ".") -> Source:
    """Return the active source that a name means; an alias has two names. The folder is for advice."""
    found = _active_names(lock, lock.provided if provided else {}).find(text)
    if len(found) == 1:
        return found[0]
    if not found:
        _refuse_inactive(text, lock)
    raise _unknown(text, lock, sorted(found), folder)


def find_known(text: str, lock: Lock, *, folder: str | PurePath = ".") -> Source:
    """Return any source that a lock knows: also of a deactivated, replaced or provided package."""
    active, others = _active_names(lock, {}), _inactive_names(lock)
    # Active packages come first: a replaced one often has the same short name.
    for found in (active.full(text), others.full(text), active.short(text), others.short(text)):
        if len(found) == 1:
            return found[0]
        if found:
            raise _unknown(text, lock, sorted(found), folder)
    raise _unknown(text, lock, [], folder)


def index_installed(lock: Lock) -> NameIndex[LockedPackage]:
    """Return an index of all packages that a lock renders."""
    return NameIndex((source, package) for package in lock.installed() for source in installed_names(package))


def installed_names(package: LockedPackage) -> set[Source]:
    """Return the sources that mean an installed package: an alias has two."""
    return {package.display_source, package.cluster_source}


def _active_names(lock: Lock, provided: Mapping[Source, Provided]) -> NameIndex[Source]:
    packages: list[Target] = [*lock.packages.values(), *provided.values()]
    aliases = {package.installed_as: package.source for package in packages if package.installed_as}
    return NameIndex((aliases | {package.source: package.source for package in packages}).items())


def _inactive_names(lock: Lock) -> NameIndex[Source]:
    others = {source: source for source in (*LockGraph(lock).successors, *lock.deactivated)}
    provided = lock.provided.values()
    aliases = {package.installed_as: package.source for package in provided if package.installed_as}
    return NameIndex((others | aliases | {package.source: package.source for package in provided}).items())


def _refuse_inactive(text: str, lock: Lock) -> None:
    """Raise for a source that is replaced or provided elsewhere, naming the one to use."""
    for source in sorted(_inactive_names(lock).find(text)):
        if source in lock.provided:
            raise UnknownPackage(
                f"{source} is not locked here",
                why=f"{lock.provided[source].folder} provides it",
                next="change it there",
            )
        found = LockGraph(lock).successors.get(source) or lock.deactivated[source].replaced_by
        successors = " and ".join(map(str, found))
        raise UnknownPackage(
            f"{source} is not active",
            why=f"{successors} has replaced it",
            next=f"name {successors} instead",
        )


def _unknown(text: str, lock: Lock, found: Sequence[Source], folder: str | PurePath) -> UnknownPackage:
    near = found or _nearest(text, lock)
    return UnknownPackage(
        f"{text} names {len(found)} packages of the lock" if found else f"{text} is not in the lock",
        why=[f"did you mean {source}?" for source in near[:_SHOWN]] or NO_SUCH_NAME,
        next=write_in_full(folder),
    )


def _nearest(text: str, lock: Lock) -> list[Source]:
    names = {source.name: source for source in sorted(lock.packages, reverse=True)}
    return [names[name] for name in get_close_matches(text.rpartition("/")[2], names, n=_SHOWN)]
