"""Locks of clusters, as `kubectl get lock lock -o yaml` prints them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from render.names import friendly_id, object_name
from render.references import parse_source
from rig.builders.projects import at


@dataclass(frozen=True, slots=True)
class Entry:
    """One package of a cluster: "base v1.0.0", under its derived name unless it has another one."""

    package: str
    name: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    kind: str = "Configuration"
    # The digest that its revision is named after, and from Crossplane v2.4 on the generation of its object.
    digest: str = "0123456789ab" + "c" * 52
    generation: int | None = None
    # As Crossplane has it, if that is not the usual one.
    source: str = ""
    revision: str = ""

    def as_value(self) -> dict[str, Any]:
        """Return the entry as Crossplane writes it."""
        name, version = self.package.split()
        called = self.name or object_name(parse_source(at(name)))
        return {
            "apiVersion": "pkg.crossplane.io/v1",
            "kind": self.kind,
            "name": self.revision or friendly_id(called, self._hash()),
            "source": self.source or at(name),
            "version": version,
            "dependencies": [
                {"package": at(need), "constraints": versions, "type": "Configuration"}
                for need, versions in self.needs.items()
            ],
        }

    def _hash(self) -> str:
        if self.generation is None:
            return self.digest
        return hashlib.sha256(f"{self.digest}|{self.generation}".encode()).hexdigest()


def format_live_lock(entries: Iterable[Entry]) -> str:
    """Return the Lock of a cluster with these packages."""
    return yaml.safe_dump(
        {
            "apiVersion": "pkg.crossplane.io/v1beta1",
            "kind": "Lock",
            "metadata": {"name": "lock", "finalizers": ["lock.pkg.crossplane.io"]},
            "packages": [entry.as_value() for entry in entries],
        }
    )
