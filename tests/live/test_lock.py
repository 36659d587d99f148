"""The Lock of a cluster is read as kubectl prints it."""

import json

import pytest
import yaml
from rig.builders.locks import lock, package

from render.limits import LimitExceeded, Limits
from render.live.diff import diff_live
from render.live.lock import InvalidLiveLock, LiveLock, LivePackage, parse_live_lock
from render.lock.text.format import format_lock

LIVE = """
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
  finalizers:
  - lock.pkg.crossplane.io
  generation: 12
  name: lock
  resourceVersion: "4711"
packages:
- apiVersion: pkg.crossplane.io/v1
  dependencies:
  - constraints: '>=v1.0.0'
    package: xpkg.example.org/acme/net
    type: Provider
  - apiVersion: pkg.crossplane.io/v1
    constraints: ""
    kind: Function
    package: xpkg.example.org/acme/auto
    type: null
  kind: Configuration
  name: app-0123456789ab
  source: xpkg.example.org/acme/app
  type: null
  version: v1.0.0
- dependencies: []
  name: acme-net-1a2a00000000
  source: xpkg.example.org/acme/net:v1.2.0
  type: Provider
  version: sha256:ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904
status:
  conditions:
  - lastTransitionTime: "2026-01-01T00:00:00Z"
    reason: DependencyResolutionSucceeded
    status: "True"
    type: Resolved
"""
EXPECTED = LiveLock(
    (
        LivePackage(
            "app-0123456789ab",
            "xpkg.example.org/acme/app",
            "v1.0.0",
            ("xpkg.example.org/acme/auto ", "xpkg.example.org/acme/net >=v1.0.0"),
            "Configuration",
        ),
        LivePackage(
            "acme-net-1a2a00000000",
            "xpkg.example.org/acme/net:v1.2.0",
            "sha256:ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904",
            kind="Provider",
        ),
    )
)


def parse(text: str) -> LiveLock:
    return parse_live_lock(text.encode(), Limits())


def test_yaml_and_json_say_the_same() -> None:
    value = yaml.safe_load(LIVE)

    assert parse(LIVE) == EXPECTED
    assert parse(json.dumps(value)) == EXPECTED
    assert parse(json.dumps(value, indent="\t")) == EXPECTED
    assert parse(json.dumps({"apiVersion": "v1", "kind": "List", "items": [value]})) == EXPECTED


def test_characters_beyond_the_basic_plane_are_read_from_json() -> None:
    value = yaml.safe_load(LIVE)
    value["metadata"]["annotations"] = {"note": "😀"}

    assert parse(json.dumps(value)) == EXPECTED


def test_an_empty_lock_is_a_lock() -> None:
    assert parse("apiVersion: pkg.crossplane.io/v1beta1\nkind: Lock\nmetadata: {name: lock}\n") == LiveLock()


def test_our_own_first_document_is_a_live_lock_that_equals_the_lock() -> None:
    made = lock([package("app v1.0.0", "net >=v1.0.0"), package("net v1.2.0")])

    assert diff_live(made, parse(format_lock(made)), None).equal


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "found nothing"),
        ("{", "it ends in the middle of an object"),
        ("[" * 100_000, "nested deeper"),
        ('{"a":' * 100_000, "recursion"),
        ("a: [", "did not find expected"),
        ("kind: Provider", "found Provider"),
        ("[1, 2]", "found nothing"),
        ("kind: Lock\napiVersion: v1", "expected one Lock of pkg.crossplane.io"),
        (f"{LIVE}---{LIVE}", "expected one Lock"),
        ("kind: Lock\napiVersion: pkg.crossplane.io/v1beta1\npackages: 1", "packages: expected a list"),
        (
            "kind: Lock\napiVersion: pkg.crossplane.io/v1beta1\npackages: [{name: a}]",
            "packages[0].source: it is missing",
        ),
        (
            "kind: Lock\napiVersion: pkg.crossplane.io/v1beta1\npackages: [1]",
            "packages[0]: expected a mapping",
        ),
    ],
)
def test_what_is_no_lock_of_a_cluster_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidLiveLock) as caught:
        parse(text)

    assert problem in str(caught.value)


def test_a_lock_that_is_too_large_names_the_limit() -> None:
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LOCK_BYTES"):
        parse_live_lock(LIVE.encode(), Limits(lock_bytes=10))
