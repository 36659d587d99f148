"""Installed objects and their owners: nothing changes hands without consent, and nothing is deleted unseen."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from render.errors import RenderError, Unsatisfiable
from render.folders.neighbours import NamedLocks
from render.lean import replace
from render.lifecycle.retiring.ways_out import retire_first
from render.lifecycle.states import Plan, find_orphans
from render.lock.graph import Target
from render.lock.model import Lock, LockedPackage
from render.moves import Move, format_moves
from render.packages import Kind, defined_groups
from render.references import Digest, Reference, Source
from render.resolve.model import Catalog, Chosen
from render.resolve.owners import OWNED_KINDS, Owned, check_owners, owned_objects
from render.settings import SETTINGS_FILE
from render.texts import first_names

_SHOWN = 3
# A lock holds only the number of these: their names say nothing about a group.
_COMPOSITION = "Composition"


class HandoverWithoutConsent(Unsatisfiable):
    """An object of a package that leaves, in a package that comes."""


class UnknownObjects(RenderError):
    """A package that leaves, and whose installed objects cannot be fetched any more."""


class RivalPackages(Unsatisfiable):
    """Two packages in two folders of one cluster that install the same object."""


class InstalledObjects:
    """The installed objects of locked packages, fetched by digest; each package is fetched once."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._found: dict[tuple[Source, Digest], set[Owned] | RenderError] = {}

    def find(self, package: Target) -> set[Owned] | RenderError:
        """Return the objects that a cluster has once, or why the package cannot be fetched."""
        key = (package.source, package.digest)
        if key not in self._found:
            try:
                found = self.catalog.package(Reference(package.source, digest=package.digest))
                self._found[key] = owned_objects(found.objects)
            except RenderError as error:
                self._found[key] = error
        return self._found[key]


def check_objects_have_one_owner(plan: Plan) -> Iterator[RenderError]:
    """Two packages never install the same object, and a family is in one place."""
    try:
        check_owners(plan.answer.resolution, plan.before.packages)
    except RenderError as error:
        yield error


def check_handovers_have_consent(plan: Plan) -> Iterator[RenderError]:
    """A package that comes takes over an object of one that leaves only by a claim or a `moves` entry."""
    objects = plan.context.objects
    coming = _coming(plan)
    for package in _leaving(plan):
        if objects is None:
            return
        found = objects.find(package)
        if not isinstance(found, RenderError):
            yield from _compare(package, found, coming, plan)
        elif not plan.context.accept_unknown_objects:
            yield UnknownObjects(
                f"{package.source} leaves, and its installed objects are not known",
                why=[f"{package.source}@{package.digest} cannot be fetched any more", found.what],
                next=f"to lock without comparing them: {plan.context.call.again('--accept-unknown-objects')}",
            )


def check_folders_share_no_object(plan: Plan) -> Iterator[RenderError]:
    """A package installs no object that a package in another folder of the cluster installs."""
    objects = plan.context.objects
    for folder, package, rivals in _rivals(plan):
        if objects is None:
            return
        found = objects.find(package)
        if not isinstance(found, RenderError):
            yield from _compare_folders(rivals, package, found, folder)


def note_unknown_objects(plan: Plan) -> list[str]:
    """Return a note for each package whose installed objects could not be compared."""
    objects = plan.context.objects
    if objects is None:
        return []
    return [
        *(
            f"{package.source} leaves; its installed objects are not known and were not compared"
            for package in _leaving(plan)
            if isinstance(objects.find(package), RenderError)
        ),
        *(
            f"the installed objects of {package.source} in {folder} cannot be fetched and were not compared"
            for folder, package, _ in _rivals(plan)
            if isinstance(objects.find(package), RenderError)
        ),
    ]


def _coming(plan: Plan) -> list[Chosen]:
    packages, known = plan.answer.resolution.packages, plan.before.packages
    return [
        chosen
        for source, chosen in packages.items()
        if chosen.kind is not Kind.FUNCTION
        and (source not in known or known[source].digest != chosen.package.digest)
    ]


def _leaving(plan: Plan) -> list[LockedPackage]:
    """Return the packages that leave and have objects to compare; packages of other folders stay there."""
    if not _coming(plan):
        return []
    needed = {*plan.answer.resolution.packages, *plan.context.neighbours.provided}
    orphans = find_orphans(plan.before, needed, plan.answer.moves).values()
    return [p for p in orphans if p.kind is not Kind.FUNCTION and OWNED_KINDS & p.objects.keys()]


