"""Why a package is in the lock."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import digest_of_name, lock, lock_of, package, provided, replaced, source
from rig.builders.random_locks import small_locks

from render.lock.model import Lock, State
from render.references import Source
from render.views.closure.paths import MOST_COUNTED, CircularLock
from render.views.closure.why import Explanation, explain, explanation_document, format_explanation

SHOP = lock_of(
    {
        "app v1.0.0": {"base": ">=1.0.0", "provider-net": "^2.1"},
        "base v1.2.0": {"provider-net": "<2.4.0"},
        "provider-net v2.3.0": {},
    },
    {"app": "v1.0.0", "base": "any version"},
)


def names_of(found: Explanation) -> list[list[str]]:
    """Return every path shown, as names of packages."""
    return [[way.start.source.name, *(link.target.source.name for link in way.links)] for way in found.ways]


def all_paths(lock: Lock, source: Source) -> list[list[str]]:
    """Return every path to a package in the plainest way: by walking them all."""
    needs = {
        str(package.source): [dependency.package for dependency in package.dependencies]
        for package in lock.packages.values()
    }

    def walk(path: list[str]) -> list[list[str]]:
        here = [path] if path[-1] == str(source) else []
        return here + [found for following in needs[path[-1]] for found in walk([*path, following])]

    roots = [str(package.source) for package in lock.packages.values() if package.root]
    paths = [path for root in roots for path in walk([root])]
    return sorted(paths, key=lambda path: (len(path), path))


def diamonds(count: int) -> Lock:
    """Return diamonds on top of each other: 2**count paths from a0 to the last."""
    tops = {f"a{i} v1.0.0": {f"b{i}": "*", f"c{i}": "*"} for i in range(count)}
    sides = {f"{side}{i} v1.0.0": {f"a{i + 1}": "*"} for i in range(count) for side in "bc"}
    return lock_of({**tops, **sides, f"a{count} v1.0.0": {}}, {"a0": "*"})


def test_everyone_who_asks_and_every_path_is_shown_shortest_first() -> None:
    text = format_explanation(explain(SHOP, source("provider-net")))

    assert (
        text
        == """\
xpkg.example.org/acme/provider-net v2.3.0 [Provider, shared]

Asked for by (2)
  xpkg.example.org/acme/app v1.0.0   ^2.1    satisfied
  xpkg.example.org/acme/base v1.2.0  <2.4.0  satisfied

Paths (3)
  xpkg.example.org/acme/app v1.0.0, asked for: v1.0.0
    → xpkg.example.org/acme/provider-net v2.3.0, satisfies ^2.1
  xpkg.example.org/acme/base v1.2.0, asked for: any version
    → xpkg.example.org/acme/provider-net v2.3.0, satisfies <2.4.0
  xpkg.example.org/acme/app v1.0.0, asked for: v1.0.0
    → xpkg.example.org/acme/base v1.2.0, satisfies >=1.0.0
    → xpkg.example.org/acme/provider-net v2.3.0, satisfies <2.4.0
"""
    )


def test_what_the_user_asks_for_comes_first() -> None:
    text = format_explanation(explain(SHOP, source("base")))

    assert (
        text
        == """\
xpkg.example.org/acme/base v1.2.0 [Configuration, asked for]

Asked for by (2)
  you                               any version  satisfied
  xpkg.example.org/acme/app v1.0.0  >=1.0.0      satisfied

Paths (2)
  xpkg.example.org/acme/base v1.2.0, asked for: any version
  xpkg.example.org/acme/app v1.0.0, asked for: v1.0.0
    → xpkg.example.org/acme/base v1.2.0, satisfies >=1.0.0
"""
    )


def test_what_does_not_suit_is_said_out_loud() -> None:
    lock = lock_of({"app v1.0.0": {"net": "<2.0.0"}, "net v2.3.0": {}}, {"app": ">=v2"})

    text = format_explanation(explain(lock, source("net")))

    assert (
        text
        == """\
xpkg.example.org/acme/net v2.3.0 [Configuration]

Asked for by (1)
  xpkg.example.org/acme/app v1.0.0  <2.0.0  NOT satisfied

Paths (1)
  xpkg.example.org/acme/app v1.0.0, asked for: >=v2, NOT satisfied
    → xpkg.example.org/acme/net v2.3.0, does NOT satisfy <2.0.0
