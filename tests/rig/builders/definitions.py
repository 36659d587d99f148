"""Definitions for tests: CRDs, XRDs and MRDs of any shape, and Compositions, as the text of a package.yaml."""

from collections.abc import Mapping, Sequence
from typing import Any

from render.packages import PackagedObject
from render.yaml.writer import format_document

CRD_API = "apiextensions.k8s.io/v1"
XRD_API = "apiextensions.crossplane.io/v1"
XRD_API_V2 = "apiextensions.crossplane.io/v2"
MRD_API = "apiextensions.crossplane.io/v1alpha1"


def a_schema(spec: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the schema of a version, from the schemas of the fields of its spec."""
    described = {"type": "object", "properties": dict(spec or {"size": {"type": "integer"}}), **more}
    return {"type": "object", "properties": {"spec": described}}


def a_version(name: str = "v1", schema: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a version of a CRD, served and stored."""
    flags = {"name": name, "served": True, "storage": True}
    return {**flags, "schema": {"openAPIV3Schema": dict(schema or a_schema())}, **more}


def a_crd(*versions: Mapping[str, Any], name: str = "things.example.org", **more: Any) -> dict[str, Any]:
    """Return a CRD."""
    plural, _, group = name.partition(".")
    return {
        "apiVersion": CRD_API,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "names": {"kind": plural.removesuffix("s").capitalize(), "plural": plural},
            "scope": "Cluster",
            "versions": [dict(version) for version in versions or [a_version()]],
            **more,
        },
    }


def an_mrd(*versions: Mapping[str, Any], name: str = "things.example.org", **more: Any) -> dict[str, Any]:
    """Return an MRD."""
    return {**a_crd(*versions, name=name, **more), "apiVersion": MRD_API, "kind": "ManagedResourceDefinition"}


def an_xrd(
    *versions: Mapping[str, Any], name: str = "things.example.org", api_version: str = XRD_API, **more: Any
) -> dict[str, Any]:
    """Return an XRD, without a scope."""
    crd = a_crd(*versions, name=name)
    described = {key: value for key, value in crd["spec"].items() if key != "scope"}
    described["versions"] = [
        {**{key: value for key, value in one.items() if key != "storage"}, "referenceable": one["storage"]}
        for one in described["versions"]
    ]
    return {
        **crd,
        "apiVersion": api_version,
        "kind": "CompositeResourceDefinition",
        "spec": {**described, **more},
    }


def a_composition(
    api_version: str = "example.org/v1", kind: str = "Thing", name: str = "thing"
) -> dict[str, Any]:
    """Return a Composition for a composite resource."""
    return {
        "apiVersion": XRD_API,
        "kind": "Composition",
        "metadata": {"name": name},
        "spec": {"compositeTypeRef": {"apiVersion": api_version, "kind": kind}, "mode": "Pipeline"},
    }


def as_document(definition: Mapping[str, Any]) -> bytes:
    """Return a definition as a document of a package.yaml: a line break and its text."""
    return b"\n" + format_document(definition).encode()


def as_yaml(definitions: Sequence[Mapping[str, Any]]) -> str:
    """Return definitions as a stream of documents."""
    return "---\n".join(map(format_document, definitions))


def item_of(definition: Mapping[str, Any]) -> PackagedObject:
    """Return the identity of a definition."""
    return PackagedObject(definition["apiVersion"], definition["kind"], definition["metadata"]["name"])
