"""Stories of several teams in one cluster, side by side: in each chapter all teams commit, then the cluster is checked."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

import yaml

from rig.builders.projects import at
from rig.live.crossplane_waits import Expected, read_expected, wait_settled
from rig.live.history import History
from rig.live.operations import operations_of
from rig.live.package_registry import PackageRegistry
from rig.live.platform import LiveCluster
from rig.live.snapshots import Snapshot, resource_of, take_snapshot
from rig.live.team import Team
from rig.servers.client import Object, Refused
from rig.servers.kinds import (
    APPLICATIONS,
    COMPOSITIONS,
    CRDS,
    DEPLOYMENTS,
    IMAGE_CONFIGS,
    LOCKS,
    PACKAGES,
    REVISIONS,
    Resource,
)
from rig.servers.waiting import wait_for

_HOSTS = ("xpkg.example.org", "old.example.org")
_WATCHED = (*PACKAGES, *REVISIONS, CRDS, DEPLOYMENTS, LOCKS, APPLICATIONS)
_NAME = "precious"
_FUNCTION = "pkg.crossplane.io/function"


@dataclass(frozen=True, slots=True)
class Step:
    """What a team does before a commit."""

    # What is asked for, "org/app v1.0.0", and the moves; without roots the settings stay as they are.
    roots: tuple[str, ...] = ()
    moves: tuple[Mapping[str, object], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("lock",)
    # A command that comes too early while the cluster's Lock has stale entries, and is tried without effect before.
    early: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """A team, with whose name those of all its objects begin, and its steps by the chapters in which they are taken."""

    name: str
    publish: Callable[[PackageRegistry], None]
    steps: Mapping[str, Step]
    # The definitions that are handed over.
    crds: tuple[str, ...] = ()
    # The definition of a composite, which has to reconcile once more in every chapter.
    composite: str = ""


@dataclass(frozen=True, slots=True)
class Chapter:
    """What there was at the end of a chapter, and what the Lock of the cluster had to hold by the locks of all teams."""

    seen: Snapshot
    attached: list[Object]
    stale: set[str]


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that was seen."""

    history: History
    chapters: dict[str, Chapter] = field(default_factory=dict)
    # What happened in the while after a chapter.
    windows: dict[str, History] = field(default_factory=dict)
    # By team and chapter, what was said to a command that may be too early, and its exit code.
    early: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    # By team; and what Argo CD did with them, one after the other.
    commits: dict[str, list[str]] = field(default_factory=dict)
    operations: dict[str, list[str]] = field(default_factory=dict)


