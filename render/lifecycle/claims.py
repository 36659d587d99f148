"""Claims and moves: which of them count. The rules of consent keep a package from taking over foreign ones."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from render.errors import RenderError, Unsatisfiable
from render.lifecycle.carry_over import carry_pins
from render.lifecycle.claims_made import claims_of, is_claimed
from render.lifecycle.states import Plan
from render.lock.derived.moves import may_claim, missing_consent, unagreed_records
from render.lock.graph import LockGraph
from render.lock.model import KeptPin, Lock, LockedPackage, Replaced, pin_places
from render.moves import Consent, Move, follow_moves, format_moves
from render.packages import Kind
from render.references import Source
from render.resolve.model import Resolution
from render.settings import SETTINGS_FILE, PinMode
from render.texts import linked

_NOWHERE: Mapping[Source, str] = MappingProxyType({})


class ImpossibleMove(Unsatisfiable):
    """A move that cannot be done, or not in the way that was asked for."""


class UnneededMove(Unsatisfiable):
    """A move of a source that is neither installed nor needed."""


class ClaimOnRoot(Unsatisfiable):
    """A package that claims to replace one that the user asks for."""


class TwoClaimants(Unsatisfiable):
    """Two packages that claim to replace the same one."""


class CircularClaims(Unsatisfiable):
    """Packages that claim to replace each other."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of the packages of an answer."""

    # Those that count, by the source that is replaced.
    moves: Mapping[Source, Move]
    # Why the other claims do not count.
    notes: tuple[str, ...] = ()


def find_claims(
    resolution: Resolution,
    installed: Mapping[Source, Kind],
    moved: Collection[Source],
    elsewhere: Mapping[Source, str] = _NOWHERE,
) -> Claims:
    """Judge the claims on packages that are installed or needed; sources with a `moves` entry are decided already.

    `elsewhere` holds the packages that other folders provide.
    """
    asked = {root.source: root.place for root in resolution.roots}
    known = _kinds_of_needed(resolution) | dict(installed)
    found: dict[Source, set[Source]] = defaultdict(set)
    notes: list[str] = []
    for claimant, replaced in _claims(resolution):
        if replaced == claimant:
            notes.append(f"{claimant} says that it replaces itself, without effect")
            continue
        if replaced not in known or replaced in moved:
            continue
        problem = (
            f"{elsewhere[replaced]} provides that one"
            if replaced in elsewhere
            else _problem(resolution, claimant, replaced, known[replaced], asked)
        )
        if problem:
            notes.append(f"{claimant} says that it replaces {replaced}, without effect: {problem}")
        else:
            found[replaced].add(claimant)
    counting = _without_chains(found)
    _refuse(counting, asked)
    moves = {
        replaced: Move(replaced, tuple(claimants), Consent.CLAIM, place=f"a claim of {min(claimants)}")
        for replaced, claimants in sorted(counting.items())
    }
    return Claims(moves, tuple(notes))


class MoveWithoutConsent(Unsatisfiable):
    """A move that the lock records and still needs, and whose consent is gone."""

    def __init__(self, package: LockedPackage, one: Replaced, missing: str) -> None:
        super().__init__(
            f"{package.source} replaces {one.source} in the lock, and {missing}",
            why="the move is still needed: the replaced package is installed, a package depends on it, or its pin is kept",
            next=[
                f"write it in {SETTINGS_FILE}:",
                *format_moves([Move(one.source, (package.source,))]),
                f"or undo it with the opposite move, from {package.source} to {one.source}",
                "or restore the lock from Git, if the move is not meant",
            ],
        )


def recorded_moves(lock: Lock) -> Iterator[Move]:
    """Yield the moves that a lock records."""
    graph = LockGraph(lock)
    known = {s: one.replaced for s, found in graph.records.items() for one in found if one.replaced}
    for source, targets in graph.successors.items():
        if source in known:
            yield Move(source, targets, known[source].consent, place="the lock")
    for source, package in lock.deactivated.items():
        # Its successor is in another folder.
        if source not in known:
            yield Move(source, package.replaced_by, place="the lock")


