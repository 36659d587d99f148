"""Small worlds for locking: a layout with packages in it, and projects that ask for them."""

import json
from collections.abc import Mapping
from pathlib import Path

from render.files import LOCK_FILE
from render.limits import Limits
from render.lock.file import read_lock
from render.lock.model import Lock
from render.packaging import build_into_layout
from render.references import parse_reference
from render.registry.layout import Layout
from rig.packages import build

HOME = "xpkg.example.org/acme"


class World:
    """A layout that stands in for a registry, and project folders that lock from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.layout = folder / "registry"

    def publish(self, package: str, dependencies: Mapping[str, str] | None = None) -> None:
        """Put a version into the registry: "app v1.0.0", and what it depends on."""
        name, version = package.split()
        depends = "".join(
            f"    - configuration: {HOME}/{other}\n      version: {json.dumps(constraint)}\n"
            for other, constraint in (dependencies or {}).items()
        )
        meta = (
            f"apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: {name}\n"
            f"  annotations:\n    version: {version}\nspec:\n  dependsOn:{' []' if not depends else ''}\n{depends}"
        )
        built = build(self.folder / "build" / name / version, {"crossplane.yaml": meta})
        build_into_layout(built, Layout(self.layout, Limits()), [parse_reference(f"{HOME}/{name}:{version}")])

    def project(self, name: str, *roots: str) -> Path:
        """Write a project that asks for packages: "app:v1.0.0", or "app" for any version."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        listed = "".join(f"  - package: {HOME}/{root}\n" for root in roots)
        layouts = f"layouts:\n  - prefix: xpkg.example.org\n    folder: {self.layout}\n"
        (folder / "xplock.yaml").write_text(f"roots:\n{listed}{layouts}")
        return folder


def locked(folder: Path) -> dict[str, str]:
    """Return name and version of everything that a folder's lock holds."""
    lock = read_lock(folder, Limits()) or Lock()
    return {source.name: package.version for source, package in lock.packages.items()}


def text_of(folder: Path) -> bytes:
    """Return the bytes of a folder's lock."""
    return (folder / LOCK_FILE).read_bytes()


def small_world(folder: Path) -> World:
    """Make a small ecosystem: app, tool and old all need base."""
    world = World(folder)
    world.publish("base v1.0.0")
    world.publish("base v1.1.0")
    world.publish("base v2.0.0")
    world.publish("app v1.0.0", {"base": "^1"})
    world.publish("app v2.0.0", {"base": ">=v2"})
    world.publish("tool v1.0.0", {"base": ">=v1"})
    world.publish("old v1.0.0", {"base": "<v2"})
    return world
