"""Packages made to deceive or to exhaust: each is refused with a clear error, or has no effect."""

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rig.builders.images import (
    CRD,
    END,
    META,
    REFERENCE,
    Ran,
    Shelf,
    entry,
    gzipped,
    gzipped_zeros,
    header,
    inspect,
    long_name,
    package_layer,
    padded,
    pax,
    run_command,
    shelf_of,
)
from rig.registry.http_server import Request, answer
from rig.registry.in_memory import MiniRegistry

from render.errors import RenderError
from render.limits import MIB, LimitExceeded, Limits
from render.packages import PackagedObject
from render.registry.oci import OCI_MANIFEST
from render.xpkg.contents import InvalidContents
from render.xpkg.image import InvalidImage
from render.xpkg.inspect import Inspection, inspect_image
from render.xpkg.layers import InvalidLayer
from render.xpkg.metadata import InvalidMetadata

LIMITS = Limits()
OTHER = META.replace(b"platform", b"other")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def read(shelf: Shelf, limits: Limits = LIMITS) -> Inspection:
    return inspect_image(str(REFERENCE), shelf, REFERENCE, limits)


def assert_refused(ran: Ran, *facts: str, megabytes: int = 200) -> None:
    """Exit code 1, three parts, no traceback, nothing on stdout, nothing unprintable, and little memory."""
    assert ran.code == 1, ran
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert "\n  why:  " in ran.err
    assert "\n  next: " in ran.err
    assert "Traceback" not in ran.err
    assert not _CONTROL.search(ran.err)
    assert all(fact in ran.err for fact in facts), ran.err
    assert ran.megabytes < megabytes


@pytest.fixture(scope="module")
def zeros() -> bytes:
    """500 MB in a gzip member of half a megabyte."""
    bomb = gzipped_zeros(500_000_000)
    assert len(bomb) < 3_000_000
    return bomb


