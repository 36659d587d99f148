"""Folders that use this one: their packages depend on what is here, although this folder does not know them."""

from collections.abc import Iterator, Mapping

from render.folders.neighbours import Named
from render.lifecycle.states import bounds_of
from render.lock.candidates import installed_candidate
from render.lock.model import Lock, LockedPackage, named_source
from render.moves import Move
from render.references import Source
from render.resolve.model import Bound


def user_bounds(users: Named, before: Lock, moves: Mapping[Source, Move]) -> Iterator[Bound]:
    """Yield what packages of folders that use this one accept; what does not suit them today binds nobody."""
    for folder, lock in users:
        advice = f"change {folder} first; or lock this folder by itself, and {folder} after that"
        for package in lock.in_order():
            for bound in bounds_of(package, moves, f"in {folder}", advice):
                known = before.packages.get(bound.edge.source)
                if known is None or installed_candidate(known).answers(bound.edge.request):
                    yield bound


def other_packages(folders: Named) -> list[LockedPackage]:
    """Return what is active in other folders."""
    return [package for _, lock in folders for package in lock.packages.values()]


def needed_by_users(users: Named) -> set[Source]:
    """Return what folders that use this one have, and what their packages name."""
    packages = [package for _, lock in users for package in lock.installed()]
    named = {named_source(dependency, p.source) for p in packages for dependency in p.dependencies}
    return named | {package.cluster_source for package in packages}
