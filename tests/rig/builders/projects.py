"""Small worlds for locking: a layout with packages in it, and projects that ask for them."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from render.app.packages.package import build_into_layout
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.references import parse_reference
from render.registry.layout import Layout
from render.registry.oci import digest_of
from render.system.files import LOCK_FILE
from render.xpkg.building.packing import PackedImage
from render.yaml.writer import format_document
from rig.builders.packages import an_object, build

HOME = "xpkg.example.org/acme"
_ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


class World:
    """A layout that stands in for a registry, and project folders that lock from it."""

    def __init__(self, folder: Path, *, relative: bool = False) -> None:
        self.folder = folder
        self.layout = folder / "registry"
        # Whether projects name the layout relative to themselves, so that all of it can be copied.
        self.relative = relative
        # The host that serves the layout, if projects ask a registry instead of the layout.
        self.host = ""
        self._kinds: dict[str, str] = {}

    def publish(
        self,
        package: str,
        dependencies: Mapping[str, str] | None = None,
        *,
        kind: str = "Configuration",
        replaces: Sequence[str] = (),
        crds: Sequence[str] = (),
        family: str = "",
        annotations: Mapping[str, str] | None = None,
        created: str = "",
        defines: Sequence[str] = (),
        needs_crds: Sequence[str] = (),
        objects: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Put a version into the registry: "app v1.0.0", and what it depends on; dependencies are published first.

        `crds` are names alone, `defines` are CRDs with the versions that they serve: "buckets.s3.example.org v1", and
        `objects` are whole.
        """
        name, version = package.split()
        self._kinds[name] = kind
        wishes = [self._dependency(other, wish) for other, wish in (dependencies or {}).items()]
        wishes += [{"crd": crd} for crd in needs_crds]
        meta = format_metadata(
            package, kind, wishes, replaces=replaces, family=family, annotations=annotations or {}
        )
        files = {"crossplane.yaml": meta} | {f"{crd}.yaml": _crd(crd) for crd in crds}
        files |= {f"{crd.partition(' ')[0]}.yaml": format_crd(*crd.split()) for crd in defines}
        files |= {f"object-{number}.yaml": format_document(one) for number, one in enumerate(objects)}
        built = build(self.folder / "build" / name / version, files)
        if created:
            built = replace(built, image=created_at(built.image, created))
        build_into_layout(built, Layout(self.layout, Limits()), [parse_reference(f"{at(name)}:{version}")])

    def project(self, name: str, *roots: str, more: str = "") -> Path:
        """Write a project that asks for packages: "app:v1.0.0", or "app" for any version; `more` are other settings."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        listed = "".join(f"  - package: {at(root)}\n" for root in roots)
        place = self._place(folder)
        (folder / "xplock.yaml").write_text(f"roots:{'' if roots else ' []'}\n{listed}{place}{more}")
        return folder

    def _place(self, folder: Path) -> str:
        if self.host:
            return f"rewrites:\n  - from: xpkg.example.org\n    to: {self.host}\n"
        layout = os.path.relpath(self.layout, folder) if self.relative else self.layout
        return f"layouts:\n  - prefix: xpkg.example.org\n    folder: {layout}\n"

    def _dependency(self, name: str, constraint: str) -> dict[str, str]:
        return {self._kinds.get(name, "Configuration").lower(): at(name), "version": constraint}


def at(name: str) -> str:
    """Return the source of a short name, which is one of acme's, or of "organisation/name"; a whole one stays."""
    if name.count("/") > 1:
        return name
    return f"xpkg.example.org/{name}" if "/" in name else f"{HOME}/{name}"


def format_metadata(
    package: str,
    kind: str,
    depends_on: Sequence[Mapping[str, str]],
    *,
    replaces: Sequence[str],
    family: str,
    annotations: Mapping[str, str],
) -> str:
    """Write the crossplane.yaml of a version, "app v1.0.0"; others that say the same have other bytes all the same."""
    name, version = package.split()
    meta = {
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": kind,
        "metadata": {
            "name": name.rpartition("/")[2],
            "annotations": {"version": version, **annotations},
            "labels": {"pkg.crossplane.io/provider-family": family} if family else {},
        },
        "spec": {
            "dependsOn": list(depends_on),
            **({"replaces": [at(other) for other in replaces]} if replaces else {}),
        },
    }
    return json.dumps(meta)


def created_at(image: PackedImage, time: str) -> PackedImage:
    """Return an image that claims another time in its configuration."""
    config = json.dumps({**json.loads(image.config), "created": time}).encode()
    described = replace(image.manifest.config, digest=digest_of(config), size=len(config))
    return replace(image, manifest=replace(image.manifest, config=described), config=config)


def moves(old: str, *new: str, strategy: str = "") -> str:
    """Return the setting that lets packages take the place of another one."""
    entry = {"from": at(old), "to": at(new[0]) if len(new) == 1 else [at(name) for name in new]}
    return f"moves: {json.dumps([entry | ({'strategy': strategy} if strategy else {})])}\n"


def _crd(name: str) -> str:
    return an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)


def format_crd(name: str, *served: str) -> str:
    """Write a CRD, "buckets.s3.example.org", with the versions that it serves."""
    plural, _, group = name.partition(".")
    kind = plural.removesuffix("s").capitalize()
    versions = [
        {"name": version, "served": True, "storage": version == served[-1], "schema": _ANYTHING}
        for version in served
    ]
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": versions}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps({**head, "metadata": {"name": name}, "spec": spec})


def locked(folder: Path) -> dict[str, str]:
    """Return name and version of everything that a folder's lock holds."""
    lock = read_lock(folder, Limits()) or Lock()
    return {source.name: package.version for source, package in lock.packages.items()}


def text_of(folder: Path) -> bytes:
    """Return the bytes of a folder's lock."""
    return (folder / LOCK_FILE).read_bytes()


def small_world(folder: Path, *, relative: bool = False) -> World:
    """Make a small ecosystem: app, tool and old all need base."""
    world = World(folder, relative=relative)
    world.publish("base v1.0.0")
    world.publish("base v1.1.0")
    world.publish("base v2.0.0")
    world.publish("app v1.0.0", {"base": "^1"})
    world.publish("app v2.0.0", {"base": ">=v2"})
    world.publish("tool v1.0.0", {"base": ">=v1"})
    world.publish("old v1.0.0", {"base": "<v2"})
    return world
