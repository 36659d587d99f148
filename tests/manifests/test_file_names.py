"""File names: readable, safe, and different for every object."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.manifests.out_folder import KUSTOMIZATION, name_files


def an_object(
    kind: str = "Provider", name: str = "store", namespace: str = "", api: str = "pkg.crossplane.io/v1"
) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **place}}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (an_object(), "provider-store.yaml"),
        (an_object("ConfigMap", "settings", "platform", "v1"), "configmap-platform-settings.yaml"),
        (an_object("ClusterRole", "system:a/B", api="rbac/v1"), "clusterrole-system-a-b.yaml"),
        (an_object("../../x", "../../etc/passwd"), "x-..-..-etc-passwd.yaml"),
        (an_object(".Hidden", "größe"), "hidden-gr-e.yaml"),
    ],
)
def test_a_file_is_named_after_its_object(value: dict[str, Any], name: str) -> None:
    assert name_files([value]) == [name]


def test_only_objects_that_would_share_a_name_get_their_group() -> None:
    one, two = an_object("Provider", "a"), an_object("Provider", "a", api="other.example.org/v1")
    core, other = an_object("Event", "a", api="v1"), an_object("Event", "a", api="events.k8s.io/v1")

    names = name_files([one, two, core, other, an_object("Provider", "b")])

    assert names[:2] == ["provider-pkg.crossplane.io-a.yaml", "provider-other.example.org-a.yaml"]
    assert re.fullmatch(r"event-a-[0-9a-f]{16}\.yaml", names[2])
    assert names[3:] == ["event-events.k8s.io-a.yaml", "provider-b.yaml"]


def test_names_that_differ_only_in_case_or_in_unsafe_characters_become_different_files() -> None:
    names = name_files([an_object(name=name) for name in ("a-b", "A-b", "a:b", "a_b")])

    assert len(set(names)) == 4
    assert all(re.fullmatch(r"provider-a-b-[0-9a-f]{16}\.yaml", name) for name in names)


def test_objects_whose_joined_names_are_equal_get_different_files() -> None:
    names = name_files([an_object("K", "c", "a-b"), an_object("K", "b-c", "a")])

    assert len(set(names)) == 2


def test_long_names_are_cut_and_end_with_a_hash() -> None:
    names = name_files([an_object(name="a" * 250), an_object(name="a" * 251)])

    assert len(set(names)) == 2
    assert all(len(name) == 120 + len(".yaml") for name in names)


def test_no_object_gets_the_file_name_of_the_kustomization() -> None:
    assert KUSTOMIZATION not in name_files([an_object("Kustomization", "")])


def test_a_name_that_equals_the_hashed_name_of_another_object_gets_its_own_file() -> None:
    twins = [an_object(name="a"), an_object(name="A")]
    lookalike = name_files(twins)[0].removesuffix(".yaml").removeprefix("provider-")

    names = name_files([*twins, an_object(name=lookalike)])

    assert len(set(names)) == 3


_parts = st.text(st.sampled_from("aAb:-_./é "), max_size=5)


@given(st.lists(st.tuples(_parts, _parts, _parts, _parts), unique=True, max_size=12))
def test_no_two_objects_share_a_file_and_no_name_is_unsafe(
    identities: list[tuple[str, str, str, str]],
) -> None:
    values = [an_object(kind, name, space, f"{group}x/v1") for group, kind, space, name in identities]

    names = name_files(values)

    assert len(set(names)) == len(values)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*\.yaml", name) for name in names)
    assert KUSTOMIZATION not in names