class Telling:
    """Goes through chapters with all teams at once."""

    def __init__(self, cluster: LiveCluster, stories: Sequence[Story]) -> None:
        self.told = Told(History(cluster.client, APPLICATIONS, LOCKS, *PACKAGES, *REVISIONS))
        self._cluster, self._stories = cluster, stories
        for host in _HOSTS:
            cluster.client.apply(IMAGE_CONFIGS, yaml.safe_load(cluster.registry.image_config(host)))
        for story in stories:
            story.publish(cluster.registry)
        self._teams = {story.name: self._team(story.name) for story in stories}
        self._handed_over = [crd for story in stories for crd in story.crds]
        self._crds = [*self._handed_over, *(story.composite for story in stories if story.composite)]

    def __enter__(self) -> Self:
        self.told.history.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.told.history.__exit__(kind, error, trace)
        events = self.told.history.events
        for name in self._teams:
            self.told.operations[name] = operations_of(name, events)

    def tell(self, chapter: str) -> None:
        """Let each team take its step of a chapter, and wait until the cluster has followed."""
        for story in self._stories:
            if chapter in story.steps:
                self._take(story.name, story.steps[chapter], chapter)
        for name, team in self._teams.items():
            team.application.wait_synced(self.told.commits[name][-1])
        expected = self._expected()
        wait_settled(self._cluster, expected, self._handed_over)
        if not self.told.chapters:
            self._create_objects()
        for story in self._stories:
            if story.composite:
                self._reconcile(story.composite, chapter)
        self._look(chapter, expected)

    def watch(self, chapter: str, seconds: float) -> None:
        """Record all events for a while, as a chapter without commits."""
        with History(self._cluster.client, *_WATCHED, *map(resource_of, self._crds)) as seen:
            time.sleep(seconds)
        self.told.windows[chapter] = seen
        self._look(chapter, self._expected())

    def _team(self, name: str) -> Team:
        team = self._cluster.team(name)
        # The registry's ImageConfig is the cluster's own, and in no team's folder.
        team.remove("registry.yaml")
        return team

    def _take(self, name: str, step: Step, chapter: str) -> None:
        team = self._teams[name]
        if step.early:
            tried = team.try_xplock(*step.early, "--dry-run")
            self.told.early[name, chapter] = (tried.returncode, tried.stderr)
        if step.roots:
            team.write_settings(_settings(step, self._cluster.registry.address))
        for file, text in step.files.items():
            team.write(file, text)
        team.xplock(*step.command)
        self.told.commits.setdefault(name, []).append(team.commit_and_push(chapter))
        team.application.refresh()

    def _create_objects(self) -> None:
        for crd in self._crds:
            kind = self._cluster.client.get(CRDS, crd)["spec"]["names"]["kind"]
            value = _object(kind, resource_of(crd))
            wait_for(partial(self._create, resource_of(crd), value), lambda: "every kind is served")

    def _create(self, resource: Resource, value: Object) -> Object | None:
        try:
            return self._cluster.client.create(resource, value)
        except Refused as error:
            # The API server takes a moment to serve what is defined.
            if error.status != 404:
                raise
            return None

    def _reconcile(self, crd: str, chapter: str) -> None:
        client, resource = self._cluster.client, resource_of(crd)
        client.patch(resource, _NAME, {"spec": {"chapter": chapter}})
        # It may be reconciled once more by what its Composition said before.
        expected = self._programs(client.get(COMPOSITIONS, crd))
        wait_for(
            lambda: _is_reconciled(client.get(resource, _NAME), expected),
            lambda: f"{crd} is answered by {expected}\n{client.get(resource, _NAME)}",
        )

    def _programs(self, composition: Object) -> dict[str, str]:
        """Return the image that each Function runs which a Composition names."""
        named = {step["functionRef"]["name"] for step in composition["spec"]["pipeline"]}
        templates = [value["spec"]["template"] for value in self._cluster.client.objects(DEPLOYMENTS)]
        running = {one["metadata"]["labels"].get(_FUNCTION): one["spec"]["containers"] for one in templates}
        return {name: running[name][0]["image"] for name in named}

    def _expected(self) -> Expected:
        return read_expected([team.folder for team in self._teams.values()])

    def _look(self, chapter: str, expected: Expected) -> None:
        seen = take_snapshot(self._cluster, self._crds)
        self.told.chapters[chapter] = Chapter(seen, expected.attached, expected.stale)


def _settings(step: Step, registry: str) -> dict[str, object]:
    roots = [f"{at(package)}:{version}" for package, version in (root.split() for root in step.roots)]
    return {
        "roots": [{"package": root} for root in roots],
        "rewrites": [{"from": host, "to": f"{registry}/{host}"} for host in _HOSTS],
        "moves": list(step.moves),
    }


def _object(kind: str, resource: Resource) -> Object:
    metadata, spec = {"name": _NAME}, {"keep": "this"}
    return {"apiVersion": resource.api, "kind": kind, "metadata": metadata, "spec": spec}


def _is_reconciled(value: Object, answers: Mapping[str, str]) -> bool:
    conditions = {one["type"]: one for one in value.get("status", {}).get("conditions", [])}
    synced, generation = conditions.get("Synced", {}), value["metadata"]["generation"]
    answered = {name: conditions.get(name, {}).get("message") for name in answers}
    done = (synced.get("status"), synced.get("observedGeneration")) == ("True", generation)
    return done and answered == answers