class TestTwoCandidates:
    def test_a_second_package_yaml_in_the_archive_is_refused(self, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(entry("package.yaml", META), entry("package.yaml", OTHER), END), marked=[0])

        with pytest.raises(InvalidImage, match=r"no single package\.yaml"):
            read(shelf)
        assert_refused(inspect(shelf, tmp_path), "has no single package.yaml")

    @pytest.mark.parametrize("marked", [[0], []])
    @pytest.mark.parametrize("second", ["package.yaml", "./package.yaml", "x/package.yaml", "package.yaml/"])
    def test_wherever_the_second_one_lies(self, marked: Sequence[int], second: str) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(entry("package.yaml", META), entry(second, OTHER), END), marked=marked)

        with pytest.raises(InvalidImage):
            read(shelf)

    @pytest.mark.parametrize("marked", [[0], []])
    def test_the_only_one_is_read_in_any_folder(self, marked: Sequence[int]) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(entry("a/", kind=b"5"), entry("a/b/package.yaml", META), END), marked=marked)

        found = read(shelf)

        assert found.metadata.name == "platform"

    def test_two_layers_that_claim_to_be_the_package_are_refused(self, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META), package_layer(OTHER), marked=[0, 1])

        with pytest.raises(InvalidImage, match="2 package layers"):
            read(shelf)
        assert_refused(inspect(shelf, tmp_path), "2 package layers")

    def test_an_upper_layer_that_whites_the_file_out_leaves_none(self, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META), gzipped(entry(".wh.package.yaml"), END))

        with pytest.raises(InvalidImage, match=r"has no package\.yaml"):
            read(shelf)
        assert_refused(inspect(shelf, tmp_path), "has no package.yaml")

    def test_a_layer_for_other_tools_is_not_looked_into(self) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META), package_layer(OTHER), marked=[0])

        found = read(shelf)

        assert found.metadata.name == "platform"

    # Each of these is one file to Go's reader, and another or none to a reader that differs.
    @pytest.mark.parametrize(
        "archive",
        [
            pytest.param(
                pax({"path": "package.yaml"}) + pax({"mtime": "1"}) + entry("README", OTHER),
                id="of two extended headers the second counts alone",
            ),
            pytest.param(
                pax({"path": "package.yaml"}) + pax({"comment": "x"}, b"g") + entry("README", OTHER),
                id="a global header ends what was said before it",
            ),
            pytest.param(
                pax({"path": "package.yaml"}, b"g", "pax_global_header") + entry("README", OTHER),
                id="a global path names only itself",
            ),
            pytest.param(
                long_name(b"README") + pax({"path": "package.yaml"}) + entry("x", OTHER),
                id="a long name beats an extended one",
            ),
            pytest.param(
                header("old/", 512, b"\0") + entry("package.yaml", META) + END,
                id="a folder of old has no content to hide a file in",
            ),
            pytest.param(
                long_name(b"package.yaml\0.txt") + entry("x", META),
                id="a long name ends at its zero byte",
            ),
            pytest.param(
                pax({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "package.yaml"})
                + entry("README", b"0\n"),
                id="a sparse file has a name of its own",
            ),
            pytest.param(header("x", 0, b"S", magic=b"ustar  \0"), id="a sparse file of old"),
            pytest.param(bytes(512) + entry("package.yaml", OTHER), id="one empty block is no end"),
            pytest.param(
                pax({"path": b"package.yaml\0x"}) + entry("x", OTHER), id="a zero byte in an extended name"
            ),
            pytest.param(
                header("package.yaml", magic=b"ustar  \0", prefix=b"folder\0"),
                id="a prefix where GNU has none",
            ),
        ],
    )
    @pytest.mark.parametrize("marked", [[0], []])
    def test_what_readers_see_differently_is_read_as_go_reads_it_or_refused(
        self, archive: bytes, marked: Sequence[int]
    ) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(archive, END), marked=marked)

        try:
            name = read(shelf).metadata.name
        except (InvalidImage, InvalidLayer):
            name = "refused"

        assert name in ("platform", "refused")

    # Crossplane stops reading behind the content of package.yaml, so it never sees the end of the stream.
    @pytest.mark.parametrize("marked", [[0], []])
    @pytest.mark.parametrize("cut", [1, 4, 8])
    def test_a_gzip_stream_without_its_trailer_is_read_as_crossplane_reads_it(
        self, cut: int, marked: Sequence[int]
    ) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META)[:-cut], marked=marked)

        found = read(shelf)

        assert found.metadata.name == "platform"


class TestNoRegularFile:
    @pytest.mark.parametrize("marked", [[0], []])
    @pytest.mark.parametrize(
        "kind", [b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"S", b"g", b"V"], ids=lambda kind: kind.decode()
    )
    def test_anything_but_a_file_is_refused(self, kind: bytes, marked: Sequence[int]) -> None:
        shelf = Shelf()
        data = b"" if kind == b"g" else META
        shelf.add_image(gzipped(entry("package.yaml", data, kind, link=b"/etc/passwd"), END), marked=marked)

        with pytest.raises((InvalidImage, InvalidLayer)):
            read(shelf)

    @pytest.mark.parametrize("target", [b"/etc/passwd", b"../../../../../../etc/passwd"])
    def test_a_link_to_a_file_of_the_system_shows_nothing_of_it(self, target: bytes, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(entry("package.yaml", b"", b"2", link=target), END))

        ran = inspect(shelf, tmp_path)

        assert_refused(ran, "package.yaml is not a plain file")
        assert "root:" not in ran.err


