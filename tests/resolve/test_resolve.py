"""Requests become one version for each package, and all constraints hold."""

import random
import threading
import time

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
    written,
)

from render.errors import RenderError
from render.registry.oci import NotFound
from render.resolve.conflict import MissingPackage, NoSolution
from render.versions.constraints import parse_constraint
from render.versions.requests import Request
from render.versions.version import parse_version

BASES: Packages = {"base v1.0.0": {}, "base v1.1.0": {}, "base v2.0.0": {}}


def test_a_shared_dependency_gets_one_version_that_suits_both_parents() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"base": ">=1.0.0", "net": "^2.1"},
            "base v1.2.0": {"net": "<2.4.0"},
            "net v2.3.0": {},
            "net v2.4.0": {},
        }
    )

    resolution = solve(catalog, root("app", "*"))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.2.0", "net": "v2.3.0"}


def test_an_older_dependant_is_chosen_if_the_newest_conflicts() -> None:
    catalog = FakeCatalog(
        {
            "app v2.0.0": {"base": ">=2.0.0"},
            "app v1.0.0": {"base": "*"},
            "site v1.0.0": {"base": "<2.0.0"},
            **BASES,
        }
    )

    resolution = solve(catalog, root("app"), root("site"))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.1.0", "site": "v1.0.0"}


@pytest.mark.parametrize(
    ("constraint", "chosen"),
    [
        ("*", "v2.0.0"),
        ("<2", "v1.1.0"),
        (">=v2.0.0-0", "v2.1.0-rc.1"),
        ("v1.0.0", "v1.0.0"),
        ("v1", "v1.1.0"),
    ],
)
def test_the_highest_version_that_fits_is_taken(constraint: str, chosen: str) -> None:
    catalog = FakeCatalog({**BASES, "base v2.1.0-rc.1": {}, "base v9": {}, "base latest": {}})

    assert versions(solve(catalog, root("base", constraint))) == {"base": chosen}


def test_the_order_of_tags_does_not_matter() -> None:
    upwards = FakeCatalog(BASES)
    downwards = FakeCatalog(dict(reversed([*BASES.items()])))

    assert versions(solve(upwards, root("base"))) == versions(solve(downwards, root("base")))


def test_of_two_roots_that_cannot_both_be_newest_the_order_of_files_does_not_decide() -> None:
    catalog = FakeCatalog(
        {
            "left v2.0.0": {"base": "v1.0.0"},
            "left v1.0.0": {},
            "right v2.0.0": {"base": "v2.0.0"},
            "right v1.0.0": {},
            **BASES,
        }
    )

    one = solve(catalog, root("left"), root("right"))
    other = solve(catalog, root("right"), root("left"))

    assert versions(one) == versions(other) == {"base": "v1.0.0", "left": "v2.0.0", "right": "v1.0.0"}


def test_a_locked_version_stays_while_it_fits() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": ">=1.0.0"}, "app v1.1.0": {"base": ">=1.0.0"}, **BASES})

    resolution = solve(catalog, root("app"), preferred=locked(app="v1.0.0", base="v1.0.0"))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.0.0"}


def test_a_locked_version_that_no_longer_fits_moves_alone() -> None:
    catalog = FakeCatalog(
        {"app v1.0.0": {"base": ">=1.1.0", "net": "*"}, "net v1.0.0": {}, "net v2.0.0": {}, **BASES}
    )

    resolution = solve(catalog, root("app"), preferred=locked(app="v1.0.0", base="v1.0.0", net="v1.0.0"))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v2.0.0", "net": "v1.0.0"}


def test_a_locked_tag_is_fetched_by_its_digest() -> None:
    catalog = FakeCatalog({**BASES, "base moved": {}})
    pinned = {candidate("v1.0.0").reference(named("base")): digest_of("base moved")}

    resolution = solve(catalog, root("base"), preferred=locked(base="v1.0.0"), pinned=pinned)

    assert versions(resolution) == {"base": "v1.0.0"}
    assert resolution.packages[named("base")].package.digest == digest_of("base moved")


@pytest.mark.parametrize(
    ("request_", "chosen"),
    [
        (Request(tag="v1.1.0"), "v1.1.0"),
        (Request(parse_constraint("<2")), "v1.1.0"),
        (Request(digest=digest_of("base v1.1.0")), "v1.1.0"),
    ],
)
def test_requests_of_the_command_line_add_to_those_of_the_files(request_: Request, chosen: str) -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": ">=1.0.0"}, **BASES})

    resolution = solve(catalog, root("app"), asked={named("base"): request_})

    assert versions(resolution) == {"app": "v1.0.0", "base": chosen}


