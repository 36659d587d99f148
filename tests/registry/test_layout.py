"""OCI layouts: images are read back under their names, and changed bytes are refused."""

import json
import threading
from pathlib import Path

import pytest

from render.limits import LimitExceeded, Limits
from render.references import Reference, Source, parse_reference
from render.registry.layout import InvalidLayout, Layout, TamperedLayout
from render.registry.oci import OCI_MANIFEST, Descriptor, NotFound, digest_of

APP = parse_reference("r.example/acme/app:v1.0.0")
NAME = "org.opencontainers.image.ref.name"


def filled(folder: Path, *references: Reference, data: bytes = b"{}") -> Layout:
    """Return a layout with one image under some names."""
    layout = Layout(folder, Limits())
    for reference in references:
        layout.add_image(data, OCI_MANIFEST, reference)
    return layout


def write_index(folder: Path, text: str, version: str = "1.0.0") -> Layout:
    """Write the two files of a layout by hand."""
    folder.mkdir(exist_ok=True)
    (folder / "oci-layout").write_text(json.dumps({"imageLayoutVersion": version}))
    (folder / "index.json").write_text(text)
    return Layout(folder, Limits())


def test_an_image_is_found_by_its_name_and_by_its_digest(tmp_path: Path) -> None:
    layout = filled(tmp_path, APP, data=b"one")

    by_tag = layout.content(APP)
    by_digest = layout.content(Reference(APP.source, "v9.9.9", digest_of(b"one")))

    assert (by_tag.data, by_tag.media_type, by_tag.digest) == (b"one", OCI_MANIFEST, digest_of(b"one"))
    assert by_digest.data == b"one"


def test_a_layout_looks_the_same_whatever_came_first(tmp_path: Path) -> None:
    other = parse_reference("r.example/acme/base:v2.0.0")
    filled(tmp_path / "a", APP, other)
    filled(tmp_path / "b", other, APP)

    texts = [(tmp_path / name / "index.json").read_bytes() for name in "ab"]

    assert texts[0] == texts[1]
    assert (tmp_path / "a" / "oci-layout").read_text() == '{"imageLayoutVersion":"1.0.0"}\n'


def test_tags_of_a_source_are_sorted_and_its_own(tmp_path: Path) -> None:
    names = ("acme/app:v2", "acme/app:v1", "acme/app-2:v3", "acme/app/more:v4")
    layout = filled(tmp_path, *(parse_reference(f"r.example/{name}") for name in names))

    assert layout.tags(APP.source) == ("v1", "v2")


def test_a_name_moves_to_the_newer_image(tmp_path: Path) -> None:
    layout = filled(tmp_path, APP, data=b"old")

    layout.add_image(b"new", OCI_MANIFEST, APP)

    assert layout.content(APP).data == b"new"
    assert len(layout.images()) == 1


def test_an_image_added_without_a_name_keeps_the_names_it_has(tmp_path: Path) -> None:
    layout = filled(tmp_path, APP, data=b"one")

    layout.add_image(b"one", OCI_MANIFEST, None)
    layout.add_image(b"one", OCI_MANIFEST, None)

    assert layout.content(APP).data == b"one"
    assert [reference for reference, _ in layout.images()] == [None, APP]


def test_bare_tags_belong_to_the_prefix_of_the_layout(tmp_path: Path) -> None:
    layout = filled(tmp_path, APP)
    index = json.loads((tmp_path / "index.json").read_text())
    index["manifests"][0]["annotations"][NAME] = "v3.0.0"
    write_index(tmp_path, json.dumps(index))

    named = Layout.for_prefix(tmp_path, Limits(), "r.example/acme/app")
    unnamed = Layout.for_prefix(tmp_path, Limits(), "r.example")

    assert named.tags(APP.source) == ("v3.0.0",)
    assert named.content(Reference(APP.source, "v3.0.0")).data == b"{}"
    assert [reference for reference, _ in unnamed.images()] == [None]
    assert [reference for reference, _ in layout.images()] == [None]


def test_the_error_for_a_missing_image_lists_existing_ones(tmp_path: Path) -> None:
    layout = filled(tmp_path, APP)

    with pytest.raises(NotFound) as no_tag:
        layout.content(Reference(APP.source, "v2.0.0"))
    with pytest.raises(NotFound) as no_source:
        layout.tags(Source("r.example", "acme/base"))
    with pytest.raises(NotFound) as no_blob:
        layout.content(Reference(APP.source, digest=digest_of(b"unknown")))

    assert "has no r.example/acme/app:v2.0.0" in str(no_tag.value)
    assert "it contains r.example/acme/app:v1.0.0" in str(no_tag.value)
    assert "has no r.example/acme/base" in str(no_source.value)
    assert digest_of(b"unknown") in str(no_blob.value)


