"""The objects of a cluster become values; what cannot be of one cluster is refused."""

import random
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.live_objects import Object, Running, format_objects, image_config, live_objects

from render.limits import Limits
from render.live.model import Cluster, RevisionState
from render.live.read import ClusterReader, NoCrossplane, TwoClusters
from render.live.stream import InvalidLiveObjects

BASE = Running(
    "base v1.0.0",
    "my-base",
    kind="Provider",
    objects=("a.example.org", "b.example.org"),
    labels={"team": "a"},
)
APP = Running("app v2.0.0", needs={"base": ">=v1"}, annotations={"crossplane.io/paused": "true"})
CONFIG = image_config("mirror", "xpkg.example.org", {"rewriteImage": {"prefix": "mirror.example.org"}})
ALL = live_objects([BASE, APP], CONFIG)


def read(*texts: str) -> Cluster:
    reader = ClusterReader(Limits())
    for text in texts:
        reader.add(BytesIO(text.encode()).read)
    return reader.cluster()


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_packages_and_what_belongs_to_them_are_read(form: str) -> None:
    cluster = read(format_objects(ALL, form))

    app, base = cluster.packages
    assert (app.name, app.package, app.metadata.is_paused) == ("acme-app", APP.reference, True)
    assert (base.kind, base.name, base.metadata.labels) == ("Provider", "my-base", {"team": "a"})
    revision = cluster.current_revision(base)
    assert revision is not None
    assert (revision.package, revision.state, revision.objects) == ("my-base", RevisionState.ACTIVE, 2)
    assert cluster.revisions_of(app)[0].metadata.controller is not None
    assert cluster.lock is not None
    assert [edge.constraints for edge in cluster.lock.lock.packages[1].edges] == [">=v1"]
    assert cluster.image_configs[0].spec["rewriteImage"] == {"prefix": "mirror.example.org"}


@given(st.randoms(use_true_random=False), st.sampled_from(["yaml", "json"]))
def test_the_order_of_the_objects_changes_nothing(chance: random.Random, form: str) -> None:
    objects = list(ALL)
    chance.shuffle(objects)

    assert read(format_objects(objects, form)) == read(format_objects(ALL))


def test_kubectls_own_copy_of_an_object_is_left_out() -> None:
    copied = Running("base v1.0.0", annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}\n"})

    assert read(format_objects(live_objects([copied]))).packages[0].metadata.annotations == {}


def test_other_kinds_are_passed_over() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "b"}}
    other: Object = {"apiVersion": "example.org/v1", "kind": "Provider", "metadata": {"name": "a"}}

    assert read(format_objects([secret, other, *ALL])) == read(format_objects(ALL))


def test_an_object_that_was_read_twice_counts_once_and_its_later_version_counts() -> None:
    assert read(format_objects(ALL), format_objects(ALL)) == read(format_objects(ALL))
    newer = live_objects([BASE, Running("app v2.1.0")], CONFIG)
    for version, objects in (("9", ALL), ("10", newer)):
        for one in objects:
            one["metadata"]["resourceVersion"] = version

    assert read(format_objects(newer), format_objects(ALL)) == read(format_objects(newer))


@pytest.mark.parametrize("key", ["uid", "generation"])
def test_objects_of_two_clusters_are_refused(key: str) -> None:
    other = [{**one, "metadata": {**one["metadata"], key: 7 if key == "generation" else "7"}} for one in ALL]

    with pytest.raises(TwoClusters) as caught:
        read(format_objects(ALL), format_objects(other))

    assert "Lock lock is there twice" in str(caught.value)


@pytest.mark.parametrize("text", ["", "apiVersion: v1\nkind: List\nitems: []\n", "kind: Deployment\n"])
def test_a_cluster_without_crossplane_is_refused(text: str) -> None:
    with pytest.raises(NoCrossplane):
        read(text)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "../x:y", "a b", "\x1b[31m", "-x", "A"])
def test_a_name_that_kubernetes_would_not_accept_is_refused(name: str) -> None:
    with pytest.raises(InvalidLiveObjects) as caught:
        read(format_objects([_package(name), *ALL]))

    assert "metadata.name: expected a name" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_all_problems_are_listed() -> None:
    wrong = _package("wrong")
    wrong["spec"]["package"] = 1
    wrong["status"]["conditions"] = {"type": "Healthy"}

    with pytest.raises(InvalidLiveObjects) as caught:
        read(format_objects([wrong, *ALL]) + "---\n- 1\n")

    assert "Configuration wrong: spec.package: expected text" in str(caught.value)
    assert "Configuration wrong: status.conditions: expected a list" in str(caught.value)
    assert "expected objects" in str(caught.value)


def _package(name: str) -> dict[str, Any]:
    made = Running("base v1.0.0").as_package()
    made["metadata"]["name"] = name
    return made
