"""Differences between two locks, and between a lock and a cluster."""

from dataclasses import replace

import pytest
from rig.locks import digest, lock, package, source

from render.lock.diff import LockDiff, diff_live, diff_locks
from render.lock.live import LiveLock, LivePackage
from render.lock.model import Lock
from render.versions import parse_version

ACME = "xpkg.example.org/acme"
V23, V24 = parse_version("v2.3.4"), parse_version("v2.4.0-rc.1")


def locked() -> Lock:
    return lock(
        [package("app v1.0.0", "net >=v1.0.0", "base *"), package("base v2.0.0"), package("net v1.2.0")]
    )


def live(*entries: LivePackage) -> LiveLock:
    given = (
        LivePackage("acme-net-1a2a00000000", f"{ACME}/net", "v1.2.0"),
        LivePackage("acme-base-2a0a00000000", f"{ACME}/base", "v2.0.0"),
        LivePackage(
            "acme-app-1a0a00000000", f"{ACME}/app", "v1.0.0", (f"{ACME}/base *", f"{ACME}/net >=v1.0.0")
        ),
    )
    replaced = {entry.source: entry for entry in entries}
    return LiveLock(tuple(replaced.get(entry.source, entry) for entry in given))


def test_equal_locks_have_no_difference() -> None:
    assert diff_locks(locked(), locked()) == LockDiff()
    assert diff_locks(locked(), locked()).equal


def test_packages_that_come_and_go() -> None:
    old = lock([package("net v1.2.0"), package("old v1.0.0")])
    new = lock([package("net v1.2.0"), package("new v3.0.0"), package("also v1.0.0")])

    diff = diff_locks(old, new)

    assert [item.source for item in diff.added] == [f"{ACME}/also", f"{ACME}/new"]
    assert [item.source for item in diff.removed] == [f"{ACME}/old"]
    assert diff.changed == ()
    assert not diff.equal


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        ({"version": "v1.3.0"}, {"version": (("v1.2.0",), ("v1.3.0",))}),
        ({"digest": digest("ff")}, {"digest": ((digest("1a2a"),), (digest("ff"),))}),
        ({"object_name": "net"}, {"object": (("acme-net",), ("net",))}),
        ({"kind": "Function"}, {"kind": (("Provider",), ("Function",))}),
        ({"required_by": ("a/b", "a/a")}, {"requiredBy": ((f"{ACME}/app",), ("a/a", "a/b"))}),
        ({"objects": {"Pod": 2}}, {"objects": ((), ("2 Pod",))}),
        ({"objects_digest": digest("aa")}, {"objectsDigest": ((), (digest("aa"),))}),
        ({"root": "v1.2.0"}, {"root": ((), ("v1.2.0",))}),
        ({"family": "f"}, {"family": ((), ("f",))}),
        ({"crossplane": ">=v2"}, {"crossplane": ((), (">=v2",))}),
        ({"fields": {"b": {"y": 1, "x": "z"}}}, {"fields": ((), ('b: {"x": "z", "y": 1}',))}),
    ],
)
def test_every_aspect_of_a_package_is_compared(fields: dict[str, object], changes: dict[str, object]) -> None:
    net = replace(locked().packages[source("net")], **fields)  # type: ignore[arg-type]  # fields of the package

    diff = diff_locks(locked(), replace(locked(), packages={**locked().packages, net.source: net}))

    assert [(item.source, item.changes) for item in diff.changed] == [(f"{ACME}/net", changes)]


def test_dependencies_are_compared_with_their_constraints() -> None:
    old, new = (
        lock([package("app v1.0.0", f"net {text}"), package("net v1.2.0")]) for text in (">=v1", ">=v1.1")
    )

    (changed,) = diff_locks(old, new).changed

    assert changed.changes == {"dependencies": ((f"{ACME}/net >=v1",), (f"{ACME}/net >=v1.1",))}


def test_inputs_are_compared() -> None:
    old, new = Lock({}, {"a": digest("1"), "b": digest("1")}), Lock({}, {"b": digest("2"), "c": digest("1")})

    assert diff_locks(old, new).inputs == ("a was removed", "b changed", "c was added")


@pytest.mark.parametrize("crossplane", [V23, V24, None])
def test_a_cluster_that_holds_what_is_locked_is_equal(crossplane: object) -> None:
    assert diff_live(locked(), live(), crossplane).equal  # type: ignore[arg-type]  # a version or None


@pytest.mark.parametrize(
    ("entry", "changes"),
    [
        (
            LivePackage("acme-net-1a2a00000000", f"{ACME}/net", "v1.3.0"),
            {"version": (("v1.3.0",), ("v1.2.0",))},
        ),
        (
            LivePackage("acme-net-1a2a00000000", f"{ACME}/net", "v1.2.0", (f"{ACME}/base *",)),
            {"dependencies": ((f"{ACME}/base *",), ())},
        ),
        (
            LivePackage("net-1a2a00000000", f"{ACME}/net", "v1.2.0"),
            {"revision": (("net-1a2a00000000",), ("acme-net-1a2a00000000",))},
        ),
    ],
)
def test_a_cluster_that_holds_something_else_differs(entry: LivePackage, changes: dict[str, object]) -> None:
    diff = diff_live(locked(), live(entry), V23)

    assert [(item.source, item.changes) for item in diff.changed] == [(f"{ACME}/net", changes)]
    assert diff_live(locked(), live(entry), V24).equal == ("revision" in changes)
    assert diff_live(locked(), live(entry), None).equal == ("revision" in changes)


def test_what_only_one_of_cluster_and_lock_holds_is_told() -> None:
    other = LivePackage("web-1", f"{ACME}/web", "v1.0.0")

    diff = diff_live(locked(), LiveLock((*live().packages[1:], other)), V23)

    assert [item.source for item in diff.added] == [f"{ACME}/net"]
    assert [item.source for item in diff.removed] == [f"{ACME}/web"]


def test_a_source_that_a_cluster_holds_twice_shows_both_versions() -> None:
    again = LivePackage("acme-net-9", f"{ACME}/net", "v1.1.0")

    (changed,) = diff_live(locked(), LiveLock((*live().packages, again)), None).changed

    assert changed.changes == {"version": (("v1.2.0", "v1.1.0"), ("v1.2.0",))}
