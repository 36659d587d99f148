"""`package inspect` of a package of the first format: what `package build` would make of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from render.packages_v1.convert import Converted
from render.texts import visible
from render.views.packages.inspection import format_inspection, in_short, inspection_document
from render.xpkg.inspect import Inspection

FORMAT = "Packages v1"
_VALUE_CHARACTERS = 80


def format_first_format(found: Inspection, converted: Converted) -> str:
    """Write it as text: the package of today that it becomes, and each CRD with its labels and annotations."""
    more = [_crds(converted), _beside(converted), _needs(converted), _warnings(converted)]
    return format_inspection(found, all_objects=True, format=FORMAT, more=more)


def first_format_document(found: Inspection, converted: Converted) -> dict[str, Any]:
    """Return it as JSON values."""
    return {
        "format": FORMAT,
        **inspection_document(found),
        "customResourceDefinitions": list(converted.crds),
        "runtimeConfig": converted.runtime_config,
        "rbac": list(converted.access),
        "needs": needed_options(converted),
        "warnings": list(converted.warnings),
    }


def needed_options(converted: Converted) -> list[str]:
    """Return the options that `package build` needs for a folder of this package."""
    needed = {
        "--name": converted.needs_name,
        "--cluster-wide": converted.namespaced,
        "--runtime-image": converted.own_image,
    }
    return [option for option, is_needed in needed.items() if is_needed]


def _crds(converted: Converted) -> Iterator[str]:
    yield "CRDs as they would be built"
    for crd in converted.crds:
        spec, metadata = crd["spec"], crd["metadata"]
        yield f"  {visible(metadata['name'])}  ({spec['scope']}; {', '.join(map(_version, spec['versions']))})"
        for key in ("labels", "annotations"):
            for name, text in metadata.get(key, {}).items():
                yield f"    {visible(name)}: {visible(in_short(text), limit=_VALUE_CHARACTERS)}"


def _version(version: Mapping[str, Any]) -> str:
    return visible(str(version["name"])) + (" stored" if version.get("storage") else "")


def _beside(converted: Converted) -> Iterator[str]:
    spec = converted.runtime_config["spec"]["deploymentTemplate"]["spec"]
    yield "Beside the package"
    yield f"  DeploymentRuntimeConfig {visible(converted.metadata.name)}" + (
        ", which runs nothing" if spec.get("replicas") == 0 else ""
    )
    for item in converted.access:
        yield f"  {item['kind']} {visible(item['metadata']['name'])}, for a person to apply"


def _needs(converted: Converted) -> Iterator[str]:
    for option in needed_options(converted):
        yield f"note: package build needs {option} for this folder"


def _warnings(converted: Converted) -> Iterator[str]:
    yield from (f"note: {visible(warning)}" for warning in converted.warnings)
