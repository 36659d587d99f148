"""Compositions: what they are for, and whether their XRD refers to that version."""

from collections.abc import Iterable, Iterator, Mapping

from render.definitions.findings import Difference, differ, make_finding
from render.definitions.index import BroughtComposition, Index
from render.definitions.model import Finding
from render.definitions.outcomes import UNHEALTHY
from render.definitions.pairs import CompositionPair, Pairing
from render.definitions.rules import RULES
from render.definitions.versions import storage_version
from render.lean import Any
from render.packages import PackagedObject
from render.xpkg.definitions import COMPOSITION, XRD, Composition, Definition

_GROUP = "apiextensions.crossplane.io/"


def compare_compositions(pairing: Pairing, own: Iterable[Composition] = ()) -> Iterator[Finding]:
    """Compare the Compositions of two locks, and the versions that they are for with those of their XRDs.

    `own` are Compositions that no package brings: they are the same before and after, and their XRDs need not be.
    """
    for pair in pairing.compositions():
        brought = pair.new or pair.old
        if brought is not None:
            yield from (make_finding(one, pair.old, pair.new, brought) for one in _compare(pair))
    yield from _compare_targets(pairing)
    for one in own:
        wanted = _find_wrong_target(one, pairing.new, pairing)
        if wanted and not _find_wrong_target(one, pairing.old, pairing):
            yield _own_finding(one, wanted)


def composition_of(value: Mapping[str, Any]) -> Composition | None:
    """Return what is known about an object, if it is a Composition."""
    texts = value.get("apiVersion"), value.get("kind"), _mapping(value.get("metadata")).get("name")
    target = _mapping(_mapping(value.get("spec")).get("compositeTypeRef"))
    api_version, kind = target.get("apiVersion"), target.get("kind")
    found = [text for text in (*texts, api_version, kind) if isinstance(text, str)]
    if len(found) < 5 or found[1] != COMPOSITION or not found[0].startswith(_GROUP):
        return None
    return Composition(PackagedObject(*found[:3]), *found[3:])


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
        wanted = _find_wrong_target(brought.item, pairing.new, pairing)
        if wanted and not (name in old and _find_wrong_target(old[name].item, pairing.old, pairing)):
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


def _find_wrong_target(composition: Composition, side: Index, pairing: Pairing) -> str:
    key = composition.composite_api_version.rpartition("/")[0], composition.composite_kind
    xrd = side.xrds.get(key) or pairing.settled(key[0]).xrds.get(key)
    return wrong_target(composition, xrd) if xrd else ""


def _own_finding(one: Composition, wanted: str) -> Finding:
    rule = RULES["composition-target"]
    return Finding(
        rule.name,
        rule.risk,
        one.item.name,
        one.item.kind,
        before=_target(one),
        after=wanted,
        detail="it is no part of a package: change it together with the upgrade",
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
