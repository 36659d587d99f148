"""Hostile packages: the search ends, and an error names them."""

import json
from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named, root, solve, versions, written

from render.errors import RenderError
from render.inputs.projects import Inputs
from render.lifecycle.update import LockOptions, update_lock
from render.limits import LimitExceeded, Limits
from render.lock.model import Lock
from render.references import InvalidReference, parse_reference
from render.resolve.answer_rules import CyclicDependencies, LostVersion
from render.resolve.conflict import NoSolution
from render.resolve.edges import RefusedPartial
from render.resolve.solver import SearchTooLong
from render.resolve.warnings import notes
from render.settings import Settings
from render.versions.constraints import InvalidConstraint, parse_constraint
from render.xpkg.metadata import parse_metadata

LIMITS = Limits()


def ten_by_ten() -> Packages:
    """Ten packages of ten versions, each of which wants all later ones in the next version."""
    return {
        f"p{i} v1.{version}.0": {f"p{later}": f"v1.{(version + 1) % 10}.0" for later in range(i + 1, 10)}
        for i in range(10)
        for version in range(10)
    }


def pigeons(count: int) -> Packages:
    """As many packages as there are places for, and one more: no short proof shows that it cannot be."""
    places = range(count - 1)
    return {
        **{
            f"pigeon{i} v1.{place}.0": {f"place{place}": f"v1.{i}.0"}
            for i in range(count)
            for place in places
        },
        **{f"place{place} v1.{i}.0": {} for i in range(count) for place in places},
    }


def test_ten_packages_of_ten_versions_that_contradict_each_other_are_told_apart() -> None:
    catalog = FakeCatalog(ten_by_ten())

    with pytest.raises(NoSolution) as caught:
        solve(catalog, root("p0"))

    text = str(caught.value)
    assert sum(f"{named(f'p{i}')} v1." in text for i in range(10)) >= 2
    assert f"{named('p0')} v1.9.0 accepts {named('p9')} v1.0.0" in text
    assert caught.value.what == f"no version of {named('p9')} suits every dependant"
    # No version of a package is looked at twice.
    assert len(catalog.fetched) <= 100


def test_a_search_without_end_is_given_up_and_names_what_it_tried() -> None:
    wishes = [root(f"pigeon{i}") for i in range(12)]

    with pytest.raises(SearchTooLong) as caught:
        solve(FakeCatalog(pigeons(12)), *wishes, limits=Limits(solver_rounds=500, solver_seconds=1_000_000))

    assert caught.value.exit_code == 1
    assert sum(str(named(f"pigeon{i}")) in str(caught.value) for i in range(12)) >= 2
    assert "XPLOCK_LIMIT_SOLVER_ROUNDS" in str(caught.value)


def test_time_ends_a_search_that_rounds_do_not() -> None:
    wishes = [root(f"pigeon{i}") for i in range(12)]
    limits = Limits(solver_rounds=10**12, solver_seconds=1)

    with pytest.raises(SearchTooLong):
        solve(FakeCatalog(pigeons(12)), *wishes, limits=limits)


def test_a_cycle_is_one_message_with_all_of_it() -> None:
    packages: Packages = {"a v1.0.0": {"b": "*"}, "b v1.0.0": {"c": "*"}, "c v1.0.0": {"a": "*"}}
    expected = " -> ".join(str(named(name)) for name in "abca")

    for start in "abc":
        with pytest.raises(CyclicDependencies) as caught:
            solve(FakeCatalog(packages), root(start))

        assert caught.value.why == (expected,)


def test_a_package_that_needs_itself_is_a_cycle() -> None:
    with pytest.raises(CyclicDependencies):
        solve(FakeCatalog({"a v1.0.0": {"a": ">=1"}}), root("a"))


CONFUSING: Packages = {
    "h.example/acme/app v1.0.0": {"1": written("crossplane-contrib/provider-x", ">=1")},
    "h.example/crossplane-contrib/provider-x v1.0.0": {},
    "index.docker.io/crossplane-contrib/provider-x v9.0.0": {},
    "xpkg.crossplane.io/crossplane-contrib/provider-x v9.0.0": {},
}


def test_a_missing_registry_is_that_of_the_immediate_dependant_and_no_other_is_asked() -> None:
    catalog = FakeCatalog(CONFUSING)

    resolution = solve(catalog, root("h.example/acme/app"))

    assert versions(resolution)["h.example/crossplane-contrib/provider-x"] == "v1.0.0"
    assert {what.split("/")[0] for what in catalog.listed + catalog.fetched} == {"h.example"}
    assert any("completed to h.example/crossplane-contrib/provider-x" in note for note in notes(resolution))


