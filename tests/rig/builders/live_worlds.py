"""A cluster that runs packages of a small world, with the digests that its layout has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from render.limits import Limits
from render.references import parse_reference
from render.registry.layout import Layout
from rig.builders.live_objects import Object, Running, format_objects, live_objects
from rig.builders.projects import World, at


def running(world: World, package: str, **more: Any) -> Running:
    """Return a package as a cluster runs it whose Crossplane pulled it from a world."""
    return replace(Running(package, **more), digest=digest_of(world, package))


def digest_of(world: World, package: str) -> str:
    """Return the digest of a published version, without "sha256:"."""
    name, version = package.split()
    reference = parse_reference(f"{at(name)}:{version}")
    return Layout(world.layout, Limits()).content(reference).digest.removeprefix("sha256:")


def write_cluster(
    folder: Path, packages: Sequence[Running], *more: Object, entries: Sequence[Mapping[str, Any]] = ()
) -> Path:
    """Write the objects of a cluster as kubectl prints them."""
    path = folder / "cluster.yaml"
    path.write_text(format_objects(live_objects(packages, *more, entries=[dict(one) for one in entries])))
    return path
