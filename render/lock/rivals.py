"""Whether packages here install what packages of other folders have installed: in one cluster they would fight over it."""

from collections.abc import Collection, Iterator, Sequence

from render.errors import Unsatisfiable
from render.lock.fetching import fetch_locked
from render.lock.model import LockedPackage
from render.lock.neighbours import Named
from render.lock.settling import Settled
from render.moves import Move, format_moves
from render.packages import Kind, Package, defined_groups
from render.references import Source
from render.resolve.model import Catalog, Chosen
from render.resolve.owners import OWNED_KINDS, owned_objects
from render.settings import SETTINGS_FILE
from render.texts import first_names

_SHOWN = 3
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
            _compare(rivals, package, found, folder)
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


def _compare(rivals: Sequence[Chosen], package: LockedPackage, found: Package, folder: str) -> None:
    for chosen in rivals:
        shared = owned_objects(chosen.package.objects) & owned_objects(found.objects)
        if not shared:
            continue
        names = sorted(f"{kind} {name}" for _, kind, name in shared)
        raise RivalPackages(
            f"{chosen.source} would install what {package.source} in {folder} installs",
            why=f"both bring {first_names(names, _SHOWN)}, and a cluster has each of them once",
            next=[
                f"if {package.source} is its successor, drop it here, and say so in {SETTINGS_FILE}:",
                *format_moves([Move(chosen.source, (package.source,))]),
                f"if it is the other way round, ask for it in {folder}, and make the move there",
            ],
        )