def _compare(
    package: LockedPackage, objects: set[Owned], coming: Sequence[Chosen], plan: Plan
) -> Iterator[HandoverWithoutConsent]:
    successors: dict[Source, list[str]] = {}
    for chosen in coming:
        shared = objects & owned_objects(chosen.package.objects)
        if shared:
            successors[chosen.source] = sorted(f"{kind} {name}" for _, kind, name in shared)
    if not successors:
        return
    shown = sorted({text for texts in successors.values() for text in texts})
    yield HandoverWithoutConsent(
        f"{', '.join(map(str, successors))} would take over what {package.source} installed",
        why=[
            f"both install {first_names(shown, _SHOWN)}",
            f"{package.source} {package.version} is installed, and nothing requires it any more",
        ],
        next=[
            "if that is what you want, say so in xplock.yaml:",
            *format_moves([Move(package.source, tuple(successors))]),
            f"if not, ask for {package.source} again, or retire it first",
            *retire_first([package.source], plan.answer.orphans or {package.source: package}, plan.context),
        ],
    )


def _rivals(plan: Plan) -> Iterator[tuple[str, LockedPackage, list[Chosen]]]:
    """Yield the packages of other folders that may install objects of packages here."""
    answer, neighbours = plan.answer, plan.context.neighbours
    own = [chosen for chosen in answer.resolution.packages.values() if chosen.kind is not Kind.FUNCTION]
    known = {*answer.resolution.packages, *answer.moves}
    for folder, package in _others((*neighbours.used, *neighbours.using), known):
        rivals = [chosen for chosen in own if _may_share(chosen, package)]
        if rivals:
            yield folder, package, rivals


def _others(locks: NamedLocks, known: Collection[Source]) -> Iterator[tuple[str, LockedPackage]]:
    for folder, lock in locks:
        for package in lock.in_order():
            # A package that moves to one here has consent.
            if package.kind is not Kind.FUNCTION and not {package.source, package.cluster_source} & {*known}:
                yield folder, package


def _may_share(chosen: Chosen, package: LockedPackage) -> bool:
    kinds = {item.kind for item in chosen.package.objects}
    if _COMPOSITION in kinds and _COMPOSITION in package.objects:
        return True
    groups = defined_groups(chosen.kind, chosen.package.objects)
    return bool(OWNED_KINDS & package.objects.keys() and {*groups} & {*package.groups})


def _compare_folders(
    rivals: Sequence[Chosen], package: LockedPackage, objects: set[Owned], folder: str
) -> Iterator[RivalPackages]:
    for chosen in rivals:
        shared = owned_objects(chosen.package.objects) & objects
        if not shared:
            continue
        names = sorted(f"{kind} {name}" for _, kind, name in shared)
        yield RivalPackages(
            f"{chosen.source} would install what {package.source} in {folder} installs",
            why=f"both install {first_names(names, _SHOWN)}, and a cluster has each of them once",
            next=[
                f"if {package.source} is its successor, drop it here, and say so in {SETTINGS_FILE}:",
                *format_moves([Move(chosen.source, (package.source,))]),
                f"if it is the other way round, ask for it in {folder}, and make the move there",
            ],
        )


def count_unclaimed(lock: Lock, plan: Plan) -> Lock:
    """For each deactivated package, count the objects that no active package installs."""
    objects = plan.context.objects
    if not lock.deactivated or objects is None:
        return lock
    packages = plan.answer.resolution.packages
    chosen = [one for one in packages.values() if one.kind is not Kind.FUNCTION]
    claimed = {item for one in chosen for item in owned_objects(one.package.objects)}
    # Orphans are no part of the answer; they and provided packages keep what they installed.
    orphans = [package for source, package in lock.packages.items() if source not in packages]
    others: list[Target] = [*orphans, *lock.provided.values()]
    for other in others:
        found = objects.find(other) if other.kind is not Kind.FUNCTION else set()
        claimed |= set() if isinstance(found, RenderError) else found
    counted = {source: _count(package, claimed, objects) for source, package in lock.deactivated.items()}
    return replace(lock, deactivated=counted)


def note_unclaimed(lock: Lock) -> list[str]:
    """Return a note for each deactivated package with objects that no active package installs."""
    return [
        f"{package.cluster_source} is deactivated, and {' and '.join(map(str, package.replaced_by))} took over all but "
        f"{format_counts(package.unclaimed)}: retiring it deletes the rest, with every resource of such a kind"
        for package in lock.deactivated.values()
        if package.unclaimed
    ]


def format_counts(counts: Mapping[str, int]) -> str:
    """Return numbers of kinds in one text."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def _count(package: LockedPackage, claimed: set[Owned], objects: InstalledObjects) -> LockedPackage:
    found = objects.find(package)
    if isinstance(found, RenderError):
        # The number in the lock before stays.
        return package
    left = Counter(kind for _, kind, _ in found - claimed)
    return replace(package, unclaimed=dict(sorted(left.items())))
