"""Offered moves: known ones before guesses, families together, and no more than needed."""

from collections.abc import Mapping, Sequence

from rig.builders.catalogs import FakeCatalog, named, root, solve

from render.packages import Kind
from render.references import Source
from render.resolve.model import Resolution
from render.resolve.suggestions import format_offer, namesakes, older_first, suggest_moves

UPBOUND, CONTRIB = "xpkg.upbound.io/upbound", "xpkg.upbound.io/crossplane-contrib"
CROSSPLANE = "xpkg.crossplane.io/crossplane-contrib"
A, B = "a.example/acme", "b.example/acme"


def answer(
    *packages: str,
    families: Mapping[str, str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    needs: Mapping[str, Sequence[str]] | None = None,
) -> Resolution:
    """Return an answer with an app that needs all these packages, written "name tag", unless others do."""
    names = {package: package.split(" ")[0] for package in packages}
    inner = {name for found in (needs or {}).values() for name in found}
    catalog = FakeCatalog(
        {
            "app v1.0.0": dict.fromkeys((name for name in names.values() if name not in inner), "*"),
            **{package: dict.fromkeys((needs or {}).get(name, ()), "*") for package, name in names.items()},
        },
        families=families or {},
        kinds=kinds or {},
    )
    # Families in two places are no rule here.
    return solve(catalog, root("app"), judge_owners=False)


def offered(resolution: Resolution, *groups: Sequence[str]) -> dict[str, list[str]]:
    moves = suggest_moves(resolution, [[named(name) for name in group] for group in groups])
    return {str(old): [str(target) for target in move.targets] for old, move in moves.items()}


def first(one: str, other: str) -> Source:
    resolution = answer(one, other)
    return older_first(resolution, *(named(package.split(" ")[0]) for package in (one, other)))[0]


def test_a_known_direction_counts_more_than_versions() -> None:
    assert first(f"{CROSSPLANE}/x v1.0.0", f"{CONTRIB}/x v2.0.0") == named(f"{CONTRIB}/x")
    assert first(f"{CONTRIB}/x v2.0.0", f"{CROSSPLANE}/x v1.0.0") == named(f"{CONTRIB}/x")


def test_without_known_moves_the_lower_version_is_the_older_source() -> None:
    assert first(f"{A}/x v1.0.0", f"{B}/x v2.0.0") == named(f"{A}/x")
    assert first(f"{A}/x v2.0.0", f"{B}/x v1.0.0") == named(f"{B}/x")


def test_of_three_in_a_group_the_older_two_move_to_the_newest() -> None:
    resolution = answer("a v2.0.0", "b v3.0.0", "c v1.0.0")

    assert offered(resolution, ["a", "b", "c"]) == {
        str(named("a")): [str(named("b"))],
        str(named("c")): [str(named("b"))],
    }


def test_groups_that_chain_are_followed_to_the_end() -> None:
    resolution = answer("a v1.0.0", "b v2.0.0", "c v3.0.0")

    assert offered(resolution, ["a", "b"], ["b", "c"]) == {
        str(named("a")): [str(named("c"))],
        str(named("b")): [str(named("c"))],
    }


def test_a_package_that_collides_with_several_newer_ones_became_all_of_them() -> None:
    resolution = answer("all v0.5.0", "one v1.0.0", "two v1.0.0")

    assert offered(resolution, ["all", "one"], ["all", "two"]) == {
        str(named("all")): [str(named("one")), str(named("two"))]
    }


def test_a_known_provider_that_became_a_family_moves_to_all_required_members() -> None:
    names = ("provider-aws", "provider-family-aws", "provider-aws-s3", "provider-aws-ec2")
    resolution = answer(
        *(f"{UPBOUND}/{name} v1.0.0" for name in names),
        # A Configuration is no service, whatever it is called.
        f"{UPBOUND}/provider-aws-examples v1.0.0",
        kinds=dict.fromkeys((f"{UPBOUND}/{name}" for name in names), Kind.PROVIDER),
    )

    # What the package for ec2 installs is newer than the old provider.
    moves = offered(
        resolution,
        [f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-aws-s3"],
        [f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-family-aws"],
    )

    assert moves == {
        f"{UPBOUND}/provider-aws": [
            f"{UPBOUND}/provider-aws-ec2",
            f"{UPBOUND}/provider-aws-s3",
            f"{UPBOUND}/provider-family-aws",
        ]
    }


def test_a_package_of_another_kind_is_never_a_successor() -> None:
    resolution = answer("a v1.0.0", "b v2.0.0", "c v3.0.0", kinds={"c": Kind.PROVIDER})

    assert offered(resolution, ["a", "b", "c"]) == {str(named("a")): [str(named("b"))]}
    assert offered(resolution, ["a", "c"]) == {}


def family(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "family-aws")


def test_members_with_a_counterpart_move_together_whatever_their_versions() -> None:
    resolution = answer(
        f"{A}/ec2 v1.0.0",
        f"{B}/ec2 v2.0.0",
        f"{A}/s3 v2.0.0",
        f"{B}/s3 v1.0.0",
        f"{A}/sqs v1.0.0",
        families=family(f"{A}/ec2", f"{B}/ec2", f"{A}/s3", f"{B}/s3", f"{A}/sqs"),
    )

    one = offered(resolution, [f"{A}/ec2", f"{B}/ec2"])
    all_at_once = offered(resolution, [f"{A}/ec2", f"{B}/ec2"], [f"{A}/s3", f"{B}/s3"])

    # Nobody knows whether there is an sqs in the other place.
    assert one == all_at_once == {f"{A}/ec2": [f"{B}/ec2"], f"{A}/s3": [f"{B}/s3"]}


def test_a_member_that_is_known_to_move_goes_along_without_a_counterpart() -> None:
    resolution = answer(
        f"{CONTRIB}/s3 v1.0.0",
        f"{CONTRIB}/sqs v1.0.0",
        f"{CROSSPLANE}/s3 v1.0.0",
        families=family(f"{CONTRIB}/s3", f"{CONTRIB}/sqs", f"{CROSSPLANE}/s3"),
    )

    assert offered(resolution, [f"{CONTRIB}/s3", f"{CROSSPLANE}/s3"]) == {
        f"{CONTRIB}/s3": [f"{CROSSPLANE}/s3"],
        f"{CONTRIB}/sqs": [f"{CROSSPLANE}/sqs"],
    }


def test_a_renamed_member_moves_alone() -> None:
    config, head, s3 = (f"{UPBOUND}/provider-{name}" for name in ("aws-config", "family-aws", "aws-s3"))
    resolution = answer(
        f"{config} v1.0.0", f"{head} v1.0.0", f"{s3} v1.0.0", families=family(config, head, s3)
    )

    assert offered(resolution, [config, head]) == {config: [head]}


def test_packages_of_another_family_or_of_none_do_not_move() -> None:
    resolution = answer(
        f"{A}/s3 v1.0.0",
        f"{B}/s3 v2.0.0",
        f"{A}/gke v1.0.0",
        f"{B}/gke v2.0.0",
        f"{A}/x v1.0.0",
        f"{B}/x v2.0.0",
        families=family(f"{A}/s3", f"{B}/s3") | {f"{A}/gke": "family-gcp", f"{B}/gke": "family-gcp"},
    )

    assert offered(resolution, [f"{A}/s3", f"{B}/s3"]) == {f"{A}/s3": [f"{B}/s3"]}


def test_guesses_against_known_moves_make_no_cycle() -> None:
    # contrib is known to lead to crossplane; by their versions that leads to a, and a to contrib.
    resolution = answer(f"{CROSSPLANE}/x v1.0.0", f"{CONTRIB}/x v3.0.0", f"{A}/x v2.0.0")

    moves = offered(
        resolution,
        [f"{CROSSPLANE}/x", f"{CONTRIB}/x"],
        [f"{CROSSPLANE}/x", f"{A}/x"],
        [f"{A}/x", f"{CONTRIB}/x"],
    )

    assert moves
    assert not {target for targets in moves.values() for target in targets} & moves.keys()


def test_only_sources_that_packages_still_name_are_offered_as_moves() -> None:
    # Both members of the old place move, and with them goes everyone who named their family.
    resolution = answer(
        f"{CONTRIB}/s3 v1.0.0",
        f"{CROSSPLANE}/s3 v1.0.0",
        f"{CONTRIB}/family v1.0.0",
        f"{CROSSPLANE}/family v1.0.0",
        needs={f"{CONTRIB}/s3": [f"{CONTRIB}/family"], f"{CROSSPLANE}/s3": [f"{CROSSPLANE}/family"]},
    )
    groups = [[named(f"{place}/{name}") for place in (CONTRIB, CROSSPLANE)] for name in ("s3", "family")]
    moves = suggest_moves(resolution, groups)

    new = format_offer(resolution, moves, (), "if so")
    installed = format_offer(resolution, moves, [named(f"{CONTRIB}/family")], "if so")

    assert len(moves) == 2
    assert new == [
        "if so, add to xplock.yaml:",
        "  moves:",
        f"    - from: {CONTRIB}/s3",
        f"      to: {CROSSPLANE}/s3",
    ]
    assert f"    - from: {CONTRIB}/family" in installed


def test_without_moves_nothing_is_offered() -> None:
    assert format_offer(answer("a v1.0.0"), {}, (), "if so") == []


def test_namesakes_have_one_kind_and_one_name() -> None:
    resolution = answer("a v1.0.0", "b v1.0.0", "c v1.0.0", "d v1.0.0", kinds={"c": Kind.PROVIDER})
    names = {named("app"): "app", named("a"): "x", named("b"): "x", named("c"): "x", named("d"): "y"}

    assert namesakes(resolution, names) == {(Kind.CONFIGURATION, "x"): [named("a"), named("b")]}
