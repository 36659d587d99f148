"""Definitions across packages: they appear, vanish, move, and stay with packages that are leaving."""

from dataclasses import replace
from typing import Any

import pytest
from rig.builders.compared import PROVIDER, World, lock_of
from rig.builders.definitions import a_composition, a_crd, a_version, an_mrd, an_xrd, item_of

from render.definitions.compare import compare_definitions
from render.definitions.compositions import composition_of
from render.definitions.model import Finding
from render.definitions.rules import Risk
from render.errors import Unavailable, UnusableContent
from render.lock.model import Lock, LockedPackage, State
from render.packages import Kind

OTHER = "xpkg.example.org/example/provider-others"
FUNCTION = "xpkg.example.org/example/function-thing"
WEBHOOK: dict[str, Any] = {"conversion": {"strategy": "Webhook"}}
TWO = (a_version("v1"), a_version("v2", storage=False))


def rules_of(findings: tuple[Finding, ...]) -> dict[str, Risk]:
    return {one.rule: one.risk for one in findings}


def left(package: LockedPackage, state: State) -> LockedPackage:
    return replace(package, state=state)


def test_a_definition_that_vanishes_stays_while_its_package_stays_and_is_deleted_with_it() -> None:
    world = World()
    both, one = (
        world.package(a_crd(), a_crd(name="others.example.org")),
        world.package(a_crd(), version="v2.0.0"),
    )

    dropped = world.compare(lock_of(both), lock_of(one)).findings
    retired = world.compare(lock_of(both), Lock()).findings

    assert [(f.rule, f.risk, f.definition) for f in dropped] == [
        ("definition-gone", Risk.WRITERS, "others.example.org")
    ]
    assert [(f.package, f.from_version, f.to_version) for f in dropped] == [(PROVIDER, "v1.0.0", "")]
    assert [f.risk for f in retired] == [Risk.LOST, Risk.LOST]


def test_a_new_definition_is_a_note() -> None:
    world = World()

    findings = world.compare(Lock(), lock_of(world.package(a_crd()))).findings

    assert [(f.rule, f.risk, f.from_version, f.to_version) for f in findings] == [
        ("definition-new", Risk.NOTE, "", "v1.0.0")
    ]


def test_a_definition_that_moves_to_another_package_is_compared_with_what_it_was() -> None:
    world = World()
    old = world.package(a_crd())
    new = world.package(a_crd(scope="Namespaced"), source=OTHER)

    findings = world.compare(lock_of(old), lock_of(left(old, State.DEACTIVATED), new)).findings

    assert rules_of(findings) == {"scope": Risk.BLOCKED, "definition-moved": Risk.NOTE}
    moved = findings[-1]
    assert (moved.before, moved.after, moved.package) == (PROVIDER, OTHER, OTHER)


def test_a_definition_that_only_a_deactivated_package_brings_is_gone() -> None:
    world = World()
    old = world.package(a_crd(), a_crd(*TWO, name="others.example.org", **WEBHOOK))
    new = world.package(a_crd(), source=OTHER)

    findings = world.compare(lock_of(old), lock_of(left(old, State.DEACTIVATED), new)).findings

    assert rules_of(findings) == {
        "definition-gone": Risk.LOST,
        "conversion": Risk.BLOCKED,
        "definition-moved": Risk.NOTE,
    }
    assert {f.definition for f in findings if f.risk is not Risk.NOTE} == {"others.example.org"}


def test_an_orphaned_package_still_brings_its_definitions_and_retiring_the_other_deletes_nothing() -> None:
    world = World()
    old = world.package(a_crd())
    new = world.package(a_crd(), source=OTHER)

    assert not world.compare(lock_of(old), lock_of(left(old, State.ORPHANED))).findings
    assert not world.compare(lock_of(left(old, State.DEACTIVATED), new), lock_of(new)).findings


