"""Package files: ours and those of the Crossplane CLI are read, anything else is refused as a whole."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rig.builders.packages import CONFIGURATION, CRD, PROVIDER, XRD, build, build_file, saved_image, tar_of

from render.app.packages.package import inspect_path
from render.limits import LimitExceeded, Limits
from render.packages import Kind
from render.references import Digest, Reference, Source
from render.registry.oci import NotFound, Platform, digest_of
from render.xpkg.building.package_file import (
    InvalidPackageFile,
    PackageFile,
    default_file_name,
    format_package_file,
)

SOURCE = Source("file:", "package")
BASE = gzip.compress(tar_of({"package.yaml": f"---\n{PROVIDER}---\n{CRD}".encode()}), 1, mtime=0)
EXAMPLES = gzip.compress(tar_of({".up/examples.yaml": b"kind: Nop\n"}), 1, mtime=0)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_file_that_we_built_reads_back_as_the_same_image(tmp_path: Path) -> None:
    files = {"crossplane.yaml": CONFIGURATION, "apis.yaml": XRD, "examples/a.yaml": "kind: Nop\n"}
    image = build(tmp_path / "folder", files).image
    path = write(tmp_path / "package.xpkg", format_package_file(image))

    read = PackageFile(path, Limits())

    assert read.digest == image.digest
    assert read.manifest == image.manifest
    assert read.platform is None
    assert read.content(Reference(SOURCE)).data == image.data
    for descriptor, data in zip(read.manifest.layers, image.layers, strict=True):
        with read.blob(SOURCE, descriptor) as blob:
            assert blob.read() == data


def test_a_built_file_has_the_names_that_the_crossplane_cli_gives(tmp_path: Path) -> None:
    image = build(tmp_path / "folder", {"crossplane.yaml": PROVIDER}).image

    data = format_package_file(image)

    layer = f"{image.manifest.layers[0].digest.removeprefix('sha256:')}.tar.gz"
    listing = f'[{{"Config":"{image.manifest.config.digest}","RepoTags":null,"Layers":["{layer}"]}}]'
    assert data == tar_of(
        {
            image.manifest.config.digest: image.config,
            layer: image.layers[0],
            "manifest.json": listing.encode(),
        }
    )


def test_the_default_name_of_a_file_is_that_of_the_crossplane_cli() -> None:
    assert default_file_name("platform", Digest("sha256:" + "0123456789" * 6 + "abcd")) == (
        "platform-012345678901.xpkg"
    )


def test_a_file_of_the_crossplane_cli_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "cli.xpkg", saved_image([("base", BASE), ("upbound", EXAMPLES)]))

    found = inspect_path(path, Limits())

    assert (found.metadata.kind, found.metadata.name) == (Kind.PROVIDER, "provider-nop")
    assert [item.name for item in found.objects] == ["nops.example.org"]
    assert found.image is not None
    assert [layer.annotations for layer in found.image.manifest.layers] == [
        {"io.crossplane.xpkg": "base"},
        {"io.crossplane.xpkg": "upbound"},
    ]


def test_the_marked_layer_counts_even_on_top_of_a_runtime_image(tmp_path: Path) -> None:
    runtime = gzip.compress(tar_of({"usr/bin/provider": b"\x7fELF", "package.yaml": b"not this"}))
    config = {"os": "linux", "architecture": "arm64", "variant": "v8"}
    path = write(tmp_path / "cli.xpkg", saved_image([(None, runtime), ("base", BASE)], config))

    assert inspect_path(path, Limits()).metadata.name == "provider-nop"
    assert PackageFile(path, Limits()).platform == Platform("linux", "arm64", "v8")


def test_layers_that_are_not_compressed_are_not_called_so(tmp_path: Path) -> None:
    plain = gzip.decompress(BASE)
    path = write(tmp_path / "docker.tar", saved_image([("base", plain)]))

    read = PackageFile(path, Limits())

    assert [layer.media_type for layer in read.manifest.layers] == ["application/vnd.oci.image.layer.v1.tar"]
    assert inspect_path(path, Limits()).metadata.name == "provider-nop"


def test_a_file_without_marks_is_read_as_a_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "old.xpkg", saved_image([(None, EXAMPLES), (None, BASE)]))

    assert inspect_path(path, Limits()).metadata.name == "provider-nop"


def test_only_the_image_of_the_file_is_in_the_file(tmp_path: Path) -> None:
    read = PackageFile(build_file(tmp_path / "a.xpkg", {"crossplane.yaml": PROVIDER}), Limits())

    assert read.tags(SOURCE) == ()
    with pytest.raises(NotFound):
        read.content(Reference(SOURCE, digest=digest_of(b"another")))


LAYER = f"{digest_of(BASE).removeprefix('sha256:')}.tar.gz"
CONFIG: dict[str, Any] = {"config": {"Labels": {f"io.crossplane.xpkg:{digest_of(BASE)}": "base"}}}


def an_archive(
    *, listing: object = None, config: object = CONFIG, files: Mapping[str, bytes] | None = None
) -> bytes:
    """Return a package file, a part of it replaced."""
    entry = {"Config": "config.json", "RepoTags": None, "Layers": [LAYER]}
    described = listing if isinstance(listing, bytes) else json.dumps(listing or [entry]).encode()
    settings = config if isinstance(config, bytes) else json.dumps(config).encode()
    return tar_of({"config.json": settings, LAYER: BASE, "manifest.json": described, **(files or {})})


def listed(*, config: object = "config.json", layers: object = (LAYER,)) -> dict[str, object]:
    return {"Config": config, "RepoTags": None, "Layers": layers}


def labelled(labels: object, **more: object) -> dict[str, object]:
    return {"config": {"Labels": labels}, **more}


ONE_IMAGE = "its manifest.json does not describe exactly one image"
MARK = f"io.crossplane.xpkg:{digest_of(BASE)}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", ONE_IMAGE, id="empty"),
        pytest.param(b"hello, this is text" * 100, "not a tar archive", id="text"),
        pytest.param(gzip.compress(tar_of({})), "not a tar archive", id="gzip"),
        pytest.param(tar_of({"a": b"bc"})[:513], "not a tar archive", id="cut in a file"),
        pytest.param(tar_of({"a": b"b"})[:300], "not a tar archive", id="cut in a header"),
        pytest.param(tar_of({"a": b"b"}), ONE_IMAGE, id="no manifest.json"),
        pytest.param(an_archive(listing=b"{"), ONE_IMAGE, id="no JSON"),
        pytest.param(an_archive(listing=b"[" * 100_000), ONE_IMAGE, id="deep JSON"),
        pytest.param(an_archive(listing=b"[]"), ONE_IMAGE, id="no image"),
        pytest.param(an_archive(listing=[listed(), listed()]), ONE_IMAGE, id="two images"),
        pytest.param(an_archive(listing=listed()), ONE_IMAGE, id="no list"),
        pytest.param(an_archive(listing=["x"]), ONE_IMAGE, id="no object"),
        pytest.param(an_archive(listing=[listed(config="gone")]), ONE_IMAGE, id="missing config"),
        pytest.param(an_archive(listing=[listed(config=["x"])]), ONE_IMAGE, id="config of a wrong type"),
        pytest.param(an_archive(listing=[listed(layers=["gone"])]), ONE_IMAGE, id="missing layer"),
        pytest.param(an_archive(listing=[listed(layers=7)]), ONE_IMAGE, id="layers of a wrong type"),
        pytest.param(an_archive(listing=[listed(layers=LAYER)]), ONE_IMAGE, id="layers in one text"),
        pytest.param(an_archive(listing=[listed(layers=[[]])]), ONE_IMAGE, id="a layer of a wrong type"),
        pytest.param(an_archive(listing=[listed(layers=[])]), "it has no layers", id="no layers"),
        pytest.param(an_archive(config=b"\xff"), ONE_IMAGE, id="a config that is no JSON"),
        pytest.param(an_archive(config=[]), ONE_IMAGE, id="a config that is a list"),
        pytest.param(an_archive(config={"config": "x"}), ONE_IMAGE, id="a config within that is text"),
        pytest.param(an_archive(config=labelled(["x"])), ONE_IMAGE, id="labels of a wrong type"),
        pytest.param(an_archive(config=labelled({MARK: 1})), "a label that is not text", id="a number"),
        pytest.param(an_archive(config=labelled({MARK: "\ud800"})), "that is not text", id="half a character"),
        pytest.param(an_archive(config=labelled({MARK: "a\x1b[2J"})), "that is not text", id="escapes"),
        pytest.param(an_archive(config=labelled({}, os=["linux"])), "a platform", id="a list of systems"),
        pytest.param(an_archive(config=labelled({}, os="\ud800")), "a platform", id="half a system"),
        pytest.param(
            an_archive(config=labelled({f"io.crossplane.xpkg:{digest_of(b'')}": "base"})),
            "a label for a layer that it does not have",
            id="a label for another layer",
        ),
        pytest.param(
            tar_of([("manifest.json", b"[]"), ("manifest.json", b"[{}]")]),
            "two different files 'manifest.json'",
            id="two of a name",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_package_is_refused_with_the_reason(tmp_path: Path, data: bytes, why: str) -> None:
    path = write(tmp_path / "bad.xpkg", data)

    with pytest.raises(InvalidPackageFile) as caught:
        PackageFile(path, Limits())

    assert why in " ".join(caught.value.why)
    assert caught.value.exit_code == 2


def header(name: str, size: bytes) -> bytes:
    """Return a tar header that claims any size."""
    block = bytearray(512)
    block[: len(name)] = name.encode()
    block[124 : 124 + len(size)] = size
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    return bytes(block)


@pytest.mark.parametrize(
    "size", [b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"\x80" + bytes(3) + b"\x7f" * 8, b"99999999999", b"-1"]
)  # fmt: skip
def test_a_size_beyond_the_file_is_refused_at_once(tmp_path: Path, size: bytes) -> None:
    path = write(tmp_path / "bad.xpkg", header("manifest.json", size) + b"[]")

    with pytest.raises(InvalidPackageFile):
        PackageFile(path, Limits())


def test_too_many_files_or_layers_are_refused_with_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.xpkg", an_archive(listing=[listed(layers=[LAYER] * 10)]))

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LAYERS"):
        PackageFile(path, Limits(layers=9))
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_TAR_MEMBERS"):
        PackageFile(path, Limits(tar_members=2))


def test_a_listing_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.xpkg", an_archive())

    with pytest.raises(InvalidPackageFile):
        PackageFile(path, Limits(manifest_bytes=20))


@pytest.mark.parametrize("cut", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, cut: float) -> None:
    whole = saved_image([("base", BASE), ("upbound", EXAMPLES)])
    path = write(tmp_path / "cut.xpkg", whole[: int(len(whole.rstrip(b"\0")) * cut)])

    with pytest.raises(InvalidPackageFile):
        PackageFile(path, Limits())


def test_a_link_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "link.xpkg"
    link.symlink_to(build_file(tmp_path / "a.xpkg", {"crossplane.yaml": PROVIDER}))

    with pytest.raises(Exception, match="cannot be read") as caught:
        PackageFile(link, Limits())

    assert getattr(caught.value, "exit_code", None) == 2


def test_the_same_layer_twice_is_stored_once(tmp_path: Path) -> None:
    path = write(tmp_path / "twice.xpkg", an_archive(listing=[listed(layers=[LAYER, LAYER])], config={}))

    layers: Sequence[object] = PackageFile(path, Limits()).manifest.layers

    assert len(layers) == 2
