"""Each rule by which a dependency on a CRD is answered, and each error."""

from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog, digest_of, locked, named, root, short, solve, versions

from render.crd_dependencies import AnswerPlace, CatalogRow, CatalogSource, parse_crd
from render.errors import RenderError, Unsatisfiable
from render.resolve.crds.model import Asked
from render.resolve.model import Candidate, Resolution
from render.versions.constraints import parse_constraint
from render.versions.requests import CrdRoot
from render.versions.version import parse_candidate

BUCKETS = ["buckets.s3.example.org v1beta1"]


def catalog(*sources: str) -> tuple[CatalogSource, ...]:
    """Return catalog entries, each a name with or without a constraint."""
    parts = [text.partition(" ") for text in sources]
    return tuple(
        CatalogSource(named(name), f"xplock.yaml: catalog[{i}]", parse_constraint(versions or "*"))
        for i, (name, _, versions) in enumerate(parts)
    )


def answers(resolution: Resolution) -> dict[str, tuple[list[str], str]]:
    """Return who answers what, by short names."""
    return {
        f"{short(asked.dependant) if asked.dependant else 'you'} {asked.crd}": (
            [short(source) for source in one.sources],
            str(one.place),
        )
        for asked, one in resolution.answers.items()
    }


def error_of(world: FakeCatalog, /, *asked: str, **more: Any) -> RenderError:
    with pytest.raises(Unsatisfiable) as raised:
        solve(world, *map(root, asked), **more)
    assert raised.value.exit_code == 4
    return raised.value


def test_a_package_that_defines_the_kind_itself_is_satisfied_and_adds_nothing() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}},
        defines={"app": BUCKETS, "s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1beta1"]},
    )

    found = solve(world, root("app"), catalog=catalog("s3"))

    assert versions(found) == {"app": "v1.0.0"}
    assert answers(found) == {"app bucket.s3.example.org/v1beta1": (["app"], "closure")}


def test_a_package_of_the_closure_answers_before_the_catalog_is_opened() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {"s3": "*"}, "s3 v1.0.0": {}, "other v1.0.0": {}},
        defines={"s3": BUCKETS, "other": BUCKETS},
        crds={"app": ["buckets.s3.example.org/v1beta1"]},
    )

    found = solve(world, root("app"), catalog=catalog("other"))

    assert versions(found) == {"app": "v1.0.0", "s3": "v1.0.0"}
    assert answers(found) == {"app buckets.s3.example.org/v1beta1": (["s3"], "closure")}
    assert "other v1.0.0" not in world.opened


def test_a_root_of_the_user_answers_without_being_a_dependency() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}}, defines={"s3": BUCKETS}, crds={"app": ["bucket.s3.example.org"]}
    )

    found = solve(world, root("app"), root("s3"))

    assert [str(edge.crd) for edge in found.edges_to(named("s3")) if edge.dependant] == [
        "bucket.s3.example.org"
    ]


def test_a_package_of_a_used_folder_answers() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}}, defines={"s3": BUCKETS}, crds={"app": ["bucket.s3.example.org"]}
    )
    there = {named("s3"): Candidate("v1.0.0", parse_candidate("v1.0.0"), digest_of("s3 v1.0.0"))}

    found = solve(
        world,
        root("app"),
        provided=there,
        provided_groups={named("s3"): ["s3.example.org"]},
        providers={named("s3"): "../platform"},
    )

    assert versions(found) == {"app": "v1.0.0"}
    assert answers(found) == {"app bucket.s3.example.org": (["s3"], "closure")}


def test_the_only_source_of_the_catalog_becomes_a_package() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v1.1.0": {}, "net v1.0.0": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1beta1"]},
    )

    found = solve(world, root("app"), catalog=catalog("net", "s3"))

    assert versions(found) == {"app": "v1.0.0", "s3": "v1.1.0"}
    assert answers(found) == {"app bucket.s3.example.org/v1beta1": (["s3"], "catalog")}


def test_the_constraint_of_a_catalog_entry_holds_for_the_package() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    assert versions(solve(world, root("app"), catalog=catalog("s3 <2.0.0")))["s3"] == "v1.0.0"


