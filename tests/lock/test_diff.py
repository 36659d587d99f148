"""Differences between two locks."""

from dataclasses import replace

import pytest
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, rich_lock, source

from render.lock.diff import LockDiff, diff_locks, pair_packages
from render.lock.model import KeptPin, Lock, State
from render.packages import Kind

ACME = "xpkg.example.org/acme"
D = digest("dd")


def locked() -> Lock:
    return lock(
        [package("app v1.0.0", "net >=v1.0.0", "base *"), package("base v2.0.0"), package("net v1.2.0")]
    )


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
        ({"definitions_digest": digest("aa")}, {"definitionsDigest": ((), (digest("aa"),))}),
        ({"root": "v1.2.0"}, {"root": ((), ("v1.2.0",))}),
        ({"family": "f"}, {"family": ((), ("f",))}),
        ({"crossplane": ">=v2"}, {"crossplane": ((), (">=v2",))}),
        ({"fields": {"b": {"y": 1, "x": "z"}}}, {"fields": ((), ('b.x: "z"', "b.y: 1"))}),
        ({"overrides": {"spec": {}}}, {"overrides": ((), ("spec: {}",))}),
        ({"groups": ("a.example",)}, {"groups": ((), ("a.example",))}),
        ({"detached": ("why",)}, {"detached": ((), ("why",))}),
        ({"state": State.ORPHANED}, {"state": ((), ("orphaned",))}),
        ({"released": True}, {"released": ((), ("yes",))}),
        ({"installed_as": source("old")}, {"installedAs": ((), (f"{ACME}/old",))}),
        ({"replaced_by": (source("new"),)}, {"replacedBy": ((), (f"{ACME}/new",))}),
        ({"stale_entry": (f"{ACME}/old",)}, {"staleEntry": ((), (f"{ACME}/old",))}),
        (
            {"replaces": (replaced("old", "alias", "claim"),)},
            {"replaces": ((), (f"{ACME}/old by alias, consent: claim",))},
        ),
        (
            {"kept_pins": (KeptPin("v1.0.0", D),)},
            {"keptPins": ((), (f"{ACME}/net:v1.0.0@{D}",))},
        ),
        (
            {"kept_pins": (KeptPin("v1.0.0", D, source("new"), source("old")),)},
            {"keptPins": ((), (f"{ACME}/old:v1.0.0 at {ACME}/new@{D}",))},
        ),
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

    kind = "(pkg.crossplane.io/v1 Provider)"
    assert changed.changes == {"dependencies": ((f"{ACME}/net >=v1 {kind}",), (f"{ACME}/net >=v1.1 {kind}",))}


def test_inputs_are_compared() -> None:
    old, new = Lock({}, {"a": digest("1"), "b": digest("1")}), Lock({}, {"b": digest("2"), "c": digest("1")})

    assert diff_locks(old, new).inputs == ("a was removed", "b changed", "c was added")


def test_a_lock_with_a_bit_of_everything_equals_itself() -> None:
    assert diff_locks(rich_lock(), rich_lock()) == LockDiff()


def test_what_took_over_an_object_has_moved_from_what_it_was() -> None:
    old = lock([package("net v1.0.0", kept_pins=(KeptPin("v0.9.0", D),))])
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
        # The same pin, seen from another package.
        kept_pins=(KeptPin("v0.9.0", D, source("net")),),
    )

    (changed,) = diff_locks(old, lock([alias])).changed

    assert (changed.source, changed.moved_from, changed.strategy) == (f"{ACME}/mesh", f"{ACME}/net", "alias")
    assert changed.version == "v2.0.0"
    assert changed.changes.keys() == {"version", "digest", "root", "installedAs", "replaces"}


def test_what_is_switched_off_is_compared_with_what_it_was() -> None:
    old = lock([package("net v1.0.0")])
    new = lock(
        [package("mesh v2.0.0", replaces=(replaced("net"),))], deactivated=[deactivated("net v1.0.0", "mesh")]
    )

    found = diff_locks(old, new)

    (changed,) = found.changed
    assert (changed.source, changed.moved_from) == (f"{ACME}/net", "")
    assert changed.changes == {
        "state": ((), ("deactivated",)),
        "replacedBy": ((), (f"{ACME}/mesh",)),
        "root": (("v1.0.0",), ()),
    }
    assert [item.source for item in found.added] == [f"{ACME}/mesh"]


def test_an_alias_that_is_switched_off_is_told_by_the_name_the_cluster_knows() -> None:
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
    )
    off = deactivated("mesh v2.0.0", "mesh", installed_as=source("net"), object_name="acme-net")

    found = diff_locks(
        lock([alias]), lock([package("mesh v2.0.0", replaces=(replaced("net"),))], deactivated=[off])
    )

    assert [(item.source, item.moved_from) for item in found.changed] == [(f"{ACME}/net", "")]
    assert [item.source for item in found.added] == [f"{ACME}/mesh"]


def test_what_another_folder_takes_over_and_what_changes_there_is_compared() -> None:
    app = package("app v1.0.0", "dns *")
    own = lock([app, package("dns v1.0.0")])
    used, later = (
        lock([app], provided=[provided(f"dns {tag}", replaces=(source("old-dns"),), detached=detached)])
        for tag, detached in (("v1.0.0", False), ("v1.1.0", True))
    )

    (taken,), (changed,) = diff_locks(own, used).changed, diff_locks(used, later).changed

    assert taken.changes["providedBy"] == ((), ("../platform",))
    assert taken.changes["replaces"] == ((), (f"{ACME}/old-dns",))
    assert changed.changes.keys() == {"version", "digest", "detached"}
    assert changed.changes["detached"] == ((), ("in ../platform",))


def test_packages_are_paired_by_their_object_and_then_by_their_source() -> None:
    app, net, gone = package("app v1.0.0"), package("net v1.0.0"), package("gone v1.0.0")
    renamed, moved = replace(app, object_name="my-app"), package("mesh v1.0.0", object_name="acme-net")
    fresh = package("fresh v1.0.0")

    assert pair_packages([app, net, gone], [renamed, moved, fresh]) == [
        (app, renamed),
        (None, fresh),
        (gone, None),
        (net, moved),
    ]


def test_packages_of_two_kinds_can_have_one_name() -> None:
    one, other = (
        package("one v1.0.0", object_name="same"),
        package("two v1.0.0", object_name="same", kind=Kind.FUNCTION),
    )

    assert pair_packages([one], [other]) == [(one, None), (None, other)]


def test_a_deactivated_package_is_known_by_the_source_of_its_object() -> None:
    alias = {"installed_as": source("net")}

    found = [
        package("mesh v1.0.0", **alias).display_source,
        deactivated("mesh v1.0.0", **alias).display_source,
    ]

    assert found == [source("mesh"), source("net")]
    assert provided("mesh v1.0.0", installed_as=source("net")).display_source == source("mesh")
