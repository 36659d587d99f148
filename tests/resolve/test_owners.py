"""One owner for every object, one organisation for every family, and moves to paste otherwise."""

from collections.abc import Mapping

import pytest
from rig.builders.catalogs import FakeCatalog, locked, named, root, solve, versions
from rig.commands.suggestions import offered_moves

from render.moves import Move, format_moves
from render.packages import Kind
from render.resolve.owners import ScatteredFamily, SharedObjects

CRD = "CustomResourceDefinition things.example.org"
SUCCESSOR = "if one of them is the other's successor, add to xplock.yaml:"


def shared(one: str, other: str, kinds: Mapping[str, Kind] | None = None) -> FakeCatalog:
    return FakeCatalog(
        {"app v1.0.0": {"new": ">=1", "old": "*"}, "new v2.0.0": {}, "old v1.0.0": {}},
        objects={"new": [one, "Secret a"], "old": [other, "Secret a"]},
        kinds=kinds or {"new": Kind.PROVIDER, "old": Kind.PROVIDER},
    )


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (CRD, CRD, Kind.PROVIDER),
        (CRD, "ManagedResourceDefinition things.example.org", Kind.PROVIDER),
        ("CompositeResourceDefinition xs.example.org",) * 2 + (Kind.CONFIGURATION,),
        ("Composition x",) * 2 + (Kind.CONFIGURATION,),
    ],
)
def test_two_packages_that_install_one_object_are_an_error(one: str, other: str, kind: Kind) -> None:
    catalog = shared(one, other, {"new": kind, "old": kind})

    with pytest.raises(SharedObjects) as caught:
        solve(catalog, root("app"))

    assert caught.value.exit_code == 4
    assert caught.value.what == "2 packages install the same objects"
    assert caught.value.why == (
        f"{named('new')} and {named('old')} install {one}",
        f"{named('new')} v2.0.0 is required by {named('app')} (>=1)",
        f"{named('old')} v1.0.0 is required by {named('app')} (*)",
    )
    assert list(caught.value.next) == [SUCCESSOR, *format_moves([Move(named("old"), (named("new"),))])]


@pytest.mark.parametrize(
    ("one", "other", "kinds"),
    [
        (CRD, CRD, {"new": Kind.FUNCTION, "old": Kind.FUNCTION}),
        (CRD, CRD, {"new": Kind.FUNCTION, "old": Kind.PROVIDER}),
        (CRD, "CustomResourceDefinition others.example.org", {}),
        ("CompositeResourceDefinition x", "Composition x", {}),
        ("CompositeResourceDefinition x", "CustomResourceDefinition x", {}),
    ],
)
def test_functions_and_different_objects_do_not_collide(
    one: str, other: str, kinds: Mapping[str, Kind]
) -> None:
    assert len(versions(solve(shared(one, other, kinds), root("app")))) == 3


def test_no_move_is_offered_between_packages_of_two_kinds() -> None:
    catalog = shared(CRD, CRD, {"new": Kind.PROVIDER, "old": Kind.CONFIGURATION})

    with pytest.raises(SharedObjects) as caught:
        solve(catalog, root("app"))

    assert caught.value.next == ("use versions of them that do not, or drop one of them",)


def test_many_shared_objects_are_counted() -> None:
    many = [f"CustomResourceDefinition c{i}.example.org" for i in range(9)]
    catalog = FakeCatalog({"a v1.0.0": {}, "b v1.0.0": {}}, objects={"a": many, "b": many})

    with pytest.raises(SharedObjects) as caught:
        solve(catalog, root("a"), root("b"))

    assert caught.value.why[0].endswith("c2.example.org and 6 more")


