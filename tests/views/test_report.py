"""What a run of `lock` changed, in words and as JSON."""

import json
from dataclasses import replace

from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, source

from render.lock.model import KeptPin, Lock, State
from render.views.report import format_report
from render.views.report_document import report_document

ACME = "xpkg.example.org/acme"
USED = "its manifest says skipDependencyResolution"


def told(before: Lock, after: Lock) -> list[str]:
    """Return the lines of a report, without what all sources have in common."""
    return format_report(".", before, after, several=False).replace(f"{ACME}/", "").splitlines()


def test_what_comes_changes_and_leaves_is_told_with_its_reason() -> None:
    before = lock(
        [
            package("app v1.0.0", "net *"),
            package("net v1.0.0"),
            package("tool v1.0.0", "lib *"),
            package("lib v1.0.0"),
        ]
    )
    after = lock(
        [
            package("app v1.0.0", "net *", "dns *"),
            package("net v1.1.0"),
            package("dns v2.0.0"),
            package("tool v1.0.0", "lib *", state=State.ORPHANED),
            package("lib v1.0.0", state=State.ORPHANED),
        ]
    )

    assert told(before, after) == [
        "Updated  net v1.0.0 -> v1.1.0 (minor; required by app)",
        "Added    dns v2.0.0 (required by app)",
        "Leaving  lib v1.0.0 (only tool requires it, which is leaving too)",
        "Leaving  tool v1.0.0 (nothing requires it any more; held until: xplock retire tool)",
        "Changed  app v1.0.0 (dependencies: + dns * (pkg.crossplane.io/v1 Provider))",
        "crossplane.lock.yaml: 5 packages, 1 added, 1 updated, 2 leaving, 1 changed, 0 unchanged",
    ]


def test_the_steps_that_may_break_come_first_and_are_counted() -> None:
    before = lock([package(name) for name in ("a v1.0.0", "b v1.0.0", "c v0.2.0", "d v2.0.0", "e v1.0.0")])
    after = lock(
        [package(name) for name in ("a v1.0.1", "b v2.0.0", "c v0.3.0", "d v1.0.0")]
        + [package("e v1.0.0", digest=digest("ee"))]
    )

    assert told(before, after) == [
        "Updated  b v1.0.0 -> v2.0.0 (major; asked for)",
        "Updated  c v0.2.0 -> v0.3.0 (minor of 0.x; asked for)",
        "Updated  d v2.0.0 -> v1.0.0 (downgrade; asked for)",
        "Updated  a v1.0.0 -> v1.0.1 (patch; asked for)",
        "Updated  e v1.0.0 -> v1.0.0 (same version, other digest; asked for)",
        "crossplane.lock.yaml: 5 packages, 5 updated (1 downgrade, 1 major, 1 minor of 0.x), 0 unchanged",
    ]
    steps = [(entry["step"], entry["mayBreak"]) for entry in report_document(".", before, after)["updated"]]
    assert steps == [
        *(("patch", False), ("major", True), ("minor", True), ("downgrade", True), ("digest", False)),
    ]


def test_a_digest_without_a_version_has_no_step() -> None:
    before, after = (lock([package(f"app {digest(start)}", digest=digest(start))]) for start in ("aa", "bb"))

    assert told(before, after)[0] == f"Updated  app {digest('aa')[:19]}… -> {digest('bb')[:19]}… (asked for)"
    assert report_document(".", before, after)["updated"][0]["step"] is None


def test_what_was_leaving_or_off_and_is_wanted_again_has_returned() -> None:
    before = lock(
        [package("app v1.0.0", state=State.ORPHANED), package("new v2.0.0", replaces=(replaced("old"),))],
        deactivated=[deactivated("old v1.0.0", "new")],
    )
    after = lock(
        [package("app v1.1.0"), package("old v1.0.0", replaces=(replaced("new"),))],
        deactivated=[deactivated("new v2.0.0", "old")],
    )

    assert told(before, after) == [
        "Moved    new v2.0.0 -> old v1.0.0 by deactivate (the old one is deactivated; your moves say so)",
        "Off      new v2.0.0 (replaced by old; retire when everyone has moved: xplock retire new)",
        "Returned app v1.0.0 -> v1.1.0 (minor; asked for; it was leaving)",
        "Returned old v1.0.0 (asked for; it was deactivated)",
        "crossplane.lock.yaml: 2 packages and 1 deactivated, 1 moved, 2 returned, 0 unchanged",
    ]


