"""What is fixed about a definition: its scope, names, claim and enforced Composition, and how versions are converted."""

import json
from collections.abc import Iterator, Mapping

from render.definitions.findings import Difference, differ
from render.definitions.outcomes import is_plain, refused_at_once, refused_later
from render.definitions.rules import Risk
from render.definitions.schemas.nodes import show
from render.lean import Any
from render.xpkg.definitions import XRD, Definition

_XRD_V2 = "apiextensions.crossplane.io/v2"
_LEGACY = "LegacyCluster"
# Names that the API server never lets change.
_OF_EVERY_CRD = ("group", "kind", "plural")
_LEGACY_FIELDS = ("claimNames", "connectionSecretKeys")


def compare_fixed(old: Definition, new: Definition) -> Iterator[Difference]:
    """Compare what the API server or Crossplane never lets change, and the conversion of versions."""
    is_xrd = old.item.kind == new.item.kind == XRD
    if old.scope != new.scope:
        detail = refused_at_once(new)
        if old.item.api_version != new.item.api_version and is_xrd:
            detail = f"the default of {new.item.api_version} where it names none; {detail}"
        yield differ("scope", before=old.scope, after=new.scope, detail=detail)
    yield from _compare_names(old, new)
    if is_xrd:
        yield from _compare_claims(old, new)
        yield from _compare_enforced(old, new)
        yield from _find_legacy_fields(old, new)
    if old.conversion != new.conversion:
        yield differ("conversion", Risk.NOTE, before=old.conversion, after=new.conversion)


def _compare_names(old: Definition, new: Definition) -> Iterator[Difference]:
    before, after = _names(old), _names(new)
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    # A CRD may get other short names and categories; an XRD and a ManagedResourceDefinition may not.
    fixed = [name for name in _OF_EVERY_CRD if name in changed]
    if not changed or (not fixed and new.item.kind != XRD and is_plain(new)):
        return
    shown = [_show(one, fixed or sorted(changed)) for one in (before, after)]
    yield differ("names", before=shown[0], after=shown[1], detail=_refused_names(old, new, fixed))


def _names(definition: Definition) -> Mapping[str, Any]:
    names = json.loads(definition.fixed.get("names", "{}"))
    known = {"group": definition.group, "kind": definition.kind, "plural": definition.plural}
    return {**names, **known} if isinstance(names, dict) else known


def _show(names: Mapping[str, Any], keys: list[str]) -> str:
    return ", ".join(f"{key} {show(names[key])}" for key in keys if key in names)


def _refused_names(old: Definition, new: Definition, fixed: list[str]) -> str:
    is_xrd = new.item.kind == XRD
    if not fixed and not is_xrd:
        return f"since Crossplane v2.0 {refused_at_once(new)}; before, it harms nothing"
    # What was none before becomes a new ManagedResourceDefinition, and only the CRD below it is refused.
    return refused_later(new) if is_plain(old) and not is_plain(new) else refused_at_once(new)


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