def test_version_beside_crd_constrains_the_package_that_answers() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org <2.0.0"]},
    )

    assert versions(solve(world, root("app"), root("s3")))["s3"] == "v1.0.0"
    assert versions(solve(world, root("app"), catalog=catalog("s3")))["s3"] == "v1.0.0"


def test_only_a_served_version_counts_so_an_older_package_is_taken() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v1.1.0": {}, "s3 v2.0.0": {}},
        defines={
            "s3 v1.0.0": ["buckets.s3.example.org v1alpha1"],
            "s3 v1.1.0": ["buckets.s3.example.org v1alpha1 v1beta1"],
            "s3 v2.0.0": BUCKETS,
        },
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )

    assert versions(solve(world, root("app"), root("s3")))["s3"] == "v1.1.0"
    assert versions(solve(world, root("app"), catalog=catalog("s3")))["s3"] == "v1.1.0"


def test_only_packages_with_the_group_and_the_highest_version_of_a_catalog_source_are_opened() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {"net": "*"}, "net v1.0.0": {}, "s3 v1.0.0": {}, "s3 v1.1.0": {}},
        defines={"net": ["nets.net.example.org v1"], "s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    solve(world, root("app"), catalog=catalog("s3"))

    assert set(world.opened) == {"s3 v1.1.0"}


def test_the_locked_version_is_preferred_while_it_serves_what_is_asked_for() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v1.1.0": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    found = solve(world, root("app"), catalog=catalog("s3"), preferred=locked(s3="v1.0.0"))

    assert versions(found)["s3"] == "v1.0.0"
    assert "s3 v1.1.0" not in world.opened


def test_an_api_version_that_no_fitting_package_serves_is_an_error_with_what_is_served() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.4.0": {}, "s3 v1.5.0": {}, "s3 v2.0.0": {}},
        defines={
            "s3 v1.4.0": ["buckets.s3.example.org v1alpha1"],
            "s3 v1.5.0": BUCKETS,
            "s3 v2.0.0": ["buckets.s3.example.org v1beta1 v1beta2"],
        },
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )

    with pytest.raises(Unsatisfiable) as raised:
        solve(world, root("app"), root("s3", ">=1.5.0"))

    why = "\n".join(raised.value.why)
    assert "s3 v2.0.0 serves v1beta1, v1beta2 of buckets.s3.example.org; v1alpha1 went with v1.5.0" in why
    assert "app v1.0.0 needs bucket.s3.example.org/v1alpha1" in why
    assert "you ask for xpkg.example.org/acme/s3 >=1.5.0" in why


def test_an_exact_root_that_is_too_new_is_told_with_which_version_it_went() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.4.0": {}, "s3 v1.5.0": {}, "s3 v2.0.0": {}},
        defines={
            "s3 v1.4.0": ["buckets.s3.example.org v1alpha1"],
            "s3 v1.5.0": BUCKETS,
            "s3 v2.0.0": BUCKETS,
        },
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )

    with pytest.raises(Unsatisfiable) as raised:
        solve(world, root("app"), root("s3", tag="v2.0.0"))

    why = "\n".join(raised.value.why)
    assert "s3 v2.0.0 serves v1beta1 of buckets.s3.example.org; v1alpha1 went with v1.5.0" in why


def test_a_package_that_defines_the_kind_itself_at_another_version_is_ruled_out() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "app v2.0.0": {}, "s3 v1.0.0": {}},
        defines={"app v1.0.0": ["buckets.s3.example.org v1alpha1"], "app v2.0.0": BUCKETS, "s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )

    assert versions(solve(world, root("app"))) == {"app": "v1.0.0"}
    # Another package with this kind could not be installed beside it.
    error = error_of(world, "app", "s3", catalog=catalog("s3"))
    assert "2 packages install the same objects" in error.what
    alone = error_of(FakeCatalog({"app v2.0.0": {}}, defines=world.defines, crds=world.crds), "app")
    assert alone.why[-1] == (
        "xpkg.example.org/acme/app v2.0.0 needs bucket.s3.example.org/v1alpha1 (spec.dependsOn[0].crd), "
        "and defines buckets.s3.example.org (v1beta1) itself"
    )
    assert not any("catalog" in line for line in alone.next)


def test_a_wildcard_of_a_group_with_kinds_of_its_own_may_be_answered_by_another_package() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}},
        defines={"app": ["apps.s3.example.org v1alpha1"], "s3": BUCKETS},
        crds={"app": ["*.s3.example.org/v1beta1"]},
    )

    assert versions(solve(world, root("app"), catalog=catalog("s3"))) == {"app": "v1.0.0", "s3": "v1.0.0"}


