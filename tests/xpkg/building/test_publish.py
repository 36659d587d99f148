"""Package files become one reference: an image, or an index that Crossplane reads in the right place."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO

import pytest
from rig.builders.packages import CONFIGURATION, PROVIDER, build_file

from render.limits import LimitExceeded, Limits
from render.references import Reference, Source
from render.registry.oci import (
    OCI_INDEX,
    Content,
    Descriptor,
    Index,
    NotFound,
    Platform,
    digest_of,
    parse_content,
)
from render.xpkg.building.package_file import PackageFile
from render.xpkg.building.publish import InvalidPush, Publication, plan_publication
from render.xpkg.image import fetch_image
from render.xpkg.inspect import inspect_image

SOURCE = Source("xpkg.example.org", "acme/provider")


@dataclass
class FakeRegistry:
    """Takes what is pushed, in order, and gives it back."""

    log: list[str] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    contents: dict[str, Content] = field(default_factory=dict)

    def push_blob(self, descriptor: Descriptor, file: IO[bytes]) -> None:
        data = file.read()
        assert (digest_of(data), len(data)) == (descriptor.digest, descriptor.size)
        self.blobs[descriptor.digest] = data
        self.log.append("blob")

    def push_content(self, content: Content, tag: str | None = None) -> None:
        for digest in _mentioned(content):
            assert digest in self.blobs or digest in self.contents, "it names what is not there yet"
        self.contents[content.digest] = content
        self.log.append("content")
        if tag:
            self.contents[tag] = content
            self.log.append(f"tag {tag}")

    def tags(self, source: Source) -> tuple[str, ...]:
        assert source == SOURCE
        return ()

    def content(self, reference: Reference) -> Content:
        key = reference.digest or reference.tag or ""
        if key not in self.contents:
            raise NotFound(f"no {key}")
        return self.contents[key]

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        assert source == SOURCE
        return BytesIO(self.blobs[descriptor.digest])


def _mentioned(content: Content) -> list[str]:
    document = parse_content(content, Limits())
    if isinstance(document, Index):
        return [child.digest for child in document.manifests]
    return [document.config.digest, *(layer.digest for layer in document.layers)]


def a_file(folder: Path, platform: str = "", meta: str = PROVIDER) -> PackageFile:
    path = folder / f"{platform.replace('/', '-') or 'none'}.xpkg"
    return PackageFile(build_file(path, {"crossplane.yaml": meta}, platform=platform), Limits())


def plan(*files: PackageFile, extensions: Path | None = None) -> Publication:
    return plan_publication(files, extensions, Limits())


def index_of(publication: Publication) -> Index:
    document = parse_content(publication.content, Limits())
    assert isinstance(document, Index)
    return document


def test_one_file_is_pushed_as_it_is(tmp_path: Path) -> None:
    file, registry = a_file(tmp_path), FakeRegistry()

    planned = plan(file)
    planned.push(SOURCE, registry, "v1")

    assert planned.content.digest == file.digest
    assert registry.log == ["blob", "blob", "content", "tag v1"]
    assert registry.content(Reference(SOURCE, "v1")).data == planned.content.data


@pytest.mark.parametrize("platform", ["", "linux/amd64", "linux/arm64"])
def test_one_file_needs_no_platform(tmp_path: Path, platform: str) -> None:
    file = a_file(tmp_path, platform)

    assert plan(file).content.digest == file.digest


def test_several_files_become_an_index_that_crossplane_reads(tmp_path: Path) -> None:
    arm, amd, registry = a_file(tmp_path, "linux/arm64"), a_file(tmp_path, "linux/amd64"), FakeRegistry()

    planned = plan(arm, amd)
    planned.push(SOURCE, registry, "v1")

    assert planned.content.media_type == OCI_INDEX
    assert [child.platform for child in index_of(planned).manifests] == [
        Platform("linux", "arm64"),
        Platform("linux", "amd64"),
    ]
    image = fetch_image(registry, Reference(SOURCE, "v1"), Limits())
    assert (image.digest, image.manifest_digest) == (planned.content.digest, amd.digest)
    found = inspect_image("it", registry, Reference(SOURCE, "v1"), Limits())
    assert found.metadata.name == "provider-nop"
    assert registry.log[-2:] == ["content", "tag v1"]


@pytest.mark.parametrize("platforms", [[""], ["linux/amd64"], ["linux/arm64", "linux/amd64"]])
def test_extensions_come_last_where_crossplane_does_not_take_them_for_the_package(
    tmp_path: Path, platforms: list[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/readme.md").write_text("hello")
    files, registry = [a_file(tmp_path, platform) for platform in platforms], FakeRegistry()

    planned = plan(*files, extensions=tmp_path / "docs")
    planned.push(SOURCE, registry, "v1")

    last = index_of(planned).manifests[-1]
    assert (last.platform, last.annotations) == (None, {"io.crossplane.xpkg": "xpkg-extensions"})
    image = fetch_image(registry, Reference(SOURCE, "v1"), Limits())
    assert image.manifest_digest == files[-1].digest
    assert image.extensions == last


def test_extensions_may_be_one_file(tmp_path: Path) -> None:
    (tmp_path / "icon.svg").write_text("<svg/>")

    planned = plan(a_file(tmp_path), extensions=tmp_path / "icon.svg")

    assert planned.extensions is not None
    assert b"icon.svg" in planned.extensions.layers[0]


def test_the_same_files_make_the_same_index(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("b", "a"):
        (tmp_path / "docs" / name).write_text(name)
    files = [a_file(tmp_path, platform) for platform in ("linux/amd64", "linux/arm64")]

    first, again = (plan(*files, extensions=tmp_path / "docs") for _ in range(2))

    assert first.content == again.content


@pytest.mark.parametrize(
    ("platforms", "what", "why"),
    [
        (
            ["linux/arm64", "linux/s390x"],
            "none of these files is for linux/amd64",
            "linux/arm64, linux/s390x",
        ),
        (["linux/amd64", ""], "cannot share one reference", "linux/amd64, none"),
        (["", ""], "cannot share one reference", "none, none"),
        (["linux/amd64", "linux/amd64"], "cannot share one reference", "linux/amd64, linux/amd64"),
        (["windows/amd64", "linux/arm64"], "none of these files is for linux/amd64", "windows/amd64"),
    ],
)
def test_files_that_would_make_an_unusable_index_are_refused(
    tmp_path: Path, platforms: list[str], what: str, why: str
) -> None:
    files = [a_file(tmp_path, platform) for platform in platforms]

    with pytest.raises(InvalidPush, match=what) as caught:
        plan(*files)

    assert why in caught.value.why[0]
    assert caught.value.exit_code == 2


def test_a_variant_of_amd64_is_amd64_to_crossplane(tmp_path: Path) -> None:
    variant = a_file(tmp_path, "linux/amd64")
    variant.config["variant"] = "v2"

    planned = plan(variant, a_file(tmp_path, "linux/arm64"))

    assert len(index_of(planned).manifests) == 2


def test_extensions_do_not_go_with_an_image_for_another_platform_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    with pytest.raises(InvalidPush, match="none of these files is for linux/amd64"):
        plan(a_file(tmp_path, "linux/arm64"), extensions=tmp_path / "a.txt")


def test_an_empty_folder_of_extensions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()

    with pytest.raises(InvalidPush, match="is empty"):
        plan(a_file(tmp_path, meta=CONFIGURATION), extensions=tmp_path / "docs")


def test_extensions_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LAYER_BYTES"):
        plan_publication([a_file(tmp_path)], tmp_path / "a.txt", Limits(layer_bytes=4))
