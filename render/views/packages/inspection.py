"""The result of `package inspect` as text and JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from render.packages import Dependency, PackagedObject, count_kinds
from render.registry.oci import Descriptor
from render.texts import counted, visible
from render.xpkg.allowed_objects import format_allowed
from render.xpkg.image import XPKG_ANNOTATION, Image, is_extensions
from render.xpkg.inspect import Inspection

# xpkg specification, "Object Annotations", in the order it lists them.
_SPECIFIED = tuple(
    f"meta.crossplane.io/{name}" for name in ("maintainer", "source", "license", "description", "readme")
)
_LISTED_OBJECTS = 20


def format_inspection(
    found: Inspection, *, all_objects: bool, format: str = "", more: Sequence[Iterable[str]] = ()
) -> str:
    """Write an inspection as text, with parts of its own for a format that has some."""
    parts = [
        _about(found, format),
        _dependencies(found),
        _objects(found, all_objects=all_objects),
        *more,
    ]
    if found.image:
        parts += [_platforms(found.image), _layers(found.image)]
    parts += [_notes(found)]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))) + "\n"


def inspection_document(found: Inspection) -> dict[str, Any]:
    """Return an inspection as JSON values."""
    metadata = found.metadata
    return {
        "package": found.name,
        "apiVersion": metadata.api_version,
        "kind": metadata.kind,
        "name": metadata.name,
        "crossplane": metadata.crossplane.text if metadata.crossplane else None,
        "dependencies": [_dependency_document(dependency) for dependency in metadata.dependencies],
        "crds": [{"crd": str(one.crd), "constraint": one.constraint.text} for one in metadata.crds],
        "replaces": [str(source) for source in metadata.replaces],
        "capabilities": list(metadata.capabilities),
        "family": metadata.family,
        "labels": dict(sorted(metadata.labels.items())),
        "annotations": dict(sorted(metadata.annotations.items())),
        "controllerImage": metadata.controller_image,
        "permissionRequests": [
            {"apiGroups": list(r.api_groups), "resources": list(r.resources), "verbs": list(r.verbs)}
            for r in metadata.permission_requests
        ],
        "objects": [
            {"apiVersion": item.api_version, "kind": item.kind, "name": item.name} for item in found.objects
        ],
        "misplacedObjects": [f"{item.kind}/{item.name}" for item in found.misplaced],
        **(_image_document(found.image) if found.image else {}),
    }


def _dependency_document(dependency: Dependency) -> dict[str, Any]:
    return {
        "package": dependency.package,
        "constraint": dependency.constraint.text,
        "kind": dependency.kind,
        "apiVersion": dependency.api_version,
    }


def _image_document(image: Image) -> dict[str, Any]:
    children = image.index.manifests if image.index else ()
    return {
        "digest": image.digest,
        "manifestDigest": image.manifest_digest,
        "platforms": [str(child.platform) for child in children if child.platform],
        "layers": [_blob_document(layer) for layer in image.manifest.layers],
        "imageAnnotations": dict(sorted(image.manifest.annotations.items())),
        "extensions": _blob_document(image.extensions) if image.extensions else None,
    }


def _blob_document(descriptor: Descriptor) -> dict[str, Any]:
    return {
        "mediaType": descriptor.media_type,
        "digest": descriptor.digest,
        "size": descriptor.size,
        "annotations": dict(sorted(descriptor.annotations.items())),
    }


def _about(found: Inspection, format: str) -> Iterator[str]:
    metadata = found.metadata
    yield visible(found.name)
    rows = {"format": format, "kind": f"{metadata.kind} ({metadata.api_version})", "name": metadata.name}
    if found.image:
        rows["digest"] = found.image.digest
    if metadata.crossplane:
        rows["crossplane"] = metadata.crossplane.text
    rows |= {
        "family": metadata.family or "",
        "replaces": ", ".join(map(str, metadata.replaces)),
        "capabilities": ", ".join(metadata.capabilities),
        "controller": metadata.controller_image or "",
        "permissions": "; ".join(
            f"{', '.join(r.verbs)} on {', '.join(r.resources)}" for r in metadata.permission_requests
        ),
    }
    rows |= {name.rpartition("/")[2]: metadata.annotations.get(name, "") for name in _SPECIFIED}
    yield from _table({name: " ".join(text.split()) for name, text in rows.items() if text})
    others = {name: text for name, text in metadata.annotations.items() if name not in _SPECIFIED}
    if others:
        yield ""
        yield "Annotations"
        yield from _table({name: in_short(text) for name, text in sorted(others.items())})


def _dependencies(found: Inspection) -> Iterator[str]:
    metadata = found.metadata
    rows = [(one.kind or "-", one.package, one.constraint.text) for one in metadata.dependencies]
    rows += [("crd", str(one.crd), one.constraint.text) for one in metadata.crds]
    if not rows:
        return
    yield f"Dependencies ({len(rows)})"
    width = max(len(visible(name)) for _, name, _ in rows)
    for kind, name, constraint in rows:
        yield f"  {visible(kind):<13}  {visible(name):<{width}}  {visible(constraint)}"


def _objects(found: Inspection, *, all_objects: bool) -> Iterator[str]:
    if not found.objects:
        return
    counts = ", ".join(f"{count} {visible(kind)}" for kind, count in count_kinds(found.objects).items())
    yield f"Objects ({len(found.objects)}: {counts})"
    ordered = sorted(found.objects, key=lambda item: (item.kind, item.name))
    shown = ordered if all_objects else ordered[:_LISTED_OBJECTS]
    width = max(len(visible(item.kind)) for item in shown)
    yield from (f"  {visible(item.kind):<{width}}  {visible(item.name)}" for item in shown)
    if len(shown) < len(ordered):
        yield f"  … {len(ordered) - len(shown)} more; --objects lists them all"


def _platforms(image: Image) -> Iterator[str]:
    children = image.index.manifests if image.index else ()
    if not children:
        return
    yield f"Images ({len(children)})"
    for child in children:
        mark = "extensions" if is_extensions(child) else str(child.platform or "no platform")
        used = "  (the one Crossplane reads)" if child.digest == image.manifest_digest else ""
        yield f"  {visible(mark):<13}  {child.digest}{used}"


def _layers(image: Image) -> Iterator[str]:
    yield f"Layers ({len(image.manifest.layers)})"
    for layer in image.manifest.layers:
        mark = layer.annotations.get(XPKG_ANNOTATION, "-")
        yield f"  {visible(mark):<13}  {layer.digest}  {layer.size:,} bytes"


def _notes(found: Inspection) -> Iterator[str]:
    if found.metadata.crds:
        yield "note: Crossplane resolves no dependencies on CRDs, so a lock detaches this package"
    wrong: list[PackagedObject] = found.misplaced
    if wrong:
        kind = found.metadata.kind
        yield f"note: Crossplane leaves out {counted(len(wrong), 'object')}: a {kind} may hold only {format_allowed(kind)}"


def in_short(text: str) -> str:
    """Return an annotation in one line; of a data URI, its type and its length."""
    if text.startswith("data:"):
        return f"{text.partition(',')[0]}, {len(text):,} bytes"
    return " ".join(text.split())


def _table(rows: Mapping[str, str]) -> Iterator[str]:
    width = max((len(visible(name)) for name in rows), default=0)
    yield from (f"  {visible(name):<{width}}  {visible(text)}" for name, text in rows.items())
