"""A folder of real packages through random edits, each locked, pushed and synced: the cluster is what is locked, always."""

import os
import time
from collections import Counter
from collections.abc import Callable

import pytest
from rig.edits.owner import KINDS, Step
from rig.edits.real_packages import read_offer
from rig.live.platform import LiveCluster
from rig.live.random_edits import Soak

# With this one, so few edits do everything that edits can do, by every strategy, and ask for nothing again whose kinds
# were deleted: Crossplane takes two minutes to define those anew (measured).
SEED = int(os.environ.get("XPLOCK_SOAK_SEED", "15"))
EDITS = int(os.environ.get("XPLOCK_SOAK_EDITS", "20"))
# Some steps are refused, change no root, or let go of packages; two for an edit are usual.
MOST_STEPS = 5 * EDITS


@pytest.mark.parametrize("seed", [pytest.param(SEED, id=f"seed {SEED}, {EDITS} edits")])
def test_after_every_edit_the_cluster_is_what_is_locked(
    cluster: LiveCluster, seed: int, record_property: Callable[[str, object], None]
) -> None:
    soak = Soak(cluster, read_offer(), seed)

    steps: list[Step] = []
    while edits_in(steps) < EDITS and len(steps) < MOST_STEPS:
        started = time.monotonic()
        steps.append(soak.step(len(steps)))
        print(f"seed {seed}, {steps[-1]} ({time.monotonic() - started:.1f} s)")

    done = Counter(kind for step in steps for kind in step.kinds)
    record_property(
        "soak", f"seed {seed}, {edits_in(steps)} edits in {len(steps)} steps: {told(steps, done)}"
    )
    assert edits_in(steps) == EDITS
    assert done.keys() == set(KINDS)


def edits_in(steps: list[Step]) -> int:
    """Return how many steps changed roots, and were locked, pushed and synced."""
    return sum(bool(step.kinds) for step in steps)


def told(steps: list[Step], done: Counter[str]) -> str:
    """Tell how often each thing was done; an edit may do several."""
    others = {"retire": sum(step.retired for step in steps), "refused": sum(bool(s.refused) for s in steps)}
    return ", ".join(f"{kind} {count}" for kind, count in {**dict(sorted(done.items())), **others}.items())
