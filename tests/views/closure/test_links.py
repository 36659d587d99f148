"""The locked packages as a graph."""

from dataclasses import replace

import pytest
from rig.builders.locks import digest_of_name, lock, lock_of, package, replaced, source

from render.lock.model import Lock, LockedDependency
from render.versions.constraints import parse_constraint
from render.versions.requests import Request
from render.views.closure.links import read_closure, root_request
from render.views.labels import format_locked

DIGEST = digest_of_name("app")


def test_links_lead_both_ways_and_are_sorted_by_source() -> None:
    lock = lock_of(
        {"app v1.0.0": {"net": "^2.1", "base": "*"}, "net v2.3.0": {}, "base v1.0.0": {}}, {"app": "*"}
    )

    closure = read_closure(lock)

    below = [(str(link.target.source.name), str(link)) for link in closure.dependencies[source("app")]]
    above = [link.dependant.source.name for link in closure.dependants[source("net")]]
    assert (below, above) == ([("base", "*"), ("net", "^2.1")], ["app"])


def test_a_dependency_named_twice_is_one_link_with_both_constraints() -> None:
    lock = lock_of({"app v1.0.0": {"net": "^2.1"}, "net v2.3.0": {}}, {"app": "*"})
    app = lock.packages[source("app")]
    twice = (*app.dependencies, LockedDependency(str(source("net")), "<2.3.0"))

    closure = read_closure(Lock({**lock.packages, app.source: replace(app, dependencies=twice)}))

    (link,) = closure.dependencies[source("app")]
    assert (str(link), link.satisfied) == ("^2.1 and <2.3.0", False)


def test_a_link_tells_once_which_sources_it_stands_in_for() -> None:
    moved = lock(
        [
            package("app v1.0.0", "net *", "old-net ^1", "old-net >=v1", "lan *"),
            package("net v1.2.0", replaces=(replaced("old-net", "repoint"), replaced("lan", "plain"))),
        ]
    )

    (link,) = read_closure(moved).dependencies[source("app")]

    assert link.constraints == ("*", "^1", ">=v1", "*")
    assert link.instead_of == (source("old-net"), source("lan"))


def test_a_dependency_without_registry_is_completed_from_its_dependant() -> None:
    lock = lock_of({"app v1.0.0": {}, "net v2.3.0": {}}, {"app": "*", "net": "*"})
    app = lock.packages[source("app")]
    partial = replace(app, dependencies=(LockedDependency("net", "*"),))

    closure = read_closure(Lock({**lock.packages, app.source: partial}))

    assert closure.dependencies[source("app")][0].target.source == source("net")


@pytest.mark.parametrize(
    ("version", "constraint", "satisfied"),
    [
        ("v2.3.0", "^2.1", True),
        ("v2.3.0", "<2.3.0", False),
        ("v2.3", ">=2.3.0", True),
        ("v3.0.0-rc.1", ">=2.0.0", False),
        ("v3.0.0-rc.1", ">=3.0.0-0", True),
        ("nightly", "*", False),
        ("v2.3.0", digest_of_name("net"), True),
        ("v2.3.0", digest_of_name("other"), False),
        ("v2.3.0@sha256", "^2.1", True),
        ("sha256", "^2.1", False),
    ],
)
def test_a_link_tells_whether_the_locked_version_suits(
    version: str, constraint: str, satisfied: bool
) -> None:
    lock = lock_of({"app v1.0.0": {"net": constraint}, f"net {version}": {}}, {"app": "*"})

    (link,) = read_closure(lock).dependencies[source("app")]

    assert link.satisfied is satisfied


@pytest.mark.parametrize(
    ("version", "root", "request_"),
    [
        ("v1.2.0", "any version", Request()),
        ("v1.2.0", "v1.2.0", Request(tag="v1.2.0")),
        ("v1.2", "v1.2", Request(tag="v1.2")),
        ("v1.2.7", "v1.2", Request(parse_constraint("v1.2"))),
        ("v1.2.0", ">=v1, <v2", Request(parse_constraint(">=v1, <v2"))),
        ("nightly", "nightly", Request(tag="nightly")),
        ("nightly", "weekly", Request(tag="weekly")),
        ("sha256", DIGEST, Request(digest=DIGEST)),
        ("v1.2.0", f"v1.2.0@{DIGEST}", Request(tag="v1.2.0", digest=DIGEST)),
    ],
)
def test_what_was_asked_for_is_read_from_its_text(version: str, root: str, request_: Request) -> None:
    lock = lock_of({f"app {version}": {}}, {"app": root})

    assert root_request(lock.packages[source("app")]) == request_


def test_nobody_asked_for_what_is_no_root() -> None:
    lock = lock_of({"app v1.0.0": {}}, {})

    assert root_request(lock.packages[source("app")]) is None


@pytest.mark.parametrize(
    ("version", "shown"),
    [("v1.2.0", "v1.2.0"), ("sha256", f"{DIGEST[:19]}…"), ("v1.2.0@sha256", f"v1.2.0@{DIGEST[:19]}…")],
)
def test_a_digest_is_shown_by_its_beginning_and_with_its_tag(version: str, shown: str) -> None:
    lock = lock_of({f"app {version}": {}}, {})

    assert format_locked(lock.packages[source("app")]) == shown