def test_moves_are_offered_for_all_conflicts_and_the_first_are_shown() -> None:
    pairs = {f"{name}{i}": [f"{CRD}{i}"] for i in range(5) for name in ("new", "old")}
    catalog = FakeCatalog(
        {"app v1.0.0": dict.fromkeys(pairs, "*"), **{f"{name} v1.0.0": {} for name in pairs}}, objects=pairs
    )

    with pytest.raises(SharedObjects) as caught:
        solve(catalog, root("app"))

    moves = offered_moves(caught.value.next)
    assert caught.value.what == "10 packages install the same objects"
    assert caught.value.why[2:4] == (
        f"{named('new2')} and {named('old2')} install {CRD}2",
        "… and 2 more",
    )
    # Their versions are equal, so that the first is as good a guess as the other one.
    assert moves == {named(f"new{i}"): (named(f"old{i}"),) for i in range(5)}
    assert len(versions(solve(catalog, root("app"), moves=moves))) == 6


def test_moves_for_equal_names_and_for_shared_objects_are_offered_together() -> None:
    old, new = "a.example/acme/function-x", "b.example/acme/function-x"
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"new": "*", "old": "*", old: "*", new: "*"},
            "new v2.0.0": {},
            "old v1.0.0": {},
            f"{old} v1.0.0": {},
            f"{new} v1.1.0": {},
        },
        objects={"new": [CRD], "old": [CRD]},
        kinds={old: Kind.FUNCTION, new: Kind.FUNCTION},
    )

    with pytest.raises(SharedObjects) as caught:
        solve(catalog, root("app"))

    assert offered_moves(caught.value.next) == {named("old"): (named("new"),), named(old): (named(new),)}


def test_the_advice_for_a_replaced_root_is_to_remove_it() -> None:
    catalog = shared(CRD, CRD)

    with pytest.raises(SharedObjects) as depended_on:
        solve(catalog, root("app"), root("old"))
    with pytest.raises(SharedObjects) as not_needed:
        solve(catalog, root("old"), root("new"))
    with pytest.raises(SharedObjects) as installed:
        solve(catalog, root("old"), root("new"), preferred=locked(old="v1.0.0"))

    lines = format_moves([Move(named("old"), (named("new"),))])
    assert list(depended_on.value.next) == [
        SUCCESSOR,
        *lines,
        f"  ask for {named('new')} instead of {named('old')} (old.yaml)",
    ]
    assert list(not_needed.value.next) == [
        "if one of them is the other's successor:",
        f"  no longer ask for {named('old')} (old.yaml)",
    ]
    assert list(installed.value.next) == [SUCCESSOR, *lines, f"  no longer ask for {named('old')} (old.yaml)"]


A, B, C = "a.example/acme", "b.example/acme", "a.example/other"
UPBOUND, CROSSPLANE = "xpkg.upbound.io/crossplane-contrib", "xpkg.crossplane.io/crossplane-contrib"
PLACE = "take all members from one organisation"
MOVED = "if they have moved to another, add to xplock.yaml:"


def members(*packages: str) -> FakeCatalog:
    """Return packages of one family, written "name tag", and an app that needs them all."""
    names = [package.split(" ")[0] for package in packages]
    return FakeCatalog(
        {"app v1.0.0": dict.fromkeys(names, "*"), **{package: {} for package in packages}},
        families=dict.fromkeys(names, "family-aws"),
    )


def scattered(catalog: FakeCatalog) -> ScatteredFamily:
    with pytest.raises(ScatteredFamily) as caught:
        solve(catalog, root("app"))
    return caught.value


def test_a_family_in_two_organisations_is_an_error() -> None:
    registry = scattered(members(f"{A}/s3 v1.0.0", f"{B}/ec2 v1.0.0"))
    organisation = scattered(members(f"{A}/s3 v1.0.0", f"{C}/sqs v1.0.0"))

    assert registry.exit_code == 4
    assert registry.what == "the family family-aws is in 2 organisations"
    assert registry.why[:2] == (f"{A}: {A}/s3", f"{B}: {B}/ec2")
    assert organisation.why[:2] == (f"{A}: {A}/s3", f"{C}: {C}/sqs")
    # Nothing tells which place is the older one.
    assert registry.next == organisation.next == (PLACE,)


