"""Digests of definitions, which locks of an earlier xplock do not have."""

from render.lean import replace
from render.lock.model import Lock, LockedPackage


def keep_without_digests(before: Lock, after: Lock) -> Lock:
    """Return the lock before, if all that it lacks are digests of definitions.

    They follow from digests that it has, so a newer xplock alone makes no lock stale. They are added as soon as the
    file is written for another reason.
    """
    known = {_place(one): one for one in before.installed()}

    def without(package: LockedPackage) -> LockedPackage:
        old = known.get(_place(package))
        lacks = old is not None and old.digest == package.digest and not old.definitions_digest
        return replace(package, definitions_digest="") if lacks else package

    stripped = replace(
        after,
        packages={source: without(one) for source, one in after.packages.items()},
        deactivated={source: without(one) for source, one in after.deactivated.items()},
    )
    return before if stripped == before else after


def _place(package: LockedPackage) -> object:
    return package.state, package.cluster_source