def test_a_request_of_the_command_line_does_not_require_the_package() -> None:
    catalog = FakeCatalog({"app v1.0.0": {}, **BASES})

    resolution = solve(catalog, root("app"), asked={named("base"): Request(tag="v1.1.0")})

    assert versions(resolution) == {"app": "v1.0.0"}


def test_the_error_names_an_impossible_request_of_the_command_line() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": ">=2.0.0"}, **BASES})

    with pytest.raises(NoSolution) as caught:
        solve(catalog, root("app"), asked={named("base"): Request(tag="v1.1.0")})

    assert f"you ask for {named('base')} v1.1.0 (the command line)" in caught.value.why
    assert f"{named('app')} v1.0.0 accepts {named('base')} >=2.0.0" in caught.value.why


@pytest.mark.parametrize("tag", ["main", "v2.0.0", "v1", "1.x", "v2.0.0-rc.1", "latest"])
def test_a_tag_means_exactly_this_one(tag: str) -> None:
    catalog = FakeCatalog({**BASES, f"base {tag}": {}, "base v3.0.0": {}, "base v1.2.0": {}})

    resolution = solve(catalog, root("base", tag=tag))

    assert versions(resolution) == {"base": tag}
    assert catalog.fetched == [f"base {tag}"]


def test_a_tag_that_is_not_a_version_satisfies_no_range() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": "*"}, "base main": {}, **BASES})

    with pytest.raises(NoSolution) as caught:
        solve(catalog, root("app"), root("base", tag="main"))

    assert f"you ask for {named('base')} main (base.yaml)" in caught.value.why


def test_a_tag_that_is_not_a_version_is_chosen_only_by_name() -> None:
    catalog = FakeCatalog({"base v9": {}, **BASES, "app v2.0.0": {"base": ">=2"}, "app v1.0.0": {}})

    assert versions(solve(catalog, root("app")))["base"] == "v2.0.0"


def test_a_digest_is_exact() -> None:
    catalog = FakeCatalog({**BASES, "base main": {}})

    resolution = solve(catalog, root("base", digest=digest_of("base main")))

    chosen = resolution.packages[named("base")]
    assert (chosen.candidate.tag, chosen.package.digest) == (None, digest_of("base main"))
    assert catalog.fetched == ["base main"]


def test_a_digest_dependency_found_late_is_resolved() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"base": "*", "net": "*"},
            "net v1.0.0": {"deep": "*"},
            "deep v1.0.0": {"base": digest_of("base v1.1.0")},
            **BASES,
        }
    )

    resolution = solve(catalog, root("app"))

    assert versions(resolution)["base"] == "v1.1.0"
    assert resolution.packages[named("base")].package.digest == digest_of("base v1.1.0")


def test_ranges_are_checked_against_the_tag_that_carries_a_digest() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": "<2.0.0"}, "site v1.0.0": {"base": ">=2.0.0"}, **BASES})
    wish = root("base", digest=digest_of("base v1.1.0"))

    assert versions(solve(catalog, root("app"), wish)) == {"app": "v1.0.0", "base": "v1.1.0"}
    with pytest.raises(NoSolution, match=r"no version of xpkg\.example\.org/acme/base"):
        solve(catalog, root("site"), wish)


@pytest.mark.parametrize("first", ["latest", "v1.1.0"])
def test_of_several_tags_that_carry_a_digest_the_version_counts(first: str) -> None:
    order = [first, *({"latest", "v1.1.0"} - {first})]
    catalog = FakeCatalog(
        {"app v1.0.0": {"base": ">=1"}, **{f"base {tag}": {} for tag in order}, **BASES},
        digests={"base latest": digest_of("base v1.1.0")},
    )

    resolution = solve(catalog, root("app"), root("base", digest=digest_of("base v1.1.0")))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.1.0"}


def test_tags_that_are_no_versions_are_not_opened_in_search_of_a_digest() -> None:
    def broken(what: str) -> None:
        if what.endswith(".sig"):
            raise NotFound("a signature is no package")

    catalog = FakeCatalog({"app v1.0.0": {"base": ">=1"}, "base sha256-ab.sig": {}, **BASES}, before=broken)

    resolution = solve(catalog, root("app"), root("base", digest=digest_of("base v1.0.0")))

    assert versions(resolution)["base"] == "v1.0.0"


