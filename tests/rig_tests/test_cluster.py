"""The cluster in memory does what was measured on real ones: pins, names, handovers, and how each goes wrong."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named, written
from rig.builders.render_inputs import image_config
from rig.cluster.cluster import Cluster
from rig.cluster.names import generation_revision_name, lock_identity
from rig.cluster.state import Handover

from render.packages import Kind
from render.references import Digest, Reference, Source, parse_reference

BOTH = pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
SEEDS = range(20)
HEX = "ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904"
DIGEST = Digest(f"sha256:{HEX}")
NOP = "xpkg.crossplane.io/crossplane-contrib/provider-nop"
CRD = ("CustomResourceDefinition", "buckets.acme.org")
CRDS = ["CustomResourceDefinition buckets.acme.org"]
GUARDED = {"argocd.argoproj.io/sync-options": "Prune=false,Delete=confirm"}
EARLY = {"argocd.argoproj.io/sync-wave": "-1"}


def catalog(packages: Packages, **more: Any) -> FakeCatalog:
    """Packages that are Providers, but for those that are named otherwise."""
    kinds = {key.split(" ")[0]: Kind.PROVIDER for key in packages} | more.pop("kinds", {})
    return FakeCatalog(packages, kinds=kinds, **more)


def provider(
    image: str, name: str | None = None, *, kind: Kind = Kind.PROVIDER, **spec: Any
) -> dict[str, Any]:
    """A package object for "name tag", under the name that Crossplane derives unless it has another one."""
    package, tag = image.split(" ")
    source = named(package)
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": str(kind),
        "metadata": {"name": name or source.repository.replace("/", "-"), "annotations": {}},
        "spec": {"package": f"{source}:{tag}", **spec},
    }


def annotated(value: Mapping[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], "annotations": dict(annotations)}}


def pin(image: str, digest: Digest | None = None, *, at: Source | None = None) -> dict[str, Any]:
    """The pin of "name tag"."""
    package, tag = image.split(" ")
    target = f"{at or named(package)}@{digest or digest_of(image)}"
    made = image_config(f"pin-{package}-{tag}", f"{named(package)}:{tag}", rewriteImage={"prefix": target})
    return annotated(made, EARLY)


def inactive(cluster: Cluster, name: str) -> dict[str, Any]:
    """What switches the current revision of a Provider off."""
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "ProviderRevision",
        "metadata": {"name": cluster.package(name).current},
        "spec": {"desiredState": "Inactive"},
    }


def off(image: str, **spec: Any) -> dict[str, Any]:
    return provider(image, revisionActivationPolicy="Manual", **spec)


def installed(cluster: Cluster, *objects: Mapping[str, Any]) -> Cluster:
    cluster.sync(objects)
    assert not cluster.unhealthy()
    return cluster


# Pins by ImageConfig keep the Lock whole.

APP: Packages = {"app v1.0.0": {"net": "^1.0.0"}, "net v1.1.1": {}, "net v1.1.10": {}, "net moved": {}}
PINNED = (pin("app v1.0.0"), pin("net v1.1.1"), provider("app v1.0.0"), provider("net v1.1.1"))
TAG, MOVED = Reference(named("net"), "v1.1.1"), Reference(named("net"), "moved")


@BOTH
def test_a_pin_leads_to_the_digest_and_the_lock_keeps_source_and_tag(crossplane: str) -> None:
    cluster = Cluster(catalog(APP), crossplane=crossplane)

    cluster.sync(PINNED)

    assert cluster.package("acme-net").resolved == f"{named('net')}@{digest_of('net v1.1.1')}"
    assert cluster.entries() == {str(named("app")): "v1.0.0", str(named("net")): "v1.1.1"}
    assert (cluster.unhealthy(), cluster.state.unpinned) == ({}, set())


def test_a_tag_that_moved_changes_nothing_behind_its_pin() -> None:
    cluster = installed(Cluster(catalog(APP)), *PINNED)
    before = cluster.revision("acme-net")

    cluster.state.registry.moved[TAG] = MOVED
    cluster.settle()

    assert cluster.revision("acme-net") is before
    assert before.name == f"acme-net-{digest_of('net v1.1.1')[7:19]}"


def test_without_a_pin_the_moved_tag_is_installed() -> None:
    cluster = installed(Cluster(catalog(APP)), *PINNED[2:])

    cluster.state.registry.moved[TAG] = MOVED
    cluster.settle()

    assert cluster.package("acme-net").current == f"acme-net-{digest_of('net moved')[7:19]}"
    assert str(TAG) in cluster.state.unpinned


def test_a_pin_that_goes_and_comes_back_takes_the_revision_along() -> None:
    cluster = installed(Cluster(catalog(APP)), *PINNED)
    cluster.state.registry.moved[TAG] = MOVED
    names = [cluster.package("acme-net").current]

    for objects in (PINNED[2:], PINNED):
        cluster.sync(objects)
        names.append(cluster.package("acme-net").current)

    pinned, moved = [f"acme-net-{digest_of(text)[7:19]}" for text in ("net v1.1.1", "net moved")]
    assert names == [pinned, moved, pinned]
    assert not cluster.unhealthy()


def test_a_pin_whose_prefix_fits_the_next_version_is_wrong_for_a_moment() -> None:
    cluster = installed(Cluster(catalog(APP)), *PINNED)

    cluster.apply(provider("net v1.1.10"))
    cluster.settle()
    between = cluster.unhealthy()
    cluster.apply(pin("net v1.1.10"))
    cluster.settle()

    assert "cannot unpack package" in between["acme-net"]
    assert cluster.package("acme-net").resolved == f"{named('net')}@{digest_of('net v1.1.10')}"
    assert not cluster.unhealthy()


@BOTH
def test_a_pin_wins_over_a_wider_rewrite(crossplane: str) -> None:
    mirror = named("mirror.example.org/acme/net")
    packages = {**APP, f"{mirror} v1.1.1": {}, f"{mirror} v1.1.10": {}}
    kinds = {str(mirror): Kind.PROVIDER}
    wider = image_config("mirror", str(named("net")), rewriteImage={"prefix": str(mirror)})
    there = digest_of(f"{mirror} v1.1.1")
    cluster = Cluster(catalog(packages, kinds=kinds), crossplane=crossplane)

    cluster.sync([annotated(wider, EARLY), pin("net v1.1.1", there, at=mirror), provider("net v1.1.1")])

    assert cluster.package("acme-net").resolved == f"{mirror}@{there}"
    assert (cluster.unhealthy(), cluster.state.unpinned) == ({}, set())


# Applying a closure at once.


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_resolver_creates_first_is_corrected_by_the_apply(crossplane: str, seed: int) -> None:
    cluster = Cluster(catalog(APP), crossplane=crossplane, seed=seed)
    cluster.apply(*PINNED[:3])
    cluster.settle()
    before = cluster.images()["Provider/acme-net"]

    cluster.apply(PINNED[3])
    cluster.settle()

    assert before == f"{named('net')}:v1.1.10"
    assert cluster.images()["Provider/acme-net"] == f"{named('net')}:v1.1.1"
    assert not (cluster.unhealthy() or cluster.duplicates() or cluster.came_back())


# Names.


def test_two_functions_that_derive_one_name_leave_packages_without_their_dependency_for_ever() -> None:
    one, other = "xpkg.example.org/acme/function-kcl", "xpkg.example.com/acme/function-kcl"
    packages: Packages = {
        "app v1.0.0": {one: "*"},
        "old v1.0.0": {other: "*"},
        f"{one} v1.0.0": {},
        f"{other} v1.0.0": {},
    }
    kinds = {one: Kind.FUNCTION, other: Kind.FUNCTION}
    cluster = Cluster(catalog(packages, kinds=kinds))

    cluster.apply(provider("app v1.0.0"))
    cluster.settle()
    cluster.apply(provider("old v1.0.0"))
    cluster.settle()

    assert cluster.unhealthy() == {
        "acme-old": f"cannot resolve package dependencies: missing dependencies: {other}"
    }
    assert cluster.state.resolver_problem is None
    assert cluster.images()["Function/acme-function-kcl"] == f"{one}:v1.0.0"


@BOTH
def test_a_second_name_for_a_source_stops_every_package(crossplane: str) -> None:
    cluster = Cluster(catalog({**APP, "other v1.0.0": {}}), crossplane=crossplane)
    cluster.sync([provider("other v1.0.0")])

    cluster.apply(provider("app v1.0.0"))
    cluster.settle()
    cluster.apply(provider("net v1.1.1", "my-net"))
    cluster.settle()

    assert cluster.duplicates() == [str(named("net"))]
    assert cluster.unhealthy().keys() == {"acme-app", "acme-net", "acme-other", "my-net"}
    assert f"node {named('net')} already exists" in cluster.unhealthy()["acme-other"]


@BOTH
def test_in_one_apply_it_depends_on_who_comes_first(crossplane: str) -> None:
    def ends(skip: bool) -> Iterable[list[str]]:
        for seed in SEEDS:
            cluster = Cluster(catalog(APP), crossplane=crossplane, seed=seed)
            app = provider("app v1.0.0", skipDependencyResolution=skip)
            cluster.sync([app, provider("net v1.1.1", "my-net")])
            yield cluster.duplicates()

    assert [str(named("net"))] in ends(skip=False)
    assert not any(ends(skip=True))


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_detached_dependant_does_without_the_lock(crossplane: str, seed: int) -> None:
    cluster = Cluster(catalog(APP), crossplane=crossplane, seed=seed)

    cluster.sync([provider("app v1.0.0", skipDependencyResolution=True), provider("net v1.1.1", "my-net")])

    assert cluster.entries() == {str(named("net")): "v1.1.1"}
    assert not (cluster.unhealthy() or cluster.came_back())


# Handing over.

MOVING: Packages = {
    "old v1.0.0": {},
    "old v1.1.0": {},
    "new v2.0.0": {},
    "user v1.0.0": {"old": "*"},
    "next v1.0.0": {"new": "*"},
}


def moving(crossplane: str, *objects: Mapping[str, Any], seed: int = 0) -> Cluster:
    """A cluster with the old Provider, whose CRD the new one has, too."""
    cluster = Cluster(catalog(MOVING, objects={"old": CRDS, "new": CRDS}), crossplane=crossplane, seed=seed)
    return installed(cluster, provider("old v1.0.0"), *objects)


def hand_over(cluster: Cluster, *objects: Mapping[str, Any], **spec: Any) -> None:
    """Switch the old Provider off as each version of Crossplane needs it, with the new one beside it."""
    revision = [] if cluster.state.by_generation else [inactive(cluster, "acme-old")]
    cluster.sync([provider("new v2.0.0"), off("old v1.0.0", **spec), *revision, *objects])


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_provider_that_is_switched_off_hands_its_crds_over(crossplane: str, seed: int) -> None:
    cluster = moving(crossplane, seed=seed)
    old = cluster.revision("acme-old")

    hand_over(cluster)

    new = cluster.revision("acme-new")
    assert (old.desired, cluster.controller(CRD)) == ("Inactive", new.name)
    assert {new.name, old.name, "acme-old", "acme-new"} <= cluster.owners(CRD)
    assert cluster.deployments() == {new.name}
    assert cluster.inactive() == {("Provider", "acme-old")}
    assert not (cluster.unhealthy() or cluster.state.deleted)
    assert set(cluster.state.handovers) == {Handover(CRD, named("old"), named("new"), known_as=named("old"))}


def test_up_to_v2_3_the_lock_then_holds_the_new_source_alone() -> None:
    cluster = moving("v2.3.4")

    hand_over(cluster)

    assert cluster.entries() == {str(named("new")): "v2.0.0"}
    assert cluster.owners(CRD) == {
        cluster.revision("acme-new").name,
        cluster.revision("acme-old").name,
        "acme-old",
        "acme-new",
    }


def test_from_v2_4_on_the_change_of_the_spec_makes_a_revision_that_is_neither_active_nor_inactive() -> None:
    cluster = moving("v2.4.0")
    before = cluster.revision("acme-old")

    hand_over(cluster)

    after = cluster.revision("acme-old")
    assert (after.desired, after.name != before.name) == ("", True)
    assert cluster.entries() == {str(named("new")): "v2.0.0", str(named("old")): "v1.0.0"}
    assert after.name in [entry.name for entry in cluster.state.lock]


def test_up_to_v2_3_manual_alone_switches_nothing_off() -> None:
    cluster = moving("v2.3.4")

    cluster.sync([provider("new v2.0.0"), off("old v1.0.0")])

    assert cluster.controller(CRD) == cluster.revision("acme-old").name
    assert "is already controlled by" in cluster.unhealthy()["acme-new"]


def test_an_inactive_revision_without_manual_is_switched_on_again() -> None:
    cluster = moving("v2.3.4")

    cluster.apply(inactive(cluster, "acme-old"))
    cluster.settle()

    assert cluster.revision("acme-old").desired == "Active"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_revision_that_is_not_there_yet_cannot_be_switched_off_until_a_retry(seed: int) -> None:
    cluster = moving("v2.3.4", seed=seed)
    revision = inactive(cluster, "acme-old")
    revision["metadata"]["name"] = f"acme-old-{digest_of('old v1.1.0')[7:19]}"
    with pytest.raises(LookupError):
        cluster.apply(revision)

    cluster.sync([provider("new v2.0.0"), off("old v1.1.0"), revision])

    assert cluster.revision("acme-old").name == revision["metadata"]["name"]
    assert cluster.controller(CRD) == cluster.revision("acme-new").name
    assert not cluster.unhealthy()


@BOTH
def test_manual_and_detached_together_leave_no_entry(crossplane: str) -> None:
    cluster = moving(crossplane)

    hand_over(cluster, skipDependencyResolution=True)

    assert cluster.entries() == {str(named("new")): "v2.0.0"}
    assert not cluster.stale_entries()


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_dependant_of_the_new_source_poisons_an_object_that_was_repointed(
    crossplane: str, seed: int
) -> None:
    cluster = moving(crossplane, seed=seed)

    cluster.apply(provider("next v1.0.0"))
    cluster.settle()
    cluster.apply(provider("new v2.0.0", "acme-old"))
    cluster.settle()

    assert cluster.duplicates() == [str(named("new"))]
    assert f"node {named('new')} already exists" in cluster.unhealthy()["acme-next"]


USER, DETACHED = provider("user v1.0.0"), provider("user v1.0.0", skipDependencyResolution=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_up_to_v2_3_a_package_that_is_detached_later_keeps_its_entry_and_brings_the_old_one_back(
    seed: int,
) -> None:
    cluster = moving("v2.3.4", USER, seed=seed)
    hand_over(cluster, DETACHED, skipDependencyResolution=True)
    stale = cluster.stale_entries()

    cluster.sync([provider("new v2.0.0"), DETACHED])

    assert [(entry.source, entry.dependencies[0].package) for entry in stale] == [
        (str(named("user")), str(named("old")))
    ]
    assert cluster.came_back() == {("Provider", "acme-old")}
    # Automatic, the newest version, without a pin; and it fights for what it has handed over.
    assert cluster.images()["Provider/acme-old"] == f"{named('old')}:v1.1.0"
    assert "is already controlled by" in cluster.unhealthy()["acme-old"]


@pytest.mark.parametrize("seed", SEEDS)
def test_from_v2_4_on_its_entry_goes_and_the_old_one_stays_away(seed: int) -> None:
    cluster = moving("v2.4.0", USER, seed=seed)
    hand_over(cluster, DETACHED, skipDependencyResolution=True)
    stale = cluster.stale_entries()

    cluster.sync([provider("new v2.0.0"), DETACHED])

    assert (stale, cluster.came_back(), cluster.unhealthy()) == ([], set(), {})
    assert not cluster.state.deleted


@pytest.mark.parametrize("seed", SEEDS)
def test_an_alias_is_an_ordinary_upgrade(seed: int) -> None:
    cluster = moving("v2.3.4", USER, seed=seed)
    before = cluster.revision("acme-old")
    alias = pin("old v2.0.0", digest_of("new v2.0.0"), at=named("new"))
    follower = provider("next v1.0.0", skipDependencyResolution=True)

    cluster.sync([alias, provider("old v2.0.0"), USER, follower])

    assert before.desired == "Inactive"
    assert cluster.controller(CRD) == cluster.package("acme-old").current != before.name
    assert cluster.entries() == {str(named("old")): "v2.0.0", str(named("user")): "v1.0.0"}
    assert not (cluster.unhealthy() or cluster.came_back() or cluster.state.deleted)


def test_without_being_detached_a_dependant_of_an_alias_brings_the_new_source_in_as_well() -> None:
    cluster = moving("v2.3.4")
    alias = pin("old v2.0.0", digest_of("new v2.0.0"), at=named("new"))

    cluster.sync([alias, provider("old v2.0.0"), provider("next v1.0.0")])

    assert cluster.came_back() == {("Provider", "acme-new")}
    assert "is already controlled by" in cluster.unhealthy()["acme-new"]


# Through Argo CD.


def test_a_pin_goes_before_the_package_changes() -> None:
    seen = set()
    for seed in SEEDS:
        cluster = installed(Cluster(catalog(APP), seed=seed), pin("net v1.1.1"), provider("net v1.1.1"))
        cluster.sync([pin("net v1.1.10"), provider("net v1.1.10")])
        seen |= cluster.state.unpinned
        assert not cluster.unhealthy()

    assert seen == {str(TAG)}


def test_a_guard_is_read_from_the_live_object() -> None:
    guarded = annotated(provider("old v1.0.0"), GUARDED)
    cluster = moving("v2.3.4", guarded)

    cluster.sync([provider("next v1.0.0", skipDependencyResolution=True)])
    left = cluster.left_behind()
    cluster.sync([provider("next v1.0.0", skipDependencyResolution=True), provider("old v1.0.0")])
    cluster.sync([provider("next v1.0.0", skipDependencyResolution=True)])

    assert (left, cluster.left_behind()) == ({("Provider", "acme-old")}, set())
    assert cluster.state.deleted == [CRD]


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_provider_that_was_switched_off_can_be_retired(crossplane: str, seed: int) -> None:
    cluster = moving(crossplane, seed=seed)
    hand_over(cluster, skipDependencyResolution=True)

    cluster.sync([provider("new v2.0.0")])

    assert cluster.images() == {"Provider/acme-new": f"{named('new')}:v2.0.0"}
    assert cluster.entries() == {str(named("new")): "v2.0.0"}
    assert not (cluster.unhealthy() or cluster.state.deleted or cluster.came_back())


def test_packages_that_are_pruned_together_can_come_back() -> None:
    def left(*, slow: bool) -> set[str]:
        found: set[str] = set()
        for seed in SEEDS:
            cluster = Cluster(catalog({**APP, "other v1.0.0": {}}), seed=seed, slow_deletion=slow)
            cluster.sync([*PINNED, provider("other v1.0.0")])
            cluster.sync([provider("other v1.0.0")])
            found |= cluster.images().keys()
        return found

    assert left(slow=True) == {"Provider/acme-other", "Provider/acme-net"}
    assert left(slow=False) == {"Provider/acme-other"}


# What else the references say, as far as others rely on it.


def test_a_package_of_another_kind_than_its_dependant_says_never_gets_into_the_lock() -> None:
    packages: Packages = {
        "app v1.0.0": {"fn": written(str(named("fn")), "*", kind="Provider")},
        "fn v1.0.0": {},
    }
    cluster = Cluster(catalog(packages, kinds={"fn": Kind.FUNCTION}))

    cluster.apply(provider("app v1.0.0"))
    cluster.settle()

    assert cluster.unhealthy()["acme-fn"] == "package meta type is not Provider"
    assert cluster.entries() == {str(named("app")): "v1.0.0"}


def test_a_circle_in_the_lock_stops_the_resolver() -> None:
    packages: Packages = {"a v1.0.0": {"b": "*"}, "b v1.0.0": {"a": "*", "c": "*"}, "c v1.0.0": {}}
    cluster = Cluster(catalog(packages))

    cluster.apply(provider("a v1.0.0"))
    cluster.settle()

    assert cluster.images().keys() == {"Provider/acme-a", "Provider/acme-b"}
    assert cluster.state.resolver_problem == "cannot sort DAG: detected cycle"


def test_a_digest_suits_no_range_and_a_tag_no_digest() -> None:
    digest = digest_of("net v1.1.1")
    packages: Packages = {**APP, "exact v1.0.0": {"net": digest}}
    by_digest = provider("net v1.1.1")
    by_digest["spec"]["package"] = f"{named('net')}@{digest}"

    def ends(net: dict[str, Any]) -> set[str]:
        cluster = Cluster(catalog(packages))
        cluster.sync([provider("app v1.0.0"), provider("exact v1.0.0"), net])
        return set(cluster.unhealthy())

    assert ends(by_digest) == {"acme-app"}
    assert ends(provider("net v1.1.1")) == {"acme-exact"}


def test_a_field_that_is_no_longer_named_falls_back_or_stays_as_objects_are_applied() -> None:
    def limit(*, keeps: bool) -> int:
        cluster = Cluster(catalog(APP), keeps_fields=keeps)
        cluster.sync([provider("net v1.1.1", revisionHistoryLimit=3)])
        cluster.sync([provider("net v1.1.1")])
        found: int = cluster.package("acme-net").spec["revisionHistoryLimit"]
        return found

    assert (limit(keeps=False), limit(keeps=True)) == (1, 3)


def test_old_revisions_are_collected_and_an_old_one_can_be_the_current_one_again() -> None:
    packages: Packages = {f"net v1.{minor}.0": {} for minor in range(5)}
    cluster = Cluster(catalog(packages))

    for minor in (0, 1, 2, 3, 4, 3):
        cluster.sync([provider(f"net v1.{minor}.0")])

    names = {f"acme-net-{digest_of(f'net v1.{minor}.0')[7:19]}" for minor in (3, 4)}
    assert {revision.name for revision in cluster.state.revisions.values()} == names
    assert cluster.revision("acme-net").number == max(r.number for r in cluster.state.revisions.values())
    assert not cluster.unhealthy()


# Names


@pytest.mark.parametrize(
    ("package", "digest", "generation", "name"),
    [
        ("test", "552a394a8accd2b4d37fc5858abe93d311e727eafb3c00636e11c72572873e48", 1, "test-fc53eaee07bb"),
        ("test", "1234567890123456789012345678901234567890123456789012345678901234", 0, "test-72ef82465153"),
        ("my.provider", HEX, 1, "my-provider-c7de9c173ceb"),
        ("my.provider", HEX, 2, "my-provider-cb5d567cc5f7"),
    ],
)
def test_a_generation_is_part_of_a_revisions_name(
    package: str, digest: str, generation: int, name: str
) -> None:
    assert generation_revision_name(package, Digest(f"sha256:{digest}"), generation) == name


@pytest.mark.parametrize(
    ("text", "source", "version"),
    [
        (f"{NOP}:v0.4.0", NOP, "v0.4.0"),
        (f"{NOP}@{DIGEST}", NOP, DIGEST),
        (f"{NOP}:v0.4.0@{DIGEST}", f"{NOP}:v0.4.0", DIGEST),
        ("registry.local:5000/org/pkg:v1.0.0", "registry.local:5000/org/pkg", "v1.0.0"),
        ("docker.io/crossplane/provider-nop:v0.4.0", "docker.io/crossplane/provider-nop", "v0.4.0"),
        (
            "index.docker.io/crossplane/provider-nop:v0.4.0",
            "index.docker.io/crossplane/provider-nop",
            "v0.4.0",
        ),
    ],
)
def test_the_lock_knows_a_reference_by_what_is_left_of_its_identifier(
    text: str, source: str, version: str
) -> None:
    assert lock_identity(parse_reference(text)) == (source, version)