def test_every_way_of_moving_says_what_happens_to_the_object_and_who_agreed() -> None:
    before = lock(
        [
            package("net v1.0.0"),
            package("dns v1.0.0"),
            package("app v1.0.0", "log *", detached=(USED,)),
            package("log v1.0.0"),
        ]
    )
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
    )
    repointed = package(
        "bind v3.0.0", object_name="acme-dns", replaces=(replaced("dns", "repoint", "claim"),)
    )
    serving = package("log v1.0.0", replaces=(replaced("syslog", "plain"),))

    after = lock([alias, repointed, package("app v1.0.0", "log *", detached=(USED,)), serving])

    assert told(before, after) == [
        "Moved    dns v1.0.0 -> bind v3.0.0 by repoint (Provider acme-dns keeps its name; the new one claims it)",
        "Moved    net v1.0.0 -> mesh v2.0.0 by alias (Provider acme-net keeps its name and its source, and gets the "
        "new bytes; your moves say so)",
        "Moved    syslog -> log v1.0.0 (syslog was never installed from here; your moves say so)",
        "crossplane.lock.yaml: 4 packages, 3 moved, 1 unchanged",
    ]


def test_the_end_of_an_alias_says_so() -> None:
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
    )
    ended = replace(alias, installed_as=None, replaces=(replaced("net", "repoint"),))

    assert told(lock([alias]), lock([ended]))[0] == (
        "Moved    net v2.0.0 -> mesh v2.0.0 by repoint, no longer by alias (Provider acme-net keeps its name; "
        "your moves say so)"
    )


def test_both_steps_of_retiring_say_what_is_next() -> None:
    leaving = lock(
        [
            package("app v1.0.0"),
            package("tool v1.0.0", state=State.ORPHANED),
            package("new v2.0.0", replaces=(replaced("old"),)),
        ],
        deactivated=[deactivated("old v1.0.0", "new")],
    )
    tool, old = leaving.packages[source("tool")], leaving.deactivated[source("old")]
    released = replace(
        leaving,
        packages={**leaving.packages, tool.source: replace(tool, released=True)},
        deactivated={old.source: replace(old, released=True)},
    )
    gone = replace(leaving, packages={s: p for s, p in leaving.packages.items() if p != tool}, deactivated={})

    assert told(leaving, released) == [
        "Released old v1.0.0 (its guard is off; once every cluster has synced: xplock retire old --synced)",
        "Released tool v1.0.0 (its guard is off; once every cluster has synced: xplock retire tool --synced)",
        "crossplane.lock.yaml: 3 packages and 1 deactivated, 2 released, 2 unchanged",
    ]
    assert told(released, gone) == [
        "Removed  old v1.0.0 (retired)",
        "Removed  tool v1.0.0 (retired)",
        "crossplane.lock.yaml: 2 packages, 2 removed, 2 unchanged",
    ]


def test_without_guards_what_is_off_is_retired_in_one_step() -> None:
    after = lock([package("new v2.0.0", replaces=(replaced("old"),))])
    before = replace(after, deactivated={source("old"): deactivated("old v1.0.0", "new")})

    assert told(before, after)[0] == "Removed  old v1.0.0 (retired)"


def test_what_is_removed_says_why() -> None:
    before = lock([package("app v1.0.0", "dns *"), package("dns v1.0.0"), package("tool v1.0.0")])
    after = lock([package("app v1.0.0", "dns *")], provided=[provided("dns v1.0.0")])

    assert told(before, after) == [
        "Removed  dns v1.0.0 (../platform provides it now)",
        "Removed  tool v1.0.0 (nothing requires it any more)",
        "crossplane.lock.yaml: 1 package, 2 removed, 1 unchanged",
    ]


