"""Packages that say they replace others: which of these claims count, under rules that keep strangers from taking over."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from render.errors import Unsatisfiable
from render.moves import Consent, Move, format_moves
from render.packages import Kind
from render.references import PartialSource, Source
from render.resolve.model import Resolution
from render.texts import linked

_NOWHERE: Mapping[Source, str] = MappingProxyType({})


class ClaimOnRoot(Unsatisfiable):
    """A package that claims to replace one that the user asks for."""


class TwoClaimants(Unsatisfiable):
    """Two packages that claim to replace the same one."""


class CircularClaims(Unsatisfiable):
    """Packages that claim to replace each other."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What packages of an answer say that they replace."""

    # Those that count, by the source that is replaced.
    moves: Mapping[Source, Move]
    # Why others do not.
    notes: tuple[str, ...] = ()


def find_claims(
    resolution: Resolution,
    installed: Mapping[Source, Kind],
    moved: Collection[Source],
    elsewhere: Mapping[Source, str] = _NOWHERE,
) -> Claims:
    """Judge the claims about packages that are installed or needed; what the user has moved is decided already.

    `elsewhere` tells which packages other folders provide.
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


def _claims(resolution: Resolution) -> Iterator[tuple[Source, Source]]:
    for source, chosen in resolution.packages.items():
        for replaced in chosen.package.metadata.replaces:
            yield source, replaced.complete(source) if isinstance(replaced, PartialSource) else replaced


def _kinds_of_needed(resolution: Resolution) -> dict[Source, Kind | None]:
    """Return every source that somebody needs by its own name, with its kind as far as it is known."""
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
    # Whoever is asked for by name, or publishes both, may say so; anybody else could take over what is not theirs.
    if claimant not in asked and claimant.home != replaced.home:
        return "you do not ask for it, and it comes from another organisation"
    return ""


def _without_chains(found: Mapping[Source, set[Source]]) -> dict[Source, set[Source]]:
    """Drop the claims of packages that are themselves replaced."""
    counting: dict[Source, set[Source]] = {}
    # Claimants come before what they claim, so it is known of each whether its own claims count.
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
                next=f"ask for {claimant} alone, or drop what brings it",
            )
