"""Image → evidence: what a package says about its licence, and about the time of its release."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from render.limits import LimitExceeded, Limits
from render.packages import Metadata
from render.policy.licences import said_licence
from render.policy.model import Evidence
from render.policy.times import Released, parse_claimed_time
from render.registry.routes import Images
from render.xpkg.image import Image

LICENCE_ANNOTATION = "meta.crossplane.io/license"
_IMAGE_LICENCE = "org.opencontainers.image.licenses"
_CREATED = "org.opencontainers.image.created"


def read_claims(images: Images, image: Image, limits: Limits) -> dict[str, str]:
    """Return the texts of an image that evidence is made of, by where they stand."""
    config = _read_config(images, image, limits)
    index = image.index.annotations if image.index else {}
    labels = _mapping(_mapping(config.get("config")).get("Labels"))
    found = {
        "config": config.get("created"),
        "label": labels.get(_CREATED),
        "manifest": image.manifest.annotations.get(_CREATED),
        "index": index.get(_CREATED),
        "licence": next(_first_texts(image.manifest.annotations, index, labels), None),
    }
    return {name: text for name, text in found.items() if isinstance(text, str)}


def evidence_of(metadata: Metadata, claims: Mapping[str, str]) -> Evidence:
    """Return the evidence in the metadata of a package and in the texts of its image."""
    own, image = said_licence(metadata.annotations.get(LICENCE_ANNOTATION)), claims.get("licence")
    return Evidence(own or said_licence(image), _latest(claims))


def _latest(claims: Mapping[str, str]) -> Released | None:
    # The config of a provider has the time of its runtime image, which is older than the package.
    times = [parse_claimed_time(text) for name, text in claims.items() if name != "licence"]
    known: list[datetime] = [time for time in times if time]
    return Released(max(known)) if known else None


def _first_texts(*places: Mapping[str, Any]) -> Iterator[str]:
    for place in places:
        text = place.get(_IMAGE_LICENCE)
        if isinstance(text, str) and said_licence(text):
            yield text


def _read_config(images: Images, image: Image, limits: Limits) -> Mapping[str, Any]:
    """Return the configuration of an image; one that is no JSON object says nothing."""
    if image.manifest.config.size > limits.manifest_bytes:
        raise LimitExceeded("its configuration is too large", "manifest_bytes", limits)
    with images.blob(image.source, image.manifest.config) as file:
        data = file.read()
    try:
        return _mapping(json.loads(data))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
