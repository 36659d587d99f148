"""Commands of kubectl that findings print: each changes one object, in a way that can be undone."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from render.commands import shell
from render.live.doctor.evidence import Evidence, key_of
from render.live.doctor.model import ObjectKey
from render.live.lock import LivePackage
from render.live.model import PackageObject, Revision

_PACKAGE_KINDS = frozenset({"Provider", "Configuration", "Function", "Lock", "ImageConfig"})


def kubectl(evidence: Evidence, *words: str) -> str:
    """Return a command for the cluster of the diagnosis."""
    return shell(*evidence.kubectl, *words)


def resource(kind: str) -> str:
    """Return the name of a kind for kubectl; short names of other groups clash without the group."""
    base = kind.removesuffix("Revision")
    grouped = base in _PACKAGE_KINDS or kind == "DeploymentRuntimeConfig"
    return f"{kind.lower()}.pkg" if grouped else kind.lower()


def patch(evidence: Evidence, key: ObjectKey, value: Any, *more: str, how: str = "merge") -> str:
    """Return the command that patches an object."""
    text = json.dumps(value, separators=(",", ":"))
    return kubectl(evidence, "patch", resource(key[0]), key[1], *more, "--type", how, "-p", text)


def patch_spec(evidence: Evidence, key: ObjectKey, **fields: object) -> str:
    """Return the command that sets fields of a spec."""
    return patch(evidence, key, {"spec": fields})


def revision_key(revision: Revision) -> ObjectKey:
    """Return kind and name of a revision."""
    return f"{revision.kind}Revision", revision.name


def remove_entries(evidence: Evidence, entries: Iterable[LivePackage]) -> str:
    """Return the command that takes entries out of the Lock; it does nothing if the Lock has changed meanwhile."""
    # From the end, so that the places of the others stay.
    places = sorted((i for one in entries for i in _places(evidence, one)), reverse=True)
    steps = [
        step
        for i in places
        for step in (
            {"op": "test", "path": f"/packages/{i}/name", "value": evidence.entries[i].name},
            {"op": "remove", "path": f"/packages/{i}"},
        )
    ]
    return patch(evidence, ("Lock", "lock"), steps, how="json")


def switch_off(evidence: Evidence, package: PackageObject) -> list[str]:
    """Return the commands that make a package control nothing, and leave the Lock, on any Crossplane."""
    off = patch_spec(
        evidence, key_of(package), revisionActivationPolicy="Manual", skipDependencyResolution=True
    )
    # From v2.4 on the first command makes a new revision that is not active, which turns off the others.
    revisions = [one for one in evidence.revisions_of(package) if one.state != "Inactive"]
    inactive = [patch_spec(evidence, revision_key(one), desiredState="Inactive") for one in revisions]
    return [off, *(inactive if evidence.keeps_stale_entries else ())]


def detach(evidence: Evidence, entries: Sequence[LivePackage]) -> list[str]:
    """Return the commands after which Crossplane does not check some packages any more, nor those that need them."""
    above = evidence.above(entries)
    packages = [
        package
        for entry in above
        if (revision := evidence.revision_of(entry)) and (package := evidence.package_of(revision))
    ]
    found = [patch_spec(evidence, key_of(package), skipDependencyResolution=True) for package in packages]
    if not found or not evidence.keeps_stale_entries:
        return found
    # Up to v2.3 nothing else takes the entries out, and a revision that does not skip yet puts its own back.
    revisions = [revision for entry in above if (revision := evidence.revision_of(entry))]
    skipping = [patch_spec(evidence, revision_key(one), skipDependencyResolution=True) for one in revisions]
    return [*found, *skipping, remove_entries(evidence, above)]


def _places(evidence: Evidence, entry: LivePackage) -> list[int]:
    return [i for i, one in enumerate(evidence.entries) if one is entry]
