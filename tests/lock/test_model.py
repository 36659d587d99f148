"""A lock has one form, in whatever order it was put together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from rig.builders.locks import lock, package, source
from rig.builders.random_locks import any_locks

from render.lock.model import Lock
from render.lock.text.format import format_lock
from render.manifests.packages import render_package


def reversed_keys(value: Any) -> Any:
    """The same value with every mapping in the opposite order, and lists as tuples."""
    if isinstance(value, Mapping):
        return {key: reversed_keys(value[key]) for key in reversed(list(value))}
    return tuple(map(reversed_keys, value)) if isinstance(value, list) else value


def shuffled(made: Lock) -> Lock:
    """The same lock, put together in the opposite order at every level."""
    packages = {
        name: replace(
            one,
            required_by=one.required_by[::-1],
            replaced_by=one.replaced_by[::-1],
            objects=reversed_keys(one.objects),
            fields=reversed_keys(one.fields),
            overrides=reversed_keys(one.overrides),
        )
        for name, one in made.packages.items()
    }
    return Lock(
        dict(reversed(packages.items())),
        reversed_keys(made.inputs),
        made.revision,
        dict(reversed(list(made.deactivated.items()))),
        dict(reversed(list(made.provided.items()))),
    )


@given(any_locks())
def test_equal_locks_are_written_alike(made: Lock) -> None:
    other = shuffled(made)

    assert other == made
    assert format_lock(other) == format_lock(made)
    assert other.in_order() == made.in_order()


def test_packages_come_in_the_order_of_their_sources() -> None:
    made = lock([package("b v1.0.0"), package("a v1.0.0"), package("a-b v1.0.0"), package("a.b v1.0.0")])

    names = ["a", "a-b", "a.b", "b"]
    assert list(made.packages) == [source(name) for name in names]
    assert [one.source for one in made.in_order()] == [source(name) for name in names]


def test_the_fields_of_a_manifest_are_sorted_at_every_level() -> None:
    spec = {"b": [{"d": 1, "c": 2}], "a": 3}
    made = package("app v1.0.0", fields={"spec": spec, "metadata": {"labels": {"z": "1", "y": "2"}}})

    rendered = render_package(made, wave=None, guarded=False)

    assert list(made.fields) == ["metadata", "spec"]
    assert list(rendered["spec"]) == ["package", "a", "b"]
    assert list(rendered["spec"]["b"][0]) == ["c", "d"]
    assert list(rendered["metadata"]["labels"]) == ["y", "z"]
