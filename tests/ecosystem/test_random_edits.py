"""Real packages through random edits, in a cluster in memory: the same edits that a real cluster is soaked with."""

from collections import Counter
from collections.abc import Sequence

import pytest
from rig.cluster.cluster import Cluster
from rig.commands.refusals import Refusal
from rig.edits.folders import Folder, Life
from rig.edits.invariants import Watch
from rig.edits.owner import Owner, Step, describe, take_step
from rig.edits.real_packages import offer_catalog, read_offer

from render.errors import RenderError
from render.lock.model import Lock
from render.moves import Strategy

pytestmark = pytest.mark.property

CATALOG = offer_catalog(read_offer())
CROSSPLANE = "v2.3.4"
EDITS = 30


class Memory:
    """A folder that is locked in memory."""

    def __init__(self) -> None:
        self.life = Life.begin(CATALOG, CROSSPLANE)

    @property
    def folder(self) -> Folder:
        """What the owner has written."""
        return self.life.folder

    @property
    def lock(self) -> Lock:
        """The lock as it is now."""
        return self.life.lock

    def write(self, folder: Folder) -> Refusal | None:
        """Write something else and lock it; what is refused is taken back."""
        return refusal_of(self.life.write(folder))

    def retire(self, names: Sequence[str]) -> Refusal | None:
        """Let go of packages, one step, unless that is refused."""
        return refusal_of(self.life.let_go(names))


class Stubborn(Memory):
    """A folder in which something else is always to be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Folder] = []

    def write(self, folder: Folder) -> Refusal | None:
        """Refuse, with an advice that can be taken."""
        self.written.append(folder)
        (asked,) = folder.roots
        advice = f"ask for xpkg.example.org/acme/other-{len(self.written)} instead of {asked}"
        return Refusal(4, "no", [], [advice])


def refusal_of(error: RenderError | None) -> Refusal | None:
    if error is None:
        return None
    return Refusal(error.exit_code, error.what, list(error.why), list(error.next))


def soak(seed: int, edits: int) -> tuple[list[Step], Counter[str]]:
    """Edit and sync for a while, and look after every step; return the steps, and what was seen of moves."""
    ground, owner = Memory(), Owner(read_offer())
    watch = Watch(ground.life, Cluster(CATALOG, crossplane=CROSSPLANE, seed=seed, slow_deletion=True))
    steps, seen = [], Counter[str]()
    for number in range(edits):
        steps.append(take_step(ground, owner, seed=seed, number=number))
        if not steps[-1].refused:
            watch.look(retired=steps[-1].retired)
        replaced = [one for package in ground.lock.packages.values() for one in package.replaces]
        seen.update({str(one.strategy) for one in replaced})
    return steps, seen


@pytest.mark.parametrize("seed", range(4))
def test_real_packages_move_and_leave_without_any_damage(seed: int) -> None:
    soak(seed, EDITS)


def test_most_edits_are_accepted_and_they_do_everything() -> None:
    steps, seen = soak(seed=0, edits=4 * EDITS)

    refused = [step for step in steps if step.refused]
    words = Counter(word for step in steps if not step.refused for word in step.what.split())
    assert len(refused) <= len(steps) / 3
    assert min(words[word] for word in ("ask", "bump", "remove", "move", "forget", "upgrade", "retire")) > 3
    assert min(seen[str(strategy)] for strategy in Strategy) > 3


def test_an_edit_that_is_given_up_is_told_as_it_was_tried_last() -> None:
    ground = Stubborn()

    step = take_step(ground, Owner(read_offer()), seed=0, number=0)

    assert len(ground.written) > 2
    assert (step.what, step.refused) == (describe(Folder(), ground.written[-1]), "no")
    assert step.kinds == set()
