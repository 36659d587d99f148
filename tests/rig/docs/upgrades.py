"""A repository in which ten providers are about to be upgraded, with the changes that real releases have."""

from pathlib import Path
from typing import Any

from rig.builders.definitions import a_crd, a_schema, a_version
from rig.builders.projects import World
from rig.docs.machine import Machine

_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_KINDS = {
    "s3": ("buckets", "bucketpolicies"),
    "ec2": ("instances", "routes", "vpcs"),
    "iam": ("roles", "policies"),
    "rds": ("instances", "clusters"),
    "sqs": ("queues",),
    "sns": ("topics",),
    "eks": ("clusters",),
    "kms": ("keys",),
    "redshift": ("clusters",),
    "opsworks": ("stacks", "layers"),
}
_OLD, _NEW = "v1.23.0", "v2.0.0"


def upgrade_ten(folder: Path, machine: Machine, *, is_open: bool = False) -> Path:
    """Return a repository whose last commit has locked the old versions, and that asks for the new ones.

    An open one asks for any version since, and its lock has the old ones still.
    """
    world = World(folder)
    for service, kinds in _KINDS.items():
        for version, is_new in ((_OLD, False), (_NEW, True)):
            objects = [found for kind in kinds for found in _crd(service, kind, is_new=is_new)]
            world.publish(f"provider-aws-{service} {version}", kind="Provider", objects=objects)
    names = [f"provider-aws-{service}" for service in _KINDS]
    project = world.project("platform", *(f"{name}:{_OLD}" for name in names))
    machine.run("git", "init", "--quiet", "--initial-branch=main", project)
    machine.run("xplock", "lock", project)
    machine.run("git", "-C", project, "add", ".")
    machine.run("git", "-C", project, "commit", "--quiet", "--message", "Ten providers")
    project = world.project("platform", *(name if is_open else f"{name}:{_NEW}" for name in names))
    if is_open:
        machine.run("xplock", "lock", project)
    return project


def _crd(service: str, plural: str, *, is_new: bool) -> list[dict[str, Any]]:
    """Return a definition before or after the upgrade; none, if the new version does not bring it."""
    name = f"{plural}.{service}.aws.example.org"
    if is_new and plural == "layers":
        return []
    fields: dict[str, Any] = {"region": _TEXT}
    if not is_new:
        fields["publishConnectionDetailsTo"] = {"type": "object", "properties": {"name": _TEXT}}
    if service == "redshift":
        fields["encrypted"] = _TEXT if is_new else _FLAG
    schema = a_schema(fields)
    if plural == "bucketpolicies":
        versions = [a_version("v1beta1" if is_new else "v1alpha2", schema)]
    elif service == "sqs":
        versions = [
            a_version("v1beta1", schema, storage=not is_new),
            a_version("v1beta2", schema, storage=is_new),
        ]
    else:
        versions = [a_version("v1beta1", schema)]
    return [a_crd(*versions, name=name)]