def installed_kinds(lock: Lock) -> dict[Source, Kind]:
    """Return the kinds of all installed packages, by the sources that the cluster knows."""
    packages = (*lock.deactivated.values(), *lock.packages.values())
    return {package.cluster_source: package.kind for package in packages}


def kind_errors(move: Move, kind: str, others: Collection[str]) -> Iterator[ImpossibleMove]:
    """Yield an error for a move from one kind of package to another."""
    wrong = sorted({*others} - {kind})
    if wrong:
        yield ImpossibleMove(
            f"{move.source} cannot become {' and '.join(map(str, move.targets))}",
            why=f"{move.place}: it is a {kind}, and not a {' or '.join(wrong)}",
            next="correct the move",
        )


def check_moves_are_needed(plan: Plan) -> Iterator[RenderError]:
    """A `moves` entry names a source that is installed, needed or replaced."""
    resolution, before, entries = plan.answer.resolution, plan.before, plan.answer.entries
    edges = [edge for chosen in resolution.packages.values() for edge in chosen.dependencies]
    known = {*plan.context.neighbours.needed_by_using, *(edge.instead_of or edge.source for edge in edges)}
    known |= installed_kinds(before).keys() | before.packages.keys() | before.provided.keys()
    known |= {move.source for move in recorded_moves(before)}
    # The middle of a chain is known by the move that ends there.
    known |= {target for move in entries for target in move.targets}
    for move in sorted(entries, key=lambda move: move.source):
        chosen = [resolution.packages[target] for target in move.targets if target in resolution.packages]
        # Nothing is recorded of a Function, since nothing is handed over; its move stays true when it is gone.
        if move.source not in known and not any(one.kind is Kind.FUNCTION for one in chosen):
            yield UnneededMove(
                f"{move.source} moves, and no package has or needs it",
                why=f"{move.place} says that it has moved",
                next="remove the entry, or correct its source",
            )


def check_moves_have_consent(plan: Plan) -> Iterator[RenderError]:
    """A move that an earlier lock made and that is still needed has an entry in the settings, or a claim that counts."""
    named = {one.named for needs in LockGraph(plan.after).needs.values() for one in needs}
    pinned = {
        (source, place)
        for source, (after, pins) in _pins(plan).items()
        for pin in pins
        for place in pin_places(after, pin)
        if plan.context.settings.pin is PinMode.DIGEST
    }
    for package, one, missing in _unagreed(plan):
        needed = one.source in plan.after.deactivated or one.source in named
        if needed or package.installed_as == one.source or (package.source, one.source) in pinned:
            yield MoveWithoutConsent(package, one, missing)


def agreed_records(plan: Plan) -> dict[Source, tuple[Replaced, ...]]:
    """Return what each active package has replaced, without the moves that have no consent any more."""
    gone = {(package.source, one.source) for package, one, _ in _unagreed(plan)}
    return {
        source: tuple(one for one in package.replaces if (source, one.source) not in gone)
        for source, package in plan.after.packages.items()
    }


def _unagreed(plan: Plan) -> Iterator[tuple[LockedPackage, Replaced, str]]:
    """Yield the records of moves to which no one agrees, and why; the bytes of a package have to make its claims."""
    moves = follow_moves(plan.answer.entries)
    for package, one in unagreed_records(plan.after, plan.draft.roots.keys(), moves):
        yield package, one, missing_consent(one)
    if plan.context.objects is None:
        return
    for package, pins in _pins(plan).values():
        for one in package.replaces:
            if not is_claimed(one, package, pins, plan.context.objects.catalog):
                yield package, one, "its bytes make no such claim: was the lock edited?"


def _pins(plan: Plan) -> dict[Source, tuple[LockedPackage, tuple[KeptPin, ...]]]:
    """Return every package that is active after, with the pins that it keeps."""
    return {after.source: (after, carry_pins(before, after)) for before, after in plan.active()}


