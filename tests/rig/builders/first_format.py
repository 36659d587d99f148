"""Packages of the first format for tests: the files below `.registry/`, and what they are converted to."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from render.limits import Limits
from render.packages_v1.convert import Converted, Wanted, convert
from render.packages_v1.findings import Findings, NotConvertible
from render.packages_v1.tree import Tree
from rig.builders.packages import write_files

APP = "title: Sample Crossplane Stack\npackageType: Provider\npermissionScope: Cluster\n"
INSTALL = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: sample-stack
  labels: {core.crossplane.io/name: sample-stack}
spec:
  replicas: 2
  selector:
    matchLabels: {core.crossplane.io/name: sample-stack}
  template:
    metadata:
      name: sample-stack
      labels: {core.crossplane.io/name: sample-stack}
      annotations: {example.org/scrape: "true"}
    spec:
      serviceAccountName: sample-stack
      containers:
      - name: controller
        image: xpkg.example.org/samples/controller:v1
        args: [--debug]
        env: [{name: POD_NAME, value: one}]
      volumes: [{name: cache, emptyDir: {}}]
"""
INSTALL_OWN_IMAGE = INSTALL.replace("        image: xpkg.example.org/samples/controller:v1\n", "")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>\n'


def crd(
    kind: str = "Mytype", version: str = "v1alpha1", group: str = "samples.example.org", **spec: str
) -> str:
    """Return a CRD of v1beta1 with one version; `spec` adds or replaces lines of its spec."""
    lines = {
        "group": group,
        "names": f"{{kind: {kind}, plural: {kind.lower()}s}}",
        "scope": "Namespaced",
        "version": version,
        **spec,
    }
    body = "".join(f"  {key}: {value}\n" for key, value in lines.items() if value)
    return (
        "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"
        f"metadata:\n  name: {kind.lower()}s.{group}\nspec:\n{body}"
    )


def package(files: Mapping[str, str | bytes] = MappingProxyType({})) -> dict[str, str | bytes]:
    """Return the smallest package, and more files."""
    return {"app.yaml": APP, "resources/crd.yaml": crd(), **files}


def converted(files: Mapping[str, str | bytes], **wanted: Any) -> Converted:
    """Convert a package."""
    data = {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
    return convert(Tree.of(data), Wanted(**{"name": "sample-stack", **wanted}), Limits(), Findings())


def problems(files: Mapping[str, str | bytes], **wanted: Any) -> list[str]:
    """Return why a package cannot be converted."""
    try:
        converted(files, **wanted)
    except NotConvertible as error:
        assert error.exit_code == 2
        return list(error.problems)
    return []


def only_crd(files: Mapping[str, str | bytes], **wanted: Any) -> Mapping[str, Any]:
    """Return the one CRD of a package, as it is converted."""
    [found] = converted(files, **wanted).crds
    return found


def annotations(files: Mapping[str, str | bytes]) -> dict[str, dict[str, str]]:
    """Return the annotations of every CRD by its kind, without the prefix they share."""
    return {
        found["spec"]["names"]["kind"]: {
            name.removeprefix("packages.crossplane.io/"): text
            for name, text in found["metadata"].get("annotations", {}).items()
        }
        for found in converted(files).crds
    }


def write_package(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write a package below `.registry/`, and return the folder around it."""
    write_files(folder / ".registry", files)
    return folder
