"""Signatures in a real registry: where cosign leaves them, and where it looks for them."""

import json
from collections.abc import Sequence
from typing import Any

from render.signatures.found import Attached, Form
from rig.registry.package_images import CONFIG
from rig.registry.pushed import EMPTY, INDEX, MANIFEST, Raw
from rig.signatures.cosigned import BUNDLE, DSSE, SIMPLE_SIGNING

_SUFFIXES = {Form.SIGNATURE: ("sig", SIMPLE_SIGNING), Form.ATTESTATION: ("att", DSSE)}


def attach(registry: Raw, repository: str, digest: str, attached: Sequence[Attached]) -> None:
    """Push signatures, attestations and bundles of an image."""
    for form in _SUFFIXES:
        layers = [one for one in attached if one.form is form]
        if layers:
            push_tagged(registry, repository, digest, form, layers)
    bundles = [one for one in attached if one.form is Form.BUNDLE]
    if bundles:
        entries = [push_bundle(registry, repository, digest, one) for one in bundles]
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        registry.manifest(repository, index, digest.replace(":", "-"))


def push_tagged(registry: Raw, repository: str, digest: str, form: Form, attached: Sequence[Attached]) -> str:
    """Push one manifest with a layer for each signature, and return its tag."""
    suffix, media_type = _SUFFIXES[form]
    layers = [
        {**registry.blob(repository, one.data, media_type), "annotations": dict(one.annotations)}
        for one in attached
    ]
    config = {
        "architecture": "",
        "os": "",
        "created": "0001-01-01T00:00:00Z",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": registry.blob(repository, json.dumps(config).encode(), CONFIG),
        "layers": layers,
    }
    tag = f"{digest.replace(':', '-')}.{suffix}"
    registry.manifest(repository, document, tag)
    return tag


def push_bundle(registry: Raw, repository: str, digest: str, bundle: Attached) -> dict[str, Any]:
    """Push one bundle that refers to an image, and describe it as some releases of cosign do: with a wrong type."""
    image = registry.document(repository, digest)
    size = len(registry.ask("GET", f"/v2/{repository}/manifests/{digest}")[2])
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": BUNDLE,
        "config": {**registry.blob(repository, b"{}", EMPTY), "artifactType": BUNDLE},
        "layers": [registry.blob(repository, bundle.data, BUNDLE)],
        "subject": {"mediaType": image["mediaType"], "digest": digest, "size": size},
        "annotations": {"dev.sigstore.bundle.content": "dsse-envelope"},
    }
    return {**registry.manifest(repository, document), "artifactType": EMPTY}