"""
    )


@pytest.mark.parametrize(("count", "last"), [(3, "  … 1 more path"), (9, "  … 7 more paths")])
def test_paths_beyond_the_bound_are_counted(count: int, last: str) -> None:
    sides = {f"side{i} v1.0.0": {"net": "*"} for i in range(count)}
    lock = lock_of({**sides, "net v1.0.0": {}}, {f"side{i}": "*" for i in range(count)})

    found = explain(lock, source("net"), most=2)

    assert names_of(found) == [["side0", "net"], ["side1", "net"]]
    assert format_explanation(found).splitlines()[-1] == last


def test_paths_beyond_all_measure_are_neither_walked_nor_counted_to_the_end() -> None:
    found = explain(diamonds(200), source("a200"))

    lines = format_explanation(found).splitlines()
    assert (len(found.ways), found.count) == (10, MOST_COUNTED)
    assert "Paths (over 1,000,000,000,000,000)" in lines
    assert lines[-1] == "  … over 999,999,999,999,990 more paths"


def test_a_chain_of_thousands_is_one_path() -> None:
    names = [f"p{i:04}" for i in range(3_000)]
    needs = {f"p{i:04} v1.0.0": {f"p{i + 1:04}": "*"} for i in range(2_999)}
    lock = lock_of({**needs, "p2999 v1.0.0": {}}, {"p0000": "*"})

    found = explain(lock, source("p2999"))

    assert (names_of(found), found.count) == ([names], 1)


def test_a_package_that_nothing_leads_to_has_no_path() -> None:
    lock = lock_of({"app v1.0.0": {}, "lost v1.0.0": {}}, {"app": "*"})

    text = format_explanation(explain(lock, source("lost")))

    assert (
        text
        == """\
xpkg.example.org/acme/lost v1.0.0 [Configuration]

Asked for by (0)

Paths (0)
"""
    )


def test_nothing_in_a_lock_reaches_the_terminal_unseen() -> None:
    lock = lock_of({"app v1.0.0": {}}, {"app": "\x1b[2J"})

    lines = format_explanation(explain(lock, source("app"))).splitlines()

    assert lines[3] == "  you  \\x1b[2J  NOT satisfied"
    assert lines[6] == "  xpkg.example.org/acme/app v1.0.0, asked for: \\x1b[2J, NOT satisfied"


def test_a_circle_above_is_an_error_that_names_its_members() -> None:
    lock = lock_of({"a v1.0.0": {"b": "*"}, "b v1.0.0": {"a": "*", "net": "*"}, "net v1.0.0": {}}, {"a": "*"})

    with pytest.raises(CircularLock) as raised:
        explain(lock, source("net"))

    assert raised.value.exit_code == 3
    assert "xpkg.example.org/acme/a, xpkg.example.org/acme/b" in raised.value.why[0]


def test_the_document_holds_askers_paths_and_their_number() -> None:
    document = explanation_document(explain(SHOP, source("base"), most=1))

    assert document == {
        "source": "xpkg.example.org/acme/base",
        "installedAs": None,
        "version": "v1.2.0",
        "tag": "v1.2.0",
        "digest": digest_of_name("base"),
        "kind": "Configuration",
        "object": "acme-base",
        "askedFor": "any version",
        "marks": ["asked for"],
        "state": "wanted",
        "released": False,
        "replaces": [],
        "replacedBy": [],
        "detached": [],
        "staleEntry": [],
        "askedForSatisfied": True,
        "requiredBy": [
            {
                "source": "xpkg.example.org/acme/app",
                "version": "v1.0.0",
                "constraints": [">=1.0.0"],
                "satisfied": True,
                "insteadOf": [],
                "crds": [],
            }
        ],
        "paths": [
            [
                {
                    "source": "xpkg.example.org/acme/base",
                    "version": "v1.2.0",
                    "constraints": ["any version"],
                    "satisfied": True,
                    "insteadOf": [],
                    "crds": [],
                }
            ]
        ],
        "pathCount": 2,
        "pathCountIsExact": True,
        "heldBy": [],
        "providedBy": None,
    }


def shortened(found: Explanation) -> str:
    """Return an explanation without what all its sources have in common."""
    return format_explanation(found).replace("xpkg.example.org/acme/", "")


def test_an_orphan_is_held_until_it_is_retired() -> None:
    found = explain(lock([package("app v1.0.0", state=State.ORPHANED)]), source("app"))

    assert (
        shortened(found)
        == """\
app v1.0.0 [Provider, orphaned]

Nothing requires it: orphaned, held until: xplock retire app

Asked for by (0)

Paths (1)
  app v1.0.0, orphaned
