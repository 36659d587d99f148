"""The bytes of an image depend on its files alone, and every reader can unpack them."""

import gzip
import io
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.limits import MIB, Limits
from render.registry.oci import Content, Manifest, Platform, digest_of, parse_content
from render.xpkg.building.packing import compress, pack_extensions, pack_image, pack_tar

LAYERS = [("base", "package.yaml", b"kind: Provider\n"), ("upbound", ".up/examples.yaml", b"kind: Nop\n")]


@given(st.binary(max_size=200) | st.integers(0, 3 * 0xFFFF).map(bytes))
def test_what_is_compressed_unpacks_to_the_same(data: bytes) -> None:
    assert gzip.decompress(compress(data)) == data


@pytest.mark.parametrize("size", [0, 1, 0xFFFE, 0xFFFF, 0x10000, MIB, MIB + 1, 3 * MIB])
def test_layers_of_every_size_unpack(size: int) -> None:
    data = bytes(i % 251 for i in range(1000)) * (size // 1000 + 1)

    assert gzip.decompress(compress(data[:size])) == data[:size]


def test_a_large_layer_is_deflated_and_a_small_one_stored() -> None:
    assert len(compress(bytes(MIB))) > MIB
    assert len(compress(bytes(MIB + 1))) < MIB // 100


def test_a_tar_has_no_owner_and_no_time() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack_tar([("b", b"1"), ("a", b"22")]))) as archive:
        entries = archive.getmembers()

    assert [(entry.name, entry.size) for entry in entries] == [("b", 1), ("a", 2)]
    assert {(entry.mtime, entry.uid, entry.gid, entry.uname, entry.mode) for entry in entries} == {
        (0, 0, 0, "", 0o644)
    }


def test_an_images_manifest_describes_its_blobs() -> None:
    image = pack_image(LAYERS, Platform("linux", "amd64"))

    manifest = parse_content(Content(image.data, "", image.digest), Limits())
    assert isinstance(manifest, Manifest)
    assert manifest == image.manifest
    assert manifest.config.digest == digest_of(image.config)
    assert [layer.digest for layer in manifest.layers] == [digest_of(data) for data in image.layers]
    assert [layer.size for layer in manifest.layers] == [len(data) for data in image.layers]
    assert [layer.annotations for layer in manifest.layers] == [
        {"io.crossplane.xpkg": "base"},
        {"io.crossplane.xpkg": "upbound"},
    ]


def test_an_images_configuration_has_what_the_crossplane_cli_writes() -> None:
    image = pack_image(LAYERS, None)

    config = json.loads(image.config)
    assert (config["os"], config["architecture"]) == ("", "")
    assert config["created"] == "0001-01-01T00:00:00Z"
    assert config["rootfs"] == {
        "type": "layers",
        "diff_ids": [digest_of(gzip.decompress(data)) for data in image.layers],
    }
    assert len(config["history"]) == 2
    assert config["config"]["Labels"] == {
        f"io.crossplane.xpkg:{digest_of(image.layers[0])}": "base",
        f"io.crossplane.xpkg:{digest_of(image.layers[1])}": "upbound",
    }


def test_a_platform_with_a_variant_is_written_down() -> None:
    config = json.loads(pack_image(LAYERS, Platform("linux", "arm", "v7")).config)

    assert (config["os"], config["architecture"], config["variant"]) == ("linux", "arm", "v7")


def test_extensions_are_an_image_without_marks() -> None:
    image = pack_extensions([("docs/readme.md", b"hello")])

    assert image.config == b"{}"
    assert [layer.annotations for layer in image.manifest.layers] == [{}]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(image.layers[0]))) as archive:
        assert archive.getnames() == ["docs/readme.md"]
