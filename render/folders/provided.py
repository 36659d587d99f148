"""Whether a lock still knows what used folders provide, and whether that still suits its packages."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from render.folders.neighbours import Neighbours
from render.lock.freshness import unmet_dependencies
from render.lock.model import Lock, Provided


def compare_provided(lock: Lock, neighbours: Neighbours) -> list[str]:
    """Return how the packages of used folders differ from the record in a lock."""
    return [*_changes(lock, neighbours), *_claimed(lock, neighbours)]


def find_unsuited(lock: Lock, neighbours: Neighbours) -> list[str]:
    """Return which packages of a lock do not accept the versions that used folders provide now."""
    own = set(unmet_dependencies(lock))
    # A package that is no longer provided is found by `compare_provided`.
    now = replace(lock, provided={**lock.provided, **neighbours.provided})
    return [problem for problem in unmet_dependencies(now) if problem not in own]


def _changes(lock: Lock, neighbours: Neighbours) -> Iterator[str]:
    for source, known in sorted(lock.provided.items()):
        now = neighbours.provided.get(source)
        if now is None:
            yield f"{known.folder} no longer provides {source}"
        elif now.version != known.version:
            yield f"{now.folder} provides {source} {now.version}, and not {known.version}"
        elif now != known:
            yield f"{now.folder} provides {source} with another {' and '.join(_differences(known, now))}"
        elif source in neighbours.released:
            yield f"{now.folder} is about to drop {source}"


def _differences(known: Provided, now: Provided) -> Sequence[str]:
    names = [each.name for each in fields(Provided) if getattr(known, each.name) != getattr(now, each.name)]
    return [name.replace("_", " ") for name in names]


def _claimed(lock: Lock, neighbours: Neighbours) -> Iterator[str]:
    """Yield the objects that are rendered here and belong to used folders now."""
    moved = {move.source: move.place for move in neighbours.moves}
    names = {(other.kind, other.object_name): other.folder for other in neighbours.provided.values()}
    for package in lock.installed():
        other = neighbours.provided.get(package.source)
        if other is not None:
            yield f"{other.folder} provides {package.source}"
        elif package.source in lock.packages and package.source in moved:
            yield f"{moved[package.source]} has replaced {package.source}"
        elif (package.kind, package.object_name) in names:
            yield f"{names[package.kind, package.object_name]} has a {package.kind} {package.object_name}"