class TestBombs:
    def test_half_a_gigabyte_of_zeros_as_package_yaml(self, zeros: bytes, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(header("package.yaml", 500_000_000)) + zeros, marked=[0])

        ran = inspect(shelf, tmp_path)

        assert_refused(ran, "16 MiB", "XPLOCK_LIMIT_DOCUMENT_BYTES", megabytes=100)

    def test_as_a_file_beside_it_and_as_a_second_layer(self, zeros: bytes, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(header("zeros", 1_000_000_000)) + zeros + zeros, package_layer(META))

        ran = inspect(shelf, tmp_path)

        assert_refused(ran, "512 MiB", "XPLOCK_LIMIT_UNPACKED_BYTES", megabytes=100)

    def test_as_an_unused_image_configuration(self, zeros: bytes) -> None:
        shelf = Shelf()
        shelf.add_image(package_layer(META), config=zeros)

        found = read(shelf)

        assert found.image is not None
        assert found.image.manifest.config.digest not in shelf.asked

    def test_as_a_manifest_that_is_compressed_on_the_way(self, zeros: bytes, tmp_path: Path) -> None:
        def bomb(_: Request) -> object:
            return answer(200, zeros, {"Content-Type": OCI_MANIFEST, "Content-Encoding": "gzip"})

        with MiniRegistry() as registry:
            registry.override("/v2/x/y/manifests/v1", bomb)  # type: ignore[arg-type]
            ran = run_command(
                "package", "inspect", f"{registry.host}/x/y:v1",
                folder=tmp_path, environ={"XPLOCK_PLAIN_HTTP": registry.host},
            )  # fmt: skip

        assert_refused(ran, megabytes=100)

    def test_two_hundred_thousand_empty_files(self, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(entry("x") * 200_001, entry("package.yaml", META), END), marked=[0])

        with pytest.raises(LimitExceeded):
            read(shelf)
        assert_refused(inspect(shelf, tmp_path), "10,000 tar members", "XPLOCK_LIMIT_TAR_MEMBERS")

    @pytest.mark.parametrize("size_field", [b"\x80" + bytes(3) + b"\x7f" + b"\xff" * 7, b"777777777777"])
    def test_a_header_that_claims_all_disks_of_the_world(self, size_field: bytes, tmp_path: Path) -> None:
        shelf = Shelf()
        shelf.add_image(gzipped(header("x", size_field=size_field), entry("package.yaml", META)), marked=[0])

        assert_refused(inspect(shelf, tmp_path), "ends in the middle of a file")

    def test_one_byte_more_than_200_mib(self, tmp_path: Path) -> None:
        document = gzipped(b"---\n", b"#" * (MIB - 5), b"\n")
        shelf = Shelf()
        shelf.add_image(
            gzipped(header("package.yaml", 200 * MIB + 1)) + document * 200 + gzipped(b"#"), marked=[0]
        )

        ran = inspect(shelf, tmp_path)

        assert_refused(
            ran, "package.yaml is too large", "200 MiB", "XPLOCK_LIMIT_PACKAGE_BYTES", megabytes=100
        )

    @pytest.mark.parametrize(
        ("package_yaml", "said"),
        [
            pytest.param(lambda: b"---\n" * 3_000_000, "XPLOCK_LIMIT_DOCUMENTS", id="separators"),
            pytest.param(lambda: b"x\n---\n" * 1_000_000, "XPLOCK_LIMIT_DOCUMENTS", id="documents"),
            pytest.param(
                lambda: b"{a: [" + b"{}," * 5_000_000 + b"]}", "XPLOCK_LIMIT_DOCUMENT_NODES", id="values"
            ),
            pytest.param(
                lambda: b"[" + b"".join(b"&a%d x," % i for i in range(200_000)) + b"]",
                "XPLOCK_LIMIT_FILE_NODES",
                id="anchors",
            ),
            pytest.param(lambda: b"a\n" * 8_000_000, "found text", id="lines of text"),
            pytest.param(lambda: b"##\n" * 5_000_000 + b"[]", "found a list", id="lines of comment"),
            pytest.param(lambda: b"[" * 100_000, "nested deeper than 500 levels", id="depth"),
        ],
    )
    def test_a_package_yaml_that_takes_all_time_and_memory(
        self, package_yaml: Callable[[], bytes], said: str, tmp_path: Path
    ) -> None:
        shelf = shelf_of(package_yaml())

        ran = inspect(shelf, tmp_path)

        assert_refused(ran, said)


