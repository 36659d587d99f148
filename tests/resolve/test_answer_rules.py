"""Rules on a whole resolution besides constraints."""

from dataclasses import replace

import pytest
from rig.builders.catalogs import (
    FakeCatalog,
    Packages,
    candidate,
    digest_of,
    locked,
    named,
    root,
    solve,
    versions,
)

from render.packages import Kind
from render.resolve.answer_rules import CyclicDependencies, LostVersion, WrongKind
from render.versions.requests import Request

FAMILY = {"family-aws": "family-aws", "s3": "family-aws", "ec2": "family-aws"}


def test_a_cycle_is_shown_whole_from_its_lowest_member() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"d": "*"},
            "d v1.0.0": {"b": "*"},
            "b v1.0.0": {"leaf": "*", "c": "*"},
            "c v1.0.0": {"d": "*"},
            "leaf v1.0.0": {},
        }
    )

    for wish in (root("app"), root("c"), root("d")):
        with pytest.raises(CyclicDependencies) as caught:
            solve(catalog, wish)

        assert caught.value.exit_code == 4
        assert caught.value.why == (" -> ".join(str(named(name)) for name in ("b", "c", "d", "b")),)


def test_a_cycle_of_many_packages_is_not_cut_when_it_is_shown() -> None:
    names = [f"configuration-with-a-long-name-{i:02}" for i in range(40)]
    following = [*names[1:], names[0]]
    catalog = FakeCatalog(
        {f"{name} v1.0.0": {other: "*"} for name, other in zip(names, following, strict=True)}
    )

    with pytest.raises(CyclicDependencies) as caught:
        solve(catalog, root(names[7]))

    assert all(str(named(name)) in str(caught.value) for name in names)
    assert "…" not in str(caught.value)


@pytest.mark.parametrize("constraint", ["*", "<1.0.0", ">=1.0.0"])
def test_a_package_that_depends_on_itself_is_a_cycle(constraint: str) -> None:
    with pytest.raises(CyclicDependencies) as caught:
        solve(FakeCatalog({"app v1.0.0": {"app": constraint}}), root("app"))

    assert caught.value.why == (f"{named('app')} -> {named('app')}",)


def test_two_ways_to_one_package_are_no_cycle() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"left": "*", "right": "*", "base": "*"},
            "left v1.0.0": {"base": "*"},
            "right v1.0.0": {"left": "*", "base": "*"},
            "base v1.0.0": {},
        }
    )

    assert len(versions(solve(catalog, root("app")))) == 4


def test_a_closure_may_be_deeper_than_pythons_stack() -> None:
    deep = {f"p{i} v1.0.0": {f"p{i + 1}": "*"} for i in range(1500)}

    assert len(versions(solve(FakeCatalog({**deep, "p1500 v1.0.0": {}}), root("p0")))) == 1501


def family(first: str = "s3", **more: str) -> FakeCatalog:
    return FakeCatalog(
        {
            "app v1.0.0": {first: "*", **more},
            "s3 v1.5.0": {"family-aws": ">= 0.0.0"},
            "z v1.0.0": {"z2": "*"},
            "z2 v1.0.0": {"ec2": ">=2"},
            "ec2 v1.4.0": {"family-aws": ">= 0.0.0"},
            "ec2 v2.0.0": {"family-aws": ">= 0.0.0"},
            "family-aws v1.4.0": {},
            "family-aws v1.5.0": {},
            "family-aws v2.1.0": {},
        },
        families=FAMILY,
    )


def test_a_family_follows_the_major_version_of_its_members() -> None:
    assert versions(solve(family(), root("app")))["family-aws"] == "v1.5.0"


def test_a_free_family_gets_the_highest_version_as_in_crossplane() -> None:
    assert versions(solve(family(), root("app"), follow_families=False))["family-aws"] == "v2.1.0"


def test_a_family_chosen_before_its_members_follows_them_too() -> None:
    assert versions(solve(family("family-aws", s3="*"), root("app")))["family-aws"] == "v1.5.0"
    assert versions(solve(family(), root("app"), root("family-aws")))["family-aws"] == "v1.5.0"


