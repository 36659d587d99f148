"""Whether anything changes hands that nobody agreed to hand over."""

from collections.abc import Collection, Iterator, Sequence

from render.errors import RenderError, Unsatisfiable
from render.lock.leaving import find_orphans
from render.lock.model import Lock, LockedPackage
from render.lock.settling import Settled
from render.moves import Move, format_moves
from render.packages import Kind, Package
from render.references import Reference, Source
from render.resolve.model import Catalog, Chosen
from render.resolve.owners import OWNED_KINDS, owned_objects
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