# Known weaknesses of PyYAML: a document, and the error for it as metadata.
_MERGES = b"a0: &a0 {x: 1}\n" + b"".join(
    b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (i, i, i - 1, i - 1) for i in range(1, 26)
)
_LAUGHS = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [%b]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12)
)
WEAPONS = {
    "brackets": (b"x: " + b"[" * 100_000 + b"]" * 100_000 + b"\n", "nested deeper than 50 levels"),
    "merges": (_MERGES, "anchors are not allowed"),
    "aliases": (_LAUGHS, "anchors are not allowed"),
    "duplicate keys": (b"x: 1\nx: 2\n", "the key 'x' stands here a second time"),
    "number": (
        b"spec: {dependsOn: [{provider: h.example/a, version: " + b"9" * 5_000 + b"}]}\n",
        "found inf;",
    ),
    "float": (b"spec: {dependsOn: [{provider: h.example/a, version: 1.10}]}\n", "found 1.1;"),
    "sexagesimal": (b"spec: {dependsOn: [{provider: h.example/a, version: 1:30}]}\n", "'1:30' is not"),
    "octal": (b"spec: {dependsOn: [{provider: h.example/a, version: 0123}]}\n", "found 83;"),
    "boolean": (b"spec: {dependsOn: [{provider: h.example/a, version: no}]}\n", "found false;"),
    "binary": (b"x: !!binary aGVsbG8=\n", "the tag tag:yaml.org,2002:binary is not allowed"),
    "set": (b"x: !!set {a, b}\n", "the tag tag:yaml.org,2002:set is not allowed"),
    "omap": (b"x: !!omap [a: 1]\n", "the tag tag:yaml.org,2002:omap is not allowed"),
    "recursion": (b"x: &a [*a]\n", "anchors are not allowed"),
}
# These are no object, so that they cannot stand below a head that names one.
BARE_WEAPONS = {
    "date": (b"2001-99-99\n", "found text"),
    "UTF-16": (("\ufeff" + META.decode()).encode("utf-16-le"), "byte 0xff is not UTF-8"),
}


class TestHostileYaml:
    @pytest.mark.parametrize("row", WEAPONS)
    def test_as_metadata_it_is_refused(self, row: str, tmp_path: Path) -> None:
        weapon, said = WEAPONS[row]

        ran = inspect(shelf_of(META + weapon), tmp_path)

        assert_refused(ran, said)

    @pytest.mark.parametrize("row", BARE_WEAPONS)
    def test_as_the_only_document_it_is_refused(self, row: str, tmp_path: Path) -> None:
        weapon, said = BARE_WEAPONS[row]

        ran = inspect(shelf_of(weapon), tmp_path)

        assert_refused(ran, said)

    @pytest.mark.parametrize("row", BARE_WEAPONS)
    def test_as_a_document_that_names_no_object_it_is_refused(self, row: str) -> None:
        weapon, said = BARE_WEAPONS[row]

        with pytest.raises(InvalidContents) as refused:
            read(shelf_of(b"\n---\n".join([META, weapon])))

        assert said in str(refused.value)

    @pytest.mark.parametrize("row", WEAPONS)
    def test_below_the_name_of_an_object_it_has_no_effect(self, row: str) -> None:
        weapon = CRD + WEAPONS[row][0]

        found = read(shelf_of(b"\n---\n".join([META, weapon, CRD.replace(b"things", b"others")])))

        assert found.metadata.name == "platform"
        assert found.objects[-1].name == "others.example.org"

    def test_all_of_them_beside_the_metadata_together(self, tmp_path: Path) -> None:
        weapons = [CRD + weapon for weapon, _ in WEAPONS.values()]

        ran = inspect(shelf_of(b"\n---\n".join([META, *weapons])), tmp_path)

        assert (ran.code, ran.err) == (0, "")
        assert "platform" in ran.out
        assert ran.megabytes < 200

    def test_a_date_that_cannot_be_is_text_as_it_is_to_kubernetes(self) -> None:
        found = read(shelf_of(META.replace(b"platform", b"2001-99-99")))

        assert found.metadata.name == "2001-99-99"


