"""Why a package is in the lock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.closures import digest_of_name, lock_of, named, small_locks

from render.lock.model import Lock
from render.references import Source
from render.views.why import (
    MOST_COUNTED,
    CircularLock,
    Explanation,
    explain,
    explanation_document,
    format_explanation,
)

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
    return [[way.root.source.name, *(link.target.source.name for link in way.links)] for way in found.ways]


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
    text = format_explanation(explain(SHOP, named("provider-net")))

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
    text = format_explanation(explain(SHOP, named("base")))

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

    text = format_explanation(explain(lock, named("net")))

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

    found = explain(lock, named("net"), most=2)

    assert names_of(found) == [["side0", "net"], ["side1", "net"]]
    assert format_explanation(found).splitlines()[-1] == last


def test_paths_beyond_all_measure_are_neither_walked_nor_counted_to_the_end() -> None:
    found = explain(diamonds(200), named("a200"))

    lines = format_explanation(found).splitlines()
    assert (len(found.ways), found.count) == (10, MOST_COUNTED)
    assert "Paths (over 1,000,000,000,000,000)" in lines
    assert lines[-1] == "  … over 999,999,999,999,990 more paths"


def test_a_chain_of_thousands_is_one_path() -> None:
    names = [f"p{i:04}" for i in range(3_000)]
    needs = {f"p{i:04} v1.0.0": {f"p{i + 1:04}": "*"} for i in range(2_999)}
    lock = lock_of({**needs, "p2999 v1.0.0": {}}, {"p0000": "*"})

    found = explain(lock, named("p2999"))

    assert (names_of(found), found.count) == ([names], 1)


def test_a_package_that_nothing_leads_to_has_no_path() -> None:
    lock = lock_of({"app v1.0.0": {}, "lost v1.0.0": {}}, {"app": "*"})

    text = format_explanation(explain(lock, named("lost")))

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

    lines = format_explanation(explain(lock, named("app"))).splitlines()

    assert lines[3] == "  you  \\x1b[2J  NOT satisfied"
    assert lines[6] == "  xpkg.example.org/acme/app v1.0.0, asked for: \\x1b[2J, NOT satisfied"


def test_a_circle_above_is_an_error_that_names_its_members() -> None:
    lock = lock_of({"a v1.0.0": {"b": "*"}, "b v1.0.0": {"a": "*", "net": "*"}, "net v1.0.0": {}}, {"a": "*"})

    with pytest.raises(CircularLock) as raised:
        explain(lock, named("net"))

    assert raised.value.exit_code == 3
    assert "xpkg.example.org/acme/a, xpkg.example.org/acme/b" in raised.value.why[0]


def test_the_document_holds_askers_paths_and_their_number() -> None:
    document = explanation_document(explain(SHOP, named("base"), most=1))

    assert document == {
        "source": "xpkg.example.org/acme/base",
        "version": "v1.2.0",
        "tag": "v1.2.0",
        "digest": digest_of_name("base"),
        "kind": "Configuration",
        "askedFor": "any version",
        "marks": ["asked for"],
        "askedForSatisfied": True,
        "requiredBy": [
            {
                "source": "xpkg.example.org/acme/app",
                "version": "v1.0.0",
                "constraints": [">=1.0.0"],
                "satisfied": True,
            }
        ],
        "paths": [
            [
                {
                    "source": "xpkg.example.org/acme/base",
                    "version": "v1.2.0",
                    "constraints": ["any version"],
                    "satisfied": True,
                }
            ]
        ],
        "pathCount": 2,
        "pathCountIsExact": True,
    }


def test_the_document_tells_a_number_that_is_only_a_bound() -> None:
    document = explanation_document(explain(diamonds(60), named("a60")))

    assert (document["pathCount"], document["pathCountIsExact"]) == (MOST_COUNTED, False)


@given(small_locks(), st.data())
def test_paths_are_counted_and_ordered_as_if_all_were_walked(lock: Lock, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(sorted(lock.packages)))

    found = explain(lock, source)

    expected = all_paths(lock, source)
    shown = [[str(way.root.source), *(str(link.target.source) for link in way.links)] for way in found.ways]
    assert (found.count, shown) == (len(expected), expected[:10])
