"""Annotations for Argo CD are added beside the user's own, and never instead of them."""

from typing import Any

import pytest

from render.manifests.sync_annotations import SYNC_OPTIONS, SYNC_WAVE, add_options, annotate


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, "A=1,B=2"),
        ({SYNC_OPTIONS: ""}, "A=1,B=2"),
        ({SYNC_OPTIONS: None}, "A=1,B=2"),
        ({SYNC_OPTIONS: "C=3"}, "C=3,A=1,B=2"),
        ({SYNC_OPTIONS: " C=3 , ,D "}, "C=3,D,A=1,B=2"),
        ({SYNC_OPTIONS: "A=other"}, "A=other,B=2"),
        ({SYNC_OPTIONS: "B=2"}, "B=2,A=1"),
        # Argo CD tells upper and lower case apart.
        ({SYNC_OPTIONS: "a=1"}, "a=1,A=1,B=2"),
        # With nothing to add, the text stays as it was written.
        ({SYNC_OPTIONS: " B=1 , A"}, " B=1 , A"),
    ],
)
def test_options_join_the_users_list(own: dict[str, Any], expected: str) -> None:
    annotations = dict(own)

    add_options(annotations, ["A=1", "B=2"])

    assert annotations == {SYNC_OPTIONS: expected}


@pytest.mark.parametrize("own", [True, 5, ["A=1"], {"A": 1}])
def test_options_that_are_not_text_are_kept(own: Any) -> None:
    annotations = {SYNC_OPTIONS: own}

    add_options(annotations, ["A=1"])

    assert annotations == {SYNC_OPTIONS: own}


def test_an_object_is_annotated_in_a_copy_and_all_else_keeps_its_order() -> None:
    value = {
        "kind": "Widget",
        "metadata": {"annotations": {"z": "1"}, "name": "w", "labels": {"b": "1", "a": "2"}},
        "apiVersion": "acme.example/v1",
    }
    before = repr(value)

    made = annotate(value, "2", ["A=1"])

    assert made == {
        "kind": "Widget",
        "metadata": {
            "annotations": {"z": "1", SYNC_WAVE: "2", SYNC_OPTIONS: "A=1"},
            "name": "w",
            "labels": {"b": "1", "a": "2"},
        },
        "apiVersion": "acme.example/v1",
    }
    assert list(made) == ["kind", "metadata", "apiVersion"]
    assert list(made["metadata"]) == ["annotations", "name", "labels"]
    assert repr(value) == before


@pytest.mark.parametrize("own", ["5", "0", "", "x", 7, None])
def test_a_wave_of_the_users_own_stays(own: Any) -> None:
    value = {"metadata": {"annotations": {SYNC_WAVE: own}}}

    assert annotate(value, "-1") == value


@pytest.mark.parametrize(
    "value", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"annotations": None}}]
)
def test_annotations_are_made_where_there_are_none(value: dict[str, Any]) -> None:
    assert annotate(value, "-1") == {"metadata": {"annotations": {SYNC_WAVE: "-1"}}}


@pytest.mark.parametrize("value", [{"metadata": "x"}, {"metadata": []}, {"metadata": {"annotations": ["x"]}}])
def test_a_malformed_object_is_not_changed(value: dict[str, Any]) -> None:
    assert annotate(value, "-1", ["A=1"]) == value


def test_no_wave_and_no_options_add_no_annotations() -> None:
    assert annotate({"metadata": {"name": "x"}}, None) == {"metadata": {"name": "x"}}
