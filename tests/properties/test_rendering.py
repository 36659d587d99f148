"""Random closures whose roots change again and again, without moves: what is rendered holds in a cluster.

Every example is the history of one folder. What must hold of it is judged by the rendered objects, by what packages
say of themselves, and by a cluster in memory; never by the code that decided it.
"""

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
import yaml
from hypothesis import event, given
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, digest_of, named, root, short, written
from rig.builders.lock_story import Story
from rig.cluster.cluster import Cluster
from rig.cluster.crds import problems_of
from rig.properties import examples

from render.errors import RenderError
from render.inputs.projects import Inputs
from render.lean import replace
from render.lifecycle.update import LockOptions
from render.limits import Limits
from render.lock.model import Lock, State, spec_of
from render.lock.text.format import format_lock
from render.lock.text.parse import InvalidLock, parse_lock
from render.manifests.objects import render_objects
from render.manifests.text import format_yaml
from render.packages import Dependency, Kind
from render.references import PartialSource, Reference, Source, parse_reference
from render.versions.requests import Root
from render.versions.version import parse_version
from render.yaml.documents import file_rules, parse_documents

pytestmark = pytest.mark.property

Manifest: TypeAlias = Mapping[str, Any]

# Two of them derive one object name; and one version is the beginning of another.
NAMES = ("a", "b", "c", "d", "e", "xpkg.example.com/acme/e")
VERSIONS = ("v1.1.1", "v1.1.10", "v1.2.0", "v2.0.0", "v2.1.0")
CONSTRAINTS = ("*", "*", ">=v1.1.1", ">=v1.1.10", ">=v1.2.0", "^1.1.1")
# How a dependency is written: mostly without a kind; without its registry; and with a kind that is not the right one.
FORMS = ("plain",) * 6 + ("kind", "partial", "wrong")
KINDS = tuple(Kind)
OBJECTS = {Kind.PROVIDER: "CustomResourceDefinition", Kind.CONFIGURATION: "CompositeResourceDefinition"}
FIELDS: Sequence[Mapping[str, Any]] = (
    {},
    {"spec": {"revisionHistoryLimit": 3, "packagePullPolicy": "Always"}},
    {"spec": {"commonLabels": {"team": "a"}, "skipDependencyResolution": True}},
    {"spec": {"skipDependencyResolution": False}, "metadata": {"labels": {"team": "a", "cost": "1"}}},
    {"metadata": {"labels": {"team": "b"}, "annotations": {"acme.org/note": "yes: 'no'"}}},
)
REQUIRED_BY = "xplock.dev/required-by"


@dataclass(frozen=True)
class Step:
    """One lock of a folder, and what it renders to."""

    lock: Lock
    roots: tuple[Root, ...]
    objects: Sequence[Manifest]
    inputs: Inputs

    def packages(self) -> dict[Source, Manifest]:
        """Return the package objects, by source."""
        packages = [value for value in self.objects if value["kind"] in KINDS]
        return {parse_reference(value["spec"]["package"]).source: value for value in packages}

    def pins(self) -> dict[str, str]:
        """Return what each pinned reference leads to."""
        specs = [value["spec"] for value in self.objects if value["kind"] == "ImageConfig"]
        return {spec["matchImages"][0]["prefix"]: spec["rewriteImage"]["prefix"] for spec in specs}


# Not a dataclass: hypothesis would print every field of a failing example.
class History:
    """All locks of one folder, in order."""

    def __init__(self, catalog: FakeCatalog, steps: Sequence[Step], *, steady: bool) -> None:
        self.catalog = catalog
        self.steps = steps
        # Whether all versions of a package need the same others.
        self.steady = steady

    def __repr__(self) -> str:
        needs = {
            key: [_shown(one) for one in needed.values()]
            for key, needed in self.catalog.packages.items()
            if needed
        }
        asked = [{short(wish.source): str(wish.request) for wish in step.roots} for step in self.steps]
        return f"History({needs}, {asked})"


def _shown(needed: str | Dependency) -> str:
    return needed if isinstance(needed, str) else f"{needed.package} {needed.constraint}"


def _dependency(draw: st.DrawFn, name: str, kind: Kind) -> Dependency:
    source = named(name)
    ranges = [*CONSTRAINTS, digest_of(f"{name} {VERSIONS[0]}")]
    constraint, form = draw(st.sampled_from(ranges)), draw(st.sampled_from(FORMS))
    said = {"kind": kind, "wrong": KINDS[KINDS.index(kind) - 1]}.get(form)
    # Only what is at home with its dependants can be named without a registry.
    partial = form == "partial" and source.registry == named("a").registry
    return written(source.name if partial else str(source), constraint, kind=said)


