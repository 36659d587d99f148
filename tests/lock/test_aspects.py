"""Every field of a lock has a text: whatever differs is named in every form that people read."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, source
from rig.builders.random_locks import any_locks

from render.crd_dependencies import CrdAnswer, parse_crd
from render.lock.aspects import LISTS, aspects_of
from render.lock.diff import diff_locks
from render.lock.model import KeptPin, Lock, LockedDependency, LockedPackage, Promotion, Provided, State
from render.packages import Kind
from render.views.commits.commit_message import LockChange, format_message, format_pull_request
from render.views.diff import diff_document, format_diff, format_markdown
from render.views.report import format_report
from render.views.report_document import report_document

ACME = "xpkg.example.org/acme"
# Another value for every field, and a part of the text that names it. A field without an entry fails a test.
LOCKED: Mapping[str, tuple[object, str]] = {
    "source": (source("other"), f"{ACME}/other"),
    "version": ("v9.9.9", "v9.9.9"),
    "digest": (digest("dd"), "other digest"),
    "kind": (Kind.FUNCTION, "Function"),
    "object_name": ("another-name", "another-name"),
    "dependencies": ((LockedDependency(f"{ACME}/base", "*", "Provider"),), "base * (Provider)"),
    "crds": ((CrdAnswer(parse_crd("buckets.s3.example.org"), source("s3")),), "buckets.s3.example.org by"),
    "required_by": ((f"{ACME}/stranger",), "stranger"),
    "root": ("^7", "^7"),
    "tag": ("v1.7.7", "v1.7.7"),
    "objects": ({"CustomResourceDefinition": 7}, "7 CustomResourceDefinition"),
    "objects_digest": (digest("0b"), "objectsDigest"),
    "definitions_digest": (digest("0c"), "definitionsDigest"),
    "groups": (("dns.example.org",), "dns.example.org"),
    "family": ("dns", "family: none"),
    "crossplane": (">=v9", ">=v9"),
    "licence": ("BUSL-1.1", "licence: none -> BUSL-1.1"),
    "signed_by": (("https://issuer.example.org someone",), "someone"),
    "attested_by": (("https://slsa.dev/provenance/v1 by someone",), "v1 by someone"),
    "released_at": ("2026-01-31T12:00:00Z claimed", "2026-01-31T12:00:00Z claimed"),
    "detached": (("because of it",), "because of it"),
    "fields": ({"spec": {"revisionHistoryLimit": 7}}, "spec.revisionHistoryLimit: 7"),
    "overrides": ({"metadata": {"labels": {"a.b/c": "d"}}}, 'metadata.labels["a.b/c"]: "d"'),
    "kept_pins": ((KeptPin("v0.1.0", digest("a1")),), "v0.1.0"),
    "state": (State.ORPHANED, "nothing requires it any more"),
    "released": (True, "its guard is off"),
    "replaces": ((replaced("gone"),), "gone"),
    "replaced_by": ((source("heir"),), "heir"),
    "installed_as": (source("alias"), "alias"),
    "stale_entry": ((f"{ACME}/stale",), "stale"),
    "unclaimed": ({"Composition": 3}, "3 Composition"),
}
PROVIDED: Mapping[str, tuple[object, str]] = {
    "source": (source("other"), f"{ACME}/other"),
    "folder": ("../elsewhere", "../elsewhere"),
    "version": ("v9.9.9", "v9.9.9"),
    "digest": (digest("dd"), "other digest"),
    "kind": (Kind.FUNCTION, "Function"),
    "object_name": ("another-name", "another-name"),
    "tag": ("v1.7.7", "v1.7.7"),
    "detached": (True, "detached: + in ../platform"),
    "installed_as": (source("alias"), "alias"),
    "replaces": ((source("gone"),), "gone"),
}
WHOLE: Mapping[str, tuple[object, str]] = {
    "packages": ({}, "acme/net"),
    "inputs": ({"root a": digest("1")}, "root a was added"),
    "revision": (7, "revision: 0 -> 7"),
    "deactivated": ({source("off"): deactivated("off v1.0.0", "net")}, "acme/off"),
    "provided": ({}, "acme/dns"),
    "crds": ((CrdAnswer(parse_crd("queues.sqs.example.org"), source("sqs")),), "queues.sqs.example.org by"),
    "promoted": (Promotion("../staging", digest("1"), 2), "promoted: none -> 2 of ../staging"),
}


@pytest.mark.parametrize(
    ("kind", "table"), [(LockedPackage, LOCKED), (Provided, PROVIDED), (Lock, WHOLE)], ids=str
)
def test_every_field_has_its_text_here(kind: type, table: Mapping[str, object]) -> None:
    assert {field.name for field in fields(kind)} == set(table)


def differing() -> Mapping[str, tuple[Lock, Lock, str]]:
    """Return two locks for every field, and the text that names how they differ."""
    net, dns = package("net v1.0.0"), provided("dns v1.0.0")
    start = replace(lock([net], {"root x": digest("1")}), provided={dns.source: dns})
    [known] = start.packages.values()
    found = {}
    for name, (value, text) in LOCKED.items():
        other = _with(known, name, value)
        found[f"package {name}"] = (start, replace(start, packages={other.source: other}), text)
    for name, (value, text) in PROVIDED.items():
        changed = _with(dns, name, value)
        found[f"provided {name}"] = (start, replace(start, provided={changed.source: changed}), text)
    for name, (value, text) in WHOLE.items():
        found[f"lock {name}"] = (start, _with(start, name, value), text)
    return found


def _with(value: Any, name: str, other: object) -> Any:
    return replace(value, **{name: other})


CASES = differing()


@pytest.mark.parametrize("case", CASES)
def test_whatever_differs_is_named_in_a_report(case: str) -> None:
    before, after, text = CASES[case]

    report = format_report(".", before, after, several=False)
    document = report_document(".", before, after)
    message = format_message([LockChange(".", before, after)], "lock: x")

    assert text in report
    assert text in message
    same = report_document(".", before, before)
    assert {key for key in document if document[key] != same[key]} - {"unchanged", "packages"}


@pytest.mark.parametrize("case", CASES)
def test_whatever_differs_is_named_in_a_difference(case: str) -> None:
    before, after, _ = CASES[case]

    diff = diff_locks(before, after)

    assert not diff.equal
    assert not diff_document(diff)["equal"]
    assert all(item.changes or item.moved_from for item in diff.changed)
    field = case.partition(" ")[2]
    names = [name for name in aspect_names() if name.lower() == field.replace("_", "").lower()]
    rows = [row for row in format_markdown(diff).splitlines() if row.startswith("| changed")]
    for row in rows:
        assert any(f"{name}: " in row for name in names or ["object", "providedBy"]), row
    lines = [*format_diff(diff).splitlines(), ""]
    bare = [
        line for line, following in pairwise(lines) if line.startswith("Changed") and following[:2] != "  "
    ]
    assert not bare
    assert "No differences" not in format_pull_request([LockChange(".", before, after)])


def aspect_names() -> set[str]:
    everything: Any = package("a v1")
    for name, (value, _) in LOCKED.items():
        everything = _with(everything, name, value)
    return {*aspects_of(everything), *LISTS}


def test_values_in_another_order_or_twice_are_a_difference_that_is_shown() -> None:
    one, two = "xpkg.example.org/a/one", "xpkg.example.org/a/two"
    start = package("net v1.0.0", groups=(one, two))
    for groups, text in (((two, one), "~ in another order"), ((one, two, two), f"+ {two}")):
        diff = diff_locks(lock([start]), lock([replace(start, groups=groups)]))

        assert text in format_diff(diff)
        assert text[2:] in format_markdown(diff)
        assert json.dumps(diff_document(diff)["changed"][0]["groups"])


def test_two_packages_with_one_object_are_both_compared() -> None:
    twice = [package("a v1.0.0", object_name="x"), package("b v1.0.0", object_name="x")]

    diff = diff_locks(lock(twice), lock(twice[:1]))

    assert [item.source for item in diff.removed] == [f"{ACME}/b"]


def test_a_pin_that_is_only_written_in_full_is_a_difference() -> None:
    pins = [KeptPin("v0.1.0", digest("a1")), KeptPin("v0.1.0", digest("a1"), source("net"))]
    old, new = (lock([package("net v1.0.0", kept_pins=(pin,))]) for pin in pins)

    assert "entries are written in another way, with the same meaning" in format_diff(diff_locks(old, new))


@given(any_locks(), any_locks(), st.booleans())
def test_locks_are_equal_if_and_only_if_nothing_differs(one: Lock, other: Lock, same: bool) -> None:
    after = one if same else other

    assert diff_locks(one, after).equal == (one == after)
