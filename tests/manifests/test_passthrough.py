"""Passthrough objects are rendered unchanged, except for sync annotations."""

from typing import Any

import pytest
from rig.builders.render_inputs import image_config

from render.errors import InvalidInput
from render.manifests.passthrough import is_setting, refuse_locks, render_other, render_setting

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"


def value(api: str, kind: str, **annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "x"}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": metadata | ({"annotations": annotations} if annotations else {}),
    }


@pytest.mark.parametrize(
    ("api", "kind", "answer"),
    [
        ("pkg.crossplane.io/v1beta1", "ImageConfig", True),
        ("pkg.crossplane.io/v1beta1", "DeploymentRuntimeConfig", True),
        ("pkg.crossplane.io/v1", "ImageConfig", True),
        ("pkg.crossplane.io/v1", "ProviderRevision", False),
        ("acme.example/v1beta1", "ImageConfig", False),
        ("v1", "Secret", False),
    ],
)
def test_image_configs_and_runtime_configs_are_settings(api: str, kind: str, answer: bool) -> None:
    assert is_setting(value(api, kind)) is answer


def test_a_setting_gets_the_early_wave_unless_it_has_its_own() -> None:
    early, own = image_config("a", "xpkg.example.org"), image_config("b", "xpkg.example.org")
    own["metadata"]["annotations"] = {WAVE: "-5"}

    assert render_setting(early) == early | {"metadata": {"name": "a", "annotations": {WAVE: "-1"}}}
    assert render_setting(own) == own


def test_an_object_whose_kind_a_package_defines_skips_the_dry_run() -> None:
    config = value("aws.acme.example/v1beta1", "ProviderConfig", note="mine")

    made = render_other(config, {"aws.acme.example"}, None)

    assert made["metadata"]["annotations"] == {"note": "mine", OPTIONS: "SkipDryRunOnMissingResource=true"}
    assert config["metadata"]["annotations"] == {"note": "mine"}


def test_with_waves_it_comes_after_the_packages() -> None:
    made = render_other(value("aws.acme.example/v1", "Bucket"), {"aws.acme.example"}, "3")

    assert made["metadata"]["annotations"] == {WAVE: "3", OPTIONS: "SkipDryRunOnMissingResource=true"}


def test_its_own_options_and_wave_stay() -> None:
    own = value("aws.acme.example/v1", "Bucket") | {
        "metadata": {
            "name": "x",
            "annotations": {WAVE: "9", OPTIONS: "SkipDryRunOnMissingResource=true,Prune=false"},
        }
    }

    assert render_other(own, {"aws.acme.example"}, "3") == own


@pytest.mark.parametrize(
    "api", ["v1", "acme.example/v1", "x.aws.acme.example/v1", "apiextensions.crossplane.io/v1"]
)
def test_any_other_object_is_exactly_as_it_was(api: str) -> None:
    other = value(api, "Thing")

    assert render_other(other, {"aws.acme.example"}, "3") == other


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("pkg.crossplane.io/v1beta1", "Lock"),
        ("pkg.crossplane.io/v1alpha1", "Lock"),
        ("xplock.dev/v1alpha1", "LockDetails"),
    ],
)
def test_a_lock_is_never_applied(api: str, kind: str) -> None:
    with pytest.raises(InvalidInput, match=f"contains a {kind}") as error:
        refuse_locks([value("v1", "Secret"), value(api, kind)])

    assert f"move the file with the {kind} out of the folder" in str(error.value)


def test_locks_of_other_api_groups_are_allowed() -> None:
    refuse_locks([value("acme.example/v1", "Lock"), value("pkg.crossplane.io/v1beta1", "ImageConfig")])
