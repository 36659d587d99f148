"""Rendering in few words: inputs without a folder, and Crossplane's own way of looking through ImageConfigs."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from render.inputs.projects import Inputs
from render.rewrites import Rewrite
from render.settings import Settings

PURPOSES = ("registry", "runtime", "verification")


def inputs(
    *passthrough: Mapping[str, Any], rewrites: Iterable[Rewrite] = (), settings: Settings | None = None
) -> Inputs:
    """What a folder asks for, as far as rendering reads it."""
    return Inputs(Path("project"), (), settings or Settings(), tuple(rewrites), passthrough, {})


def rewrite(prefix: str, replacement: str, place: str = "xplock.yaml: rewrites[0]") -> Rewrite:
    """A rewrite and where it was said."""
    return Rewrite(prefix, replacement, place)


def image_config(name: str, *prefixes: str, **purposes: Any) -> dict[str, Any]:
    """An ImageConfig of the user's."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": name},
        "spec": {"matchImages": [{"prefix": prefix} for prefix in prefixes], **purposes},
    }


def pull_secret(name: str) -> dict[str, Any]:
    """What an ImageConfig says of a pull secret, under `registry`."""
    return {"authentication": {"pullSecretRef": {"name": name}}}


def best_matches(configs: Iterable[Mapping[str, Any]], purpose: str, image: str) -> list[Mapping[str, Any]]:
    """Return the ImageConfigs that Crossplane chooses from for a purpose: several where it could take either."""
    lengths = [(_match(config, image), config) for config in configs if _carries(config, purpose)]
    longest = max((length for length, _ in lengths), default=0)
    return [config for length, config in lengths if length == longest > 0]


def rewrite_image(configs: Sequence[Mapping[str, Any]], image: str) -> str:
    """Return what Crossplane pulls for an image; it must not have a choice."""
    best = best_matches(configs, "rewriteImage", image)
    if not best:
        return image
    (config,) = best
    replacement: str = config["spec"]["rewriteImage"]["prefix"]
    return replacement + image[_match(config, image) :]


def _match(config: Mapping[str, Any], image: str) -> int:
    prefixes = [match["prefix"] for match in config["spec"]["matchImages"]]
    return max((len(prefix) for prefix in prefixes if image.startswith(prefix)), default=0)


def _carries(config: Mapping[str, Any], purpose: str) -> bool:
    return config["kind"] == "ImageConfig" and purpose in config["spec"]
