"""A cluster → its diagnosis: every known state in order, causes first; what is left is quoted as unknown."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from render.live.doctor.case import Case
from render.live.doctor.control import find_controlled, find_foreign_revisions
from render.live.doctor.definitions import (
    find_conversion,
    find_deletions,
    find_inactive_kinds,
    find_refused,
)
from render.live.doctor.entering import (
    find_not_pulled,
    find_waiting,
    find_wrong_content,
    find_wrong_crossplane,
    shorten,
)
from render.live.doctor.intended import find_paused, find_switched_off, find_unused_configs
from render.live.doctor.lock_states import (
    find_broken,
    find_cycles,
    find_poisoned,
    find_stale,
    find_tagged,
)
from render.live.doctor.model import Diagnosis, Finding, State, Trouble
from render.live.doctor.resolving import (
    find_digests,
    find_outdated_news,
    find_taken_names,
    find_uncreated,
    find_unfit,
    find_wrong_versions,
)
from render.live.doctor.running import find_followers, find_runtime, find_silent, find_webhooks
from render.live.model import Cluster

Diagnoser = Callable[[Case], Iterable[Finding]]

# A package that is paused, off or being deleted says nothing new, so these come before those that read messages.
_IN_ORDER: Sequence[Diagnoser] = (
    find_poisoned,
    find_stale,
    find_broken,
    find_tagged,
    find_cycles,
    find_paused,
    find_deletions,
    find_not_pulled,
    find_wrong_crossplane,
    find_wrong_content,
    find_switched_off,
    find_taken_names,
    find_waiting,
    find_unfit,
    find_uncreated,
    find_outdated_news,
    find_digests,
    find_wrong_versions,
    find_foreign_revisions,
    find_controlled,
    find_refused,
    find_webhooks,
    find_runtime,
    find_followers,
    find_conversion,
    find_silent,
    find_unused_configs,
    find_inactive_kinds,
)


def diagnose(case: Case) -> Diagnosis:
    """Find what is stuck, and why."""
    found: list[Finding] = []
    for diagnoser in _IN_ORDER:
        for finding in diagnoser(case):
            case.take_out(finding)
            found.append(finding)
    found += _unknown(case)
    cluster = case.cluster
    in_order = sorted(found, key=lambda one: (not one.is_stuck, one.state.number, one.what))
    return Diagnosis(
        tuple(in_order),
        (*([] if case.complete else _missing_inputs(cluster)), *cluster.notes),
        len(cluster.packages),
        len(cluster.revisions),
    )


def _unknown(case: Case) -> Iterator[Finding]:
    """Yield what no state explains, one finding for each text."""
    texts: dict[str, list[Trouble]] = {}
    for trouble in case.open():
        texts.setdefault(trouble.message or trouble.reason or f"{trouble.type} is not True", []).append(
            trouble
        )
    for text, troubles in sorted(texts.items()):
        first = troubles[0]
        yield Finding(
            State.UNKNOWN,
            f"{first.object[0]}/{first.object[1]} is not well, and its message is unknown",
            (shorten(text),),
            first.object,
            then="xplock does not know this message; it is quoted as it is",
            objects=(first.package,),
            troubles=tuple(troubles),
        )


def _missing_inputs(cluster: Cluster) -> Iterator[str]:
    """Yield what cannot be seen because some kinds of objects were not given."""
    kinds = {one.kind for one in cluster.definitions}
    if cluster.lock is None:
        yield "without the Lock, dependencies are known from messages alone"
    if cluster.packages and not cluster.revisions:
        yield "without revisions, what packages say is all that is known"
    if "CustomResourceDefinition" not in kinds:
        yield "without CRDs, their owners, stored versions and deletions cannot be seen"
    if "ManagedResourceDefinition" not in kinds:
        yield "without MRDs, a refused or inactive kind cannot be seen"
    if not cluster.image_configs:
        yield "without ImageConfigs, one that is never applied cannot be seen"
    if not cluster.deployments and not cluster.pods:
        yield "without Deployments and Pods, why a package does not run cannot be seen"