def test_a_missing_registry_can_be_refused_quoting_the_dependant() -> None:
    with pytest.raises(RefusedPartial) as caught:
        solve(FakeCatalog(CONFUSING), root("h.example/acme/app"), complete_partial=False)

    assert caught.value.exit_code == 1
    assert "h.example/acme/app depends on 'crossplane-contrib/provider-x'" in caught.value.what


def test_a_root_has_no_dependant_to_complete_it_from() -> None:
    with pytest.raises(InvalidReference):
        parse_reference("crossplane-contrib/provider-x:v1.0.0")


def test_two_registries_are_two_packages_and_that_is_noted() -> None:
    one, other = "a.example/acme/base", "b.example/acme/base"
    catalog = FakeCatalog({f"{one} v1.0.0": {}, f"{other} v1.0.0": {}})

    resolution = solve(catalog, root(one), root(other))

    assert len(resolution.packages) == 2
    assert any("look like the same package" in note for note in notes(resolution))


def test_a_claim_to_replace_another_package_has_no_effect_by_itself() -> None:
    packages: Packages = {
        "app v1.0.0": {"fork": "*", "b.example/other/provider-aws": "*"},
        "fork v9.0.0": {},
        "b.example/other/provider-aws v1.0.0": {},
    }
    honest = FakeCatalog(packages)
    greedy = FakeCatalog(packages, replaces={"fork": ["b.example/other/provider-aws"]})

    assert versions(solve(greedy, root("app"))) == versions(solve(honest, root("app")))


def test_a_constraint_of_very_many_clauses_is_refused_unread() -> None:
    text = "||".join(["1.0.0"] * 100_000)

    with pytest.raises(InvalidConstraint) as caught:
        parse_constraint(text)

    assert "XPLOCK_LIMIT_CONSTRAINT_CHARS" in str(caught.value)
    assert len(str(caught.value)) < 2_000


def meta(dependencies: int, constraint: str = "*") -> bytes:
    depends_on = [{"provider": f"h.example/acme/p{i}", "version": constraint} for i in range(dependencies)]
    document = {
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": "Configuration",
        "metadata": {"name": "app"},
        "spec": {"dependsOn": depends_on},
    }
    return json.dumps(document).encode()


def test_a_package_of_very_many_clauses_is_refused_with_its_place() -> None:
    with pytest.raises(RenderError, match=r"dependsOn\[0\]"):
        parse_metadata(meta(1, "||".join(["1.0.0"] * 100_000)), LIMITS)


def test_a_package_has_at_most_a_thousand_dependencies() -> None:
    assert len(parse_metadata(meta(1_000), LIMITS).dependencies) == 1_000
    with pytest.raises(RenderError, match="XPLOCK_LIMIT_DEPENDENCIES"):
        parse_metadata(meta(1_001), LIMITS)


def test_a_closure_has_a_largest_size() -> None:
    endless: Packages = {f"p{i} v1.0.0": {f"p{i + 1}": "*"} for i in range(400)}
    catalog = FakeCatalog(endless)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_PACKAGES"):
        solve(catalog, root("p0"), limits=Limits(packages=100))


def test_very_many_versions_are_no_trouble() -> None:
    many: Packages = {f"base v1.{i}.0": {} for i in range(10_000)}
    catalog = FakeCatalog({"app v1.0.0": {"base": "<1.5000"}, **many})

    assert versions(solve(catalog, root("app")))["base"] == "v1.4999.0"
    assert len(catalog.fetched) == 2


def update(catalog: FakeCatalog, current: Lock, *, allow_lower: bool = False) -> Lock:
    inputs = Inputs(Path(), (root("app"), root("site")), Settings(), (), (), {})
    return update_lock(inputs, current, catalog, LIMITS, LockOptions(allow_lower=allow_lower)).lock


@pytest.mark.parametrize("lost", ["app", "base"])
def test_a_registry_that_hides_the_locked_version_does_not_roll_it_back(lost: str) -> None:
    packages: Packages = {
        "app v1.0.0": {"base": ">=1.0.0"},
        "app v1.1.0": {"base": ">=1.0.0"},
        "base v1.0.0": {},
        "base v1.1.0": {},
        "site v1.0.0": {},
    }
    current = update(FakeCatalog(packages), Lock())
    hiding = FakeCatalog({key: needs for key, needs in packages.items() if key != f"{lost} v1.1.0"})

    with pytest.raises(LostVersion) as caught:
        update(hiding, current)
    allowed = update(hiding, current, allow_lower=True)

    assert caught.value.exit_code == 1
    assert caught.value.what == f"{named(lost)} would move down from v1.1.0 to v1.0.0"
    assert allowed.packages[named(lost)].version == "v1.0.0"