def test_members_with_lower_versions_are_the_older_ones() -> None:
    error = scattered(members(f"{A}/s3 v1.9.0", f"{A}/sqs v1.0.0", f"{B}/ec2 v2.0.0"))

    assert error.next[:2] == (PLACE, MOVED)
    assert offered_moves(error.next) == {
        named(f"{A}/s3"): (named(f"{B}/s3"),),
        named(f"{A}/sqs"): (named(f"{B}/sqs"),),
    }


def test_a_known_move_of_members_counts_more_than_their_versions() -> None:
    contrib = scattered(members(f"{UPBOUND}/s3 v2.0.0", f"{UPBOUND}/sqs v2.0.0", f"{CROSSPLANE}/ec2 v1.0.0"))
    # Here the older place comes first in the alphabet.
    older, newer = "registry.upbound.io/upbound", "xpkg.upbound.io/upbound"
    references = scattered(members(f"{older}/platform-ref-aws v2.0.0", f"{newer}/platform-ref-gcp v1.0.0"))

    assert offered_moves(contrib.next) == {
        named(f"{UPBOUND}/s3"): (named(f"{CROSSPLANE}/s3"),),
        named(f"{UPBOUND}/sqs"): (named(f"{CROSSPLANE}/sqs"),),
    }
    assert offered_moves(references.next) == {
        named(f"{older}/platform-ref-aws"): (named(f"{newer}/platform-ref-aws"),)
    }


def test_members_of_three_organisations_move_to_the_newest() -> None:
    clear = scattered(members(f"{A}/s3 v1.0.0", f"{B}/ec2 v3.0.0", f"{C}/sqs v2.0.0"))
    unclear = scattered(members(f"{A}/s3 v1.0.0", f"{B}/ec2 v3.0.0", f"{C}/sqs v3.0.0"))

    assert offered_moves(clear.next) == {
        named(f"{A}/s3"): (named(f"{B}/s3"),),
        named(f"{C}/sqs"): (named(f"{B}/sqs"),),
    }
    assert unclear.next == (PLACE,)


def test_no_move_is_offered_for_a_family_in_very_many_organisations() -> None:
    packages = [f"{host}.example/acme/p{i} v{i}.0.0" for i, host in enumerate("abcdef", start=1)]

    assert len(offered_moves(scattered(members(*packages[:5])).next)) == 4
    assert scattered(members(*packages)).next == (PLACE,)


def test_all_scattered_families_come_in_one_error() -> None:
    families = {f"{A}/s3": "f-aws", f"{B}/ec2": "f-aws", f"{A}/gke": "f-gcp", f"{B}/sql": "f-gcp"}
    tags = {f"{A}/s3": "v1.0.0", f"{B}/ec2": "v2.0.0", f"{A}/gke": "v1.0.0", f"{B}/sql": "v0.9.0"}
    catalog = FakeCatalog(
        {"app v1.0.0": dict.fromkeys(tags, "*"), **{f"{name} {tag}": {} for name, tag in tags.items()}},
        families=families,
    )

    error = scattered(catalog)

    assert [part.split(" ")[2] for part in error.what.split("; ")] == ["f-aws", "f-gcp"]
    assert error.why[:4] == (f"{A}: {A}/s3", f"{B}: {B}/ec2", f"{A}: {A}/gke", f"{B}: {B}/sql")
    assert offered_moves(error.next) == {
        named(f"{A}/s3"): (named(f"{B}/s3"),),
        named(f"{B}/sql"): (named(f"{A}/sql"),),
    }


def test_two_families_may_be_in_two_organisations() -> None:
    catalog = FakeCatalog(
        {f"{A}/s3 v1.0.0": {}, f"{B}/gke v1.0.0": {}},
        families={f"{A}/s3": "family-aws", f"{B}/gke": "family-gcp"},
    )

    assert len(versions(solve(catalog, root(f"{A}/s3"), root(f"{B}/gke")))) == 2