def test_a_webhook_is_in_danger_only_if_another_package_object_serves_it() -> None:
    world = World()
    old = world.package(a_crd(*TWO, **WEBHOOK))
    moved = world.package(a_crd(*TWO, **WEBHOOK), source=OTHER)
    aliased = world.package(a_crd(*TWO, **WEBHOOK), source=OTHER, object_name=old.object_name)
    single = world.package(a_crd(**WEBHOOK))
    same = world.package(a_crd(**WEBHOOK), source=OTHER)

    assert rules_of(world.compare(lock_of(old), lock_of(moved)).findings) == {
        "conversion": Risk.BLOCKED,
        "definition-moved": Risk.NOTE,
    }
    assert rules_of(world.compare(lock_of(old), lock_of(aliased)).findings) == {"definition-moved": Risk.NOTE}
    assert rules_of(world.compare(lock_of(single), lock_of(same)).findings) == {"definition-moved": Risk.NOTE}


def test_a_crd_that_becomes_an_mrd_is_the_same_definition() -> None:
    world = World()

    old, new = world.package(a_crd()), world.package(an_mrd(), version="v2.0.0")

    assert not world.compare(lock_of(old), lock_of(new)).findings


def test_content_that_cannot_be_had_hides_only_what_it_could_bring() -> None:
    world = World()
    old = world.package(a_crd(), an_xrd(name="xs.other.example"))
    new = world.package(a_crd(scope="Namespaced"), version="v2.0.0")
    gone = world.package(a_crd(name="a.third.example"), source=OTHER)
    world.content.errors[new.digest] = Unavailable("not in the cache", next="lock")

    result = world.compare(lock_of(old, gone), lock_of(new))

    assert [(f.rule, f.definition) for f in result.findings] == [
        ("definition-gone", "a.third.example"),
        ("definition-gone", "xs.other.example"),
    ]
    assert [(one.package, one.version, one.reason, one.is_missing) for one in result.not_compared] == [
        (PROVIDER, "v2.0.0", "not in the cache", True)
    ]


def test_a_package_that_cannot_be_read_is_not_missing() -> None:
    world = World()
    old, new = world.package(a_crd()), world.package(a_crd(), version="v2.0.0", definitions_digest="")
    world.content.errors[old.digest] = UnusableContent("no package.yaml")

    result = world.compare(lock_of(old), lock_of(new))

    assert not result.findings
    assert [(one.version, one.is_missing) for one in result.not_compared] == [("v1.0.0", False)]


def test_equal_digests_are_settled_without_asking() -> None:
    world = World()
    old, new = world.package(a_crd()), world.package(a_crd(), version="v2.0.0")
    plain = world.package(kind=Kind.FUNCTION, source=FUNCTION)

    result = world.compare(lock_of(old), lock_of(new, plain))

    assert old.digest != new.digest
    assert not result.findings
    assert not world.content.asked_facts


def test_locks_without_digests_of_definitions_are_compared_by_their_facts() -> None:
    world = World()
    old = world.package(a_crd(), definitions_digest="", groups=(), objects={}, objects_digest="")
    new = world.package(a_crd(), version="v2.0.0")

    assert not world.compare(lock_of(old), lock_of(new)).findings
    assert world.content.asked_facts == [PROVIDER, PROVIDER]
    assert not world.content.asked_documents


def test_two_definitions_of_one_name_in_a_package_are_named_and_the_rest_is_compared() -> None:
    world = World()
    old = world.package(a_crd(), a_crd(name="others.example.org"))
    new = world.package(
        *(a_crd(), a_crd(scope="Namespaced"), a_crd(name="others.example.org", scope="Namespaced")),
        version="v2.0.0",
    )

    result = world.compare(lock_of(old), lock_of(new))

    assert [(f.rule, f.definition) for f in result.findings] == [("scope", "others.example.org")]
    assert [(one.version, one.definition) for one in result.not_compared] == [
        ("v2.0.0", "things.example.org")
    ]


def test_a_definition_that_cannot_be_read_is_named_and_the_rest_is_compared() -> None:
    world = World()
    old = world.package(a_crd(), a_crd(name="others.example.org"))
    new = world.package(
        (item_of(a_crd()), b"\nspec: 5\n"),
        a_crd(name="others.example.org", scope="Namespaced"),
        version="v2.0.0",
    )

    result = world.compare(lock_of(old), lock_of(new))

    assert [(f.rule, f.definition) for f in result.findings] == [("scope", "others.example.org")]
    assert [(one.version, one.definition) for one in result.not_compared] == [
        ("v2.0.0", "things.example.org")
    ]


