"""Manifests and indexes: parsed without ambiguity, and written byte-stable."""

import hashlib
import json

import pytest

from render.limits import LimitExceeded, Limits
from render.references import Digest
from render.registry.oci import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    Content,
    Descriptor,
    Index,
    InvalidManifest,
    Manifest,
    Platform,
    digest_of,
    format_index,
    format_manifest,
    parse_content,
)

DIGEST = Digest("sha256:" + 64 * "a")
LAYER = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": DIGEST, "size": 7}
IMAGE = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": LAYER, "layers": [LAYER]}
INDEX = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [LAYER]}
UNTYPED_IMAGE = {"schemaVersion": 2, "config": LAYER, "layers": [LAYER]}
UNTYPED_INDEX = {"schemaVersion": 2, "manifests": [LAYER]}


def parse(document: object, served_as: str = "", limits: Limits | None = None) -> Manifest | Index:
    """Parse a document, or bytes as they are."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return parse_content(Content(data, served_as, digest_of(data)), limits or Limits())


def test_a_digest_is_the_hash_of_the_bytes() -> None:
    assert digest_of(b"some bytes") == "sha256:" + hashlib.sha256(b"some bytes").hexdigest()


@pytest.mark.parametrize(
    ("document", "served_as", "kind", "media_type"),
    [
        (IMAGE, OCI_MANIFEST, Manifest, OCI_MANIFEST),
        (INDEX, OCI_INDEX, Index, OCI_INDEX),
        (IMAGE, "", Manifest, OCI_MANIFEST),
        (INDEX, "", Index, OCI_INDEX),
        # Its own type may be missing where the header tells it.
        (UNTYPED_IMAGE, OCI_MANIFEST, Manifest, OCI_MANIFEST),
        (UNTYPED_IMAGE, DOCKER_MANIFEST, Manifest, DOCKER_MANIFEST),
        (UNTYPED_INDEX, DOCKER_INDEX, Index, DOCKER_INDEX),
        (UNTYPED_IMAGE, "", Manifest, OCI_MANIFEST),
        (UNTYPED_INDEX, "", Index, OCI_INDEX),
        (IMAGE, f"{OCI_MANIFEST}; charset=utf-8", Manifest, OCI_MANIFEST),
        (IMAGE, OCI_MANIFEST.upper(), Manifest, OCI_MANIFEST),
        # Some servers know no better.
        (IMAGE, "application/json", Manifest, OCI_MANIFEST),
        (INDEX, "application/octet-stream", Index, OCI_INDEX),
        (UNTYPED_IMAGE, "text/plain", Manifest, OCI_MANIFEST),
        ({**IMAGE, "mediaType": DOCKER_MANIFEST}, DOCKER_MANIFEST, Manifest, DOCKER_MANIFEST),
        ({**INDEX, "mediaType": DOCKER_INDEX}, "", Index, DOCKER_INDEX),
    ],
)
def test_the_kind_comes_from_the_document_itself(
    document: object, served_as: str, kind: type, media_type: str
) -> None:
    found = parse(document, served_as)

    assert (type(found), found.media_type) == (kind, media_type)


@pytest.mark.parametrize(
    ("document", "served_as", "why"),
    [
        # CVE-2021-41190: readable as both.
        ({**IMAGE, "manifests": []}, OCI_MANIFEST, "and not both"),
        ({**INDEX, "layers": []}, OCI_INDEX, "and not both"),
        ({**INDEX, "config": LAYER}, OCI_INDEX, "and not both"),
        ({"schemaVersion": 2}, OCI_MANIFEST, "either manifests, or config and layers"),
        # Header and document disagree.
        (IMAGE, OCI_INDEX, f"mediaType is {OCI_MANIFEST}, but it was served as {OCI_INDEX}"),
        (INDEX, OCI_MANIFEST, f"mediaType is {OCI_INDEX}, but it was served as {OCI_MANIFEST}"),
        (IMAGE, DOCKER_MANIFEST, "was served as"),
        ({**IMAGE, "mediaType": "text/plain"}, OCI_MANIFEST, "was served as"),
        (UNTYPED_IMAGE, OCI_INDEX, "does not match its type"),
        (UNTYPED_INDEX, OCI_MANIFEST, "does not match its type"),
        ({**INDEX, "mediaType": OCI_MANIFEST}, "", "does not match its type"),
        ({**IMAGE, "mediaType": 7}, "", "mediaType is not text"),
    ],
)
def test_a_document_that_means_two_things_is_refused(document: object, served_as: str, why: str) -> None:
    with pytest.raises(InvalidManifest) as refusal:
        parse(document, served_as)

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("document", "served_as"),
    [
        ({"schemaVersion": 1, "fsLayers": []}, ""),
        ({"schemaVersion": 1, "config": LAYER, "layers": []}, OCI_MANIFEST),
        (UNTYPED_IMAGE, "application/vnd.docker.distribution.manifest.v1+prettyjws"),
        (UNTYPED_IMAGE, "application/vnd.docker.distribution.manifest.v1+json; charset=utf-8"),
        ({**IMAGE, "mediaType": "application/vnd.docker.distribution.manifest.v1+json"}, ""),
    ],
)
def test_schema_1_is_refused_with_the_hint_to_rebuild(document: object, served_as: str) -> None:
    with pytest.raises(InvalidManifest) as refusal:
        parse(document, served_as)

    assert "schema 1" in str(refusal.value)
    assert "rebuild the package" in str(refusal.value)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"layers": [], "config": {}, "layers": []}', "a key twice"),
        (b'{"layers": [], "config": {"size": 1, "size": 2}}', "a key twice"),
        (b'{"Layers": [], "config": {}}', "'layers' as 'Layers'"),
        (b'{"layers": [], "config": {"SIZE": 1}}', "'size' as 'SIZE'"),
        # Go takes the long s for an s, and so reads a size where Python sees none.
        ('{"layers": [], "config": {"ſize": 1}}'.encode(), "'size' as 'ſize'"),
        ('{"manifests": [], "layerſ": []}'.encode(), "'layers' as 'layerſ'"),
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"size": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
    ],
)
def test_text_that_parsers_read_differently_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(InvalidManifest) as refusal:
        parse(data)

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"config": None}, "not an object"),
        ({"config": []}, "not an object"),
        ({"layers": {}}, "its layers are not a list"),
        ({"layers": ["text"]}, "not an object"),
        ({"layers": [{**LAYER, "digest": "sha256:abc"}]}, "instead of a sha256 digest"),
        ({"layers": [{**LAYER, "digest": "sha512:" + 128 * "a"}]}, "instead of a sha256 digest"),
        ({"layers": [{**LAYER, "digest": DIGEST.upper()}]}, "instead of a sha256 digest"),
        ({"layers": [{**LAYER, "digest": DIGEST + "\n"}]}, "instead of a sha256 digest"),
        ({"layers": [{**LAYER, "digest": "sha256:../../" + 58 * "a"}]}, "instead of a sha256 digest"),
        ({"layers": [{**LAYER, "digest": None}]}, "instead of a sha256 digest"),
        ({"layers": [{**LAYER, "size": -1}]}, "has -1 instead of a size"),
        ({"layers": [{**LAYER, "size": "7"}]}, "has '7' instead of a size"),
        ({"layers": [{**LAYER, "size": 7.0}]}, "has 7.0 instead of a size"),
        ({"layers": [{**LAYER, "size": True}]}, "has True instead of a size"),
        ({"layers": [{"digest": DIGEST}]}, "has None instead of a size"),
        ({"layers": [{**LAYER, "mediaType": 1}]}, "mediaType that is not text"),
        ({"layers": [{**LAYER, "annotations": {"a": 1}}]}, "annotations in it are not all text"),
        ({"layers": [{**LAYER, "platform": "linux/amd64"}]}, "a platform in it is not an object"),
        ({"layers": [{**LAYER, "platform": {"os": 1}}]}, "a platform in it is not text"),
        ({"annotations": ["a"]}, "annotations in it are not all text"),
    ],
)
def test_an_odd_descriptor_is_refused_for_its_fault(change: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidManifest) as refusal:
        parse({**IMAGE, **change})

    assert why in str(refusal.value)


def test_a_manifest_is_read_in_order() -> None:
    layers = [{**LAYER, "size": size, "annotations": {"n": str(size)}} for size in (3, 1, 2)]

    found = parse({**IMAGE, "layers": layers, "annotations": {"a": "b"}})

    assert isinstance(found, Manifest)
    assert [(layer.size, layer.annotations) for layer in found.layers] == [
        (3, {"n": "3"}),
        (1, {"n": "1"}),
        (2, {"n": "2"}),
    ]
    assert found.annotations == {"a": "b"}


@pytest.mark.parametrize(
    ("written", "read", "shown"),
    [
        (None, None, "None"),
        ({"os": "linux", "architecture": "arm64"}, Platform("linux", "arm64"), "linux/arm64"),
        (
            {"os": "linux", "architecture": "arm", "variant": "v7"},
            Platform("linux", "arm", "v7"),
            "linux/arm/v7",
        ),
        ({}, Platform("", ""), "(empty)"),
        ({"os": None}, Platform("", ""), "(empty)"),
    ],
)
def test_a_missing_platform_is_another_thing_than_an_empty_one(
    written: object, read: Platform | None, shown: str
) -> None:
    found = parse({**INDEX, "manifests": [{**LAYER, "platform": written}]})

    assert isinstance(found, Index)
    assert found.manifests[0].platform == read
    assert str(found.manifests[0].platform) == shown


def test_more_entries_than_the_limit_are_refused() -> None:
    limits = Limits(index_entries=3, layers=2)

    assert isinstance(parse({**INDEX, "manifests": [LAYER] * 3}, limits=limits), Index)
    assert isinstance(parse({**IMAGE, "layers": [LAYER] * 2}, limits=limits), Manifest)
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_INDEX_ENTRIES") as too_long:
        parse({**INDEX, "manifests": [LAYER] * 4}, limits=limits)
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LAYERS"):
        parse({**IMAGE, "layers": [LAYER] * 3}, limits=limits)
    assert "3 index entries; found 4 entries" in str(too_long.value)


def test_an_image_is_written_byte_for_byte() -> None:
    config = Descriptor("application/vnd.oci.image.config.v1+json", DIGEST, 2)
    layer = Descriptor("text/plain", DIGEST, 7, {"b": "ü", "a": "1"})

    data = format_manifest(Manifest(config, (layer,)))

    assert data.decode() == (
        f'{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}",'
        f'"config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{DIGEST}","size":2}},'
        f'"layers":[{{"mediaType":"text/plain","digest":"{DIGEST}","size":7,"annotations":{{"a":"1","b":"ü"}}}}]}}'
    )


def test_written_documents_are_read_back_equal() -> None:
    platform = Platform("linux", "arm", "v7")
    child = Descriptor(OCI_MANIFEST, DIGEST, 7, {"a": "b"}, platform)
    image = Manifest(child, (child, child), {"x": "y"}, DOCKER_MANIFEST)
    index = Index((child,), {"x": "y"}, DOCKER_INDEX)

    assert parse(format_manifest(image)) == image
    assert parse(format_index(index)) == index
