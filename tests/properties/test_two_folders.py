"""Two folders of one cluster through random edits: what one does never breaks what the other has."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog
from rig.builders.lock_story import Story, move
from rig.cluster.cluster import Cluster

from render.errors import RenderError
from render.folders.neighbours import gather_neighbours
from render.lock.freshness import check_closure
from render.manifests.identity import identify
from render.moves import Move
from render.packages import Kind

pytestmark = pytest.mark.property

CRD = ["CustomResourceDefinition buckets.cloud.example.org"]
CATALOG = FakeCatalog(
    {
        "base v1.0.0": {},
        "base v2.0.0": {},
        "old v1.0.0": {"base": "*"},
        "old v1.1.0": {"base": "*"},
        "new v1.5.0": {"base": "*"},
        "shop v1.0.0": {"old": "^1"},
        "shop v2.0.0": {"new": "^1"},
        "cafe v1.0.0": {"base": "^1"},
        "cafe v2.0.0": {"base": ">=v2"},
        "lone v1.0.0": {},
    },
    kinds=dict.fromkeys(("base", "old", "new"), Kind.PROVIDER),
    objects={"old": CRD, "new": CRD},
)
# What the platform asks for, and what has moved by then.
PLATFORM: Sequence[tuple[tuple[str, ...], tuple[Move, ...]]] = (
    (("old v1.0.0",), ()),
    (("old v1.1.0", "base v1.0.0"), ()),
    (("base",), ()),
    (("new",), ()),
    (("new",), (move("old", "new"),)),
    (("new", "base v2.0.0"), (move("old", "new"),)),
    (("new",), (move("old", "new", strategy="deactivate"),)),
    (("old",), (move("new", "old"),)),
)
APP = (
    ("lone",),
    ("shop v1.0.0",),
    ("shop v2.0.0",),
    ("cafe",),
    ("shop v1.0.0", "cafe v1.0.0"),
    ("lone", "shop"),
)
STEPS = 7


class Folders:
    """A platform, and an app that uses it; locked together, both or neither."""

    def __init__(self) -> None:
        self.platform, self.app = Story(CATALOG), Story(CATALOG)
        self.asked: tuple[int, int] = (0, 0)
        self.outcomes: Counter[str] = Counter()

    def edit(self, chance: random.Random) -> None:
        """Change what one of them asks for, or what has moved, and lock both."""
        kept, asked = (replace(self.platform), replace(self.app)), self.asked
        if chance.random() < 0.5:
            asked = (chance.randrange(len(PLATFORM)), asked[1])
        else:
            asked = (asked[0], chance.randrange(len(APP)))
        try:
            self._lock(asked)
        except RenderError as error:
            self.platform, self.app = kept
            self.outcomes[type(error).__name__] += 1
            return
        self.asked = asked
        self.outcomes["locked"] += 1
        for package in self.platform.current.packages.values():
            self.outcomes.update(str(one.strategy) for one in package.replaces)

    def _lock(self, asked: tuple[int, int]) -> None:
        roots, moves = PLATFORM[asked[0]]
        users = [("app", self.app.current)] if self.app.current.packages else []
        self.platform.around = gather_neighbours([], users)
        self.platform.lock(*roots, moves=moves)
        self.app.around = gather_neighbours([("../platform", self.platform.current)])
        self.app.lock(*APP[asked[1]])

    def rendered(self) -> list[list[dict[str, Any]]]:
        """Return what each of them renders."""
        return [story.rendered() for story in (self.platform, self.app) if story.current.packages]


def walk(seed: int) -> Folders:
    """Edit and sync for a while, and look after every step."""
    chance = random.Random(seed)
    folders, cluster = Folders(), Cluster(CATALOG, seed=seed)
    for _ in range(STEPS):
        folders.edit(chance)
        both = folders.rendered()
        if not both:
            continue
        for story in (folders.platform, folders.app):
            assert check_closure(story.current) == []
        _check_apart(both)
        cluster.sync(value for values in both for value in values)
        off = {package.object_name for package in folders.platform.current.deactivated.values()}
        assert cluster.duplicates() == []
        assert cluster.unhealthy().keys() <= off
        assert cluster.came_back() == set()
        assert cluster.state.deleted == []
    return folders


def _check_apart(both: list[list[dict[str, Any]]]) -> None:
    objects = Counter(identify(value) for values in both for value in values)
    assert [place for place, count in objects.items() if count > 1] == []
    packages = [v["spec"]["package"] for values in both for v in values if v["kind"] in tuple(Kind)]
    sources = Counter(text.partition("@")[0].rpartition(":")[0] for text in packages)
    assert [source for source, count in sources.items() if count > 1] == []


@pytest.mark.parametrize("seed", range(60))
def test_two_folders_never_break_each_other(seed: int) -> None:
    walk(seed)


def test_the_sequences_lock_and_move_something() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(60):
        outcomes += walk(seed).outcomes

    assert outcomes["locked"] > 150
    assert outcomes["alias"] > 10
    assert outcomes["deactivate"] > 10
