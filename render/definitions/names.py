"""What is fixed about a definition: its scope, names, claim and enforced Composition, and how versions are converted."""

from collections.abc import Iterator

from render.definitions.findings import Difference, differ
from render.definitions.outcomes import refused_at_once, refused_later
from render.definitions.rules import Risk
from render.xpkg.definitions import XRD, Definition

_XRD_V2 = "apiextensions.crossplane.io/v2"
_LEGACY = "LegacyCluster"
_LEGACY_FIELDS = ("claimNames", "connectionSecretKeys")


def compare_fixed(old: Definition, new: Definition) -> Iterator[Difference]:
    """Compare what the API server or Crossplane never lets change, and the conversion of versions."""
    is_xrd = old.item.kind == new.item.kind == XRD
    refused = refused_at_once if is_xrd else refused_later
    if old.scope != new.scope:
        detail = refused(new)
        if old.item.api_version != new.item.api_version and is_xrd:
            detail = f"the default of {new.item.api_version} where it names none; {detail}"
        yield differ("scope", before=old.scope, after=new.scope, detail=detail)
    yield from _compare_names(old, new, refused(new))
    if is_xrd:
        yield from _compare_claims(old, new)
        yield from _compare_enforced(old, new)
        yield from _find_legacy_fields(old, new)
    if old.conversion != new.conversion:
        yield differ("conversion", Risk.NOTE, before=old.conversion, after=new.conversion)


def _compare_names(old: Definition, new: Definition, refused: str) -> Iterator[Difference]:
    if old.item.kind == new.item.kind == XRD:
        before, after = old.fixed.get("names", ""), new.fixed.get("names", "")
        if before != after:
            yield differ("names", before=before, after=after, detail=refused)
        return
    for name in ("group", "kind", "plural"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield differ("names", before=f"{name} {before}", after=f"{name} {after}", detail=refused)


def _compare_claims(old: Definition, new: Definition) -> Iterator[Difference]:
    before, after = old.fixed.get("claimNames"), new.fixed.get("claimNames")
    if before is None or before == after:
        return
    if after is None:
        detail = "the claims are no longer served"
        yield differ("claim-names", Risk.WRITERS, before=before, detail=detail)
    else:
        yield differ("claim-names", before=before, after=after, detail=refused_at_once(new))


def _compare_enforced(old: Definition, new: Definition) -> Iterator[Difference]:
    before, after = old.fixed.get("enforcedCompositionRef"), new.fixed.get("enforcedCompositionRef")
    if before == after:
        return
    if before is None or after is None:
        risk = Risk.NOTE if before is None else Risk.WRITERS
        yield differ("enforced-composition", risk, before=before or "", after=after or "")
    else:
        yield differ("enforced-composition", before=before, after=after, detail=refused_at_once(new))


def _find_legacy_fields(old: Definition, new: Definition) -> Iterator[Difference]:
    for name in _LEGACY_FIELDS:
        if _is_forbidden(new, name) and not _is_forbidden(old, name):
            where = f"{new.item.api_version} with scope {new.scope}"
            yield differ(
                "legacy-fields",
                after=name,
                path=f".spec.{name}",
                detail=f"not allowed in {where}; {refused_at_once(new)}",
            )


def _is_forbidden(definition: Definition, field: str) -> bool:
    may_have = definition.item.api_version != _XRD_V2 and definition.scope == _LEGACY
    return field in definition.fixed and not may_have
