"""An image to run → the image of a package that runs it: its layers and configuration, with the package on top."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from render.limits import LimitExceeded, Limits
from render.references import Reference
from render.registry.oci import OCI_LAYER, Descriptor
from render.registry.routes import Images
from render.xpkg.image import InvalidImage, base_layer, fetch_image

_DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


@dataclass(frozen=True, slots=True)
class RuntimeImage:
    """The image that a Provider runs: its configuration and its layers."""

    config: Mapping[str, Any]
    layers: tuple[tuple[Descriptor, bytes], ...]


def fetch_runtime_image(images: Images, reference: Reference, limits: Limits) -> RuntimeImage:
    """Fetch an image to run, for the platform that Crossplane takes; a package is none."""
    image = fetch_image(images, reference, limits)
    if base_layer(image):
        raise InvalidImage(
            f"{reference} is a package, not an image to run",
            why="one of its layers is a package already",
            next="name the image that the package was built with",
        )
    listed = [(layer, _read(images, reference, layer, limits)) for layer in image.manifest.layers]
    config = _parse_config(_read(images, reference, image.manifest.config, limits), reference)
    return RuntimeImage(config, tuple((_as_oci(layer), data) for layer, data in listed))


def _as_oci(layer: Descriptor) -> Descriptor:
    media_type = OCI_LAYER if layer.media_type == _DOCKER_LAYER else layer.media_type
    return replace(layer, media_type=media_type, annotations={})


def _read(images: Images, reference: Reference, blob: Descriptor, limits: Limits) -> bytes:
    if blob.size > limits.layer_bytes:
        raise LimitExceeded(f"a layer of {reference} is too large", "layer_bytes", limits)
    with images.blob(reference.source, blob) as file:
        return file.read()


def _parse_config(data: bytes, reference: Reference) -> Mapping[str, Any]:
    try:
        config = json.loads(data)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict) or not isinstance(_diffs(config), list):
        raise InvalidImage(
            f"the configuration of {reference} is not one of an image",
            why="rootfs.diff_ids is missing",
            next="check the reference",
        )
    return config


def _diffs(config: Mapping[str, Any]) -> Sequence[str] | None:
    rootfs = config.get("rootfs")
    return rootfs.get("diff_ids") if isinstance(rootfs, dict) else None


def join_configs(base: Mapping[str, Any], package: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of an image to run, with the layers and labels of a package added."""
    run, added = _mapping(base.get("config")), package["config"]["Labels"]
    labels = _mapping(run.get("Labels"))
    history = base.get("history")
    return {
        **base,
        "config": {**run, "Labels": dict(sorted({**labels, **added}.items()))},
        "rootfs": {"type": "layers", "diff_ids": [*(_diffs(base) or ()), *package["rootfs"]["diff_ids"]]},
        "history": [*(history if isinstance(history, list) else []), *package["history"]],
    }


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
