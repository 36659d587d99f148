"""Policies after a lock was made: the evidence about what is leaving, versions that were passed over, and warnings."""

from collections.abc import Iterator

from render.errors import RenderError
from render.lean import replace
from render.lifecycle.states import Plan
from render.lock.model import Lock, LockedPackage, State
from render.policy.judge import Judge
from render.references import Reference
from render.resolve.model import Catalog, Chosen
from render.versions.version import parse_candidate


def note_policies(plan: Plan) -> Iterator[str]:
    """Yield warnings about packages that are allowed, and the versions that policies held back."""
    judge = plan.context.judge
    for chosen in plan.answer.resolution.packages.values():
        yield from map(str, judge.warnings(chosen.candidate.tag, chosen.package))
        yield from _held_back(plan, chosen)


def _held_back(plan: Plan, chosen: Chosen) -> Iterator[str]:
    """Yield a note for the locked version if it was refused, or else for the highest one above the chosen one."""
    refused = {
        text: found for (source, text), found in plan.context.judge.refused.items() if source == chosen.source
    }
    before = plan.before.packages.get(chosen.source)
    if before and (before.version_tag or before.digest) in refused:
        reasons = "; ".join(map(str, refused[before.version_tag or before.digest]))
        yield f"{chosen.source} changes from {before.version_tag or before.digest} to {chosen.candidate}: {reasons}"
        return
    versions = sorted((version, text) for text in refused if (version := parse_candidate(text)))
    if versions and chosen.candidate.version and versions[-1][0] > chosen.candidate.version:
        reasons = "; ".join(map(str, refused[versions[-1][1]]))
        yield f"{chosen.source} stays below {versions[-1][1]}: {reasons}"


def record_leaving(lock: Lock, judge: Judge, catalog: Catalog) -> Lock:
    """Return a lock with what the operator's policy asks about packages that are leaving: they are installed as well."""
    if not judge.of_operators.needs_evidence:
        return lock
    packages = {source: _examined(one, judge, catalog) for source, one in lock.packages.items()}
    deactivated = {source: _examined(one, judge, catalog) for source, one in lock.deactivated.items()}
    return replace(lock, packages=packages, deactivated=deactivated)


def _examined(locked: LockedPackage, judge: Judge, catalog: Catalog) -> LockedPackage:
    if locked.state is State.WANTED:
        return locked
    try:
        package = catalog.package(Reference(locked.source, digest=locked.digest))
        return replace(locked, **judge.leaving_fields(package))
    except RenderError:
        # It may be gone from its registry for good; what is known of it stays.
        return locked
