"""What a package that is switched off installed, and none of its successors brings: it goes when the package goes."""

from collections import Counter
from collections.abc import Mapping

from render.lock.fetching import fetch_locked
from render.lock.model import Lock, LockedPackage, Provided
from render.packages import Kind
from render.resolve.model import Catalog, Resolution
from render.resolve.owners import Owned, owned_objects
from render.values import replace


def count_unclaimed(lock: Lock, resolution: Resolution, catalog: Catalog) -> tuple[Lock, list[str]]:
    """Record of every package that is off how many objects nobody else brings; return notes for reviewers, too."""
    if not lock.deactivated:
        return lock, []
    claimed = {
        item
        for chosen in resolution.packages.values()
        if chosen.kind is not Kind.FUNCTION
        for item in owned_objects(chosen.package.objects)
    }
    # Orphans are no part of the answer; they and what others provide go on to have what they installed.
    orphans = [package for source, package in lock.packages.items() if source not in resolution.packages]
    others: list[LockedPackage | Provided] = [*orphans, *lock.provided.values()]
    for other in others:
        claimed |= _objects(other, catalog)
    counted = {source: _count(package, claimed, catalog) for source, package in lock.deactivated.items()}
    notes = [note for package in counted.values() for note in _tell(package)]
    return replace(lock, deactivated=counted), notes


def _count(package: LockedPackage, claimed: set[Owned], catalog: Catalog) -> LockedPackage:
    found = fetch_locked(package, catalog)
    if found is None:
        # What was known of it stays.
        return package
    left = Counter(kind for _, kind, _ in owned_objects(found.objects) - claimed)
    return replace(package, unclaimed=dict(sorted(left.items())))


def _tell(package: LockedPackage) -> list[str]:
    if not package.unclaimed:
        return []
    return [
        f"{package.cluster_source} is off, and {' and '.join(map(str, package.replaced_by))} took over all but "
        f"{format_counts(package.unclaimed)}: what is left goes when it is retired, with every resource of such a kind"
    ]


def format_counts(counts: Mapping[str, int]) -> str:
    """Return numbers of kinds in one text."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def _objects(package: LockedPackage | Provided, catalog: Catalog) -> set[Owned]:
    found = fetch_locked(package, catalog)
    return owned_objects(found.objects) if found and package.kind is not Kind.FUNCTION else set()