def test_what_other_folders_provide_is_told() -> None:
    one, two = (
        lock([package("app v1.0.0", "dns *")], provided=[provided(f"dns {tag}")])
        for tag in ("v1.0.0", "v1.1.0")
    )

    assert told(replace(one, provided={}), one)[0] == "Provided dns v1.0.0 (by ../platform)"
    assert told(one, two)[0] == "Provided dns v1.0.0 -> v1.1.0 (minor; by ../platform)"


def test_what_crossplane_checks_no_longer_or_again_says_why() -> None:
    attached, detached = (
        lock([package("app v1.0.0")]),
        lock([package("app v1.0.0", detached=(USED, "\x1b[2J"))]),
    )

    assert told(attached, detached) == [
        f"Detached app v1.0.0 ({USED}; \\x1b[2J)",
        "crossplane.lock.yaml: 1 package, 0 unchanged",
    ]
    assert told(detached, attached)[0] == "Attached app v1.0.0 (Crossplane checks its dependencies again)"


def test_pins_that_go_are_named() -> None:
    pins = (KeptPin("v1.1.0", digest("b")), KeptPin("v1.0.0", digest("a")))

    assert told(lock([package("app v1.2.0", kept_pins=pins)]), lock([package("app v1.2.0")])) == [
        "Unpinned app v1.2.0 (pins of earlier versions go: v1.1.0, v1.0.0)",
        "crossplane.lock.yaml: 1 package, 0 unchanged",
    ]


def test_a_version_that_is_held_says_by_whom_and_until_when() -> None:
    net = package("net v1.0.0", object_name="my-net")
    entry = {"detached": (USED,), "stale_entry": (f"{ACME}/net",)}
    stale = lock([package("app v1.0.0", "net *", **entry), net])
    upgraded = lock([package("app v2.0.0", "net *", detached=(USED,)), net])

    assert told(stale, stale) == [
        "Held     net stays at v1.0.0 until another version of app is locked and synced (the cluster's Lock still names "
        "it there)",
        "crossplane.lock.yaml: 2 packages, 2 unchanged",
    ]
    assert (
        "Held     net stays at v1.0.0 until the cluster has synced this lock; after that it may change"
        in told(stale, upgraded)
    )


def test_a_digest_is_shown_by_its_beginning() -> None:
    by_digest = lock([package(f"app {digest('ab')}", tag="v1.0.0")])

    assert told(Lock(), by_digest)[0] == "Added    app v1.0.0@sha256:ab0000000000… (asked for)"


def test_of_several_folders_each_has_a_heading_if_it_has_anything_to_tell() -> None:
    found = lock([package("app v1.0.0")])

    changed = format_report("a", Lock(), found, several=True)
    same = format_report("b", found, found, several=True)

    assert changed.splitlines()[0] == "a:"
    assert same == "b/crossplane.lock.yaml: 1 package, 1 unchanged\n"


def test_commands_to_paste_name_the_folder_they_are_for() -> None:
    found = lock([package("app v1.0.0")])
    left = lock([package("app v1.0.0", state=State.ORPHANED)])

    text = format_report("clusters/a b", found, left, several=False)

    assert f"xplock retire {ACME}/app -C 'clusters/a b')" in text