def test_ranges_on_a_digest_that_no_version_carries_are_an_error_that_says_so() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": "<2.0.0"}, "base main": {}, **BASES})

    with pytest.raises(NoSolution) as caught:
        solve(catalog, root("app"), root("base", digest=digest_of("base main")))

    why = "\n".join(caught.value.why)
    assert f"no version has the digest {digest_of('base main')}" in why
    assert f"{named('app')} v1.0.0 accepts {named('base')} <2.0.0" in why
    assert f"you ask for {named('base')} {digest_of('base main')} (base.yaml)" in why


def test_a_tag_and_a_digest_of_the_same_bytes_agree() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": digest_of("base v1.1.0")}, **BASES})

    resolution = solve(catalog, root("app"), root("base", tag="v1.1.0"))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.1.0"}
    with pytest.raises(NoSolution):
        solve(catalog, root("app"), root("base", tag="v1.0.0"))


def test_two_digests_of_one_source_are_a_conflict() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"base": digest_of("base v1.1.0")},
            "site v1.0.0": {"base": digest_of("base v1.0.0")},
            **BASES,
        }
    )

    with pytest.raises(NoSolution) as caught:
        solve(catalog, root("app"), root("site"))

    why = "\n".join(caught.value.why)
    assert digest_of("base v1.1.0") in why
    assert digest_of("base v1.0.0") in why


def test_a_root_with_tag_and_digest_is_both() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": "<2.0.0"}, **BASES})

    resolution = solve(catalog, root("app"), root("base", tag="v1.1.0", digest=digest_of("base v1.1.0")))

    chosen = resolution.packages[named("base")]
    assert chosen.candidate == candidate("v1.1.0", digest_of("base v1.1.0"))
    # The digest names the bytes; what the tag points to by now does not matter.
    assert [what for what in catalog.fetched if what.startswith("base")] == ["base v1.1.0"]


def test_the_tag_of_a_root_with_both_is_what_ranges_are_checked_against() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": ">=2.0.0"}, **BASES})

    with pytest.raises(NoSolution):
        solve(catalog, root("app"), root("base", tag="v1.1.0", digest=digest_of("base v2.0.0")))


def test_a_version_that_was_locked_by_digest_stays_when_ranges_are_all_that_is_left() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": "*"}, **BASES})
    before = {named("base"): candidate("v1.0.0", digest_of("base v1.0.0"))}

    assert versions(solve(catalog, root("app"), preferred=before))["base"] == "v1.0.0"


def test_a_crossplane_that_is_too_old_gets_an_older_version() -> None:
    catalog = FakeCatalog(BASES, crossplane={"base v2.0.0": ">=v2.0.0", "base v1.1.0": ">=v1.14.0-0"})

    assert versions(solve(catalog, root("base"), crossplane=parse_version("v1.20.0"))) == {"base": "v1.1.0"}
    assert versions(solve(catalog, root("base"), crossplane=parse_version("v2.0.0"))) == {"base": "v2.0.0"}
    assert versions(solve(catalog, root("base"))) == {"base": "v2.0.0"}


def test_an_older_dependant_is_chosen_if_crossplane_is_too_old_for_its_dependency() -> None:
    catalog = FakeCatalog(
        {"app v2.0.0": {"base": ">=2"}, "app v1.0.0": {"base": "<2"}, **BASES},
        crossplane={"base v2.0.0": ">=v2.0.0"},
    )

    resolution = solve(catalog, root("app"), crossplane=parse_version("v1.20.0"))

    assert versions(resolution) == {"app": "v1.0.0", "base": "v1.1.0"}


def test_no_version_for_this_crossplane_is_an_error_with_the_reason() -> None:
    catalog = FakeCatalog(BASES, crossplane={"base": ">=v2.0.0"})

    with pytest.raises(NoSolution) as caught:
        solve(catalog, root("base", ">=1.1"), crossplane=parse_version("v1.20.0"))

    needed = "needs Crossplane >=v2.0.0, and yours is v1.20.0"
    assert f"{named('base')} v2.0.0 {needed}" in caught.value.why
    assert f"{named('base')} v1.1.0 {needed}" in caught.value.why


