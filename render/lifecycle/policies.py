"""What to say about policies after a lock was made: versions that were passed over, and warnings."""

from collections.abc import Iterator

from render.lifecycle.states import Plan
from render.resolve.model import Chosen
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