def test_the_document_has_a_list_for_everything_that_can_happen() -> None:
    net = package("net v1.0.0", object_name="my-net", kept_pins=(KeptPin("v0.9.0", digest("a")),))
    entry = {"detached": (USED,), "stale_entry": (f"{ACME}/net",)}
    before = lock(
        [
            package("app v1.0.0", "net *", "dns *"),
            net,
            package("dns v1.0.0"),
            package("back v1.0.0", state=State.ORPHANED),
            package("free v1.0.0", state=State.ORPHANED),
            package("old v1.0.0"),
            package("tool v1.0.0"),
            package("up v1.0.0"),
            package("loose v1.0.0", detached=(USED,)),
        ]
    )
    after = lock(
        [
            package("app v1.0.0", "net *", "dns *", **entry),
            replace(net, kept_pins=()),
            package("back v1.0.0"),
            package("free v1.0.0", state=State.ORPHANED, released=True),
            package("new v2.0.0", replaces=(replaced("old"),)),
            package("tool v1.0.0", state=State.ORPHANED),
            package("up v2.0.0"),
            package("loose v1.0.0"),
        ],
        deactivated=[deactivated("old v1.0.0", "new")],
        provided=[provided("dns v1.1.0")],
    )

    document = report_document("shop", before, after)

    assert json.loads(json.dumps(document)) == document
    lists = {key: entries for key, entries in document.items() if isinstance(entries, list)}
    assert {
        key: [entry.get("source", "").rpartition("/")[2] for entry in entries]
        for key, entries in lists.items()
    } == {
        "added": ["new"],
        "updated": ["up"],
        "moved": [""],
        "off": ["old"],
        "leaving": ["tool"],
        "returned": ["back"],
        "released": ["free"],
        "removed": ["dns"],
        "detached": ["app"],
        "attached": ["loose"],
        "unpinned": ["net"],
        "held": ["net"],
        "provided": [],
        "unneeded": [],
        "changed": ["app"],
        "inputs": [],
        "lock": [],
    }
    assert document["changed"][0]["changes"] == {
        "staleEntry": {"added": [f"{ACME}/net"], "removed": []},
    }
    assert (document["folder"], document["packages"], document["deactivated"], document["unchanged"]) == (
        "shop",
        8,
        1,
        0,
    )
    assert document["moved"][0] | {"to": None} == {
        "from": f"{ACME}/old",
        "fromVersion": "v1.0.0",
        "to": None,
        "strategy": "deactivate",
        "earlierStrategy": None,
        "consent": "moves",
    }
    assert document["moved"][0]["to"][0]["source"] == f"{ACME}/new"
    assert (document["updated"][0]["from"], document["updated"][0]["version"]) == ("v1.0.0", "v2.0.0")
    assert document["removed"][0]["reason"] == "../platform provides it now"
    assert (document["off"][0]["state"], document["off"][0]["replacedBy"]) == ("deactivated", [f"{ACME}/new"])
    assert document["detached"][0]["detached"] == [USED]
    assert document["unpinned"][0]["pins"] == [{"tag": "v0.9.0", "digest": digest("a")}]
    assert document["held"][0]["heldBy"] == [f"{ACME}/app"]


def test_a_long_report_fits_80_columns_and_names_shared_places_once() -> None:
    names = [f"upbound/provider-azure-dbforpostgresql-{i}" for i in range(4)]
    dependants = [f"upbound/configuration-observability-oss-{i}" for i in range(5)]
    after = lock(
        [
            *[package(f"{name} v0.42.0") for name in names],
            *[package(f"{name} v1.0.0", *names) for name in dependants],
        ]
    )

    text = format_report(".", Lock(), after, several=False, fitted=True)
    everyone = format_report(".", Lock(), after, several=False, fitted=True, everyone=True)

    assert max(map(len, [*text.splitlines(), *everyone.splitlines()])) <= 80
    assert text.count("xpkg.example.org/upbound/") == 1
    assert (
        "           provider-azure-dbforpostgresql-0   v0.42.0\n"
        "             (required by configuration-observability-oss-0,\n"
        "              configuration-observability-oss-1 and 3 more)\n" in text
    )
    assert "configuration-observability-oss-4)" in everyone


def test_a_command_in_a_long_report_can_be_pasted() -> None:
    app, left = package("app v1.0.0"), package("crossplane-contrib/function-patch-and-transform v0.2.1")
    before = lock([app, left])
    after = lock([app, replace(left, state=State.ORPHANED, root=None)])

    text = format_report("clusters/production", before, after, several=False, fitted=True)

    assert (
        "           nothing requires it any more; held until:\n"
        f"           xplock retire {left.source} -C clusters/production\n" in text
    )


def test_a_short_report_is_the_same_as_in_full() -> None:
    after = lock([package("app v1.0.0")])

    assert format_report(".", Lock(), after, several=False, fitted=True) == format_report(
        ".", Lock(), after, several=False
    )