def test_a_family_follows_the_highest_of_its_members() -> None:
    assert versions(solve(family(ec2=">=2"), root("app")))["family-aws"] == "v2.1.0"
    # s3 brings the family along before there is a member of version 2.
    assert versions(solve(family(), root("app"), root("z")))["family-aws"] == "v2.1.0"
    assert versions(solve(family(ec2="<2"), root("app")))["family-aws"] == "v1.5.0"


def test_following_the_family_is_a_preference_and_not_a_rule() -> None:
    catalog = family(**{"family-aws": ">=2"})

    assert versions(solve(catalog, root("app")))["family-aws"] == "v2.1.0"


def test_a_locked_family_stays_where_it_is() -> None:
    preferred = locked(**{"family-aws": "v2.1.0"})

    assert versions(solve(family(), root("app"), preferred=preferred))["family-aws"] == "v2.1.0"


BASES: Packages = {"base v1.0.0": {}, "base v1.1.0": {}}


@pytest.mark.parametrize("upgrade", [False, True])
def test_a_locked_version_that_is_no_longer_offered_is_not_lowered_silently(upgrade: bool) -> None:
    before = locked(base="v1.2.0")

    with pytest.raises(LostVersion) as caught:
        solve(
            FakeCatalog(BASES),
            root("base"),
            preferred={} if upgrade else before,
            upgraded=before if upgrade else {},
        )

    assert caught.value.exit_code == 1
    assert caught.value.what == f"{named('base')} would move down from v1.2.0 to v1.1.0"


def test_a_locked_version_that_is_no_longer_offered_is_not_raised_silently_either() -> None:
    with pytest.raises(LostVersion) as caught:
        solve(FakeCatalog(BASES), root("base"), preferred=locked(base="v1.0.5"))

    assert caught.value.what == f"{named('base')} would move up from v1.0.5 to v1.1.0"


def test_a_requested_upgrade_may_leave_a_version_that_is_gone() -> None:
    resolution = solve(FakeCatalog(BASES), root("base"), upgraded=locked(base="v1.0.5"))

    assert versions(resolution) == {"base": "v1.1.0"}


def test_a_manifest_of_the_wrong_kind_is_an_error_that_names_its_place() -> None:
    wish = replace(root("base", place="base.yaml"), name="base", kind=Kind.FUNCTION)

    with pytest.raises(WrongKind) as caught:
        solve(FakeCatalog(BASES), wish)

    assert caught.value.exit_code == 2
    [why] = caught.value.why
    assert why.startswith(f"base.yaml makes {named('base')} a Function; it is a ")


def test_a_dependency_on_disk_may_get_the_kind_wrong() -> None:
    wish = replace(root("base"), kind=Kind.FUNCTION)

    assert versions(solve(FakeCatalog(BASES), wish)) == {"base": "v1.1.0"}


def test_a_requested_lower_version_is_accepted() -> None:
    before = locked(base="v1.2.0")
    asked = {named("base"): Request(tag="v1.1.0")}

    assert versions(solve(FakeCatalog(BASES), root("base"), preferred=before, allow_lower=True))
    assert versions(solve(FakeCatalog(BASES), root("base"), upgraded=before, asked=asked))


def test_a_version_that_no_longer_fits_may_be_lowered() -> None:
    resolution = solve(FakeCatalog(BASES), root("base", "<1.1"), preferred=locked(base="v1.1.0"))

    assert versions(resolution) == {"base": "v1.0.0"}


def test_a_version_may_be_lowered_because_of_its_dependencies() -> None:
    catalog = FakeCatalog({"app v2.0.0": {"base": ">=1.1"}, "app v1.0.0": {"base": "*"}, **BASES})

    resolution = solve(
        catalog, root("app"), root("base", "<1.1"), preferred=locked(app="v2.0.0", base="v1.1.0")
    )

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.0.0"}


def test_a_version_by_digest_is_compared_by_the_tag_that_carries_it() -> None:
    before = {named("base"): candidate("v1.2.0", digest_of("base v1.2.0"))}

    with pytest.raises(LostVersion):
        solve(FakeCatalog(BASES), root("base"), preferred=before)