@st.composite
def catalogs(draw: st.DrawFn, *, steady: bool) -> FakeCatalog:
    """Packages that depend on later ones only, so that there is no cycle."""
    kinds = {name: draw(st.sampled_from(KINDS)) for name in NAMES}
    # Of two kinds, both may have one name.
    kinds[NAMES[-1]] = KINDS[KINDS.index(kinds[NAMES[-2]]) - 1]
    packages: dict[str, Mapping[str, str | Dependency]] = {}
    for i, name in enumerate(NAMES):
        later = (
            st.lists(st.sampled_from(NAMES[i + 1 :]), unique=True, max_size=3)
            if NAMES[i + 1 :]
            else st.just([])
        )
        needs = draw(later)
        for version in VERSIONS:
            needs = needs if steady else draw(later)
            packages[f"{name} {version}"] = {other: _dependency(draw, other, kinds[other]) for other in needs}
    objects = {
        name: [f"{OBJECTS[kind]} {name[-1]}{len(name)}s.acme.org"]
        for name, kind in kinds.items()
        if kind in OBJECTS
    }
    return FakeCatalog(packages, kinds=kinds, objects=objects)


@st.composite
def wishes(draw: st.DrawFn, name: str, given: str | None, kind: Kind) -> Root:
    """One root; a manifest, if the object gets a name of its own."""
    version = draw(st.sampled_from(VERSIONS))
    form = draw(st.sampled_from(["any", "any", "tag", "tag", "range", "digest", "both"]))
    digest = digest_of(f"{name} {version}") if form in ("digest", "both") else ""
    made = root(
        name,
        f">={version}" if form == "range" else "",
        tag=version if form in ("tag", "both") else "",
        digest=digest,
    )
    if given is None:
        return made
    return replace(made, name=given, kind=kind, fields=draw(st.sampled_from(FIELDS)))


@st.composite
def histories(draw: st.DrawFn, *, crossplane: str = "v2.3.4") -> History:
    """Lock a folder several times, each time with other roots; what cannot be locked leaves everything as it was."""
    steady = draw(st.booleans())
    catalog = draw(catalogs(steady=steady))
    given_names = {name: draw(st.sampled_from([None, None, f"my-{len(name)}{name[-1]}"])) for name in NAMES}
    story = Story(catalog)
    story.settings = replace(story.settings, crossplane_version=parse_version(crossplane))
    steps: list[Step] = []
    asked: dict[str, Root] = {}
    for _ in range(draw(st.integers(2, 8))):
        edited = dict(asked)
        for name in draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=2)):
            edited[name] = draw(wishes(name, given_names[name], catalog.kinds[name]))
        if len(edited) > draw(st.integers(1, 4)):
            del edited[draw(st.sampled_from(sorted(edited)))]
        options = LockOptions(upgrade_everything=draw(st.booleans()), allow_lower=True)
        try:
            lock = story.lock(*edited.values(), options=options)
        except RenderError as error:
            # An unreadable lock is our own bug.
            assert not isinstance(error, InvalidLock)
            event(type(error).__name__)
            continue
        assert story.inputs is not None
        steps.append(Step(lock, tuple(edited.values()), story.rendered(), story.inputs))
        asked = edited
    event(f"{len(steps)} locks")
    return History(catalog, steps, steady=steady)


def pairs(history: History) -> Iterator[tuple[Step, Step]]:
    """Return each lock with the next one."""
    return zip(history.steps, history.steps[1:], strict=False)


@examples(60, derandomize=True)
@given(histories())
def test_who_depends_on_a_detached_package_is_detached(history: History) -> None:
    for step in history.steps:
        packages = step.packages()
        for source, value in packages.items():
            if value["spec"].get("skipDependencyResolution"):
                continue
            reference = parse_reference(value["spec"]["package"])
            for dependency in history.catalog.package(reference).metadata.dependencies:
                assert not isinstance(dependency.source, PartialSource)
                needed = packages[dependency.source]
                assert not needed["spec"].get("skipDependencyResolution"), source
                # The resolver would create this name if it came first; a manifest may say that it did not, as in adopted
                # clusters.
                if "skipDependencyResolution" not in spec_of(step.lock.packages[source].fields):
                    assert needed["metadata"]["name"] == str(dependency.source.repository).replace("/", "-")


@examples(60, derandomize=True)
@given(histories())
def test_a_source_has_one_object_whose_name_never_changes(history: History) -> None:
    known: dict[Source, tuple[str, str]] = {}
    for step in history.steps:
        values = [value for value in step.objects if value["kind"] in KINDS]
        identities = [(value["kind"], value["metadata"]["name"]) for value in values]
        packages = step.packages()

        assert len(packages) == len(values) == len(set(identities))
        for source, identity in zip(packages, identities, strict=True):
            assert known.setdefault(source, identity) == identity
        # Nothing was retired.
        assert known.keys() == packages.keys()


