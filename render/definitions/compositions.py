"""Compositions: what they are for, and whether their XRD refers to that version."""

from collections.abc import Iterator, Mapping

from render.definitions.findings import Difference, differ, make_finding
from render.definitions.index import BroughtComposition, Index
from render.definitions.model import Finding
from render.definitions.outcomes import UNHEALTHY
from render.definitions.pairs import CompositionPair, Pairing
from render.definitions.versions import storage_version
from render.xpkg.definitions import XRD, Composition, Definition


def compare_compositions(pairing: Pairing) -> Iterator[Finding]:
    """Compare the Compositions of two locks, and the versions that they are for with those of their XRDs."""
    for pair in pairing.compositions():
        brought = pair.new or pair.old
        if brought is not None:
            yield from (make_finding(one, pair.old, pair.new, brought) for one in _compare(pair))
    yield from _compare_targets(pairing)


def wrong_target(composition: Composition, xrd: Definition) -> str:
    """Return the version that an XRD refers to, if a Composition for its kind is for another one."""
    wanted = storage_version(xrd)
    return wanted if wanted and composition.composite_api_version.rpartition("/")[2] != wanted else ""


def _compare(pair: CompositionPair) -> Iterator[Difference]:
    old, new = pair.old, pair.new
    if old is None:
        return
    if new is None:
        if old.bringer.is_active:
            yield differ("composition-gone")
        return
    before, after = _target(old.item), _target(new.item)
    if before != after:
        yield differ("composition-type", before=before, after=after, detail=UNHEALTHY)
    elif old.item.digest != new.item.digest:
        yield differ("composition-changed")


def _target(composition: Composition) -> str:
    return f"{composition.composite_api_version} {composition.composite_kind}"


def _compare_targets(pairing: Pairing) -> Iterator[Finding]:
    """Find the Compositions that are for another version than their XRD refers to, and were not before."""
    settled = _settled_compositions(pairing)
    old, new = {**settled, **pairing.old.compositions}, {**settled, **pairing.new.compositions}
    for name in sorted(new):
        brought = new[name]
        wanted = _wrong_target(brought, pairing.new, pairing)
        if wanted and not (name in old and _wrong_target(old[name], pairing.old, pairing)):
            target = _target(brought.item)
            yield make_finding(
                differ("composition-target", before=target, after=wanted), old.get(name), brought, brought
            )


def _settled_compositions(pairing: Pairing) -> Mapping[str, BroughtComposition]:
    """Return the Compositions of unchanged packages, if an XRD refers to another version than before."""
    moved = any(
        pair.old and pair.new and storage_version(pair.old.item) != storage_version(pair.new.item)
        for pair in pairing.definitions()
        if pair.new and pair.new.item.item.kind == XRD
    )
    return pairing.settled_with_compositions().compositions if moved else {}


def _wrong_target(brought: BroughtComposition, side: Index, pairing: Pairing) -> str:
    composition = brought.item
    key = composition.composite_api_version.rpartition("/")[0], composition.composite_kind
    xrd = side.xrds.get(key) or pairing.settled(key[0]).xrds.get(key)
    return wrong_target(composition, xrd) if xrd else ""
