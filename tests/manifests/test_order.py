"""Packages come in layers: each above everything it needs, as low as it can be."""

from dataclasses import replace

import pytest
from rig.builders.locks import lock, package

from render.errors import Differs
from render.lock.model import LockedPackage
from render.manifests.order import layer_packages


def names(packages: list[LockedPackage]) -> list[list[str]]:
    return [[item.source.name for item in layer] for layer in layer_packages(lock(packages).in_order())]


def test_a_package_is_one_above_the_highest_of_what_it_needs() -> None:
    packages = [
        package("app v1.0.0", "net *", "base *"),
        package("base v1.0.0", "net *"),
        package("net v1.0.0"),
        package("alone v1.0.0"),
        package("tool v1.0.0", "net *"),
    ]

    assert names(packages) == [["alone", "net"], ["base", "tool"], ["app"]]


def test_without_dependencies_all_are_in_one_layer_sorted_by_source() -> None:
    assert names([package(f"{name} v1.0.0") for name in "cab"]) == [["a", "b", "c"]]
    assert layer_packages([]) == []


def test_every_layer_is_sorted_by_source() -> None:
    packages = [
        package("z v1.0.0", "a *"),
        package("a v1.0.0"),
        package("c v1.0.0", "b *"),
        package("b v1.0.0"),
    ]

    assert names(packages) == [["a", "b"], ["c", "z"]]


def test_a_package_that_is_needed_twice_over_is_there_once() -> None:
    packages = [package("a v1.0.0", "b *", "b >=v1"), package("b v1.0.0")]

    assert names(packages) == [["b"], ["a"]]


def test_a_dependant_that_is_not_in_the_lock_changes_nothing() -> None:
    base = replace(package("base v1.0.0"), required_by=("xpkg.example.org/acme/elsewhere",))

    assert layer_packages([base]) == [[base]]


def test_a_long_chain_is_as_many_layers() -> None:
    chain = [package(f"p{i:04} v1.0.0", f"p{i + 1:04} *") for i in range(2_000)] + [package("p2000 v1.0.0")]

    assert names(chain) == [[f"p{i:04}"] for i in range(2_000, -1, -1)]


def test_packages_that_need_each_other_are_never_left_out_silently() -> None:
    circle = [
        package("a v1.0.0", "b *"),
        package("b v1.0.0", "a *"),
        package("c v1.0.0"),
        package("d v1.0.0", "a *"),
    ]

    with pytest.raises(Differs, match="cannot be put in order") as error:
        names(circle)

    assert error.value.why == ("xpkg.example.org/acme/a depends on itself, or on a package that does",)
