"""Releases of the shape of real ones: what is found in how many definitions, as it was counted in those."""

from collections.abc import Mapping, Sequence
from typing import Any

from rig.builders.compared import World, lock_of
from rig.builders.definitions import a_composition, a_crd, a_schema, a_version, an_xrd

from render.definitions.model import Comparison, Finding
from render.definitions.rules import Risk
from render.packages import Kind

TEXT: dict[str, Any] = {"type": "string"}
FLAG = {"type": "boolean"}
Objects = Sequence[Mapping[str, Any]]


def an_object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def name(number: int) -> str:
    return f"things{number}.group{number // 50}.example.org"


def crd(number: int, fields: Mapping[str, Any] | None = None, **of_spec: Any) -> dict[str, Any]:
    """Return a definition with one version, whose spec has some fields."""
    return a_crd(a_version("v1beta1", a_schema(fields or {"size": TEXT}, **of_spec)), name=name(number))


def crds(start: int, count: int) -> list[dict[str, Any]]:
    return [crd(number) for number in range(start, start + count)]


def numbered(count: int, schema: Any = TEXT, prefix: str = "f") -> dict[str, Any]:
    return {f"{prefix}{i}": schema for i in range(count)}


def released(old: Objects, new: Objects, kind: Kind = Kind.PROVIDER) -> Comparison:
    world = World()
    before, after = world.package(*old, kind=kind), world.package(*new, kind=kind, version="v1.1.0")
    return world.compare(lock_of(before), lock_of(after))


def counts(found: Sequence[Finding]) -> dict[str, tuple[int, int]]:
    """Return for each rule how often it found something, and in how many definitions."""
    rules = dict.fromkeys(one.rule for one in found)
    return {
        rule: (
            sum(one.rule == rule for one in found),
            len({one.definition for one in found if one.rule == rule}),
        )
        for rule in rules
    }


def test_a_release_with_few_changes() -> None:
    lists = numbered(6, {"type": "array", "items": TEXT})
    sets = {key: {**one, "x-kubernetes-list-type": "set"} for key, one in lists.items()}
    old = [*[crd(i, {**numbered(3), "size": TEXT}) for i in range(3)], crd(3, lists), *crds(4, 20)]
    new = [*crds(0, 3), crd(3, sets), *crds(4, 20), *crds(24, 12)]

    assert counts(released(old, new).findings) == {
        "field-gone": (9, 3),
        "merge-keys": (6, 1),
        "definition-new": (12, 12),
    }


def test_a_field_of_another_type_and_fields_that_are_required_by_a_rule_of_the_generator() -> None:
    def cluster(gone: int, encrypted: Any, *required: str) -> dict[str, Any]:
        rules = [
            {
                "rule": f"has(self.forProvider.{key})",
                "message": f"spec.forProvider.{key} is a required parameter",
            }
            for key in required
        ]
        provided = {
            **numbered(gone),
            **{f"encrypted{i}": encrypted for i in range(3)},
            **numbered(4, prefix="r"),
        }
        more = {"x-kubernetes-validations": rules} if rules else {}
        return crd(0, {"forProvider": an_object(**provided)}, **more)

    result = released(
        [cluster(12, FLAG), *crds(1, 30)],
        [cluster(0, TEXT, *numbered(4, prefix="r")), *crds(1, 30), *crds(31, 50)],
    )

    assert counts(result.findings) == {
        "field-gone": (12, 1),
        "type-changed": (3, 1),
        "required-new": (4, 1),
        "definition-new": (50, 50),
    }
    [first, *_] = [one for one in result.findings if one.rule == "type-changed"]
    assert (first.before, first.after) == ("boolean", "string")


def moving(number: int, stored: str) -> dict[str, Any]:
    """Return a definition with two versions, of which the older one is deprecated once it is not stored."""
    versions = (
        a_version("v1beta1", storage=stored == "v1beta1", deprecated=stored != "v1beta1"),
        a_version("v1beta2", storage=stored == "v1beta2"),
    )
    return a_crd(*versions, name=name(number), conversion={"strategy": "Webhook"})


def test_a_release_that_moves_storage_versions_breaks_nothing_and_nothing_is_read_for_it() -> None:
    world = World()
    deprecated = a_version("v1alpha1", storage=False, deprecated=True)
    current = a_version("v1beta1")
    six = [(a_crd(a_version("v1alpha1", storage=False), current, name=name(i)),
            a_crd(deprecated, current, name=name(i))) for i in range(310, 316)]  # fmt: skip
    old = [*[moving(i, "v1beta1") for i in range(310)], *[one for one, _ in six], *crds(316, 200)]
    # A newer generator leaves its mark in every definition.
    marked = [
        {**one, "metadata": {**one["metadata"], "annotations": {"generator": "v2"}}}
        for one in [*[moving(i, "v1beta2") for i in range(310)], *[new for _, new in six], *crds(316, 228)]
    ]
    before, after = world.package(*old), world.package(*marked, version="v1.1.0")

    result = world.compare(lock_of(before), lock_of(after))

    assert counts(result.findings) == {
        "storage-moved": (310, 310),
        "version-deprecated": (316, 316),
        "definition-new": (28, 28),
    }
    assert result.worst is Risk.NOTE
    assert not world.content.asked_documents


