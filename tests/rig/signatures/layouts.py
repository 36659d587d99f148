"""Signatures in an OCI layout, which stands in for registries."""

import json
from collections.abc import Sequence

from render.references import Digest, Reference, Source
from render.registry.layout import Layout
from render.registry.oci import OCI_INDEX, OCI_MANIFEST
from render.signatures.found import Attached, Form
from rig.signatures.cosigned import BUNDLE, DSSE, SIMPLE_SIGNING

_CONFIG = "application/vnd.oci.image.config.v1+json"
_SUFFIXES = {Form.SIGNATURE: ("sig", SIMPLE_SIGNING), Form.ATTESTATION: ("att", DSSE)}


def attach_to_layout(layout: Layout, source: Source, digest: Digest, attached: Sequence[Attached]) -> None:
    """Put signatures, attestations and bundles of an image into a layout."""
    tag = digest.replace(":", "-")
    for form, (suffix, media_type) in _SUFFIXES.items():
        layers = [_layer(layout, one, media_type) for one in attached if one.form is form]
        if layers:
            data = _manifest(layout, {"layers": layers})
            layout.add_image(data, OCI_MANIFEST, Reference(source, f"{tag}.{suffix}"))
    bundles = [one for one in attached if one.form is Form.BUNDLE]
    if bundles:
        entries = [_bundle(layout, digest, one) for one in bundles]
        index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}
        layout.add_image(json.dumps(index).encode(), OCI_INDEX, Reference(source, tag))


def _bundle(layout: Layout, digest: Digest, bundle: Attached) -> dict[str, object]:
    subject = {
        "mediaType": OCI_MANIFEST,
        "digest": digest,
        "size": len(layout.content(Reference(_ANY, digest=digest)).data),
    }
    data = _manifest(
        layout, {"layers": [_layer(layout, bundle, BUNDLE)], "subject": subject, "artifactType": BUNDLE}
    )
    return {
        "mediaType": OCI_MANIFEST,
        "digest": layout.add_blob(data),
        "size": len(data),
        "artifactType": BUNDLE,
    }


_ANY = Source("xpkg.example.org", "any/image")


def _layer(layout: Layout, one: Attached, media_type: str) -> dict[str, object]:
    digest = layout.add_blob(one.data)
    return {
        "mediaType": media_type,
        "digest": digest,
        "size": len(one.data),
        "annotations": dict(one.annotations),
    }


def _manifest(layout: Layout, parts: dict[str, object]) -> bytes:
    config = {"mediaType": _CONFIG, "digest": layout.add_blob(b"{}"), "size": 2}
    return json.dumps({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, **parts}).encode()