def check_moves_keep_the_kind(plan: Plan) -> Iterator[RenderError]:
    """A move leads from a package to one of the same kind, also where only dependants know the kind of the first."""
    packages = plan.answer.resolution.packages
    kinds: dict[Source, str] = {
        edge.instead_of: edge.dependency.kind
        for chosen in packages.values()
        for edge in chosen.dependencies
        if edge.instead_of and edge.dependency and edge.dependency.kind
    }
    kinds |= {source: str(chosen.kind) for source, chosen in packages.items()}
    kinds |= {source: str(kind) for source, kind in installed_kinds(plan.before).items()}
    for source, move in {**plan.answer.moves, **plan.answer.separate}.items():
        if source in kinds:
            new = {packages[target].kind for target in move.targets if target in packages}
            yield from kind_errors(move, kinds[source], new)


def check_moved_functions_are_asked_for(plan: Plan) -> Iterator[RenderError]:
    """A Function that keeps its own object moves to a package that something asks for."""
    for source, move in sorted(plan.answer.separate.items()):
        missing = [target for target in move.targets if target not in plan.answer.resolution.packages]
        if missing:
            yield ImpossibleMove(
                f"{source} moves to {' and '.join(map(str, missing))}, which nothing asks for",
                why=f"{move.place} says so",
                next=f"ask for {missing[0]} in a manifest, or remove the move",
            )


def _claims(resolution: Resolution) -> Iterator[tuple[Source, Source]]:
    for source, chosen in resolution.packages.items():
        for replaced in sorted(claims_of(chosen.package)):
            yield source, replaced


def _kinds_of_needed(resolution: Resolution) -> dict[Source, Kind | None]:
    """Return every source that a dependency names, with its kind as far as it is known."""
    kinds: dict[Source, Kind | None] = {}
    for chosen in resolution.packages.values():
        for edge in chosen.dependencies:
            said = edge.dependency.kind if edge.dependency else None
            kinds[edge.instead_of or edge.source] = Kind(said) if said in tuple(Kind) else None
    return kinds | {source: chosen.kind for source, chosen in resolution.packages.items()}


def _problem(
    resolution: Resolution,
    claimant: Source,
    replaced: Source,
    kind: Kind | None,
    asked: Collection[Source],
) -> str:
    own = resolution.packages[claimant].kind
    if kind not in (None, own):
        return f"one is a {own}, the other a {kind}"
    if not may_claim(claimant, replaced, asked):
        return "you do not ask for it, and it comes from another organisation"
    return ""


def _without_chains(found: Mapping[Source, set[Source]]) -> dict[Source, set[Source]]:
    """Drop the claims of packages that are themselves replaced."""
    counting: dict[Source, set[Source]] = {}
    # Claimants come before the sources that they claim, so it is known whether their own claims count.
    for source in _claimants_first(found):
        left = found.get(source, set()) - counting.keys()
        if left:
            counting[source] = left
    return counting


def _claimants_first(found: Mapping[Source, set[Source]]) -> list[Source]:
    try:
        return list(TopologicalSorter({one: sorted(found[one]) for one in sorted(found)}).static_order())
    except CycleError as error:
        raise CircularClaims(
            "packages say that they replace each other",
            why=linked(sorted(set(map(str, error.args[1]))), " and "),
            next="decide which one stays: drop the other, or write a `moves` entry in xplock.yaml",
        ) from None


def _refuse(counting: Mapping[Source, set[Source]], asked: Mapping[Source, str]) -> None:
    for replaced, claimants in counting.items():
        if len(claimants) > 1:
            raise TwoClaimants(
                f"{len(claimants)} packages say that they replace {replaced}",
                why=linked(sorted(map(str, claimants)), ", "),
                next=[
                    "drop all but one of them, or decide in xplock.yaml:",
                    *format_moves([Move(replaced, (min(claimants),))]),
                ],
            )
        if replaced in asked:
            (claimant,) = claimants
            raise ClaimOnRoot(
                f"{claimant} says that it replaces {replaced}, and you ask for both",
                why=f"{replaced} is asked for in {asked[replaced]}",
                next=f"ask for {claimant} alone, or drop the package that requires it",
            )
