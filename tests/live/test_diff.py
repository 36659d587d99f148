"""Differences between a lock and a cluster."""

from dataclasses import replace

import pytest
from rig.builders.locks import deactivated, lock, package, provided, replaced, source

from render.live.diff import diff_live
from render.live.lock import LiveLock, LivePackage
from render.lock.model import Lock, State
from render.versions.version import Version, parse_version

ACME = "xpkg.example.org/acme"
V23, V24 = parse_version("v2.3.4"), parse_version("v2.4.0-rc.1")
USED = ("its manifest says skipDependencyResolution",)


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


def entry(text: str, *dependencies: str) -> LivePackage:
    """An entry of a cluster's Lock, written "name version", with what it depends on."""
    name, _, version = text.partition(" ")
    wishes = tuple(f"{ACME}/{dependency}" for dependency in dependencies)
    return LivePackage(f"acme-{name}-{version[1:].replace('.', 'a'):0<12}", f"{ACME}/{name}", version, wishes)


def test_an_orphan_is_expected_in_the_cluster() -> None:
    found = lock([package("app v1.0.0", state=State.ORPHANED)])

    assert diff_live(found, LiveLock((entry("app v1.0.0"),)), V23).equal
    assert not diff_live(found, LiveLock(), V23).equal


def test_an_alias_is_expected_under_its_old_source_with_its_new_version() -> None:
    alias = lock(
        [
            package("app v1.0.0", "net *"),
            package(
                "mesh v2.0.0",
                installed_as=source("net"),
                object_name="acme-net",
                replaces=(replaced("net", "alias"),),
            ),
        ]
    )

    assert diff_live(alias, LiveLock((entry("app v1.0.0", "net *"), entry("net v2.0.0"))), V23).equal
    other = diff_live(alias, LiveLock((entry("app v1.0.0", "net *"), entry("mesh v2.0.0"))), V23)
    assert [item.source for item in other.added] == [f"{ACME}/net"]
    assert [item.source for item in other.removed] == [f"{ACME}/mesh"]


@pytest.mark.parametrize(("crossplane", "equal"), [(V23, False), (V24, True), (None, True)])
def test_what_is_off_has_no_entry_up_to_v2_3_and_may_have_one_after(
    crossplane: Version | None, equal: bool
) -> None:
    moved = lock(
        [package("mesh v2.0.0", replaces=(replaced("net"),))], deactivated=[deactivated("net v1.0.0", "mesh")]
    )

    without = diff_live(moved, LiveLock((entry("mesh v2.0.0"),)), crossplane)
    found = diff_live(moved, LiveLock((entry("mesh v2.0.0"), entry("net v1.0.0"))), crossplane)

    assert without.equal
    assert found.equal is equal
    if equal:
        assert found.explained == (
            f"{ACME}/net v1.0.0 is deactivated; from Crossplane v2.4 on its entry may stay",
        )
    else:
        assert [(item.source, item.note) for item in found.removed] == [
            (f"{ACME}/net", f"replaced by {ACME}/mesh")
        ]


def test_what_is_off_and_has_come_back_in_another_version_differs() -> None:
    moved = lock(
        [package("mesh v2.0.0", replaces=(replaced("net"),))], deactivated=[deactivated("net v1.0.0", "mesh")]
    )

    found = diff_live(moved, LiveLock((entry("mesh v2.0.0"), entry("net v1.9.0"))), V24)

    assert [item.source for item in found.removed] == [f"{ACME}/net"]


def stale() -> Lock:
    """Return a lock whose app was attached before, and is detached."""
    app = package("app v1.0.0", "net *", detached=USED, stale_entry=(f"{ACME}/net",))
    return lock([app, package("net v1.2.0")])


def test_an_entry_that_outlives_being_attached_is_explained_up_to_v2_3() -> None:
    live = LiveLock((entry("app v1.0.0", "net *"), entry("net v1.2.0")))

    below, unknown, above = (diff_live(stale(), live, version) for version in (V23, None, V24))

    assert (below.equal, unknown.equal, above.equal) == (True, True, False)
    assert below.explained == (f"{ACME}/app v1.0.0 is detached; its entry stays until its bytes change",)
    assert [(item.source, item.note) for item in above.removed] == [
        (f"{ACME}/app", "it is detached, and should have no entry")
    ]


def test_an_entry_that_is_gone_already_is_no_difference_either() -> None:
    assert diff_live(stale(), LiveLock((entry("net v1.2.0"),)), V23).equal


@pytest.mark.parametrize(
    "other",
    [entry("app v0.9.0", "net *"), entry("app v1.0.0", "net *", "web *")],
    ids=["another version", "another dependency"],
)
def test_an_entry_that_is_not_the_one_that_was_left_behind_differs(other: LivePackage) -> None:
    found = diff_live(stale(), LiveLock((other, entry("net v1.2.0"))), V23)

    assert [item.source for item in found.removed] == [f"{ACME}/app"]


def test_a_detached_package_that_never_had_an_entry_must_not_have_one() -> None:
    app = replace(stale().packages[source("app")], stale_entry=())
    fresh = replace(stale(), packages={**stale().packages, app.source: app})

    found = diff_live(fresh, LiveLock((entry("app v1.0.0", "net *"), entry("net v1.2.0"))), V23)

    assert [item.source for item in found.removed] == [f"{ACME}/app"]


def test_what_depends_on_nothing_may_have_left_an_entry_that_names_nothing() -> None:
    leaf = lock([package("app v1.0.0", detached=USED)])

    assert diff_live(leaf, LiveLock((entry("app v1.0.0"),)), V23).equal


def test_what_another_folder_provides_is_its_business() -> None:
    used = lock([package("app v1.0.0", "dns *")], provided=[provided("dns v1.0.0")])

    found = diff_live(used, LiveLock((entry("app v1.0.0", "dns *"), entry("dns v1.7.0"))), V23)

    assert (found.equal, found.explained) == (True, (f"{ACME}/dns v1.7.0 is there for ../platform",))