def test_a_major_version_of_a_family_drops_one_field_everywhere() -> None:
    def old(number: int) -> dict[str, Any]:
        # 594 further fields in 18 definitions, 33 in each.
        more = numbered(33) if number < 18 else {}
        types = numbered(45 // 7 + (number < 45 % 7), FLAG, "t") if number < 7 else {}
        return crd(
            number, {"publishConnectionDetailsTo": an_object(name=TEXT), "size": TEXT, **more, **types}
        )

    def new(number: int) -> dict[str, Any]:
        types = numbered(45 // 7 + (number < 45 % 7), TEXT, "t") if number < 7 else {}
        rule = {"x-kubernetes-validations": [{"rule": "self.size != ''"}]} if number == 50 else {}
        return crd(number, {"size": TEXT, **types}, **rule)

    world = World()
    before, after = [], []
    for i in range(63):
        numbers = range(i, 953, 63)
        source = f"xpkg.example.org/example/provider-{i}"
        # Of the two definitions that stay as they are, and those that go.
        same = [crd(2_000 + i)] if i < 2 else []
        gone = [crd(3_000 + j) for j in range(i, 19, 63)]
        fresh = [crd(4_000 + j) for j in range(i, 956, 63)]
        before.append(world.package(*map(old, numbers), *same, *gone, source=source))
        after.append(world.package(*map(new, numbers), *same, *fresh, source=source, version="v2.0.0"))

    findings = world.compare(lock_of(*before), lock_of(*after)).findings

    assert counts(findings) == {
        "field-gone": (1_547, 953),
        "type-changed": (45, 7),
        "definition-gone": (19, 19),
        "rule-new": (1, 1),
        "definition-new": (956, 956),
    }
    everywhere = [one for one in findings if one.path == ".spec.publishConnectionDetailsTo"]
    assert (len(everywhere), len({one.package for one in everywhere})) == (953, 63)


def test_a_release_that_drops_versions_which_objects_are_stored_in() -> None:
    def versions(*names: str) -> list[dict[str, Any]]:
        return [a_crd(a_version(one), name=name(i)) for i, one in enumerate(names)]

    findings = released(
        [*versions("v1alpha1", "v1alpha1", "v1alpha2"), *crds(3, 50)],
        [*versions("v1beta1", "v1beta1", "v1alpha3"), *crds(3, 50)],
    ).findings

    assert counts(findings)["stored-version-gone"] == (3, 3)
    assert {one.rule for one in findings if one.risk is Risk.BLOCKED} == {"stored-version-gone"}


def test_a_release_with_required_references_and_an_object_that_becomes_a_list() -> None:
    secrets = numbered(3, an_object(name=TEXT, namespace=TEXT), "passwordSecretRef")

    def database(number: int, *, is_required: bool) -> dict[str, Any]:
        # 56 in 24 definitions: three in 8, and two in 16.
        kept = {key: secrets[key] for key in list(secrets)[: 3 if number < 8 else 2]}
        needed = {"required": [*kept]} if is_required else {}
        return crd(number, {"initProvider": an_object(**kept) | needed})

    def service(number: int, identity: Any) -> dict[str, Any]:
        fields = numbered(2 if number == 24 else 1, identity, "identity")
        return crd(number, fields)

    one = an_object(type=TEXT)
    old = [
        *[database(i, is_required=False) for i in range(24)],
        *[service(i, one) for i in (24, 25)],
        crd(26, {**numbered(5), "size": TEXT}),
        *[moving(i, "v1beta1") for i in range(27, 27 + 266)],
        *crds(300, 100),
    ]
    new = [
        *[database(i, is_required=True) for i in range(24)],
        *[service(i, {"type": "array", "items": one}) for i in (24, 25)],
        crd(26),
        *[moving(i, "v1beta2") for i in range(27, 27 + 266)],
        *crds(300, 116),
    ]

    found = counts(released(old, new).findings)

    assert found == {
        "field-gone": (5, 1),
        "required-new": (56, 24),
        "type-changed": (3, 2),
        "definition-new": (16, 16),
        "storage-moved": (266, 266),
        "version-deprecated": (266, 266),
    }


def test_a_release_that_only_allows_more_is_not_worth_a_line() -> None:
    def objects(*values: str, more: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return [crd(i, {"policy": {**TEXT, "enum": [*values]}, **(more or {})}) for i in range(2)]

    details = {"publishConnectionDetailsTo": an_object(name=TEXT)}
    first = released(objects("a", more=details), [*objects("a"), *crds(2, 5)])
    then = released(objects("a"), objects("a", "b"))

    assert counts(first.findings) == {"field-gone": (2, 2), "definition-new": (5, 5)}
    assert then == Comparison()


def test_a_configuration_that_brings_another_xrd() -> None:
    def objects(plural: str, **more: Any) -> list[Any]:
        return [an_xrd(name=f"{plural}.example.org", **more), a_composition(kind=plural.capitalize())]

    findings = released(
        objects("xnetworks"), [an_xrd(name="networks.example.org", scope="Namespaced")], Kind.CONFIGURATION
    ).findings

    assert counts(findings) == {
        "definition-gone": (1, 1),
        "composition-gone": (1, 1),
        "definition-new": (1, 1),
    }