class TestWrongOrDoubleMetadata:
    @pytest.mark.parametrize(
        ("package_yaml", "said"),
        [
            pytest.param(CRD, "no document has the group meta.pkg.crossplane.io", id="no metadata"),
            pytest.param(b"", "no document has the group meta.pkg.crossplane.io", id="nothing"),
            pytest.param(
                META + b"---\n" + OTHER, "2 documents describe the package, at lines 1, 6", id="twice"
            ),
            pytest.param(
                META + b"---\n" + META.replace(b"Configuration", b"Mystery"),
                "2 documents describe",
                id="unknown twin",
            ),
            pytest.param(
                META.replace(b"Configuration", b"Mystery"), "knows no package kind 'Mystery'", id="kind"
            ),
            pytest.param(META.replace(b"/v1", b"/v9"), "in meta.pkg.crossplane.io/v9", id="version"),
            pytest.param(
                META + b"spec: {dependsOn: [{provider: h.example/a, function: h.example/b, version: '*'}]}\n",
                "spec.dependsOn[0]: it names several packages: h.example/a, h.example/b",
                id="dependency with two types",
            ),
        ],
    )
    def test_it_is_refused(self, package_yaml: bytes, said: str, tmp_path: Path) -> None:
        shelf = shelf_of(package_yaml)

        with pytest.raises((InvalidContents, InvalidMetadata)):
            read(shelf)
        assert_refused(inspect(shelf, tmp_path), said)

    def test_a_document_that_is_no_yaml_is_reported_beside_missing_metadata(self) -> None:
        with pytest.raises(InvalidContents) as refused:
            read(shelf_of(CRD + b"---\n" + META.replace(b"kind: ", b"kind: a: ")))

        assert any(line.startswith("line 7: ") for line in refused.value.why)


class TestWrongEncodings:
    @pytest.mark.parametrize(
        ("package_yaml", "said"),
        [
            pytest.param(CRD + b"---\n" + META.replace(b"platform", b"\xff"), "line 9: byte 0xff", id="0xff"),
            pytest.param(
                META.replace(b"platform", "zürich".encode("latin-1")), "line 4: byte 0xfc", id="Latin-1"
            ),
            pytest.param(META + b"spec: \x00\n", "line 5: character #x0000", id="NUL"),
            pytest.param(META.replace(b"platform", b'"\\ud800"'), "line 4: ", id="lone surrogate"),
            pytest.param(
                META.replace(b"platform", b'"a\\e]0;x\\a\\e[2J"'),
                "contains an invisible character",
                id="terminal",
            ),
            pytest.param(
                META.replace(b"platform", b'"a\\u202eb"'), "contains an invisible character", id="direction"
            ),
        ],
    )
    def test_it_is_refused_with_its_line(self, package_yaml: bytes, said: str, tmp_path: Path) -> None:
        shelf = shelf_of(package_yaml)

        with pytest.raises(RenderError):
            read(shelf)
        assert_refused(inspect(shelf, tmp_path), said)

    @pytest.mark.parametrize(
        "package_yaml",
        [
            pytest.param(b"\xef\xbb\xbf" + META, id="BOM"),
            pytest.param(b"\xef\xbb\xbf---\n" + META, id="BOM before a separator"),
            pytest.param((META + b"---\n" + CRD).replace(b"\n", b"\r\n"), id="CRLF"),
            pytest.param(b"---\n\xef\xbb\xbf" + META, id="BOM in the middle"),
        ],
    )
    def test_what_editors_leave_behind_is_accepted(self, package_yaml: bytes) -> None:
        found = read(shelf_of(package_yaml))

        assert found.metadata.name == "platform"

    def test_names_of_objects_hide_nothing_either(self) -> None:
        with pytest.raises(InvalidContents) as refused:
            read(shelf_of(META + b"---\n" + CRD.replace(b"things.example.org", b'"\\e[2J"')))

        assert refused.value.why == (
            "line 6: apiVersion, kind or metadata.name contains an invisible character",
        )