def test_two_sources_of_the_catalog_are_an_error_with_the_lines_that_decide() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "other.example.org/acme/s3 v1.0.0": {}},
        defines={"s3": BUCKETS, "other.example.org/acme/s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    for listed in (["s3", "other.example.org/acme/s3"], ["other.example.org/acme/s3", "s3"]):
        error = error_of(world, "app", catalog=catalog(*listed))
        assert error.what == (
            "other.example.org/acme/s3 and xpkg.example.org/acme/s3 define bucket.s3.example.org"
        )
        place = {name: f"xplock.yaml: catalog[{i}]" for i, name in enumerate(listed)}
        assert error.why[1:] == (
            "other.example.org/acme/s3 defines buckets.s3.example.org (v1beta1) "
            f"({place['other.example.org/acme/s3']})",
            f"xpkg.example.org/acme/s3 defines buckets.s3.example.org (v1beta1) ({place['s3']})",
            "a cluster can have it from one of them only",
        )
        assert error.next == (
            "ask for the one that you want in xplock.yaml, such as:",
            "roots:",
            "- package: other.example.org/acme/s3",
        )


def test_of_two_sources_the_one_is_advised_that_another_search_has_shown_to_do() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {"net": "<2"}, "s3 v1.0.0": {"net": ">=2"}, "t3 v1.0.0": {}, "net v1.0.0": {}},
        defines={"s3": BUCKETS, "t3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    error = error_of(world, "app", catalog=catalog("s3", "t3"))

    assert error.next[-1] == "- package: xpkg.example.org/acme/t3"
    assert versions(solve(world, root("app"), root("t3"), catalog=catalog("s3", "t3")))["t3"] == "v1.0.0"


def test_two_sources_that_define_other_kinds_of_one_group_are_an_error_for_a_wildcard_too() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "more v1.0.0": {}},
        defines={"s3": BUCKETS, "more": ["objects.s3.example.org v1beta1"]},
        crds={"app": ["*.s3.example.org/v1beta1"]},
    )

    error = error_of(world, "app", catalog=catalog("s3", "more"))

    assert error.why[-1] == "one of them will do"


def test_two_sources_that_do_not_serve_the_version_are_an_error_with_what_each_serves() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "more v1.0.0": {}},
        defines={"s3": BUCKETS, "more": ["buckets.s3.example.org v1 v2"]},
        crds={"app": ["bucket.s3.example.org/v9"]},
    )

    error = error_of(world, "app", catalog=catalog("s3", "more"))

    assert "define, and do not serve, bucket.s3.example.org/v9" in error.what
    assert error.why[1:] == (
        "xpkg.example.org/acme/more defines buckets.s3.example.org (v1, v2) (xplock.yaml: catalog[1])",
        "xpkg.example.org/acme/s3 defines buckets.s3.example.org (v1beta1) (xplock.yaml: catalog[0])",
        "no version of one of them serves v9 and suits everyone",
    )
    assert error.next == ("use another version of xpkg.example.org/acme/app, or ask its maintainers",)


def test_of_two_sources_that_do_not_serve_the_version_now_the_one_with_an_older_version_that_does_is_advised() -> (
    None
):
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v2.0.0": {}, "more v1.0.0": {}},
        defines={"s3 v1.0.0": ["buckets.s3.example.org v1alpha1"], "s3 v2.0.0": BUCKETS, "more": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )

    error = error_of(world, "app", catalog=catalog("s3", "more"))

    assert error.why[-1] == "xpkg.example.org/acme/s3 v1.0.0 serves v1alpha1"
    assert error.next[-1] == "- package: xpkg.example.org/acme/s3"


def test_a_range_of_the_catalog_that_excludes_all_that_serve_is_an_error_with_the_version_to_accept() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3 v1.0.0": ["buckets.s3.example.org v1alpha1"], "s3 v2.0.0": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )

    error = error_of(world, "app", catalog=catalog("s3 >=2.0.0"))

    assert error.next == (
        "accept xpkg.example.org/acme/s3 v1.0.0, which suits everyone (xplock.yaml: catalog[0])",
    )
    assert versions(solve(world, root("app"), catalog=catalog("s3 >=1.0.0")))["s3"] == "v1.0.0"


