"""Archives of layouts: read in place."""

import io
import tarfile
from pathlib import Path

import pytest
from rig.builders.packages import tar_of

from render.errors import RenderError
from render.limits import Limits
from render.references import Reference, parse_reference
from render.registry.copying.archive import ArchivedLayout, InvalidArchive
from render.registry.layout import MARKER_TEXT, describe_image, format_images
from render.registry.oci import OCI_MANIFEST, Content, Descriptor, digest_of
from render.system.files import InvalidFile

BLOB = bytes(range(256)) * 3
NAME = parse_reference("xpkg.example.org/acme/app:v1.0.0")
MANIFEST = b'{"schemaVersion":2,"config":{},"layers":[]}'


def archive(path: Path, **more: bytes) -> Path:
    """Write an archive, as other tools do it: with another order and a dot in front."""
    content = Content(MANIFEST, OCI_MANIFEST, digest_of(MANIFEST))
    files = {
        "./oci-layout": MARKER_TEXT,
        "./index.json": format_images([describe_image(content, NAME)]),
        f"./blobs/sha256/{digest_of(BLOB)[7:]}": BLOB,
        f"./blobs/sha256/{content.digest[7:]}": MANIFEST,
    }
    path.write_bytes(tar_of({**files, **more}))
    return path


def test_an_archive_answers_like_a_layout(tmp_path: Path) -> None:
    layout = ArchivedLayout.read(archive(tmp_path / "a.tar"), Limits())

    assert layout.tags(NAME.source) == ("v1.0.0",)
    assert layout.content(NAME).data == MANIFEST
    assert layout.content(Reference(NAME.source, digest=digest_of(MANIFEST))).data == MANIFEST
    with layout.blob(NAME.source, Descriptor("", digest_of(BLOB), len(BLOB))) as file:
        assert file.read() == BLOB
        file.seek(-10, io.SEEK_END)
        assert file.read() == BLOB[-10:]
    assert layout.blob_size(digest_of(BLOB)) == len(BLOB)
    assert layout.blob_size(digest_of(b"other")) is None


def test_links_and_odd_members_are_no_blobs(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo(f"blobs/sha256/{digest_of(BLOB)[7:]}")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(link)

    layout = ArchivedLayout.read(path, Limits())

    assert layout.blob_size(digest_of(BLOB)) is None
    with pytest.raises(InvalidFile):
        layout.open_blob(digest_of(BLOB))


def test_an_archive_that_is_none_or_has_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("x" * 2_000)

    with pytest.raises(InvalidArchive):
        ArchivedLayout.read(tmp_path / "text", Limits())
    with pytest.raises(RenderError, match="too many files"):
        ArchivedLayout.read(archive(tmp_path / "a.tar"), Limits(archive_members=3))
