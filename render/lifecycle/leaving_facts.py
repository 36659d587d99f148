"""The facts of leaving packages: they are not resolved again, so their bytes show what a lock has to say about them."""

from concurrent.futures import ThreadPoolExecutor

from render.errors import Differs, RenderError
from render.lean import replace
from render.lifecycle.claims_made import is_claimed
from render.limits import Limits
from render.lock.candidates import lock_dependencies
from render.lock.derived.pins import as_deactivated
from render.lock.freshness import unmet_dependencies
from render.lock.model import Lock, LockedPackage, Replaced, State
from render.packages import count_kinds, defined_groups, digest_objects
from render.references import Reference
from render.resolve.edges import dependency_edges
from render.resolve.model import Catalog


class EditedFacts(Differs):
    """A lock that contradicts the bytes of a leaving package in a way that cannot be repaired."""

    def __init__(self, what: str, why: list[str]) -> None:
        super().__init__(
            what,
            why=[*why, "the lock was edited, or merged into something else"],
            next="restore the lock from Git, and lock again",
        )


def correct_leaving(lock: Lock, catalog: Catalog, limits: Limits) -> Lock:
    """Return a lock whose leaving packages have the facts of their bytes; bytes that cannot be had change nothing."""
    leaving = [package for package in lock.installed() if package.state is not State.WANTED]
    if not leaving:
        return lock
    with ThreadPoolExecutor(limits.parallel, thread_name_prefix="xplock-leaving") as pool:
        found = list(pool.map(lambda package: _correct(package, catalog), leaving))
    packages = {one.source: one for one in found if one.state is State.ORPHANED}
    deactivated = {one.cluster_source: one for one in found if one.state is State.DEACTIVATED}
    corrected = replace(lock, packages={**lock.packages, **packages}, deactivated=deactivated)
    known = unmet_dependencies(lock)
    unmet = [problem for problem in unmet_dependencies(corrected) if problem not in known]
    if unmet:
        raise EditedFacts("the lock lacks what a leaving package needs", unmet)
    return corrected


def _correct(locked: LockedPackage, catalog: Catalog) -> LockedPackage:
    known = {one.source: one for one in locked.replaces}
    locked = replace(locked, replaces=tuple(known[source] for source in sorted(known)))
    if locked.state is State.DEACTIVATED:
        locked = as_deactivated(locked)
    try:
        package = catalog.package(Reference(locked.source, digest=locked.digest))
    except RenderError:
        # It may be gone from its registry for good, and `verify` reports that.
        return locked
    metadata, objects = package.metadata, package.objects
    if metadata.kind is not locked.kind:
        why = f"locked is a {locked.kind}, its bytes are a {metadata.kind}"
        raise EditedFacts(f"{locked.source} {locked.version} is leaving, and has another kind", [why])
    needs = lock_dependencies(dependency_edges(locked.source, package, complete=True))
    return replace(
        locked,
        dependencies=needs if locked.state is State.ORPHANED else (),
        objects=count_kinds(objects),
        objects_digest=digest_objects(objects),
        definitions_digest=package.definitions_digest,
        groups=defined_groups(metadata.kind, objects),
        family=metadata.family,
        crossplane=metadata.crossplane.text if metadata.crossplane else None,
        replaces=tuple(one for one in locked.replaces if _is_believed(one, locked, catalog)),
    )


def _is_believed(one: Replaced, locked: LockedPackage, catalog: Catalog) -> bool:
    # An orphan is judged with the packages of the plan, which is an error where its claim is needed.
    return locked.state is State.ORPHANED or is_claimed(one, locked, locked.kept_pins, catalog)