def test_an_exact_root_that_does_not_serve_what_the_user_asks_for_is_an_error_with_both_edits() -> None:
    world = FakeCatalog(
        {"s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3 v1.0.0": ["buckets.s3.example.org v1alpha1"], "s3 v2.0.0": BUCKETS},
    )
    asked = CrdRoot(parse_crd("bucket.s3.example.org/v1alpha1"), "install.yaml: spec.crd")

    with pytest.raises(Unsatisfiable) as raised:
        solve(world, root("s3", tag="v2.0.0"), crd_roots=(asked,))

    assert "you ask for xpkg.example.org/acme/s3 v2.0.0 (s3.yaml)" in raised.value.why
    assert raised.value.next == (
        "ask for xpkg.example.org/acme/s3 v1.0.0 instead, which suits everyone (s3.yaml)",
        "ask for v1beta1 of bucket.s3.example.org instead, as xpkg.example.org/acme/s3 v2.0.0 serves "
        "(install.yaml: spec.crd)",
    )


def test_a_version_beside_the_crd_of_the_user_that_is_too_narrow_is_an_error_with_the_version_to_accept() -> (
    None
):
    world = FakeCatalog(
        {"s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3 v1.0.0": ["buckets.s3.example.org v1alpha1"], "s3 v2.0.0": BUCKETS},
    )
    asked = CrdRoot(
        parse_crd("bucket.s3.example.org/v1alpha1"),
        "crossplane.yaml: spec.dependsOn[0].crd",
        parse_constraint(">=2"),
    )

    error = error_of(world, crd_roots=(asked,), catalog=catalog("s3"))

    assert error.next[0] == (
        "accept xpkg.example.org/acme/s3 v1.0.0, which suits everyone (crossplane.yaml: spec.dependsOn[0].crd)"
    )


def test_a_provided_package_that_does_not_serve_it_is_an_error_with_the_version_to_lock_there() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3 v1.0.0": ["buckets.s3.example.org v1alpha1"], "s3 v2.0.0": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1alpha1"]},
    )
    there = {named("s3"): Candidate("v2.0.0", parse_candidate("v2.0.0"), digest_of("s3 v2.0.0"))}

    error = error_of(
        world,
        "app",
        provided=there,
        provided_groups={named("s3"): ["s3.example.org"]},
        providers={named("s3"): "../platform"},
    )

    assert error.next == (
        "lock xpkg.example.org/acme/s3 v1.0.0 in ../platform first, which suits everyone here",
    )


def test_what_a_package_serves_of_several_kinds_that_a_wildcard_names_is_said_of_the_group() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}},
        defines={"s3": [*BUCKETS, "objects.s3.example.org v1"]},
        crds={"app": ["*.s3.example.org/v9"]},
    )

    error = error_of(world, "app", catalog=catalog("s3"))

    assert "xpkg.example.org/acme/s3 v1.0.0 serves v1beta1, v1 of the kinds of s3.example.org" in error.why


def test_of_two_sources_the_one_in_the_closure_answers() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "mono v1.0.0": {}},
        defines={"s3": BUCKETS, "mono": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    found = solve(world, root("app"), root("mono"), catalog=catalog("s3", "mono"))

    assert versions(found) == {"app": "v1.0.0", "mono": "v1.0.0"}


def test_a_wildcard_needs_one_kind_of_the_group_at_that_version() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}},
        defines={"s3": ["objects.s3.example.org v1", *BUCKETS]},
        crds={"app": ["*.s3.example.org/v1beta1"]},
    )

    assert answers(solve(world, root("app"), catalog=catalog("s3"))) == {
        "app *.s3.example.org/v1beta1": (["s3"], "catalog")
    }


def test_a_wildcard_names_all_packages_of_the_closure_that_share_the_group() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "more v1.0.0": {}},
        defines={"s3": BUCKETS, "more": ["objects.s3.example.org v1beta1"]},
        crds={"app": ["*.s3.example.org"]},
    )

    assert answers(solve(world, root("app"), root("s3"), root("more"))) == {
        "app *.s3.example.org": (["more", "s3"], "closure")
    }


