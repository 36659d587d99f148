"""A conflict's error has the constraints, the existing versions, and an edit that helps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, locked, named, root, solve, versions

from render.commands import LockCall
from render.errors import RenderError
from render.resolve.advice.suggested import Suggestion
from render.resolve.conflict import MissingPackage, NoSolution, explain
from render.resolve.crds.index import Index
from render.resolve.missing import MissingVersion
from render.versions.requests import Request, Root

BASES: Packages = {"base v1.0.0": {}, "base v1.1.0": {}, "base v2.0.0": {}}
PACKAGES: Packages = {
    "app v1.0.0": {"base": "<2.0.0"},
    "app v2.0.0": {"base": ">=2.0.0"},
    "site v1.0.0": {"base": "<2.0.0"},
    "site v2.0.0": {"base": ">=2.0.0"},
    **BASES,
}


def failure(catalog: FakeCatalog, *roots: Root) -> RenderError:
    with pytest.raises((NoSolution, MissingPackage)) as caught:
        solve(catalog, *roots)
    return caught.value


def test_the_whole_text_of_a_conflict() -> None:
    error = failure(FakeCatalog(PACKAGES), root("app", tag="v2.0.0"), root("site", "<2"))

    assert str(error).splitlines() == [
        "no version of xpkg.example.org/acme/base suits every dependant",
        "  why:  xpkg.example.org/acme/app v2.0.0 accepts xpkg.example.org/acme/base >=2.0.0",
        "        xpkg.example.org/acme/site v1.0.0 accepts xpkg.example.org/acme/base <2.0.0",
        "        it has v2.0.0, v1.1.0, v1.0.0",
        "        you ask for xpkg.example.org/acme/site <2 (site.yaml)",
        "        you ask for xpkg.example.org/acme/app v2.0.0 (app.yaml)",
        "  next: ask for xpkg.example.org/acme/app v1.0.0 instead, which suits everyone (app.yaml)",
        "        ask for xpkg.example.org/acme/site v2.0.0 instead, which suits everyone (site.yaml)",
    ]


def test_the_order_of_requests_does_not_change_the_text() -> None:
    wishes = [root("app", tag="v2.0.0"), root("site", "<2")]

    one, other = (failure(FakeCatalog(PACKAGES), *roots) for roots in (wishes, reversed(wishes)))

    assert str(one) == str(other)


@pytest.mark.parametrize(
    ("packages", "roots"),
    [
        (PACKAGES, [root("app", tag="v2.0.0"), root("site", "<2")]),
        (PACKAGES, [root("app", tag="v2.0.0"), root("base", "<2")]),
        (PACKAGES, [root("base", ">=9")]),
        (PACKAGES, [root("app", ">=2"), root("base", digest=digest_of("base v1.0.0"))]),
        ({"app v1.0.0": {}, "app v2.0.0": {"gone": "*"}}, [root("app", tag="v2.0.0")]),
        (
            {**PACKAGES, "top v1.0.0": {"app": "v2.0.0"}, "top v0.9.0": {"app": "*"}},
            [root("top", ">=1"), root("site", tag="v1.0.0")],
        ),
    ],
)
def test_every_edit_that_is_suggested_helps(packages: Packages, roots: list[Root]) -> None:
    error = failure(FakeCatalog(packages), *roots)

    edits = [line.split(" ") for line in error.next if line.startswith("ask for ")]
    assert edits
    for _, _, source, version, *_ in edits:
        others = [wish for wish in roots if str(wish.source) != source]
        edited = [*others, root(source, tag=version)]

        assert len(edited) == len(roots)
        assert versions(solve(FakeCatalog(packages), *edited))


def test_an_edit_that_breaks_another_rule_is_not_suggested() -> None:
    packages = {**PACKAGES, "site v2.0.0": {"base": ">=2.0.0", "site": "*"}, "app v1.0.0": {"base": ">9"}}

    error = failure(FakeCatalog(packages), root("app", tag="v2.0.0"), root("site", tag="v1.0.0"))

    assert not any(line.startswith("ask for ") for line in error.next)
    assert error.next == (
        f"use another version of {named('app')} or of {named('site')}, or ask its maintainers",
    )


def test_a_long_derivation_is_shown_step_by_step() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"mid": "^1"},
            "mid v1.4.0": {"deep": ">=0.2"},
            "deep v0.3.0": {"base": ">=9"},
            **BASES,
        }
    )

    error = failure(catalog, root("app", tag="v1.0.0"))

    assert error.what == f"no version of {named('base')} suits its dependant"
    assert error.why == (
        f"{named('deep')} v0.3.0 accepts {named('base')} >=9",
        "it has v2.0.0, v1.1.0, v1.0.0",
        f"you ask for {named('app')} v1.0.0 (app.yaml)",
        f"{named('app')} v1.0.0 accepts {named('mid')} ^1",
        f"{named('mid')} v1.4.0 accepts {named('deep')} >=0.2",
    )
    assert error.next == (f"use another version of {named('deep')}, or ask its maintainers",)


def test_versions_of_one_dependant_with_one_constraint_share_a_line() -> None:
    many: Packages = {f"app v1.{i}.0": {"base": ">=9"} for i in range(9)}

    error = failure(FakeCatalog({**many, **BASES}), root("app"))

    shown = "v1.8.0, v1.7.0, v1.6.0, v1.5.0, v1.4.0, v1.3.0 and 3 more"
    assert f"{named('app')} {shown} accepts {named('base')} >=9" in error.why


def test_many_reasons_are_shortened_and_counted() -> None:
    many: Packages = {f"app v1.{i}.0": {"base": f">={i + 9}"} for i in range(20)}

    error = failure(FakeCatalog({**many, **BASES}), root("app"))

    assert len(error.why) == 9
    assert error.why[-1] == "… and 14 more"


def test_a_repository_without_versions_is_an_error() -> None:
    error = failure(FakeCatalog({"base main": {}}), root("base"))

    assert "it has no version that can be installed" in error.why


def test_the_error_for_a_missing_package_names_its_dependants() -> None:
    error = failure(FakeCatalog({"app v1.0.0": {"gone": ">=1"}}), root("app", tag="v1.0.0"))

    assert isinstance(error, MissingPackage)
    assert error.why == (
        f"{named('app')} v1.0.0 accepts {named('gone')} >=1",
        f"{named('gone')} does not exist",
        f"you ask for {named('app')} v1.0.0 (app.yaml)",
    )


def test_a_suggestion_is_an_edit_with_its_place() -> None:
    suggestion = Suggestion("a.yaml", named("app"), "v1.0.0")

    error = explain(
        [], lambda _: pytest.fail("nobody asks"), lambda _: None, [suggestion], serving=lambda *_: Index()
    )

    assert error.next == (f"ask for {named('app')} v1.0.0 instead, which suits everyone (a.yaml)",)


def upgrade_failure(catalog: FakeCatalog, *roots: Root, **tags: str) -> RenderError:
    """Return the error for an upgrade to these versions, where everything is locked at v1.0.0."""
    asked = {named(name): Request(tag=tag) for name, tag in tags.items()}
    call = LockCall(("shop",), tuple(f"{name}={tag}" for name, tag in tags.items()))
    freed = locked(**dict.fromkeys(tags, "v1.0.0"))
    with pytest.raises(RenderError) as caught:
        solve(catalog, *roots, asked=asked, upgraded=freed, call=call)
    return caught.value


# There is nothing newer than what is locked.
PINNED = FakeCatalog({"app v1.0.0": {"base": "<2.0.0"}, "base v1.0.0": {}, "base v2.0.0": {}})


@pytest.mark.parametrize("app", [root("app"), root("app", tag="v1.0.0")])
def test_a_version_that_is_asked_for_and_excluded_is_listed_only_if_it_exists(app: Root) -> None:
    error = upgrade_failure(PINNED, app, base="v3.0.0")

    assert isinstance(error, MissingVersion)
    assert error.what == f"{named('base')} has no version v3.0.0"
    assert "the nearest that it has: v2.0.0, v1.0.0" in error.why
    assert f"{named('app')} v1.0.0 accepts {named('base')} <2.0.0" in error.why
    # v2.0.0 is nearer, and does not help.
    assert error.next == ("leave -P out: the locked v1.0.0 is the highest that suits everyone",)


def test_the_tag_of_a_digest_is_not_among_the_versions_that_exist() -> None:
    named_otherwise = root("base", tag="v9.0.0", digest=digest_of("base v2.0.0"))

    error = failure(PINNED, root("app", tag="v1.0.0"), named_otherwise)

    assert "it has v2.0.0, v1.0.0" in error.why


def test_where_a_file_asks_for_another_version_than_the_command_line_the_edit_is_named() -> None:
    error = upgrade_failure(PINNED, root("app", tag="v1.0.0", place="app.yaml: spec.package"), app="v2.0.0")

    assert error.what == f"{named('app')} has no version v2.0.0"
    assert error.next == (
        "leave -P out: the locked v1.0.0 is the highest that suits everyone",
        "or write another version in app.yaml: spec.package, which asks for v1.0.0, then: xplock lock shop",
    )


def test_the_edit_of_a_file_comes_with_a_command_that_asks_for_nothing_missing() -> None:
    error = upgrade_failure(PINNED, root("app", tag="v1.0.0"), app="v2.0.0", base="v7.0.0")

    assert error.next[-1].endswith(", which asks for v1.0.0, then: xplock lock shop")


def test_several_versions_of_the_command_line_that_go_too_far_are_answered_together() -> None:
    newer: Packages = {**PINNED.packages, "net v1.0.0": {}, "net v1.1.0": {}}

    error = upgrade_failure(FakeCatalog(newer), root("app"), root("net"), base="v2.0.0", net="v7.0.0")

    assert error.next == (
        f"the highest versions that suit everyone are {named('base')} v1.0.0, {named('net')} v1.1.0: "
        f"xplock lock -P {named('net')}=v1.1.0 shop",
    )


def test_an_upgrade_that_only_others_prevent_names_them() -> None:
    error = upgrade_failure(PINNED, root("app"), base="v2.0.0")

    assert isinstance(error, NoSolution)
    assert error.next == (
        "leave -P out: the locked v1.0.0 is the highest that suits everyone",
        f"or use another version of {named('app')}, or ask its maintainers",
    )


_CHILD = """
from rig.builders.catalogs import FakeCatalog, Packages, root, solve
from render.errors import RenderError
packages = {
    **{f"app v1.{i}.0": {"left": "*", "right": "*", "base": f">=1.{i}"} for i in range(4)},
    **{f"left v1.{i}.0": {"base": "<1.2", "deep": "*"} for i in range(4)},
    **{f"right v1.{i}.0": {"base": ">=1.2", "deep": f"1.{i}"} for i in range(4)},
    **{f"deep v1.{i}.0": {"right": f"1.{i + 1}"} for i in range(4)},
    **{f"base v1.{i}.0": {} for i in range(4)},
}
for wishes in ([root("app")], [root("left", "<1.3"), root("right", ">=1.1"), root("app", "*")]):
    try:
        print(solve(FakeCatalog(packages), *wishes))
    except RenderError as error:
        print(error)
"""


def test_the_text_does_not_depend_on_the_order_of_hashes() -> None:
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(tests.parent)])

    texts = {
        subprocess.run(
            [sys.executable, "-c", _CHILD],
            env={"PYTHONPATH": paths, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "42", "random")
    }

    [text] = texts
    assert text.count("no version of") == 2