def test_a_missing_repository_is_another_failure_than_no_fitting_version() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"gone": "*"}, "site v1.0.0": {"base": ">=9"}, **BASES})

    with pytest.raises(MissingPackage) as missing:
        solve(catalog, root("app"))
    with pytest.raises(NoSolution) as unfit:
        solve(catalog, root("site"))

    assert (missing.value.exit_code, unfit.value.exit_code) == (1, 4)
    assert missing.value.what == f"{named('gone')} is required, but cannot be fetched"
    assert f"{named('app')} v1.0.0 accepts {named('gone')} *" in missing.value.why
    assert f"{named('site')} v1.0.0 accepts {named('base')} >=9" in unfit.value.why
    assert "it has v2.0.0, v1.1.0, v1.0.0" in unfit.value.why


@pytest.mark.parametrize(
    ("wish", "code", "facts"),
    [
        (root("gone"), 1, ["acme/gone does not exist", "acme/gone any version (gone.yaml)"]),
        (root("base", ">=9"), 4, ["acme/base >=9 (base.yaml)", "it has v2.0.0"]),
        (root("base", tag="v9.9.9"), 1, ["acme/base:v9.9.9 does not exist"]),
        (root("base", digest=digest_of("none")), 1, [f"acme/base@{digest_of('none')} does not exist"]),
    ],
)
def test_the_error_names_a_missing_root_with_its_place(wish: object, code: int, facts: list[str]) -> None:
    with pytest.raises(RenderError) as caught:
        solve(FakeCatalog(BASES), wish)  # type: ignore[arg-type]  # a table of roots

    assert caught.value.exit_code == code
    for fact in facts:
        assert fact in str(caught.value)


def test_a_version_with_a_missing_dependency_is_skipped() -> None:
    catalog = FakeCatalog({"app v2.0.0": {"gone": "*"}, "app v1.0.0": {"base": "*"}, **BASES})

    assert versions(solve(catalog, root("app"))) == {"app": "v1.0.0", "base": "v2.0.0"}


def test_one_package_may_name_a_dependency_twice() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {
                "1": written(str(named("base")), ">=1.0.0"),
                "2": written(str(named("base")), "<2.0.0"),
            },
            **BASES,
        }
    )

    assert versions(solve(catalog, root("app")))["base"] == "v1.1.0"


CONFLICT: Packages = {
    "app v1.0.0": {"base": ">=2.0.0", "left": "*", "right": "*"},
    "app v1.1.0": {"base": ">=2.0.0", "left": "*", "right": "*"},
    "left v1.0.0": {"base": "<2.0.0"},
    "left v1.1.0": {"base": "<2.0.0", "deep": "*"},
    "right v1.0.0": {"base": "!=2.0.0"},
    "deep v1.0.0": {"base": "v1.1.0"},
    **BASES,
}


def test_one_failure_has_one_text_however_answers_arrive() -> None:
    chance = random.Random(7)

    def slow(_: str) -> None:
        time.sleep(chance.random() / 500)

    texts = set()
    for _ in range(12):
        packages = list(CONFLICT.items())
        chance.shuffle(packages)
        wishes = [root("app"), root("site", ">=1"), root("left")]
        chance.shuffle(wishes)
        with pytest.raises(RenderError) as caught:
            solve(FakeCatalog({**dict(packages), "site v1.0.0": {}}, before=slow), *wishes)
        texts.add(str(caught.value))

    assert len(texts) == 1


def test_an_error_of_the_registry_comes_out_as_it_is() -> None:
    class Unreachable(RenderError):
        """Nobody answers."""

    def fail(what: str) -> None:
        if what == "base v2.0.0":
            raise Unreachable("nobody answers")

    catalog = FakeCatalog({"app v1.0.0": {"base": "*"}, **BASES}, before=fail)

    with pytest.raises(Unreachable, match="nobody answers"):
        solve(catalog, root("app"))


def test_an_error_about_a_version_that_is_not_required_is_ignored() -> None:
    class Unreachable(RenderError):
        """Nobody answers."""

    def fail(what: str) -> None:
        if what in ("base v2.0.0", "gone"):
            raise Unreachable("nobody answers")

    packages = {"app v2.0.0": {"gone": "*"}, "app v1.0.0": {"base": "<2"}, **BASES}
    catalog = FakeCatalog(packages, before=fail)

    assert versions(solve(catalog, root("app", "<2"))) == {"app": "v1.0.0", "base": "v1.1.0"}


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()

    with pytest.raises(RenderError):
        solve(FakeCatalog(CONFLICT), root("app"))

    assert threading.active_count() == before
