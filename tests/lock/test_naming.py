"""Object names: the user's, else the locked one, else Crossplane's own."""

from dataclasses import replace

import pytest
from rig.catalogs import FakeCatalog, Packages, named, root, solve

from render.lock.naming import NameChanged, NameTaken, UnusableName, name_objects
from render.names import object_name
from render.packages import Kind
from render.resolve.model import Resolution
from render.resolve.rules import moves_lines

APP: Packages = {"app v1.0.0": {"base": "*"}, "base v1.0.0": {}}


def app(name: str | None = None) -> Resolution:
    return solve(FakeCatalog(APP), replace(root("app"), name=name))


def test_a_dependency_is_named_as_crossplane_names_it() -> None:
    assert name_objects(app(), {})[named("base")] == object_name(named("base")) == "acme-base"


def test_a_root_has_the_name_its_user_gave_it() -> None:
    assert name_objects(app("mine"), {}) == {named("app"): "mine", named("base"): "acme-base"}


def test_a_locked_name_stays_whatever_would_be_derived() -> None:
    names = name_objects(app(), {named("app"): "old-app", named("base"): "old-base"})

    assert names == {named("app"): "old-app", named("base"): "old-base"}


def test_a_dependency_that_becomes_a_root_keeps_its_name() -> None:
    resolution = solve(FakeCatalog(APP), root("app"), replace(root("base"), name="acme-base"))

    assert name_objects(resolution, {named("base"): "acme-base"})[named("base")] == "acme-base"


def test_another_name_for_an_installed_package_is_refused() -> None:
    with pytest.raises(NameChanged) as caught:
        name_objects(app("mine"), {named("app"): "acme-app"})

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('app')} is already installed as acme-app"
    assert caught.value.why[0].startswith("app.yaml calls it mine")
    assert caught.value.next == ("name it acme-app",)


ONE, OTHER = "a.example/acme/base", "b.example/acme/base"


def twins(*, kinds: tuple[Kind, Kind] = (Kind.FUNCTION, Kind.FUNCTION), other: str = "v2.0.0") -> Resolution:
    catalog = FakeCatalog(
        {f"{ONE} v1.0.0": {}, f"{OTHER} {other}": {}, "app v1.0.0": {ONE: ">=1", OTHER: "*"}},
        kinds={ONE: kinds[0], OTHER: kinds[1]},
    )
    return solve(catalog, root("app"), root(OTHER))


def test_two_packages_of_one_name_are_named_with_who_wants_them() -> None:
    with pytest.raises(NameTaken) as caught:
        name_objects(twins(), {})

    assert caught.value.exit_code == 4
    assert caught.value.what == "two packages would be one Function named acme-base"
    assert caught.value.why == (
        f"{ONE} v1.0.0 is wanted by {named('app')} (>=1)",
        f"{OTHER} v2.0.0 is wanted by {named('app')} (*), you (any version)",
    )
    assert list(caught.value.next[1:4]) == moves_lines(named(ONE), named(OTHER))


def test_the_lower_version_is_taken_for_the_one_that_was_left_behind() -> None:
    with pytest.raises(NameTaken) as caught:
        name_objects(twins(other="v0.5.0"), {})

    assert list(caught.value.next[1:4]) == moves_lines(named(OTHER), named(ONE))


def test_one_name_is_fine_for_two_kinds_and_for_two_names_given() -> None:
    kinds = (Kind.FUNCTION, Kind.CONFIGURATION)

    assert name_objects(twins(kinds=kinds), {})
    assert name_objects(twins(), {named(ONE): "acme-other"})


def test_a_source_whose_name_kubernetes_would_refuse_needs_one_from_the_user() -> None:
    # Position 63 is a separator, which a label cannot end with, so what is left is fine; nothing at all is not.
    source = "a.example/__".replace("__", "a" * 70)
    catalog = FakeCatalog({f"{source} v1.0.0": {}})

    assert len(name_objects(solve(catalog, root(source)), {})[named(source)]) == 63
    with pytest.raises(UnusableName) as caught:
        name_objects(solve(catalog, replace(root(source), name="Not_A_Label")), {})

    assert caught.value.exit_code == 4
    assert "'Not_A_Label'" in caught.value.why[0]