def test_what_a_function_brings_is_a_note() -> None:
    world = World()
    more: dict[str, Any] = {"kind": Kind.FUNCTION, "source": FUNCTION}
    old = world.package(a_crd(), a_crd(name="others.example.org"), **more)
    new = world.package(a_crd(scope="Namespaced"), a_crd(name="new.example.org"), version="v2.0.0", **more)

    findings = world.compare(lock_of(old), lock_of(new)).findings

    assert rules_of(findings) == {"definition-gone": Risk.NOTE, "scope": Risk.NOTE}


def test_a_composition_has_to_be_for_the_version_that_its_xrd_refers_to() -> None:
    world = World()
    one, two = a_version("v1", storage=False), a_version("v2", storage=False)
    api, impl = "xpkg.example.org/example/api", "xpkg.example.org/example/impl"
    old = world.package(an_xrd(a_version("v1"), two), source=api, kind=Kind.CONFIGURATION)
    new = world.package(an_xrd(one, a_version("v2")), source=api, kind=Kind.CONFIGURATION, version="v2.0.0")
    composition = world.package(a_composition("example.org/v1"), source=impl, kind=Kind.CONFIGURATION)
    other = world.package(
        a_composition("example.org/v2", name="x"), source=impl, kind=Kind.CONFIGURATION, version="v2.0.0"
    )

    moved = world.compare(lock_of(old, composition), lock_of(new, composition)).findings
    known = world.compare(lock_of(new, composition), lock_of(old, composition)).findings
    added = world.compare(lock_of(old), lock_of(old, other)).findings

    assert [(f.definition, f.before, f.after) for f in moved if f.rule == "composition-target"] == [
        ("thing", "example.org/v1 Thing", "v2")
    ]
    assert "composition-target" not in rules_of(known)
    assert [f.definition for f in added] == ["x"]


def test_a_composition_of_the_folder_has_to_be_for_that_version_as_well() -> None:
    world = World()
    api = "xpkg.example.org/example/api"
    versions = [a_version("v1"), a_version("v2", storage=False)]
    moved = [a_version("v1", storage=False), a_version("v2")]
    old = world.package(an_xrd(*versions), source=api, kind=Kind.CONFIGURATION)
    new = world.package(an_xrd(*moved), source=api, kind=Kind.CONFIGURATION, version="v2.0.0")
    own = [composition_of(a_composition(f"example.org/{one}", name=one)) for one in ("v1", "v2", "v3")]
    own += [composition_of(a_composition("other.example/v1", name="other"))]
    known = [one for one in own if one]

    there, back = (
        compare_definitions(lock_of(before), lock_of(after), world.content, own=known).findings
        for before, after in ((old, new), (new, old))
    )

    targets = [one for one in there if one.rule == "composition-target"]
    assert [(one.risk, one.definition, one.package, one.before, one.after) for one in targets] == [
        (Risk.WRITERS, "v1", "", "example.org/v1 Thing", "v2")
    ]
    assert "no part of a package" in targets[0].detail
    assert [one.definition for one in back if one.rule == "composition-target"] == ["v2"]
    assert not [
        one for one in world.compare(lock_of(old), lock_of(new)).findings if one.rule == "composition-target"
    ]


@pytest.mark.parametrize(
    "value",
    [
        {},
        a_crd(),
        {**a_composition(), "kind": "Thing"},
        {**a_composition(), "apiVersion": "example.org/v1"},
        {**a_composition(), "spec": {}},
        {**a_composition(), "spec": []},
        {**a_composition(), "metadata": {"name": 5}},
        {**a_composition(), "spec": {"compositeTypeRef": {"apiVersion": "a/v1", "kind": None}}},
    ],
)
def test_other_objects_are_no_compositions(value: dict[str, Any]) -> None:
    assert composition_of(value) is None


def test_a_composition_that_goes_is_a_note() -> None:
    world = World()
    old, new = world.package(a_composition(), a_crd()), world.package(a_crd(), version="v2.0.0")

    assert rules_of(world.compare(lock_of(old), lock_of(new)).findings) == {"composition-gone": Risk.NOTE}
    assert not world.compare(lock_of(new), lock_of(old)).findings