def test_a_wildcard_that_reaches_nothing_lists_the_groups_below() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "net v1.0.0": {}},
        defines={"s3": BUCKETS, "net": ["nets.net.example.org v1"]},
        crds={"app": ["*.example.org/v1beta1"]},
    )

    error = error_of(world, "app", "net", catalog=catalog("s3"))

    assert "the nearest: groups below it: *.net.example.org, *.s3.example.org" in error.why


def test_a_crd_that_nobody_defines_is_an_error_with_the_nearest_names_and_where_it_was_looked_for() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}},
        defines={"s3": [*BUCKETS, "queues.sqs.example.org v1"]},
        crds={"app": ["bucked.s3.example.org/v1beta1", "queue.sns.example.org"]},
    )

    error = error_of(world, "app", catalog=catalog("s3"))

    why = "\n".join(error.why)
    assert error.what == "2 dependencies on CRDs have no single answer"
    assert "app v1.0.0 needs bucked.s3.example.org/v1beta1 (spec.dependsOn[0].crd)" in why
    assert "the nearest: buckets.s3.example.org (v1beta1)" in why
    assert "queues.sqs.example.org (v1)" in why
    assert "the catalog: xpkg.example.org/acme/s3 v1.0.0" in why
    assert "no registry is searched" in why
    assert "catalog:" in error.next


def test_without_a_catalog_the_error_says_so() -> None:
    world = FakeCatalog({"app v1.0.0": {}}, crds={"app": ["bucket.s3.example.org"]})

    assert "has no `catalog`" in "\n".join(error_of(world, "app").why)


def test_every_unreadable_source_of_the_catalog_is_named_with_its_place() -> None:
    world = FakeCatalog({"app v1.0.0": {}}, crds={"app": ["bucket.s3.example.org"]})

    with pytest.raises(RenderError, match="the catalog cannot be searched") as raised:
        solve(world, root("app"), catalog=catalog("gone", "lost"))

    assert [line.partition(": xpkg")[0] for line in raised.value.why] == [
        "xplock.yaml: catalog[0]",
        "xplock.yaml: catalog[1]",
    ]


def test_a_row_of_a_catalog_file_answers_without_opening_its_source_first() -> None:
    row = CatalogRow(
        "s3.example.org",
        "v1beta1",
        "Bucket",
        named("s3"),
        "<2.0.0",
        digest_of("s3 v1.0.0"),
        "buckets",
        "bucket",
    )
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "s3 v2.0.0": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1beta1"]},
    )

    found = solve(world, root("app"), catalog_rows=(row,))

    assert versions(found)["s3"] == "v1.0.0"
    assert "s3 v2.0.0" not in world.opened


def test_a_crd_that_the_user_asks_for_becomes_a_root() -> None:
    world = FakeCatalog({"s3 v1.0.0": {}, "s3 v2.0.0": {}}, defines={"s3": BUCKETS})
    asked = CrdRoot(
        parse_crd("bucket.s3.example.org"), "install.yaml: spec.crd", parse_constraint("<2.0.0"), name="mine"
    )

    found = solve(world, crd_roots=(asked,), catalog=catalog("s3"))

    assert versions(found) == {"s3": "v1.0.0"}
    [made] = found.roots
    assert (short(made.source), str(made.request), made.name, made.place) == (
        "s3",
        "<2.0.0",
        "mine",
        "install.yaml: spec.crd",
    )


def test_the_error_for_a_crd_of_the_user_names_the_place_to_correct() -> None:
    world = FakeCatalog({"s3 v1.0.0": {}}, defines={"s3": BUCKETS})
    asked = CrdRoot(parse_crd("bukket.s3.example.org"), "install.yaml: spec.crd")

    error = error_of(world, crd_roots=(asked,), catalog=catalog("s3"))

    assert error.next[0] == "if one of the nearest names is meant, write it in install.yaml: spec.crd"
    assert "catalog:" in error.next


def test_a_crd_root_that_a_root_answers_leaves_that_as_it_is() -> None:
    world = FakeCatalog({"s3 v1.0.0": {}}, defines={"s3": BUCKETS})
    asked = CrdRoot(parse_crd("bucket.s3.example.org"), "install.yaml: spec.crd", name="mine")

    found = solve(world, root("s3", tag="v1.0.0"), crd_roots=(asked,))

    assert [(short(one.source), one.name) for one in found.roots] == [("s3", None)]
    assert answers(found) == {"you bucket.s3.example.org": (["s3"], "closure")}