@pytest.mark.parametrize("change", [b"other", b"layer and more", b""])
def test_a_changed_blob_is_not_given_out(tmp_path: Path, change: bytes) -> None:
    layout = filled(tmp_path, APP)
    digest = layout.add_blob(b"layer")
    (tmp_path / "blobs" / "sha256" / digest.removeprefix("sha256:")).write_bytes(change)

    with pytest.raises(TamperedLayout, match=digest):
        layout.blob(APP.source, Descriptor("", digest, 5))


@pytest.mark.parametrize("size", [4, 6])
def test_a_blob_of_another_size_than_its_descriptor_says_is_not_given_out(tmp_path: Path, size: int) -> None:
    layout = filled(tmp_path, APP)
    digest = layout.add_blob(b"layer")

    with pytest.raises(TamperedLayout, match=f"of {size} bytes"):
        layout.blob(APP.source, Descriptor("", digest, size))


def test_building_again_repairs_a_broken_blob(tmp_path: Path) -> None:
    layout = filled(tmp_path, APP)
    digest = layout.add_blob(b"layer")
    (tmp_path / "blobs" / "sha256" / digest.removeprefix("sha256:")).write_bytes(b"lay")

    layout.add_blob(b"layer")

    with layout.blob(APP.source, Descriptor("", digest, 5)) as file:
        assert file.read() == b"layer"


def test_a_link_in_the_place_of_a_blob_is_not_followed(tmp_path: Path, canary: str) -> None:
    layout = filled(tmp_path, APP)
    (tmp_path / "secret").write_text(canary)
    digest = digest_of(canary.encode())
    blob = tmp_path / "blobs" / "sha256" / digest.removeprefix("sha256:")
    blob.symlink_to(tmp_path / "secret")

    with pytest.raises(NotFound, match="symbolic link"):
        layout.content(Reference(APP.source, digest=digest))


def test_the_error_for_a_large_blob_names_the_limit(tmp_path: Path) -> None:
    filled(tmp_path, APP, data=b"m" * 2_000)
    layout = Layout(tmp_path, Limits(manifest_bytes=1_000, layer_bytes=10))
    layer = layout.add_blob(b"x" * 11)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_MANIFEST_BYTES"):
        layout.content(APP)
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LAYER_BYTES"):
        layout.blob(APP.source, Descriptor("", layer, 11))


def test_an_index_that_is_too_large_is_refused_by_the_name_of_its_limit(tmp_path: Path) -> None:
    filled(tmp_path, APP)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_MANIFEST_BYTES"):
        Layout(tmp_path, Limits(manifest_bytes=20)).images()


@pytest.mark.parametrize(
    "marker", ["", "{", "[]", "{}", '"1.0.0"', "[" * 1024, '{"imageLayoutVersion": "2.0.0"}']
)
def test_a_folder_without_the_marks_of_a_layout_is_refused(tmp_path: Path, marker: str) -> None:
    layout = write_index(tmp_path, '{"manifests": []}')
    (tmp_path / "oci-layout").write_text(marker)

    with pytest.raises(InvalidLayout, match="OCI image layout") as refusal:
        layout.images()

    assert refusal.value.exit_code == 2


def test_an_empty_or_missing_folder_is_no_layout(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InvalidLayout):
            Layout(folder, Limits()).images()


def test_an_entry_whose_name_is_no_reference_has_no_name(tmp_path: Path) -> None:
    entry = {"mediaType": OCI_MANIFEST, "digest": digest_of(b""), "size": 0}
    names = ["https://r.example/a:v1", "a\u001b[2J", "r.example/acme/app"]
    manifests = [{**entry, "annotations": {NAME: name}} for name in names]
    layout = write_index(tmp_path, json.dumps({"manifests": manifests}))

    assert [reference for reference, _ in layout.images()] == [None, None, None]


def test_many_can_add_at_once_and_none_is_lost(tmp_path: Path) -> None:
    references = [parse_reference(f"r.example/acme/app:v{number}") for number in range(16)]
    threads = [threading.Thread(target=filled, args=(tmp_path, reference)) for reference in references]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(Layout(tmp_path, Limits()).tags(APP.source)) == 16


def test_of_many_packages_the_nearest_are_named(tmp_path: Path) -> None:
    others = [parse_reference(f"r.example/acme/a{i}:v1.0.0") for i in range(9)]
    layout = filled(tmp_path, *others, parse_reference("r.example/acme/provider-store:v1.0.0"))

    with pytest.raises(NotFound) as caught:
        layout.tags(Source("r.example", "acme/provider-stor"))

    assert caught.value.why == ("it contains r.example/acme/provider-store:v1.0.0",)
    assert caught.value.next == ("did you mean r.example/acme/provider-store?",)
