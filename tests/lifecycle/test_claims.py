"""Packages that say they replace others: which claims count, and which are only noted."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named, root, solve, written

from render.lifecycle.claims import CircularClaims, ClaimOnRoot, Claims, TwoClaimants, find_claims
from render.moves import Consent
from render.packages import Kind
from render.references import Source

STRANGER = "xpkg.example.org/evil/fork"


def claims(
    packages: Packages,
    replaces: Mapping[str, Sequence[str]],
    *roots: str,
    installed: Mapping[str, Kind] | None = None,
    moved: Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
) -> Claims:
    """Resolve some roots without regard to any claim, and judge the claims of the answer."""
    catalog = FakeCatalog(packages, kinds=kinds or {}, replaces=replaces)
    before = {named(name): kind for name, kind in (installed or {}).items()}
    return find_claims(
        solve(catalog, *map(root, roots), judge_owners=False), before, {named(name) for name in moved}
    )


def effects(found: Claims) -> dict[Source, tuple[Source, ...]]:
    """Return what replaces what."""
    return {source: move.targets for source, move in found.moves.items()}


def test_a_stranger_below_a_root_cannot_take_over_and_is_noted() -> None:
    found = claims(
        {"app v1.0.0": {STRANGER: "*", "base": "*"}, f"{STRANGER} v9.0.0": {}, "base v1.0.0": {}},
        {STRANGER: ["base"]},
        "app",
    )

    assert effects(found) == {}
    assert found.notes == (
        f"{STRANGER} says that it replaces {named('base')}, without effect: "
        "you do not ask for it, and it comes from another organisation",
    )


def test_a_stranger_that_the_user_asks_for_by_name_takes_over() -> None:
    found = claims(
        {"app v1.0.0": {"base": "*"}, f"{STRANGER} v9.0.0": {}, "base v1.0.0": {}},
        {STRANGER: ["base"]},
        "app",
        STRANGER,
    )

    move = found.moves[named("base")]
    assert (move.targets, move.consent, found.notes) == ((named(STRANGER),), Consent.CLAIM, ())
    assert STRANGER in move.place


def test_a_package_that_claims_to_replace_itself_is_noted() -> None:
    packages: Packages = {"app v1.0.0": {"base": "*"}, "base v1.0.0": {}}

    for asked in ("app", "base"):
        found = claims(packages, {"base": ["base"]}, asked)

        assert effects(found) == {}
        assert found.notes == (f"{named('base')} says that it replaces itself, without effect",)


def test_whoever_publishes_both_may_replace_one_by_the_other() -> None:
    found = claims(
        {"app v1.0.0": {"fork": "*", "base": "*"}, "fork v9.0.0": {}, "base v1.0.0": {}},
        {"fork": ["base"]},
        "app",
    )

    assert (effects(found), found.notes) == ({named("base"): (named("fork"),)}, ())


def test_the_same_organisation_on_another_registry_is_another_one() -> None:
    elsewhere = "mirror.example/acme/fork"

    found = claims(
        {"app v1.0.0": {elsewhere: "*", "base": "*"}, f"{elsewhere} v9.0.0": {}, "base v1.0.0": {}},
        {elsewhere: ["base"]},
        "app",
    )

    assert (effects(found), len(found.notes)) == ({}, 1)


def test_a_claim_on_something_that_the_user_asks_for_is_an_error() -> None:
    with pytest.raises(ClaimOnRoot) as caught:
        claims({"fork v9.0.0": {}, "base v1.0.0": {}}, {"fork": ["base"]}, "fork", "base")

    assert caught.value.exit_code == 4
    assert "base.yaml" in str(caught.value)
    assert f"ask for {named('fork')} alone" in str(caught.value)


def test_a_stranger_cannot_even_disturb_what_the_user_asks_for() -> None:
    found = claims(
        {"app v1.0.0": {STRANGER: "*"}, f"{STRANGER} v9.0.0": {}, "base v1.0.0": {}},
        {STRANGER: ["base"]},
        "app",
        "base",
    )

    assert (effects(found), len(found.notes)) == ({}, 1)


def test_two_claimants_are_an_error_that_names_both_and_the_lines_to_decide() -> None:
    with pytest.raises(TwoClaimants) as caught:
        claims(
            {
                "app v1.0.0": {"one": "*", "two": "*", "base": "*"},
                "one v1.0.0": {},
                "two v1.0.0": {},
                "base v1.0.0": {},
            },
            {"one": ["base"], "two": ["base"]},
            "app",
        )

    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{named('one')}, {named('two')}",)
    assert f"    - from: {named('base')}" in caught.value.next
    assert f"      to: {named('one')}" in caught.value.next


def test_a_second_claimant_without_a_right_to_claim_does_not_count() -> None:
    found = claims(
        {
            "app v1.0.0": {"one": "*", STRANGER: "*", "base": "*"},
            "one v1.0.0": {},
            f"{STRANGER} v1.0.0": {},
            "base v1.0.0": {},
        },
        {"one": ["base"], STRANGER: ["base"]},
        "app",
    )

    assert (effects(found), len(found.notes)) == ({named("base"): (named("one"),)}, 1)


@pytest.mark.parametrize(
    ("own", "effect"), [(Kind.PROVIDER, True), (Kind.CONFIGURATION, False), (Kind.FUNCTION, False)]
)
def test_kinds_have_to_be_equal(own: Kind, effect: bool) -> None:
    found = claims(
        {"fork v9.0.0": {}},
        {"fork": ["base"]},
        "fork",
        installed={"base": Kind.PROVIDER},
        kinds={"fork": own},
    )

    assert (named("base") in found.moves) is effect
    assert found.notes == (
        ()
        if effect
        else (
            f"{named('fork')} says that it replaces {named('base')}, without effect: one is a {own}, the other a Provider",
        )
    )


def test_a_kind_that_only_a_dependency_tells_counts_too() -> None:
    packages: Packages = {
        "app v1.0.0": {"fork": "*", "1": written(str(named("base")), kind="Function")},
        "fork v9.0.0": {},
        "base v1.0.0": {},
    }

    found = claims(packages, {"fork": ["base"]}, "app", kinds={"fork": Kind.PROVIDER, "base": Kind.FUNCTION})

    assert (effects(found), len(found.notes)) == ({}, 1)


def test_a_claim_on_what_nobody_has_or_needs_is_nobodys_business() -> None:
    found = claims({"fork v9.0.0": {}}, {"fork": ["base"]}, "fork")

    assert found == Claims({})


def test_a_claim_on_what_is_only_installed_counts() -> None:
    found = claims({"fork v9.0.0": {}}, {"fork": ["base"]}, "fork", installed={"base": Kind.CONFIGURATION})

    assert effects(found) == {named("base"): (named("fork"),)}


def test_what_the_user_has_moved_is_decided_already() -> None:
    packages: Packages = {"app v1.0.0": {"fork": "*", "base": "*"}, "fork v9.0.0": {}, "base v1.0.0": {}}

    assert claims(packages, {"fork": ["base"]}, "app", moved=["base"]) == Claims({})


def test_the_claim_of_a_package_that_is_replaced_itself_is_void() -> None:
    found = claims(
        {
            "app v1.0.0": {"newest": "*", "newer": "*", "base": "*"},
            "newest v1.0.0": {},
            "newer v1.0.0": {},
            "base v1.0.0": {},
        },
        {"newest": ["newer"], "newer": ["base"]},
        "app",
    )

    assert effects(found) == {named("newer"): (named("newest"),)}


def test_a_void_claim_voids_none() -> None:
    names = ["d", "c", "b", "a"]
    packages: Packages = {"app v1.0.0": dict.fromkeys(names, "*"), **{f"{name} v1.0.0": {} for name in names}}

    found = claims(packages, {"d": ["c"], "c": ["b"], "b": ["a"]}, "app")

    # c is replaced, so it does not replace b, so b replaces a.
    assert effects(found) == {named("c"): (named("d"),), named("a"): (named("b"),)}


@pytest.mark.parametrize(
    "replaces",
    [{"a": ["b"], "b": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"]}],
    ids=["two", "three"],
)
def test_packages_that_replace_each_other_are_an_error_that_names_all_of_them(
    replaces: Mapping[str, Sequence[str]],
) -> None:
    packages: Packages = {
        "app v1.0.0": dict.fromkeys(replaces, "*"),
        **{f"{name} v1.0.0": {} for name in replaces},
    }

    with pytest.raises(CircularClaims) as caught:
        claims(packages, replaces, "app")

    assert caught.value.exit_code == 4
    assert caught.value.why == (" and ".join(str(named(name)) for name in sorted(replaces)),)


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_of_claims_is_no_trouble(step: int) -> None:
    names = [f"p{i:04}" for i in range(3_000)][::step]
    packages: Packages = {"app v1.0.0": dict.fromkeys(names, "*"), **{f"{name} v1.0.0": {} for name in names}}

    found = claims(packages, {one: [other] for one, other in pairwise(names)}, "app")

    assert effects(found) == {named(names[i]): (named(names[i - 1]),) for i in range(1, 3_000, 2)}