def test_an_answer_that_brings_the_package_for_another_question_is_found_in_the_end() -> None:
    # Alone, the second question would be answered by `two` of the catalog; `three` comes with `one`.
    world = FakeCatalog(
        {"app v1.0.0": {}, "one v1.0.0": {"three": "*"}, "two v1.0.0": {}, "three v1.0.0": {}},
        defines={
            "one": ["ones.example.org v1"],
            "two": ["twos.example.org v1"],
            "three": ["twos.example.org v1"],
        },
        crds={"app": ["one.example.org", "two.example.org"]},
    )

    found = solve(world, root("app"), catalog=catalog("one", "two"))

    assert versions(found) == {"app": "v1.0.0", "one": "v1.0.0", "three": "v1.0.0"}
    assert answers(found) == {
        "app one.example.org": (["one"], str(AnswerPlace.CATALOG)),
        "app two.example.org": (["three"], str(AnswerPlace.CLOSURE)),
    }


def test_answers_that_change_each_other_without_end_are_an_error() -> None:
    # Each of the two brings a package that answers the question of the other.
    world = FakeCatalog(
        {
            "app v1.0.0": {},
            "one v1.0.0": {"b": "*"},
            "two v1.0.0": {"a": "*"},
            "a v1.0.0": {},
            "b v1.0.0": {},
        },
        defines={
            "one": ["ones.example.org v1"],
            "a": ["ones.example.org v1"],
            "two": ["twos.example.org v1"],
            "b": ["twos.example.org v1"],
        },
        crds={"app": ["one.example.org", "two.example.org"]},
    )

    error = error_of(world, "app", catalog=catalog("one", "two"))

    assert error.what == "dependencies on CRDs change each other's answers"
    assert len(error.why) == 2
    assert error.next[-1] == "- package: xpkg.example.org/acme/a"
    solve(world, root("app"), root("a"), catalog=catalog("one", "two"))


def test_questions_without_an_answer_are_reported_beside_a_version_that_is_not_served() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v9", "queue.sqs.example.org"]},
    )

    error = error_of(world, "app", "s3")

    assert "serves bucket.s3.example.org/v9" in error.what
    assert "app v1.0.0 needs queue.sqs.example.org" in "\n".join(error.why)


def test_a_package_that_is_there_anyway_answers_at_a_prerelease_too() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0-rc.1": {}},
        defines={"s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    assert versions(solve(world, root("app"), root("s3", tag="v1.0.0-rc.1")))["s3"] == "v1.0.0-rc.1"


def test_the_answer_of_the_last_lock_stays_and_no_other_source_is_opened() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "other v1.0.0": {}},
        defines={"s3": BUCKETS, "other": BUCKETS},
        crds={"app": ["bucket.s3.example.org/v1beta1"]},
    )
    kept = {Asked(named("app"), parse_crd("bucket.s3.example.org/v1beta1")): named("s3")}
    more: dict[str, Any] = {"preferred": locked(s3="v1.0.0"), "kept_answers": kept}

    found = solve(world, root("app"), catalog=catalog("other", "s3"), **more)

    assert versions(found) == {"app": "v1.0.0", "s3": "v1.0.0"}
    assert "other v1.0.0" not in world.opened
    assert (
        "other and xpkg.example.org/acme/s3 define"
        in error_of(world, "app", catalog=catalog("other", "s3")).what
    )
    # It is no answer any more when the catalog does not list it.
    assert versions(solve(world, root("app"), catalog=catalog("other"), **more)) == {
        "app": "v1.0.0",
        "other": "v1.0.0",
    }


def test_one_kind_in_two_packages_of_the_closure_is_an_error_about_their_objects() -> None:
    world = FakeCatalog(
        {"app v1.0.0": {}, "s3 v1.0.0": {}, "other.example.org/acme/s3 v1.0.0": {}},
        defines={"s3": BUCKETS, "other.example.org/acme/s3": BUCKETS},
        crds={"app": ["bucket.s3.example.org"]},
    )

    error = error_of(world, "app", "s3", "other.example.org/acme/s3")

    assert "2 packages install the same objects" in error.what
