"""Whether anything changes hands that nobody agreed to hand over."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from render.errors import RenderError, Unsatisfiable
from render.folders.neighbours import Named
from render.lean import replace
from render.lifecycle.settle import Settled
from render.lifecycle.states import find_orphans
from render.lock.model import Lock, LockedPackage, Provided
from render.moves import Move, format_moves
from render.packages import Kind, Package, defined_groups
from render.references import Reference, Source
from render.resolve.model import Catalog, Chosen, Resolution
from render.resolve.owners import OWNED_KINDS, Owned, owned_objects
from render.settings import SETTINGS_FILE
from render.texts import first_names

_SHOWN = 3


class HandoverWithoutConsent(Unsatisfiable):
    """An object of a package that leaves, in a package that comes."""


class UnknownObjects(RenderError):
    """A package that leaves, and of which nobody can tell any more what it installed."""


def check_handovers(
    settled: Settled, before: Lock, catalog: Catalog, provided: Collection[Source], *, accept_unknown: bool
) -> list[str]:
    """Compare what leaves with what comes; return a note for each package whose objects are not known.

    What other folders provide goes on there.
    """
    coming = list(_coming(settled, before))
    gone = _leaving(settled, before, provided)
    leaving = [package for package in gone if OWNED_KINDS & package.objects.keys()]
    if not coming or not leaving:
        return []
    notes = []
    for package in leaving:
        found = _fetch(package, catalog, accept_unknown=accept_unknown)
        if found is None:
            notes.append(f"{package.source} leaves; what it installed is not known, and was not compared")
        else:
            _compare(package, found, coming)
    return notes


def _coming(settled: Settled, before: Lock) -> Iterator[Chosen]:
    for source, chosen in settled.resolution.packages.items():
        known = before.packages.get(source)
        if chosen.kind is not Kind.FUNCTION and (known is None or known.digest != chosen.package.digest):
            yield chosen


def _leaving(settled: Settled, before: Lock, provided: Collection[Source]) -> Sequence[LockedPackage]:
    gone = find_orphans(before, {*settled.resolution.packages, *provided}, settled.moves)
    return [package for package in gone.values() if package.kind is not Kind.FUNCTION]


def _fetch(package: LockedPackage, catalog: Catalog, *, accept_unknown: bool) -> Package | None:
    try:
        return catalog.package(Reference(package.source, digest=package.digest))
    except RenderError as error:
        if accept_unknown:
            return None
        raise UnknownObjects(
            f"{package.source} leaves, and nobody can tell what it installed",
            why=[f"{package.source}@{package.digest} can no longer be had", error.what],
            next="to go on without comparing it with what comes: xplock lock --accept-unknown-objects",
        ) from None


def _compare(package: LockedPackage, found: Package, coming: Sequence[Chosen]) -> None:
    objects = owned_objects(found.objects)
    successors: dict[Source, list[str]] = {}
    for chosen in coming:
        shared = objects & owned_objects(chosen.package.objects)
        if shared:
            successors[chosen.source] = sorted(f"{kind} {name}" for _, kind, name in shared)
    if not successors:
        return
    shown = sorted({text for texts in successors.values() for text in texts})
    raise HandoverWithoutConsent(
        f"{', '.join(map(str, successors))} would take over what {package.source} installed",
        why=[
            f"both bring {first_names(shown, _SHOWN)}",
            f"nobody asks for {package.source} {package.version} any more, and it is installed",
        ],
        next=[
            "if that is what you want, say so in xplock.yaml:",
            *format_moves([Move(package.source, tuple(successors))]),
            f"if not, ask for {package.source} again, or retire it first: xplock retire {package.source}",
        ],
    )


def fetch_locked(package: LockedPackage | Provided, catalog: Catalog) -> Package | None:
    """Return a package as it was locked, or nothing if it can no longer be had."""
    try:
        return catalog.package(Reference(package.source, digest=package.digest))
    except RenderError:
        return None


_SHOWN_RIVALS = 3
# Of these a lock knows only the number: their names say nothing of a group.
_COMPOSITION = "Composition"


class RivalPackages(Unsatisfiable):
    """Two packages in two folders of one cluster that bring the same object."""


def check_rivals(settled: Settled, others: Named, catalog: Catalog) -> list[str]:
    """Compare packages with those of other folders; return a note for each whose objects are not known."""
    own = [chosen for chosen in settled.resolution.packages.values() if chosen.kind is not Kind.FUNCTION]
    known = {*settled.resolution.packages, *settled.moves}
    notes = []
    for folder, package in _others(others, known):
        rivals = [chosen for chosen in own if _may_share(chosen, package)]
        found = fetch_locked(package, catalog) if rivals else None
        if found is not None:
            _compare_folders(rivals, package, found, folder)
        elif rivals:
            notes.append(f"what {package.source} in {folder} installs is not at hand, and was not compared")
    return notes


def _others(others: Named, known: Collection[Source]) -> Iterator[tuple[str, LockedPackage]]:
    for folder, lock in others:
        for package in lock.in_order():
            # What makes room for a package here does so by consent.
            if package.kind is not Kind.FUNCTION and not {package.source, package.cluster_source} & {*known}:
                yield folder, package


def _may_share(chosen: Chosen, package: LockedPackage) -> bool:
    kinds = {item.kind for item in chosen.package.objects}
    if _COMPOSITION in kinds and _COMPOSITION in package.objects:
        return True
    groups = defined_groups(chosen.kind, chosen.package.objects)
    return bool(OWNED_KINDS & package.objects.keys() and {*groups} & {*package.groups})


def _compare_folders(rivals: Sequence[Chosen], package: LockedPackage, found: Package, folder: str) -> None:
    for chosen in rivals:
        shared = owned_objects(chosen.package.objects) & owned_objects(found.objects)
        if not shared:
            continue
        names = sorted(f"{kind} {name}" for _, kind, name in shared)
        raise RivalPackages(
            f"{chosen.source} would install what {package.source} in {folder} installs",
            why=f"both bring {first_names(names, _SHOWN_RIVALS)}, and a cluster has each of them once",
            next=[
                f"if {package.source} is its successor, drop it here, and say so in {SETTINGS_FILE}:",
                *format_moves([Move(chosen.source, (package.source,))]),
                f"if it is the other way round, ask for it in {folder}, and make the move there",
            ],
        )


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