@examples(60, derandomize=True)
@given(histories())
def test_only_a_changed_manifest_loses_a_field(history: History) -> None:
    for before, after in pairs(history):
        manifests = {wish.source for wish in after.roots if wish.is_manifest}
        # Without its manifest, a package that is needed has the fields of any dependency, also if it was leaving.
        manifests |= {
            source
            for source, package in before.lock.packages.items()
            if package.fields and after.lock.packages[source].state is State.WANTED
        }
        rendered = after.packages()
        for source, old in before.packages().items():
            new = rendered[source]
            assert old["spec"].keys() <= new["spec"].keys()
            for part in ("labels", "annotations"):
                lost = (
                    old["metadata"].get(part, {}).keys()
                    - new["metadata"].get(part, {}).keys()
                    - {REQUIRED_BY}
                )
                assert not lost or source in manifests


@st.composite
def upgrades(draw: st.DrawFn) -> History:
    """Lock two packages to one version after the other."""
    catalog = FakeCatalog({f"{name} {version}": {} for name in "ab" for version in VERSIONS})
    story, steps = Story(catalog), []
    tags = st.sampled_from([*VERSIONS, *VERSIONS, "digest"])
    for _ in range(draw(st.integers(5, 9))):
        roots = [
            root(name, digest=digest_of(f"{name} v2.0.0")) if tag == "digest" else root(name, tag=tag)
            for name, tag in (("a", draw(tags)), ("b", draw(tags)))
        ]
        lock = story.lock(*roots, options=LockOptions(allow_lower=True))
        assert story.inputs is not None
        steps.append(Step(lock, tuple(roots), story.rendered(), story.inputs))
    return History(catalog, steps, steady=True)


@examples(60, derandomize=True)
@given(st.one_of(histories(), upgrades()))
def test_pins_have_names_of_their_own_and_stay_for_three_versions(history: History) -> None:
    names: dict[str, str] = {}
    versions: dict[Source, list[str | None]] = {}
    for step in history.steps:
        configs = [value for value in step.objects if value["kind"] == "ImageConfig"]
        assert len({value["metadata"]["name"] for value in configs}) == len(configs) == len(step.pins())
        for value in configs:
            prefix = value["spec"]["matchImages"][0]["prefix"]
            assert names.setdefault(value["metadata"]["name"], prefix) == prefix
        for source, value in step.packages().items():
            tag = parse_reference(value["spec"]["package"]).tag
            seen = versions.setdefault(source, [])
            if seen[-1:] != [tag]:
                seen.append(tag)
            # The current one and three before it; what is installed by its digest needs none.
            for kept in filter(None, seen[-4:]):
                digest = history.catalog.package(Reference(source, kept)).digest
                assert step.pins()[f"{source}:{kept}"] == f"{source}@{digest}"


@examples(40, derandomize=True)
@given(histories())
def test_the_text_holds_exactly_what_was_meant_and_the_api_server_takes_it(history: History) -> None:
    for step in history.steps:
        text = format_yaml(step.objects)

        assert parse_documents(text.encode(), file_rules(Limits())) == step.objects
        assert list(yaml.safe_load_all(text)) == step.objects
        assert [problem for value in step.objects for problem in problems_of(value)] == []


def _forbidden(*_: object, **__: object) -> Any:
    raise AssertionError("rendering is a function of the folder alone")


@examples(40, derandomize=True)
@given(histories())
def test_rendering_again_gives_the_same_bytes_without_network_programs_or_clock(history: History) -> None:
    for step in history.steps:
        text = format_lock(step.lock)

        with pytest.MonkeyPatch.context() as patch:
            for module, name in _OUTSIDE:
                patch.setattr(module, name, _forbidden)
            lock = parse_lock(text, Limits(), place="crossplane.lock.yaml")
            again = format_yaml(render_objects(lock, step.inputs))

        assert again == format_yaml(step.objects)


_OUTSIDE: Sequence[tuple[Any, str]] = (
    (socket, "socket"),
    (socket, "create_connection"),
    (subprocess, "Popen"),
    (time, "time"),
    (time, "time_ns"),
    (time, "monotonic"),
)


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
@examples(60, derandomize=True)
@given(st.data(), st.integers(0, 2**32), st.booleans())
def test_every_sync_ends_with_exactly_what_was_rendered(
    crossplane: str, data: st.DataObject, seed: int, keeps_fields: bool
) -> None:
    history = data.draw(histories(crossplane=crossplane))
    cluster = Cluster(
        history.catalog,
        crossplane=crossplane,
        seed=seed,
        # Crossplane's resolver may install a new dependency before the next apply does.
        in_order=not history.steady,
        keeps_fields=keeps_fields,
    )
    for step in history.steps:
        cluster.sync(step.objects)

        rendered = {
            f"{v['kind']}/{v['metadata']['name']}": v["spec"]["package"] for v in step.packages().values()
        }
        assert cluster.duplicates() == []
        assert cluster.unhealthy() == {}
        assert cluster.images() == rendered
        for source, value in step.packages().items():
            package = cluster.package(value["metadata"]["name"], Kind(value["kind"]))
            digest = step.lock.packages[source].digest
            assert package.resolved == f"{source}@{digest}"
        assert not (cluster.state.unpinned or cluster.inactive() or cluster.state.deleted)
