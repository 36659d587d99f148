"""Packages that Crossplane really installs, in a real registry that the cluster knows under made-up hosts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.world import open_world
from render.limits import Limits
from render.references import Digest, parse_reference
from render.xpkg.building.build import build_package
from render.yaml.writer import format_document
from rig.builders.ecosystem import Built, fill_registry
from rig.builders.packages import write_files
from rig.builders.projects import at, format_metadata

HOST = "xpkg.example.org"
_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  scope: Cluster
  names: {{plural: {plural}, singular: {kind}, kind: {title}, listKind: {title}List}}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
_XRD = """\
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  scope: Cluster
  names: {{plural: {plural}, kind: {title}}}
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
_IMAGE_CONFIG = """\
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: {name}
spec:
  matchImages:
    - type: Prefix
      prefix: {host}
  rewriteImage:
    prefix: {address}/{host}
"""


@dataclass(slots=True)
class PackageRegistry:
    """A registry on loopback, filled with packages by short names: `app` is xpkg.example.org/acme/app."""

    address: str
    folder: Path
    _kinds: dict[str, str] = field(default_factory=dict)
    _built: int = 0

    def publish(
        self,
        package: str,
        dependencies: Mapping[str, str] | None = None,
        *,
        kind: str = "Configuration",
        crds: Sequence[str] = (),
        xrds: Sequence[str] = (),
        replaces: Sequence[str] = (),
        family: str = "",
        annotations: Mapping[str, str] | None = None,
        written: Sequence[Mapping[str, str]] = (),
        crossplane: str = "",
        objects: Sequence[Mapping[str, Any]] = (),
    ) -> Digest:
        """Publish a version, or move its tag: "app v1.0.0", and what it depends on; dependencies are published first.

        `written` are further entries of dependsOn, as they are to be there; `crossplane` is what it accepts; `objects` are
        whole.
        """
        name, version = package.split()
        self._kinds[name] = kind
        wishes = [self._dependency(other, wish) for other, wish in (dependencies or {}).items()]
        meta = format_metadata(
            package,
            kind,
            [*wishes, *written],
            replaces=replaces,
            family=family,
            annotations=annotations or {},
        )
        files = {"crossplane.yaml": _with_crossplane(meta, crossplane) if crossplane else meta}
        files |= {f"{crd}.yaml": format_crd(crd) for crd in crds}
        files |= {f"{xrd}.yaml": format_xrd(xrd) for xrd in xrds}
        files |= {f"object-{number}.yaml": format_document(one) for number, one in enumerate(objects)}
        return self._push(f"{at(name)}:{version}", files)

    def push(self, built: Built) -> None:
        """Push packages that are built already, from any hosts."""
        environ = {**self.environ, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        world = open_world(OperatorSettings.from_environment(environ), SilentReporter())
        fill_registry(self.address, world.pusher, built)

    def image_config(self, host: str = HOST, *, team: str = "find") -> str:
        """Return the ImageConfig with which a cluster finds a made-up host here."""
        return _IMAGE_CONFIG.format(name=f"{team}-{host.partition('.')[0]}", host=host, address=self.address)

    @property
    def environ(self) -> dict[str, str]:
        """The settings with which xplock may talk to the registry."""
        return {"XPLOCK_PLAIN_HTTP": self.address}

    def _push(self, reference: str, files: Mapping[str, str]) -> Digest:
        self._built += 1
        built = build_package(write_files(self.folder / f"package-{self._built}", files), Limits())
        self.push({parse_reference(reference): built.image})
        return built.image.digest

    def _dependency(self, name: str, constraint: str) -> dict[str, str]:
        return {self._kinds.get(name, "Configuration").lower(): at(name), "version": constraint}


def _with_crossplane(meta: str, constraint: str) -> str:
    value = json.loads(meta)
    value["spec"]["crossplane"] = {"version": constraint}
    return json.dumps(value)


def format_crd(name: str) -> str:
    """Write a definition that a Provider installs: "things.acme.example.org"."""
    return _definition(_CRD, name)


def format_xrd(name: str) -> str:
    """Write a definition that a Configuration installs."""
    return _definition(_XRD, name)


def _definition(text: str, name: str) -> str:
    plural, _, group = name.partition(".")
    kind = plural.removesuffix("s")
    # The one kind of a Provider that Crossplane makes no ManagedResourceDefinition of.
    title = "ProviderConfig" if kind == "providerconfig" else kind.capitalize()
    return text.format(plural=plural, group=group, kind=kind, title=title)
