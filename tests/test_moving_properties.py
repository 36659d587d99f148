"""Random folders whose packages move, leave and come back: nothing is lost, doubled, renamed or taken over unasked.

Every step is one edit, one lock on top of the last one and one sync. What must hold is judged by the rendered objects,
by what packages say of themselves, and by a cluster in memory; never by the code that decided it.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from rig.cluster.cluster import Cluster
from rig.cluster.syncing import Identity, identify
from rig.crds import problems_of
from rig.rendering import rewrite_image
from rig.worlds import EDITS, Life, ask, make_world, switch_guard

from render.lock.closure import check_closure
from render.moves import Strategy
from render.names import object_name
from render.packages import Kind, Package
from render.references import PartialSource, Source, parse_reference

Manifest: TypeAlias = Mapping[str, Any]

BOTH = pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
KINDS = tuple(Kind)
STRATEGIES = frozenset(map(str, Strategy))


@dataclass
class Watch:
    """Looks at every rendered set, and remembers what it has seen."""

    life: Life
    cluster: Cluster
    seen: Mapping[Identity, Manifest] = field(default_factory=dict)
    names: dict[Source, Identity] = field(default_factory=dict)
    # What was dropped without a guard, and what it said: nothing keeps it, nothing keeps it away, its pin goes first.
    let_go: set[Identity] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)

    def look(self, *, retired: bool, sync: bool = True) -> None:
        """Compare what is rendered now with what was, and see how the sync ends."""
        assert check_closure(self.life.lock) == []
        objects: Sequence[Manifest] = self.life.story.rendered()
        packages = {identify(value): value for value in objects if value["kind"] in KINDS}
        self._check_objects(objects, packages)
        self._check_leaving(packages, retired=retired)
        self._check_fields(packages)
        self._check_attached(objects, packages)
        self.seen = packages
        if sync:
            self.cluster.sync(objects)
            self._check_cluster(packages)

    def _check_objects(self, objects: Sequence[Manifest], packages: Mapping[Identity, Manifest]) -> None:
        """One object for each source, under the name that it always had, and the API server takes it."""
        sources = {source_of(value): key for key, value in packages.items()}
        assert len(sources) == len(packages) == len([v for v in objects if v["kind"] in KINDS])
        for value in objects:
            assert problems_of(value, partial=value["kind"].endswith("Revision")) == []
        # What is gone is forgotten.
        self.names = {source: key for source, key in self.names.items() if source in sources}
        for source, key in sources.items():
            assert self.names.setdefault(source, key) == key

    def _check_leaving(self, packages: Mapping[Identity, Manifest], *, retired: bool) -> None:
        """Nothing that is installed leaves, but by retiring it or without any guard."""
        gone = self.seen.keys() - packages.keys()
        if not self.life.folder.guard:
            before, now = [{v["spec"]["package"] for v in one.values()} for one in (self.seen, packages)]
            self.dropped |= before - now
        elif not retired:
            assert not gone
        if not retired:
            assert not [key for key in gone if is_off(self.seen[key])]
            self.let_go |= gone
        self.let_go -= packages.keys()

    def _check_fields(self, packages: Mapping[Identity, Manifest]) -> None:
        for key, old in self.seen.items():
            if key in packages:
                assert old["spec"].keys() <= packages[key]["spec"].keys()

    def _check_attached(self, objects: Sequence[Manifest], packages: Mapping[Identity, Manifest]) -> None:
        """Whoever is attached finds each dependency in the Lock, under the name that the resolver would give it."""
        by_source = {str(source_of(value)): value for value in packages.values()}
        for value in packages.values():
            if value["spec"].get("skipDependencyResolution"):
                continue
            for dependency in self._content(objects, value).metadata.dependencies:
                assert not isinstance(dependency.source, PartialSource)
                needed = by_source[dependency.package]
                assert not needed["spec"].get("skipDependencyResolution")
                assert needed["metadata"]["name"] == object_name(dependency.source)

    def _content(self, objects: Sequence[Manifest], value: Manifest) -> Package:
        pulled = rewrite_image(objects, value["spec"]["package"])
        return self.life.story.catalog.package(parse_reference(pulled))

    def _check_cluster(self, packages: Mapping[Identity, Manifest]) -> None:
        cluster, state = self.cluster, self.cluster.state
        off = {key for key, value in packages.items() if is_off(value)}
        assert cluster.duplicates() == []
        assert cluster.came_back() <= self.let_go
        assert cluster.left_behind() == set()
        allowed = {name for _, name in off | self.let_go}
        assert {name: why for name, why in cluster.unhealthy().items() if name not in allowed} == {}
        images = {f"{kind}/{name}": value["spec"]["package"] for (kind, name), value in packages.items()}
        assert images.items() <= cluster.images().items()
        assert cluster.inactive() - self.let_go == off
        assert state.unpinned <= self.dropped
        for handover in state.handovers:
            # Who writes where an object's own source has moved to decides about what is behind it, too.
            agreed = [self.life.may_take_over(old, handover.new) for old in (handover.old, handover.known_as)]
            assert any(agreed), handover
        state.handovers.clear()
        state.unpinned.clear()


def source_of(value: Manifest) -> Source:
    return parse_reference(value["spec"]["package"]).source


def is_off(value: Manifest) -> bool:
    return bool(value["spec"].get("revisionActivationPolicy") == "Manual")


def live(
    chance: random.Random,
    crossplane: str,
    *,
    steps: int,
    seed: int,
    guard: bool = False,
    lazy: bool = False,
    **cluster: bool,
) -> Counter[str]:
    """Live through some edits; return how often each strategy was chosen, and what could not be done."""
    # What a newer version needs besides would come with it, if the resolver is faster than the next apply.
    steady = chance.random() < 0.5
    world = make_world(chance, steady=steady)
    life = Life.begin(world, crossplane)
    watch = Watch(life, Cluster(world, crossplane=crossplane, seed=seed, in_order=not steady, **cluster))
    happened: Counter[str] = Counter()
    synced, retires = True, False
    for _ in range(steps):
        before = strategies(life)
        # What was let go of is often dropped at once.
        often = 0.6 if retires else 0.25
        retires = bool(life.lock.packages) and chance.random() < often and synced
        edits = (*EDITS, switch_guard) if guard else EDITS
        edit = chance.choice(edits) if life.lock.packages else ask
        error = life.retire(chance) if retires else life.edit(edit, chance)
        if error is not None:
            happened[type(error).__name__] += 1
            continue
        if life.lock.packages or life.lock.deactivated:
            synced = not lazy or retires or chance.random() < 0.5
            watch.look(retired=retires, sync=synced)
        happened.update(strategies(life) - before)
    return happened


def strategies(life: Life) -> Counter[str]:
    replaced = [(source, one) for source, package in life.lock.packages.items() for one in package.replaces]
    return Counter(str(one.strategy) for _, one in replaced)


@BOTH
@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.booleans())
def test_packages_move_and_leave_without_any_damage(crossplane: str, seed: int, keeps_fields: bool) -> None:
    happened = live(
        random.Random(seed), crossplane, steps=9, seed=seed, keeps_fields=keeps_fields, slow_deletion=True
    )

    for name in happened:
        event(name)


@BOTH
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_a_cluster_may_miss_some_of_the_locks(crossplane: str, seed: int) -> None:
    live(random.Random(seed), crossplane, steps=9, seed=seed, lazy=True, slow_deletion=True)


@BOTH
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_without_guards_what_was_switched_off_stays_all_the_same(crossplane: str, seed: int) -> None:
    live(random.Random(seed), crossplane, steps=9, seed=seed, guard=True)


def test_most_of_these_folders_move_packages_and_in_every_way() -> None:
    lives = [live(random.Random(seed), "v2.3.4", steps=9, seed=seed) for seed in range(60)]

    moved = [happened.keys() & STRATEGIES for happened in lives]
    assert sum(map(bool, moved)) > 40
    for strategy in STRATEGIES:
        assert sum(strategy in ways for ways in moved) > 6, strategy
