"""What must hold after every lock of a folder whose packages move, leave and come back, judged by a cluster in memory.

It is judged by the rendered objects and by what packages say of themselves; never by the code that decided it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from render.lock.freshness import check_closure
from render.names import object_name
from render.packages import Kind, Package
from render.references import PartialSource, Source, parse_reference
from rig.builders.render_inputs import rewrite_image
from rig.cluster.cluster import Cluster
from rig.cluster.crds import problems_of
from rig.cluster.sync import Identity, identify
from rig.edits.folders import Life

Manifest: TypeAlias = Mapping[str, Any]

_KINDS = tuple(Kind)


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
        packages = {identify(value): value for value in objects if value["kind"] in _KINDS}
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
        sources = {_source_of(value): key for key, value in packages.items()}
        assert len(sources) == len(packages) == len([v for v in objects if v["kind"] in _KINDS])
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
            assert not [key for key in gone if _is_off(self.seen[key])]
            self.let_go |= gone
        self.let_go -= packages.keys()

    def _check_fields(self, packages: Mapping[Identity, Manifest]) -> None:
        for key, old in self.seen.items():
            if key in packages:
                assert old["spec"].keys() <= packages[key]["spec"].keys()

    def _check_attached(self, objects: Sequence[Manifest], packages: Mapping[Identity, Manifest]) -> None:
        """An attached package finds each dependency in the Lock, under the name that the resolver would give it."""
        by_source = {str(_source_of(value)): value for value in packages.values()}
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
        off = {key for key, value in packages.items() if _is_off(value)}
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


def _source_of(value: Manifest) -> Source:
    return parse_reference(value["spec"]["package"]).source


def _is_off(value: Manifest) -> bool:
    return bool(value["spec"].get("revisionActivationPolicy") == "Manual")
