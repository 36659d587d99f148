"""Notes on a valid resolution that a reviewer should see."""

from rig.builders.catalogs import FakeCatalog, named, root, solve, written

from render.packages import Kind
from render.resolve.warnings import notes


def test_an_ordinary_resolution_has_no_notes() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": "*"}, "base v1.0.0": {}})

    assert notes(solve(catalog, root("app"))) == ()


def test_a_wrong_kind_is_noted_and_the_real_one_counts() -> None:
    catalog = FakeCatalog(
        {"app v1.0.0": {"1": written(str(named("base")), kind="Provider")}, "base v1.0.0": {}},
        kinds={"base": Kind.FUNCTION},
    )

    resolution = solve(catalog, root("app"))

    assert notes(resolution) == (
        f"{named('app')} declares {named('base')} as a Provider, but it is a Function",
    )
    assert resolution.packages[named("base")].kind is Kind.FUNCTION


def test_the_right_kind_is_not_noted() -> None:
    catalog = FakeCatalog(
        {"app v1.0.0": {"1": written(str(named("base")), kind="Provider")}, "base v1.0.0": {}},
        kinds={"base": Kind.PROVIDER},
    )

    assert notes(solve(catalog, root("app"))) == ()


def test_a_completed_name_is_noted() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"1": written("base")}, "base v1.0.0": {}})

    assert notes(solve(catalog, root("app"))) == (
        f"{named('app')} depends on base, completed to {named('base')}",
    )


def test_two_sources_that_look_like_one_package_are_noted() -> None:
    one, other = "a.example/acme/base", "b.example/mirror/acme/base"
    catalog = FakeCatalog({f"{one} v1.0.0": {}, f"{other} v1.0.0": {}})

    assert notes(solve(catalog, root(one), root(other))) == (
        f"{one} and {other} look like the same package in 2 registries or organisations",
    )
