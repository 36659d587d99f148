"""Moves: each one that a lock records has the consent of the settings, or of a claim that may count."""

from collections.abc import Collection, Iterator, Mapping

from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Replaced, State
from render.moves import Consent, Move, Strategy, follow_moves
from render.references import Source
from render.settings import Settings


def check_moves(graph: LockGraph, asked: Collection[Source], settings: Settings) -> Iterator[str]:
    """Yield the moves that a lock records without consent, and deactivated packages without a successor."""
    for package, one in unagreed_records(graph.lock, asked, follow_moves(settings.moves)):
        yield f"{package.source} replaces {one.source} in the lock, and {missing_consent(one)}"
    for source, package in graph.lock.deactivated.items():
        for successor in graph.records.get(source, ()):
            record = successor.replaced
            if record is not None and record.strategy is not Strategy.DEACTIVATE:
                yield f"{source} is deactivated, and {successor.package.source} replaced it by {record.strategy}"
            if successor.package.kind is not package.kind:
                other = successor.package
                yield f"{source} is a {package.kind}, and {other.source}, a {other.kind}, replaced it"


def unagreed_records(
    lock: Lock, asked: Collection[Source], moves: Mapping[Source, Move]
) -> Iterator[tuple[LockedPackage, Replaced]]:
    """Yield the records of wanted packages that have no consent; those of an orphan are history."""
    for package in lock.packages.values():
        if package.state is State.WANTED:
            for one in package.replaces:
                if not _has_consent(one, package.source, asked, moves):
                    yield package, one


def missing_consent(one: Replaced) -> str:
    """Return which consent a record lacks."""
    if one.consent is Consent.MOVES:
        return "no `moves` entry of the settings says so"
    return "its claim does not count: you do not ask for it, and it comes from another organisation"


def _has_consent(
    one: Replaced, source: Source, asked: Collection[Source], moves: Mapping[Source, Move]
) -> bool:
    if one.source in moves:
        return one.consent is Consent.MOVES and source in moves[one.source].targets
    return one.consent is Consent.CLAIM and may_claim(source, one.source, asked)


def may_claim(claimant: Source, replaced: Source, asked: Collection[Source]) -> bool:
    """Return whether a claim counts: any other package could take over foreign ones."""
    return claimant in asked or claimant.home == replaced.home
