"""A lock's text: the whole file, the same bytes every time, mergeable by Git."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rig.builders.locks import digest, lock, package, rich_lock, source

from render.lock.model import FORMAT_REVISION, Lock, LockedDependency
from render.lock.text.format import NewerRevision, format_lock
from render.packages import Kind

EXPECTED = """\
# Written by xplock. Edit what you ask for, not this file, and run `xplock lock`.
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata:
  name: lock
  annotations:
    argocd.argoproj.io/hook: Skip
    config.kubernetes.io/local-config: "true"
packages:
- apiVersion: pkg.crossplane.io/v1
  kind: Configuration
  name: platform-1a0a00000000
  source: xpkg.example.org/acme/platform
  version: v1.0.0
  dependencies:
  - package: xpkg.example.org/acme/provider-net
    apiVersion: pkg.crossplane.io/v1
    kind: Provider
    constraints: ">=v0.4.0"
  - package: acme/provider-store
    type: Provider
    constraints: "1.10"
- apiVersion: pkg.crossplane.io/v1
  kind: Provider
  name: acme-provider-net-ecc25c121431
  source: xpkg.example.org/acme/provider-net
  version: sha256:ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904
  dependencies: []
- apiVersion: pkg.crossplane.io/v1
  kind: Provider
  name: acme-provider-store-1a10a3000000
  source: xpkg.example.org/acme/provider-store
  version: v1.10.3
  dependencies: []
---
apiVersion: xplock.dev/v1alpha1
kind: LockDetails
metadata:
  name: lock
  annotations:
    argocd.argoproj.io/hook: Skip
    config.kubernetes.io/local-config: "true"
version: 1
revision: 0
inputs:
  root Configuration/platform: sha256:aa00000000000000000000000000000000000000000000000000000000000000
  settings pin: sha256:bb00000000000000000000000000000000000000000000000000000000000000
packages:
- source: xpkg.example.org/acme/platform
  object: platform
  root: v1.0.0
  objects:
    CompositeResourceDefinition: 1
    Composition: 2
  objectsDigest: sha256:cc00000000000000000000000000000000000000000000000000000000000000
  crossplane: ">=v1.20.0-0"
  fields:
    metadata:
      labels:
        "on": "true"
        team: shop
    spec:
      packagePullSecrets:
      - name: pull
      revisionHistoryLimit: 3
  digest: sha256:1a0a000000000000000000000000000000000000000000000000000000000000
- source: xpkg.example.org/acme/provider-net
  object: acme-provider-net
  tag: v0.4.2
  requiredBy:
  - xpkg.example.org/acme/platform
  - xpkg.example.org/acme/provider-store
  digest: sha256:ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904
- source: xpkg.example.org/acme/provider-store
  object: acme-provider-store
  requiredBy:
  - xpkg.example.org/acme/platform
  family: provider-family-store
  digest: sha256:1a10a30000000000000000000000000000000000000000000000000000000000
"""


def example() -> Lock:
    platform = package(
        "platform v1.0.0",
        "provider-net >=v0.4.0",
        kind=Kind.CONFIGURATION,
        object_name="platform",
        root="v1.0.0",
        objects={"Composition": 2, "CompositeResourceDefinition": 1},
        objects_digest=digest("cc"),
        crossplane=">=v1.20.0-0",
        fields={
            "spec": {"revisionHistoryLimit": 3, "packagePullSecrets": [{"name": "pull"}]},
            "metadata": {"labels": {"team": "shop", "on": "true"}},
        },
    )
    older_form = LockedDependency("acme/provider-store", "1.10", "Provider")
    net = package(
        "provider-net sha256:ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904",
        tag="v0.4.2",
        required_by=(str(source("provider-store")), str(source("platform"))),
    )
    store = package(
        "provider-store v1.10.3", required_by=(str(source("platform")),), family="provider-family-store"
    )
    packages = [store, net, replace(platform, dependencies=(*platform.dependencies, older_form))]
    inputs = {"settings pin": digest("bb"), "root Configuration/platform": digest("aa")}
    return Lock({item.source: item for item in packages}, inputs)


def test_the_whole_file() -> None:
    assert format_lock(example()) == EXPECTED


RICH_DETAILS = """\
inputs:
  settings moves: sha256:aa00000000000000000000000000000000000000000000000000000000000000
deactivated:
- source: xpkg.example.org/acme/old-store
  kind: Provider
  version: v1.0.0
  replacedBy:
  - xpkg.example.org/acme/store
  object: acme-old-store
  fields:
    spec:
      packagePullPolicy: Always
  digest: sha256:1a0a000000000000000000000000000000000000000000000000000000000000