"""
    )


def test_what_only_orphans_need_is_retired_with_them() -> None:
    orphans = [package("app v1.0.0", "lib *"), package("lib v1.0.0", "net ^1"), package("net v1.2.0")]
    left = lock([replace(one, state=State.ORPHANED) for one in orphans])

    assert (
        shortened(explain(left, source("net")))
        == """\
net v1.2.0 [Provider, orphaned]

Only orphaned packages need it: orphaned too, held until all are retired: xplock retire app lib net

Asked for by (1)
  lib v1.0.0  ^1  satisfied

Paths (1)
  app v1.0.0, orphaned
    → lib v1.0.0, satisfies *
    → net v1.2.0, satisfies ^1
"""
    )


def test_a_wanted_package_that_an_orphan_needs_too_has_a_path_from_each() -> None:
    both = lock(
        [
            package("app v1.0.0", "net *"),
            package("old v1.0.0", "net *", state=State.ORPHANED),
            package("net v1.2.0"),
        ]
    )

    found = explain(both, source("net"))

    assert names_of(found) == [["app", "net"], ["old", "net"]]
    assert "  xpkg.example.org/acme/old v1.0.0, orphaned\n" in format_explanation(found)
    assert "held until" not in format_explanation(found)


def test_what_has_lost_its_guard_is_dropped_after_a_sync() -> None:
    found = explain(lock([package("app v1.0.0", state=State.ORPHANED, released=True)]), source("app"))

    assert "guard is off; once every cluster has synced: xplock retire app --synced" in shortened(found)


def test_an_alias_tells_what_it_replaces_and_who_asks_by_which_name() -> None:
    alias = package(
        "mesh v2.0.0",
        installed_as=source("net"),
        object_name="acme-net",
        replaces=(replaced("net", "alias"),),
    )

    found = explain(lock([package("app v1.0.0", "net >=v1"), alias]), source("mesh"))

    assert (
        shortened(found)
        == """\
mesh v2.0.0 [Provider, alias of net]

Asked for by (1)
  app v1.0.0  >=v1  satisfied, for net

Paths (1)
  app v1.0.0, asked for: v1.0.0
    → mesh v2.0.0, satisfies >=v1, for net

Replaces (1)
  net, by alias, consent: moves
  Provider acme-net still names net, and its pin leads to mesh
"""
    )


def test_what_another_folder_provides_is_explained_by_who_uses_it_here() -> None:
    used = lock([package("app v1.0.0", "dns >=v1")], provided=[provided("dns v1.5.0")])

    found = explain(used, source("dns"))

    assert (
        shortened(found)
        == """\
dns v1.5.0 [Provider, provided by ../platform]

It is installed from ../platform, and only used here.

Asked for by (1)
  app v1.0.0  >=v1  satisfied

Paths (1)
  app v1.0.0, asked for: v1.0.0
    → dns v1.5.0, satisfies >=v1
"""
    )
    assert explanation_document(found)["providedBy"] == "../platform"


def test_what_a_stale_entry_names_is_told_of_both_sides() -> None:
    stale = lock(
        [
            package(
                "app v1.0.0",
                "net *",
                detached=("it needs net, whose object is named my-net",),
                stale_entry=(str(source("net")),),
            ),
            package("net v1.2.0", object_name="my-net"),
        ]
    )

    app, net = (explain(stale, source(name)) for name in ("app", "net"))

    assert (
        shortened(app).partition("Detached")[2]
        == """\
, so Crossplane does not check its dependencies
  it needs net, whose object is named my-net

Its entry in the cluster's Lock stays until its bytes change, and names (1)
  net
"""
    )
    assert (
        shortened(net).partition("Held")[2]
        == """\
 at v1.2.0, since the cluster's Lock still names it for (1)
  app v1.0.0
  lock other versions of them and let the cluster sync, then it may change
"""
    )
    assert explanation_document(net)["heldBy"] == [str(source("app"))]


def test_the_document_tells_a_number_that_is_only_a_bound() -> None:
    document = explanation_document(explain(diamonds(60), source("a60")))

    assert (document["pathCount"], document["pathCountIsExact"]) == (MOST_COUNTED, False)


@given(small_locks(), st.data())
def test_paths_are_counted_and_ordered_as_if_all_were_walked(lock: Lock, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(sorted(lock.packages)))

    found = explain(lock, source)

    expected = all_paths(lock, source)
    shown = [[str(way.start.source), *(str(link.target.source) for link in way.links)] for way in found.ways]
    assert (found.count, shown) == (len(expected), expected[:10])
