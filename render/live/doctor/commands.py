"""Commands of kubectl that findings print: each changes one object, and none deletes a definition."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from render.commands import shell
from render.live.doctor.case import Case, key_of
from render.live.doctor.model import ObjectKey
from render.live.lock import LivePackage
from render.live.model import Owner, PackageObject, Revision

_PACKAGE_KINDS = frozenset({"Provider", "Configuration", "Function", "Lock", "ImageConfig"})


def kubectl(case: Case, *words: str) -> str:
    """Return a command for the cluster of the diagnosis."""
    return shell(*case.kubectl, *words)


def resource(kind: str) -> str:
    """Return the name of a kind for kubectl; short names of other groups clash without the group."""
    base = kind.removesuffix("Revision")
    grouped = base in _PACKAGE_KINDS or kind == "DeploymentRuntimeConfig"
    return f"{kind.lower()}.pkg" if grouped else kind.lower()


def patch(case: Case, key: ObjectKey, value: Any, *more: str, how: str = "merge") -> str:
    """Return the command that patches an object."""
    text = json.dumps(value, separators=(",", ":"))
    return kubectl(case, "patch", resource(key[0]), key[1], *more, "--type", how, "-p", text)


def patch_spec(case: Case, key: ObjectKey, **fields: object) -> str:
    """Return the command that sets fields of a spec."""
    return patch(case, key, {"spec": fields})


def revision_key(revision: Revision) -> ObjectKey:
    """Return kind and name of a revision."""
    return f"{revision.kind}Revision", revision.name


def remove_entries(case: Case, entries: Iterable[LivePackage]) -> str:
    """Return the command that takes entries out of the Lock; it does nothing if the Lock has changed meanwhile."""
    # From the end, so that the places of the others stay.
    places = sorted((i for one in entries for i in _places(case, one)), reverse=True)
    steps = [
        step
        for i in places
        for step in (
            {"op": "test", "path": f"/packages/{i}/name", "value": case.entries[i].name},
            {"op": "remove", "path": f"/packages/{i}"},
        )
    ]
    return patch(case, ("Lock", "lock"), steps, how="json")


def remove_owner(owners: Sequence[Owner], place: int) -> list[dict[str, str]]:
    """Return the patch that takes an owner off an object; it does nothing if the owners have changed meanwhile."""
    path = f"/metadata/ownerReferences/{place}"
    return [
        {"op": "test", "path": f"{path}/uid", "value": owners[place].uid},
        {"op": "remove", "path": path},
    ]


def switch_off(case: Case, package: PackageObject) -> list[str]:
    """Return the commands that make a package control nothing, and leave the Lock, on any Crossplane."""
    off = patch_spec(case, key_of(package), revisionActivationPolicy="Manual", skipDependencyResolution=True)
    # From v2.4 on the first command makes a new revision that is not active, which turns off the others.
    revisions = [one for one in case.revisions_of(package) if one.state != "Inactive"]
    inactive = [patch_spec(case, revision_key(one), desiredState="Inactive") for one in revisions]
    return [off, *(inactive if case.keeps_stale_entries else ())]


def detach(case: Case, entries: Sequence[LivePackage]) -> list[str]:
    """Return the commands after which Crossplane does not check some packages any more, nor those that need them."""
    above = case.above(entries)
    packages = [
        package
        for entry in above
        if (revision := case.revision_of(entry)) and (package := case.package_of(revision))
    ]
    found = [patch_spec(case, key_of(package), skipDependencyResolution=True) for package in packages]
    if not found or not case.keeps_stale_entries:
        return found
    # Up to v2.3 nothing else takes the entries out, and a revision that does not skip yet puts its own back.
    revisions = [revision for entry in above if (revision := case.revision_of(entry))]
    skipping = [patch_spec(case, revision_key(one), skipDependencyResolution=True) for one in revisions]
    return [*found, *skipping, remove_entries(case, above)]


def _places(case: Case, entry: LivePackage) -> list[int]:
    return [i for i, one in enumerate(case.entries) if one is entry]