class TestForeignLayers:
    def test_addresses_in_a_descriptor_are_never_followed(self, tmp_path: Path) -> None:
        shelf = shelf_of(META)
        with MiniRegistry() as elsewhere, MiniRegistry() as registry:
            manifest = shelf.contents[shelf.named["v1"]].data.replace(
                b'"layers":[{', b'"layers":[{"urls":["%b/v2/x/y/blobs/z"],' % elsewhere.url.encode()
            )
            shelf.contents.clear()
            shelf.add_content(manifest, OCI_MANIFEST)
            shelf.serve(registry)
            ran = run_command(
                "package", "inspect", f"{registry.host}/x/y:v1",
                folder=tmp_path, environ={"XPLOCK_PLAIN_HTTP": f"{registry.host},{elsewhere.host}"},
            )  # fmt: skip

            assert ran.code == 0, ran
            assert b"urls" in manifest
            assert elsewhere.server.connections == 0

    def test_a_layer_that_is_only_elsewhere_is_not_there(self, tmp_path: Path) -> None:
        shelf = shelf_of(META)
        with MiniRegistry() as elsewhere, MiniRegistry() as registry:
            layer = next(data for data in shelf.blobs.values() if data != b"{}")
            elsewhere.add_blob(layer)
            manifest = shelf.contents[shelf.named["v1"]].data.replace(
                b'"layers":[{', b'"layers":[{"urls":["%b/v2/x/y/blobs/z"],' % elsewhere.url.encode()
            )
            registry.add_manifest("x/y", "v1", manifest)
            ran = run_command(
                "package", "inspect", f"{registry.host}/x/y:v1",
                folder=tmp_path, environ={"XPLOCK_PLAIN_HTTP": f"{registry.host},{elsewhere.host}"},
            )  # fmt: skip

            assert_refused(ran)
            assert elsewhere.server.connections == 0


class TestO1TerminalSequences:
    def test_in_the_names_of_files_they_are_written_out(self, tmp_path: Path) -> None:
        shelf = Shelf()
        name = b"\x1b]0;x\x07\x1b[2J/package.yaml"
        shelf.add_image(gzipped(entry(name, META), entry(name, META), END), marked=[0])

        ran = inspect(shelf, tmp_path)

        assert_refused(ran, r"\x1b]0;x\x07\x1b[2J/package.yaml")

    def test_in_metadata_they_are_written_out(self, tmp_path: Path) -> None:
        sequences = b'"\\e]0;x\\a\\e[2J \\u202e \\x9b"'
        spec = b"spec: {capabilities: [%b], dependsOn: [{provider: %b, version: %b}]}\n" % (
            sequences,
            *[sequences] * 2,
        )

        ran = inspect(shelf_of(META + spec), tmp_path)

        assert_refused(ran, r"\x1b[2J", "spec.dependsOn[0].provider: ", "spec.dependsOn[0].version: ")

    def test_in_what_is_shown_they_are_written_out(self, tmp_path: Path) -> None:
        annotations = b'  annotations: {"a\\e[2J": "\\e]0;x\\a \\u202e \\x9b"}\n'

        ran = inspect(shelf_of(META + annotations), tmp_path)

        assert ran.code == 0
        assert r"a\x1b[2J" in ran.out
        assert not _CONTROL.search(ran.out)


def test_a_proper_package_is_read_all_the_same(tmp_path: Path) -> None:
    ran = inspect(shelf_of(META + b"---\n" + CRD), tmp_path)

    assert (ran.code, ran.err) == (0, "")
    assert read(shelf_of(META + b"---\n" + CRD)).objects == (
        PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.org"),
    )


def test_bytes_behind_the_end_of_an_archive_or_its_compression_do_not_matter() -> None:
    shelf = Shelf()
    shelf.add_image(gzip.compress(entry("package.yaml", META) + END + padded(b"") + bytes(9_000)) + b"rest")

    found = read(shelf)

    assert found.metadata.name == "platform"