provided:
- source: xpkg.example.org/acme/dns
  folder: "../platform"
  kind: Provider
  version: v1.0.0
  object: acme-dns
  detached: true
  replaces:
  - xpkg.example.org/acme/old-dns
  digest: sha256:1a0a000000000000000000000000000000000000000000000000000000000000
packages:
- source: xpkg.example.org/acme/app
  object: acme-app
  root: v1.0.0
  detached:
  - dns is detached
  digest: sha256:1a0a000000000000000000000000000000000000000000000000000000000000
- source: xpkg.example.org/acme/mesh
  object: acme-mesh
  state: orphaned
  released: true
  detached:
  - a
  staleEntry:
  - b
  digest: sha256:1a0a000000000000000000000000000000000000000000000000000000000000
- source: xpkg.example.org/acme/net
  installedAs: xpkg.example.org/acme/old-net
  object: acme-old-net
  requiredBy:
  - xpkg.example.org/acme/app
  replaces:
  - source: xpkg.example.org/acme/old-net
    strategy: alias
    consent: moves
  keptPins:
  - tag: v1.1.0
    digest: sha256:1a10000000000000000000000000000000000000000000000000000000000000
  - tag: v1.0.0
    source: xpkg.example.org/acme/old-net
    digest: sha256:1a00000000000000000000000000000000000000000000000000000000000000
  digest: sha256:1a2a000000000000000000000000000000000000000000000000000000000000
- source: xpkg.example.org/acme/store
  object: acme-store
  root: v2.0.0
  replaces:
  - source: xpkg.example.org/acme/old-store
    strategy: deactivate
    consent: claim
  groups:
  - store.example.org
  overrides:
    spec:
      revisionHistoryLimit: 1
  digest: sha256:2a0a000000000000000000000000000000000000000000000000000000000000
"""


def test_what_is_moving_and_leaving_stands_in_the_second_document() -> None:
    text = format_lock(rich_lock())

    assert text.endswith(f"version: 1\nrevision: 0\n{RICH_DETAILS}")


def test_the_first_document_holds_what_the_cluster_will_hold() -> None:
    # Neither what is switched off nor what another folder installs; an alias under the source that its object names.
    document = next(yaml.safe_load_all(format_lock(rich_lock())))

    entries = [(entry["source"].rpartition("/")[2], entry["name"]) for entry in document["packages"]]
    assert entries == [
        ("app", "acme-app-1a0a00000000"),
        ("mesh", "acme-mesh-1a0a00000000"),
        ("old-net", "acme-old-net-1a2a00000000"),
        ("store", "acme-store-2a0a00000000"),
    ]


def test_a_package_that_becomes_an_alias_stays_at_its_place_in_the_first_document() -> None:
    alias = package("a-net v1.0.0", installed_as=source("net"), object_name="acme-net")
    entries = [
        [
            entry["source"].rpartition("/")[2]
            for entry in next(yaml.safe_load_all(format_lock(made)))["packages"]
        ]
        for made in (lock([package("b v1.0.0"), item]) for item in (package("net v1.0.0"), alias))
    ]

    assert entries == [["b", "net"], ["b", "net"]]


def test_an_empty_lock_says_so() -> None:
    lines = format_lock(Lock()).splitlines()

    assert lines.count("packages: []") == 2
    assert "inputs: {}" in lines


def test_the_first_document_is_what_the_crd_of_crossplane_admits() -> None:
    document = next(yaml.safe_load_all(format_lock(example())))

    assert set(document) == {"apiVersion", "kind", "metadata", "packages"}
    for entry in document["packages"]:
        assert set(entry) == {"apiVersion", "kind", "name", "source", "version", "dependencies"}
        for dependency in entry["dependencies"]:
            assert {"package", "constraints"} <= set(dependency)
            assert {key for key in dependency if key not in ("package", "constraints")} in (
                {"apiVersion", "kind"},
                {"type"},
            )


def test_order_in_memory_does_not_show_in_the_text() -> None:
    made = example()
    turned = Lock(dict(reversed([*made.packages.items()])), dict(reversed([*made.inputs.items()])))

    assert format_lock(turned) == format_lock(made)


def test_the_text_is_the_same_under_every_hash_seed() -> None:
    script = (
        "from tests.lock.text.test_format import example\n"
        "from render.lock.text.format import format_lock\n"
        "print(format_lock(example()), end='')"
    )
    root = Path(__file__).parents[3]

    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}:{root / 'tests'}"},
            cwd=root,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert texts == {format_lock(example()).encode()}


def test_a_lock_of_a_newer_revision_is_not_written() -> None:
    newer = Lock(revision=FORMAT_REVISION + 1)

    with pytest.raises(NewerRevision, match="not written") as caught:
        format_lock(newer)

    assert caught.value.exit_code == 1
