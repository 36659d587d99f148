"""Locks that a real Crossplane built for real packages; see the `about` of the data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from render.lock.model import LockedDependency, LockedPackage
from render.references import parse_reference

DATA = Path(__file__).parents[2] / "data/crossplane-locks.json"

_THINGS = "ghcr.io/stuttgart-things/crossplane-configurations"
# Differences in what Crossplane finished, one by one. A Lock holds names of revisions, and those keep 50 characters
# of the object's name; the rest of these cannot be read from it.
CUT_NAMES = {
    f"{_THINGS}/argocd-cluster": "stuttgart-things-crossplane-configurations-argocd-cluster",
    f"{_THINGS}/cluster-backup": "stuttgart-things-crossplane-configurations-cluster-backup",
    f"{_THINGS}/scheduled-run": "stuttgart-things-crossplane-configurations-scheduled-run",
    f"{_THINGS}/vault-config": "stuttgart-things-crossplane-configurations-vault-config",
}


@dataclass(frozen=True)
class CrossplaneLock:
    """What Crossplane made of one root."""

    root: str
    packages: Mapping[str, LockedPackage]
    clean: bool


@cache
def read_locks() -> list[CrossplaneLock]:
    """Return all Locks of the data."""
    data = json.loads(DATA.read_text())
    packages = [_parse_package(*entry) for entry in data["packages"]]
    return [
        CrossplaneLock(
            data["packages"][lock["root"]][0],
            {str(packages[i].source): packages[i] for i in lock["packages"]},
            lock["resolved"] and not lock["unhealthy"],
        )
        for lock in data["locks"]
    ]


def _parse_package(text: str, kind: str, name: str, dependencies: Sequence[Sequence[str]]) -> LockedPackage:
    reference = parse_reference(text)
    # Crossplane's Lock has no digests of ours to compare.
    return LockedPackage(
        reference.source,
        reference.tag or "",
        digest=None,  # type: ignore[arg-type]  # never looked at
        kind=kind,  # type: ignore[arg-type]  # a text compares like the kind
        object_name=name,
        dependencies=tuple(LockedDependency(*dependency) for dependency in dependencies),
    )


def uncut(package: LockedPackage) -> LockedPackage:
    """Return a package with its whole object name, if that is known to be cut."""
    whole = CUT_NAMES.get(str(package.source))
    if whole is None:
        return package
    assert package.object_name == whole[:50] != whole
    return replace(package, object_name=whole)
