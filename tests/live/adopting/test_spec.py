"""Only what a user chose goes into a manifest: no defaults of the API, and no notes of other tools."""

from typing import Any

import pytest
from rig.builders.live_objects import DEFAULTS

from render.live.adopting.spec import chosen_metadata, chosen_spec, find_differences
from render.live.model import Metadata

OPTIONS = "argocd.argoproj.io/sync-options"
GUARDS = {
    OPTIONS: "Prune=false,Delete=confirm,ServerSideApply=true",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
RUNTIME = {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig", "name": "default"}


def test_defaults_are_left_out() -> None:
    spec = {
        **DEFAULTS,
        "package": "a",
        "runtimeConfigRef": RUNTIME,
        "packagePullSecrets": [],
        "commonLabels": {},
    }

    assert chosen_spec(spec) == {}


@pytest.mark.parametrize(
    ("key", "value", "chosen"),
    [
        ("revisionHistoryLimit", 0, 0),
        ("revisionHistoryLimit", True, True),
        ("skipDependencyResolution", True, True),
        ("runtimeConfigRef", {**RUNTIME, "name": "small"}, {"name": "small"}),
        ("somethingNew", {"a": [1]}, {"a": [1]}),
    ],
)
def test_every_other_value_is_kept(key: str, value: Any, chosen: Any) -> None:
    assert chosen_spec({**DEFAULTS, key: value}) == {key: chosen}


def test_specs_are_compared_as_the_api_server_would_store_them() -> None:
    live = {**DEFAULTS, "package": "a", "runtimeConfigRef": {**RUNTIME, "name": "small"}}

    assert find_differences({"package": "a", "runtimeConfigRef": {"name": "small"}}, live) == []
    assert find_differences({"package": "b"}, live) == ["package", "runtimeConfigRef"]
    assert find_differences(
        {"package": "a", "runtimeConfigRef": {"name": "small"}, "revisionHistoryLimit": 0}, live
    ) == ["revisionHistoryLimit"]


def test_notes_of_other_tools_are_left_out() -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "a", "team": "a"}
    annotations = {"argocd.argoproj.io/tracking-id": "a", "xplock.dev/required-by": "a", "note": "b"}

    assert chosen_metadata(Metadata("a", labels=labels, annotations=annotations)) == {
        "labels": {"team": "a"},
        "annotations": {"note": "b"},
    }
    assert chosen_metadata(Metadata("a", annotations=GUARDS)) == {}
    kept = {**GUARDS, OPTIONS: f"{GUARDS[OPTIONS]},Replace=true"}
    assert chosen_metadata(Metadata("a", annotations=kept)) == {"annotations": {OPTIONS: kept[OPTIONS]}}
    mine = {OPTIONS: "Prune=false", "kustomize.toolkit.fluxcd.io/prune": "disabled"}
    assert chosen_metadata(Metadata("a", annotations=mine)) == {"annotations": mine}
    assert chosen_metadata(Metadata("a", labels={"app.kubernetes.io/managed-by": "me"})) == {
        "labels": {"app.kubernetes.io/managed-by": "me"}
    }
