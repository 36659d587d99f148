"""Overrides complete manifests: what is said nearest to a package counts."""

from typing import Any

import pytest

from render.overrides import Override, override_fields
from render.packages import Kind
from render.references import Source

STORE = Source("xpkg.example.org", "acme/provider-store")


def fields_of(
    *overrides: Override,
    own: dict[str, Any] | None = None,
    source: Source = STORE,
    kind: Kind = Kind.PROVIDER,
) -> dict[str, object]:
    return override_fields(source, kind, own or {}, overrides)


def test_without_an_override_a_manifest_stays_as_it_is() -> None:
    own = {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}, "spec": {"commonLabels": {"c": "d"}}}

    assert fields_of(own=own) == own
    assert fields_of() == {}


def test_every_field_has_its_place_in_the_manifest() -> None:
    override = Override(
        "xpkg.example.org",
        runtime_config="small",
        pull_secrets=("first", "second"),
        pull_policy="Always",
        activation_policy="Manual",
        history_limit=0,
        labels={"team": "network"},
        annotations={"example.org/note": ""},
    )

    assert fields_of(override) == {
        "metadata": {"labels": {"team": "network"}, "annotations": {"example.org/note": ""}},
        "spec": {
            "runtimeConfigRef": {"name": "small"},
            "packagePullSecrets": [{"name": "first"}, {"name": "second"}],
            "packagePullPolicy": "Always",
            "revisionActivationPolicy": "Manual",
            "revisionHistoryLimit": 0,
        },
    }


def test_parts_without_anything_in_them_are_left_out() -> None:
    assert fields_of(Override("xpkg.example.org", labels={"a": "b"})) == {"metadata": {"labels": {"a": "b"}}}
    assert fields_of(Override("xpkg.example.org", pull_policy="Never")) == {
        "spec": {"packagePullPolicy": "Never"}
    }


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Kind.PROVIDER, {"spec": {"runtimeConfigRef": {"name": "small"}}}),
        (Kind.FUNCTION, {"spec": {"runtimeConfigRef": {"name": "small"}}}),
        (Kind.CONFIGURATION, {}),
    ],
)
def test_a_configuration_runs_nothing_and_has_no_runtime_config(kind: Kind, fields: dict[str, Any]) -> None:
    assert fields_of(Override("xpkg.example.org", runtime_config="small"), kind=kind) == fields


@pytest.mark.parametrize(
    ("prefix", "fits"),
    [
        ("xpkg.example.org", True),
        ("xpkg.example.org/acme", True),
        ("xpkg.example.org/acme/provider-store", True),
        ("xpkg.example.org/acme/provider", False),
        ("xpkg.example.org/ac", False),
        ("xpkg.example.org/acme/provider-store/more", False),
        ("xpkg.example", False),
        ("other.example.org/acme", False),
    ],
)
def test_a_prefix_fits_whole_parts_of_a_path(prefix: str, fits: bool) -> None:
    fields = fields_of(Override(prefix, pull_policy="Never"))

    assert fields == ({"spec": {"packagePullPolicy": "Never"}} if fits else {})


def test_the_longer_prefix_wins_field_by_field_wherever_it_stands() -> None:
    registry = Override("xpkg.example.org", pull_policy="Always", pull_secrets=("all",), history_limit=5)
    path = Override("xpkg.example.org/acme", pull_secrets=("acme", "more"), history_limit=3)
    source = Override(str(STORE), history_limit=0)

    fields = fields_of(source, registry, path)

    assert fields == fields_of(path, source, registry)
    assert fields == {
        "spec": {
            "packagePullPolicy": "Always",
            "packagePullSecrets": [{"name": "acme"}, {"name": "more"}],
            "revisionHistoryLimit": 0,
        }
    }


def test_labels_and_annotations_are_merged_key_by_key() -> None:
    registry = Override(
        "xpkg.example.org",
        labels={"a": "registry", "b": "registry", "c": "registry"},
        annotations={"a": "registry", "d": "registry"},
    )
    path = Override("xpkg.example.org/acme", labels={"b": "path", "c": "path"}, annotations={"a": "path"})
    own = {"metadata": {"labels": {"c": "own"}, "annotations": {"e": "own"}}}

    assert fields_of(path, registry, own=own) == {
        "metadata": {
            "labels": {"a": "registry", "b": "path", "c": "own"},
            "annotations": {"a": "path", "d": "registry", "e": "own"},
        }
    }


def test_what_a_manifest_says_itself_wins_and_nothing_of_it_is_lost() -> None:
    override = Override(
        str(STORE),
        runtime_config="small",
        pull_secrets=("theirs",),
        pull_policy="Always",
        activation_policy="Manual",
        history_limit=9,
    )
    own = {
        "metadata": {"finalizers": ["x"]},
        "spec": {
            "runtimeConfigRef": {"apiVersion": "pkg.crossplane.io/v1beta1", "name": "own"},
            "packagePullSecrets": [{"name": "own"}],
            "revisionHistoryLimit": 0,
            "skipDependencyResolution": True,
        },
    }

    assert fields_of(override, own=own) == {
        "metadata": {"finalizers": ["x"]},
        "spec": {
            "runtimeConfigRef": {"apiVersion": "pkg.crossplane.io/v1beta1", "name": "own"},
            "packagePullSecrets": [{"name": "own"}],
            "packagePullPolicy": "Always",
            "revisionActivationPolicy": "Manual",
            "revisionHistoryLimit": 0,
            "skipDependencyResolution": True,
        },
    }


def test_what_comes_in_is_not_changed() -> None:
    own = {"metadata": {"labels": {"a": "own"}}, "spec": {"revisionHistoryLimit": 1}}
    override = Override("xpkg.example.org", labels={"b": "more"}, pull_policy="Never")

    fields_of(override, own=own)

    assert own == {"metadata": {"labels": {"a": "own"}}, "spec": {"revisionHistoryLimit": 1}}
    assert override.labels == {"b": "more"}
