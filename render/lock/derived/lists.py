"""Lists without an order of their own: sorted, and without repetition, as they are written."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from render.lean import Any
from render.lock.model import Lock, LockedPackage, pin_places
from render.lock.pins import pin_key


def check_lists(lock: Lock) -> Iterator[str]:
    """Yield the lists of a lock that are not sorted or name something twice."""
    for package in lock.installed():
        for name, entries in _lists_of(package):
            if len(entries) > 1:
                yield from _check(f"{package.source} {name}", entries)
        if package.kept_pins:
            yield from _check_pins(package)
    if len(lock.crds) > 1:
        yield from _check("the lock's crds", lock.crds)
    for provided in lock.provided.values():
        if len(provided.replaces) > 1:
            yield from _check(f"{provided.source} replaces", provided.replaces)


def _lists_of(package: LockedPackage) -> tuple[tuple[str, Sequence[Any]], ...]:
    return (
        ("requiredBy", package.required_by),
        ("crds", package.crds),
        ("replaces", [one.source for one in package.replaces]),
        ("replacedBy", package.replaced_by),
        ("detached", package.detached),
        ("staleEntry", package.stale_entry),
        ("groups", package.groups),
    )


def _check(what: str, entries: Sequence[Any]) -> Iterator[str]:
    for one, following in pairwise(entries):
        if one == following:
            yield f"{what} has {one} twice"
        elif following < one:
            yield f"{what} has {following} after {one}, and is sorted"


def _check_pins(package: LockedPackage) -> Iterator[str]:
    """Find a reference with two pins: the newest comes first, so they are not sorted."""
    seen = {pin_key(package)}
    for pin in package.kept_pins:
        key = (pin_places(package, pin)[0], pin.tag)
        if key in seen:
            yield f"{package.source} keeps a second pin of {key[0]}:{key[1]}"
        seen.add(key)
