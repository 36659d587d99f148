"""A package on disk → its dependencies, as roots."""

from collections.abc import Iterator
from typing import Any

from render.errors import RenderError, in_one_line
from render.inputs.problems import placed
from render.limits import Limits
from render.packages import Dependency, Kind, is_project
from render.references import Source
from render.versions.requests import CrdRoot, Request, Root
from render.xpkg.crd_fields import CRD_KEY
from render.xpkg.metadata import InvalidMetadata, parse_metadata, parse_project
from render.yaml.documents import InvalidDocument, meta_rules, parse_documents


def parse_dependencies(
    data: bytes, file: str, limits: Limits, problems: list[str]
) -> tuple[Root | CrdRoot, ...]:
    """Parse the dependencies of a package on disk; add to the problems."""
    found: list[str] = []
    roots: tuple[Root | CrdRoot, ...] = ()
    try:
        roots = tuple(_parse(data, file, limits, found))
    except InvalidMetadata as error:
        found.extend(error.problems)
    except RenderError as error:
        found.append(in_one_line(error))
    problems.extend(placed(file, found))
    return roots


def _parse(data: bytes, file: str, limits: Limits, problems: list[str]) -> Iterator[Root | CrdRoot]:
    documents = parse_documents(data, meta_rules(limits))
    if documents[0] is None or any(document is not None for document in documents[1:]):
        raise InvalidDocument("a package's metadata is the only document of its file", 1)
    parse = parse_project if is_project(documents[0]["apiVersion"]) else parse_metadata
    metadata = parse(data, limits)
    for one in metadata.crds:
        yield CrdRoot(one.crd, f"{file}: {one.place}", one.constraint)
    for field, dependency in zip(_places(documents[0]), metadata.dependencies, strict=True):
        if isinstance(dependency.source, Source):
            request = Request.of(dependency.constraint)
            yield Root(dependency.source, request, f"{file}: {field}", kind=_kind(dependency))
        else:
            problems.append(
                f"{field}: {dependency.package!r} does not start with a registry host, and this package has no registry "
                "to complete it from; write registry/organisation/name"
            )


def _places(document: Any) -> Iterator[str]:
    """Yield the place of every dependency on a package in the order in which metadata lists them."""
    spec = document.get("spec") or {}
    for i, entry in enumerate(spec.get("dependsOn") or ()):
        if all(entry.get(key) is None for key in (CRD_KEY, "crossplane")):
            yield f"spec.dependsOn[{i}]"
    if is_project(document["apiVersion"]):
        for i, entry in enumerate(spec.get("dependencies") or ()):
            if entry and entry.get("type") == "xpkg":
                yield f"spec.dependencies[{i}].xpkg"


def _kind(dependency: Dependency) -> Kind | None:
    return Kind(dependency.kind) if dependency.kind in tuple(Kind) else None
