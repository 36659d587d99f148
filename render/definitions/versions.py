"""The versions of a definition: which are gone, unserved or deprecated, and which one objects are stored in."""

from collections.abc import Iterator, Mapping

from render.definitions.findings import Difference, differ
from render.definitions.outcomes import refused_later
from render.definitions.rules import Risk
from render.xpkg.definitions import DefinedVersion, Definition

_CHECK = "the API server refuses it if status.storedVersions of the CRD still has it: check there"
_FIRST_READ = "every stored object needs the webhook of the new version from its first read on"
_WAY_BACK = "after the first write, the API server refuses the old package"


def compare_versions(old: Definition, new: Definition, stored: frozenset[str] | None) -> Iterator[Difference]:
    """Compare the versions of a definition; `stored` are those that the cluster stores objects in, if known."""
    before = {one.name: one for one in old.versions}
    after = {one.name: one for one in new.versions}
    yield from _gone(old, before, after, stored)
    for name in before.keys() & after.keys():
        yield from _compare_version(before[name], after[name])
    yield from _compare_storage(old, new, before, after)


def storage_version(definition: Definition) -> str:
    """Return the version that objects are stored in."""
    return next((one.name for one in definition.versions if one.storage), "")


def _gone(
    old: Definition,
    before: Mapping[str, DefinedVersion],
    after: Mapping[str, DefinedVersion],
    stored: frozenset[str] | None,
) -> Iterator[Difference]:
    known = frozenset({storage_version(old)} - {""}) if stored is None else stored
    for name in known - after.keys():
        yield differ("stored-version-gone", version=name, before=name, detail=refused_later(old))
    for name in before.keys() - after.keys() - known:
        risk = Risk.WRITERS if before[name].served else Risk.NOTE
        if stored is None or before[name].served:
            detail = _CHECK if stored is None else ""
            yield differ("version-gone", risk, version=name, before=name, detail=detail)


def _compare_version(old: DefinedVersion, new: DefinedVersion) -> Iterator[Difference]:
    if not old.served:
        return
    if not new.served:
        yield differ("version-unserved", version=old.name, before="served", after="not served")
        return
    if new.deprecated and not old.deprecated:
        yield differ("version-deprecated", version=old.name)
    for name in old.subresources:
        if name not in new.subresources:
            yield differ("subresource", version=old.name, before=name)


def _compare_storage(
    old: Definition,
    new: Definition,
    before: Mapping[str, DefinedVersion],
    after: Mapping[str, DefinedVersion],
) -> Iterator[Difference]:
    then, now = storage_version(old), storage_version(new)
    if not then or not now or then == now:
        return
    if then in after:
        detail = _FIRST_READ if new.conversion == "Webhook" else ""
        yield differ("storage-moved", version=now, before=then, after=now, detail=detail)
    if now not in before:
        yield differ("no-way-back", version=now, before=then, after=now, detail=_WAY_BACK)
