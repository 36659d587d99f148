"""The real kubectl reads a cluster: only what is needed, and what it may not read is said."""

import json
import os
import shlex
from pathlib import Path

import pytest
from rig.builders.live_objects import Object, Running, image_config, live_objects
from rig.live_api import LiveApi

from render.app.live_input import KubectlNotAsked, LiveInput, read_cluster
from render.app.operator_settings import OperatorSettings
from render.limits import LimitExceeded, Limits
from render.live.kubectl import ClusterUnreadable, KubectlMissing, NoPackageManager

pytestmark = pytest.mark.slow

OBJECTS: list[Object] = live_objects(
    [Running("base v1.0.0")], image_config("mirror", "xpkg.example.org", {"rewriteImage": {"prefix": "m"}})
)
# Discovery, which kubectl does before it asks for objects.
DISCOVERY = {"api", "apis", "v1"}


def operator(limits: Limits | None = None) -> OperatorSettings:
    return OperatorSettings(dict(os.environ), limits or Limits())


def test_a_cluster_is_only_read_and_secrets_are_never_asked_for(tmp_path: Path) -> None:
    api = LiveApi(OBJECTS)
    with api.server:
        cluster = read_cluster(LiveInput(kubeconfig=api.kubeconfig(tmp_path), context="made-up"), operator())

        assert [one.name for one in cluster.packages] == ["acme-base"]
        assert [one.name for one in cluster.image_configs] == ["mirror"]
        assert {one.method for one in api.server.requests} == {"GET"}
        assert not api.server.saw("secrets")


def test_what_was_read_can_be_saved_and_read_again(tmp_path: Path) -> None:
    api, saved = LiveApi(OBJECTS), tmp_path / "cluster.json"
    with api.server:
        cluster = read_cluster(LiveInput(kubeconfig=api.kubeconfig(tmp_path), save=saved), operator())

    with saved.open("rb") as file:
        assert read_cluster(LiveInput([file]), operator()) == cluster


@pytest.mark.parametrize(
    ("missing", "forbidden", "note"),
    [
        (
            ["imageconfigs"],
            [],
            "imageconfigs.pkg.crossplane.io were not read: the cluster does not have them",
        ),
        ([], ["deploymentruntimeconfigs"], "deploymentruntimeconfigs.pkg.crossplane.io were not read: Error"),
    ],
)
def test_a_kind_that_is_not_needed_may_be_missing_or_forbidden(
    missing: list[str], forbidden: list[str], note: str, tmp_path: Path
) -> None:
    api = LiveApi(OBJECTS, missing=missing, forbidden=forbidden)
    with api.server:
        cluster = read_cluster(LiveInput(kubeconfig=api.kubeconfig(tmp_path)), operator())

    assert [line[: len(note)] for line in cluster.notes] == [note]
    assert len(cluster.image_configs) == (not missing)


def test_packages_that_may_not_be_read_are_an_error(tmp_path: Path) -> None:
    api = LiveApi(OBJECTS, forbidden=["locks"])
    with api.server, pytest.raises(ClusterUnreadable) as caught:
        read_cluster(LiveInput(kubeconfig=api.kubeconfig(tmp_path)), operator())

    assert "may not be read" in caught.value.what
    assert "locks.pkg.crossplane.io is forbidden" in str(caught.value)


def test_a_cluster_without_crossplane_is_told_from_one_that_does_not_answer(tmp_path: Path) -> None:
    api = LiveApi([], missing=["providers", "configurations", "functions", "locks"])
    with api.server:
        there = LiveInput(kubeconfig=api.kubeconfig(tmp_path))
        with pytest.raises(NoPackageManager):
            read_cluster(there, operator())
    with pytest.raises(ClusterUnreadable) as caught:
        read_cluster(there, operator())

    assert "kubectl --kubeconfig" in str(caught.value)


def test_too_much_is_an_error(tmp_path: Path) -> None:
    api = LiveApi(OBJECTS)
    with api.server, pytest.raises(LimitExceeded):
        read_cluster(LiveInput(kubeconfig=api.kubeconfig(tmp_path)), operator(Limits(live_bytes=100)))


def test_without_kubectl_files_are_the_way() -> None:
    with pytest.raises(KubectlMissing) as caught:
        read_cluster(LiveInput(), OperatorSettings({"PATH": "/nowhere"}, Limits()))

    assert "give files" in str(caught.value)


def test_options_for_kubectl_do_not_go_with_files(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("")
    with path.open("rb") as file, pytest.raises(KubectlNotAsked) as caught:
        read_cluster(LiveInput([file], context="a", save=tmp_path / "b"), operator())

    assert "--context and --save" in caught.value.what


def test_the_configs_of_providers_are_asked_for_by_their_definitions(tmp_path: Path) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "providerconfigs.net.example.org"},
    }
    config = {
        "apiVersion": "net.example.org/v1",
        "kind": "ProviderConfig",
        "metadata": {"name": "default"},
        "spec": {"credentials": {"source": "Secret"}},
    }
    answers = {
        "*,locks.*": OBJECTS,
        "*customresourced*": [crd],
        "*providerconfigs.net*--all-namespaces*": [config],
    }
    cases = "".join(
        f"{pattern}) printf %s {shlex.quote(json.dumps({'kind': 'List', 'items': items}))};;"
        for pattern, items in answers.items()
    )

    cluster = read_cluster(
        LiveInput(), script_operator(tmp_path, f"case $* in {cases} *) echo '{{}}';; esac"), everything=True
    )

    assert [(one.api_version, one.name, one.spec) for one in cluster.provider_configs] == [
        ("net.example.org/v1", "default", {})
    ]


def script_operator(tmp_path: Path, script: str, limits: Limits | None = None) -> OperatorSettings:
    """Return settings in which kubectl is a script."""
    kubectl = tmp_path / "bin/kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(f"#!/bin/sh\n{script}\n")
    kubectl.chmod(0o755)
    return OperatorSettings({"PATH": f"{kubectl.parent}:{os.defpath}"}, limits or Limits())


def test_what_is_not_needed_and_takes_too_long_is_a_note(tmp_path: Path) -> None:
    packages = json.dumps({"kind": "List", "items": OBJECTS})
    script = f"case $* in *locks*) printf %s {shlex.quote(packages)};; *imageconfigs*) sleep 60;; *) echo '{{}}';; esac"

    cluster = read_cluster(LiveInput(), script_operator(tmp_path, script, Limits(kubectl_seconds=2)))

    assert [one.name for one in cluster.packages] == ["acme-base"]
    assert [line.partition(":")[0] for line in cluster.notes] == [
        "imageconfigs.pkg.crossplane.io and deploymentruntimeconfigs.pkg.crossplane.io were not read"
    ]
