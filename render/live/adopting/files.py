"""The files of a folder that has the packages of a cluster: a manifest for each root, configs in use, settings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from render.digests import sha256_hex
from render.live.adopting.found import Found
from render.live.adopting.pins import find_hidden, is_pin
from render.live.adopting.roots import AdoptedRoot
from render.live.adopting.spec import chosen_metadata, chosen_spec
from render.live.model import Cluster, ConfigObject
from render.packages import PACKAGE_GROUP
from render.settings import PinMode
from render.versions.version import Version
from render.yaml.writer import format_document

_LONGEST_NAME = 200
_RUNTIME = "runtimeConfigRef"
# Made by Crossplane in every cluster, and empty unless it was changed.
_DEFAULT_RUNTIME = "default"


def root_manifest(root: AdoptedRoot) -> dict[str, Any]:
    """Return the manifest of a root, with the fields that differ from the defaults of the API."""
    package = root.package
    spec = {"package": package.object.package, **chosen_spec(package.object.spec)}
    if root.stays_attached:
        # Written out: without it, the lock would detach the package.
        spec["skipDependencyResolution"] = False
    return {
        "apiVersion": f"{PACKAGE_GROUP}/v1",
        "kind": str(package.object.kind),
        "metadata": {"name": package.name, **chosen_metadata(package.object.metadata)},
        "spec": spec,
    }


def config_manifest(config: ConfigObject) -> dict[str, Any]:
    """Return the manifest of an ImageConfig or a runtime config."""
    return {
        "apiVersion": config.api_version,
        "kind": config.kind,
        "metadata": {"name": config.name, **chosen_metadata(config.metadata)},
        **({"spec": dict(config.spec)} if config.spec else {}),
    }


def file_name(manifest: Mapping[str, Any]) -> str:
    """Return the name of the file for a manifest."""
    name = str(manifest["metadata"]["name"])
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{sha256_hex(name)[:8]}"
    return f"{str(manifest['kind']).lower()}-{name}.yaml"


def format_settings(
    crossplane: Version | None, pin: PinMode, rewrites: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the settings of a new folder; the rewrites are those of ImageConfigs that it does not have."""
    listed = [{"from": prefix, "to": replacement} for prefix, replacement in rewrites]
    return format_document(
        {
            **({"crossplaneVersion": str(crossplane)} if crossplane else {}),
            "pin": str(pin),
            **({"rewrites": listed} if listed else {}),
        }
    )


def find_rewrites(configs: Iterable[ConfigObject]) -> list[tuple[str, str]]:
    """Return prefixes and replacements of the ImageConfigs among some configs."""
    found = set()
    for spec in (config.spec for config in configs):
        rewrite = spec.get("rewriteImage")
        matches = spec.get("matchImages")
        for match in matches if isinstance(matches, list) and isinstance(rewrite, Mapping) else ():
            if isinstance(match, Mapping) and isinstance(rewrite, Mapping):
                found.add((str(match.get("prefix")), str(rewrite.get("prefix"))))
    return sorted(found)


def find_configs(cluster: Cluster, packages: Sequence[Found]) -> list[ConfigObject]:
    """Return the ImageConfigs and runtime configs that packages use."""
    used = {
        applied.name
        for package in packages
        for applied in (
            *package.object.applied,
            *(package.revision.applied if package.revision else ()),
        )
    }
    used |= find_hidden(cluster, packages)
    images = [config for config in cluster.image_configs if config.name in used and not is_pin(config)]
    named = {*_runtime_names(packages), *(_runtime_of(config) for config in images)}
    runtimes = [
        config
        for config in cluster.runtime_configs
        if config.name in named and (config.name != _DEFAULT_RUNTIME or _is_changed(config))
    ]
    return [*images, *runtimes]


def _runtime_names(packages: Iterable[Found]) -> Iterable[str]:
    for package in packages:
        reference = package.object.spec.get(_RUNTIME)
        if isinstance(reference, Mapping):
            yield str(reference.get("name"))


def _runtime_of(config: ConfigObject) -> str:
    runtime = config.spec.get("runtime")
    reference = runtime.get("configRef") if isinstance(runtime, Mapping) else None
    return str(reference.get("name")) if isinstance(reference, Mapping) else ""


def _is_changed(config: ConfigObject) -> bool:
    return bool(config.spec)
