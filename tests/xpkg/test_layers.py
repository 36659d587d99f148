"""Our tar reader sees what Python's and Go's see, and refuses what they see differently."""

import gzip
import io
import tarfile
from collections.abc import Iterator, Sequence

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.images import END, entry, header, long_name, padded, pax

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.xpkg.layers import Entry, InvalidLayer, read_entries, unpack

LIMITS = Limits()
_FORMATS = {"USTAR": tarfile.USTAR_FORMAT, "GNU": tarfile.GNU_FORMAT, "PAX": tarfile.PAX_FORMAT}


def archive_of(files: Sequence[tuple[str, bytes]], form: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name, data in files:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def read(archive: bytes, chunk: int = 4096) -> list[tuple[str, bytes]]:
    chunks = iter([archive[i : i + chunk] for i in range(0, len(archive), chunk)])
    return [(found.name, b"".join(stream.content())) for found, stream in read_entries(chunks, LIMITS)]


def only_entry(archive: bytes) -> Entry:
    found, _ = next(read_entries(iter([archive]), LIMITS))
    return found


def unpacked(data: bytes, limits: Limits = LIMITS) -> bytes:
    return b"".join(unpack(io.BytesIO(data), limits))


class TestNamesAndContents:
    @pytest.mark.parametrize("form", _FORMATS)
    @pytest.mark.parametrize(
        "name",
        ["package.yaml", "a/b/c", "x" * 100, f"{'d' * 60}/{'e' * 60}", f"{'p' * 150}/{'n' * 99}", "./x"],
        ids=["short", "folders", "full", "prefix", "long prefix", "dot"],
    )
    def test_every_format_gives_the_same_file(self, form: str, name: str) -> None:
        archive = archive_of([(name, b"content"), ("next", b"")], _FORMATS[form])

        assert read(archive) == [(name, b"content"), ("next", b"")]

    @pytest.mark.parametrize("form", ["GNU", "PAX"])
    @pytest.mark.parametrize(
        "name", ["x" * 101, "d/" * 200 + "f", "größe/日本語.yaml"], ids=["101", "deep", "wide"]
    )
    def test_long_and_foreign_names_are_whole(self, form: str, name: str) -> None:
        archive = archive_of([(name, b"1"), ("next", b"2")], _FORMATS[form])

        assert read(archive) == [(name, b"1"), ("next", b"2")]

    @given(
        st.lists(
            st.tuples(
                st.from_regex(r"[a-zé日 ._-]{1,120}(/[a-z.]{1,90}){0,3}", fullmatch=True),
                st.binary(max_size=1500),
            ),
            max_size=6,
        ),
        st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
        st.integers(1, 3000),
    )
    def test_any_files_come_out_as_they_went_in(
        self, files: list[tuple[str, bytes]], form: int, chunk: int
    ) -> None:
        archive = archive_of(files, form)

        assert read(archive, chunk) == files

    def test_content_that_nobody_reads_is_passed_over(self) -> None:
        archive = entry("a", b"x" * 5000) + entry("b", b"y" * 100) + END

        names = [found.name for found, _ in read_entries(iter([archive]), LIMITS)]

        assert names == ["a", "b"]

    def test_bytes_that_are_no_text_are_kept_in_names(self) -> None:
        found = only_entry(entry(b"\xff\xfe", b""))

        assert found.name.encode(errors="surrogateescape") == b"\xff\xfe"


class TestHeaders:
    @pytest.mark.parametrize(
        ("kind", "name", "regular", "directory"),
        [
            (b"0", "f", True, False),
            (b"\0", "f", True, False),
            (b"\0", "f/", False, True),
            (b"0", "f/", True, False),
            (b"5", "f", False, True),
            (b"1", "f", False, False),
            (b"2", "f", False, False),
            (b"3", "f", False, False),
            (b"6", "f", False, False),
            (b"7", "f", False, False),
            (b"X", "f", False, False),
        ],
    )
    def test_what_an_entry_is(self, kind: bytes, name: str, regular: bool, directory: bool) -> None:
        found = only_entry(header(name, 0, kind))

        assert (found.regular, found.directory) == (regular, directory)

    @pytest.mark.parametrize(
        ("kind", "name"),
        [(b"1", "x"), (b"2", "x"), (b"3", "x"), (b"4", "x"), (b"5", "x"), (b"6", "x"), (b"\0", "x/")],
    )
    def test_what_has_no_content_has_none_whatever_its_size_says(self, kind: bytes, name: str) -> None:
        archive = header(name, 512, kind) + entry("y", b"1") + END

        assert read(archive) == [(name, b""), ("y", b"1")]

    @pytest.mark.parametrize(("kind", "link"), [(b"1", "a/b"), (b"2", "a/b"), (b"0", "")])
    def test_only_a_link_points_somewhere(self, kind: bytes, link: str) -> None:
        found = only_entry(header("x", 0, kind, link=b"a/b"))

        assert found.link == link

    def test_a_long_link_is_whole(self) -> None:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
            member = tarfile.TarInfo("x")
            member.type, member.linkname = tarfile.SYMTYPE, "../" * 60
            archive.addfile(member)

        assert only_entry(file.getvalue()).link == "../" * 60

    @pytest.mark.parametrize(
        "size_field",
        [
            b"\x80" + bytes(10) + b"\x03",
            b"00000000003\0",
            b"         3 \0",
            b"3\0\0\0\0\0\0\0\0\0\0\0",
            b"000000000003",
        ],
    )
    def test_sizes_are_read_in_every_spelling(self, size_field: bytes) -> None:
        archive = header("x", size_field=size_field) + padded(b"abc") + END

        assert read(archive) == [("x", b"abc")]

    @pytest.mark.parametrize(
        "size_field",
        [
            b"\xff" * 12,
            b"\x81" + bytes(11),
            b"00000000009\0",
            b"-0000000001\0",
            b"0x000000001\0",
            b"3 4        \0",
        ],
    )
    def test_a_size_that_is_no_number_is_refused(self, size_field: bytes) -> None:
        with pytest.raises(InvalidLayer, match="number"):
            only_entry(header("x", size_field=size_field))

    def test_an_extended_size_counts(self) -> None:
        archive = pax({"size": "3"}) + header("x", 0) + padded(b"abc") + END

        assert read(archive) == [("x", b"abc")]

    @pytest.mark.parametrize("size", ["", "-1", "+3", "3.0", "9" * 30])
    def test_an_odd_extended_size_does_not(self, size: str) -> None:
        archive = pax({"size": size}) + header("x", 3) + padded(b"abc") + END

        if size:
            with pytest.raises(InvalidLayer, match="number"):
                read(archive)
        else:
            assert read(archive) == [("x", b"abc")]

    def test_a_wrong_checksum_is_refused(self) -> None:
        damaged = bytearray(entry("x", b"1") + END)
        damaged[0] = ord("y")

        with pytest.raises(InvalidLayer, match="checksum"):
            read(bytes(damaged))

    def test_a_checksum_of_signed_bytes_is_right_too(self) -> None:
        block = bytearray(header(b"\xe9"))
        signed = sum(byte - 256 * (byte > 127) for byte in block[:148] + b" " * 8 + block[156:])
        block[148:156] = b"%06o\x00 " % signed

        assert read(bytes(block) + END) == [(b"\xe9".decode(errors="surrogateescape"), b"")]

    def test_the_format_of_star_has_a_shorter_prefix(self) -> None:
        found = only_entry(header("x", prefix=b"p" * 131 + b"00000000000\0", tail=b"tar\0"))

        assert found.name == "p" * 131 + "/x"

    def test_an_old_header_has_no_prefix(self) -> None:
        found = only_entry(header("x", magic=bytes(8), prefix=b"folder"))

        assert found.name == "x"


class TestSpecialEntries:
    @pytest.mark.parametrize(
        ("before", "name"),
        [
            (pax({"path": "a"}) + pax({"mtime": "1"}), "x"),
            (pax({"path": "a"}) + pax({"path": "b"}), "b"),
            (long_name(b"a\0") + long_name(b"b\0"), "b"),
            (long_name(b"a\0") + pax({"path": "b"}), "a"),
            (pax({"path": "b"}) + long_name(b"a\0"), "a"),
            (long_name(b"a\0b\0"), "a"),
            (long_name(b"\0") + pax({"path": "b"}), "b"),
            (pax({"path": ""}), "x"),
            (entry("k", b"link", b"K") + pax({"path": "b"}), "b"),
        ],
    )
    def test_the_name_is_the_one_go_takes(self, before: bytes, name: str) -> None:
        assert read(before + entry("x", b"1") + entry("y") + END) == [(name, b"1"), ("y", b"")]

    def test_a_global_header_is_an_entry_and_ends_what_was_said(self) -> None:
        archive = pax({"path": "a"}) + pax({"path": "g"}, b"g") + entry("x", b"1") + END

        assert read(archive) == [("g", b""), ("x", b"1")]

    @pytest.mark.parametrize(
        "data",
        [
            b"x",
            b"11 path=abc",
            b"12 path=abcd",
            b"99 path=abc\n",
            b"3 =\n",
            b"10 =value\n",
            b"-1 a=b\n",
            b"\0" * 20,
        ],
    )
    def test_a_malformed_extended_header_is_refused(self, data: bytes) -> None:
        with pytest.raises(InvalidLayer, match="malformed"):
            read(entry("h", data, b"x") + entry("x") + END)

    @pytest.mark.parametrize(
        "archive",
        [
            pax({"path": b"a\0b"}) + entry("x"),
            pax({"GNU.sparse.name": "a"}) + entry("x"),
            header("x", kind=b"S", magic=b"ustar  \0"),
            header("x", magic=b"ustar  \0", prefix=b"no number"),
            header("h", (1 << 20) + 1, b"x"),
            pax({"path": "n" * 4097}) + entry("x"),
        ],
        ids=["NUL", "sparse", "old sparse", "prefix in GNU", "over 1 MiB", "very long name"],
    )
    def test_what_readers_disagree_about_is_refused(self, archive: bytes) -> None:
        with pytest.raises(InvalidLayer):
            read(archive + END)


class TestEnds:
    @pytest.mark.parametrize("end", [b"", bytes(512), bytes(100), END, bytes(10_240), END + b"anything"])
    def test_an_archive_may_end_in_several_ways(self, end: bytes) -> None:
        assert read(entry("x", b"1") + end) == [("x", b"1")]

    def test_a_missing_filling_at_the_end_is_no_harm(self) -> None:
        assert read(header("x", 3) + b"abc") == [("x", b"abc")]

    @pytest.mark.parametrize(
        "archive",
        [
            entry("x", b"1" * 600)[:800],
            entry("x", b"1")[:300],
            header("x", 3),
            pax({"path": "a"})[:520],
            entry("x") + bytes(512) + entry("y"),
        ],
        ids=["in a file", "in a header", "no file", "in an extended header", "one empty block"],
    )
    def test_a_truncated_archive_is_refused(self, archive: bytes) -> None:
        with pytest.raises(InvalidLayer):
            read(archive)

    def test_an_empty_archive_has_no_entries(self) -> None:
        assert read(b"") == read(END) == []

    def test_too_many_entries_are_refused(self) -> None:
        limits = Limits(tar_members=3)

        with pytest.raises(LimitExceeded, match="too many files"):
            list(read_entries(iter([entry("x") * 4 + END]), limits))


class TestCompression:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["none", "gzip", "zstd"])
    @pytest.mark.parametrize("size", [1, 100, 300_000, 2_000_000])
    def test_it_is_told_by_the_first_bytes(self, pack: type[bytes], size: int) -> None:
        data = b"0123456789" * (size // 10) + b"end"

        assert unpacked(pack(data)) == data

    def test_several_gzip_members_are_one_stream(self) -> None:
        data = gzip.compress(b"a" * 300_000) + gzip.compress(b"") + gzip.compress(b"b")

        assert unpacked(data) == b"a" * 300_000 + b"b"

    @pytest.mark.parametrize("rest", [b"garbage", b"\0", bytes(600_000), b"\x1f"[:0]])
    def test_what_follows_the_last_member_is_not_read(self, rest: bytes) -> None:
        assert unpacked(gzip.compress(b"data") + rest) == b"data"

    @pytest.mark.parametrize(
        "data",
        [
            gzip.compress(b"data" * 1000)[:-9],
            gzip.compress(b"data")[:-1],
            gzip.compress(b"data")[:-8] + bytes(8),
            gzip.compress(b"data") + b"\x1f\x8b\x08garbage",
            b"\x1f\x8b",
            zstd.compress(b"data" * 1000)[:-3],
            zstd.compress(b"data") + b"garbage",
        ],
        ids=["cut", "cut trailer", "wrong sum", "half a member", "magic only", "cut zstd", "zstd and more"],
    )
    def test_damage_is_refused(self, data: bytes) -> None:
        with pytest.raises(InvalidLayer, match="compress"):
            unpacked(data)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress], ids=["none", "gzip", "zstd"])
    def test_it_stops_at_the_bound(self, pack: type[bytes]) -> None:
        bound = Limits(unpacked_bytes=500_000)

        assert len(unpacked(pack(bytes(500_000)), bound)) == 500_000
        with pytest.raises(LimitExceeded, match="too large when unpacked"):
            unpacked(pack(bytes(500_001)), bound)

    def test_chunks_stay_small_however_well_they_were_compressed(self) -> None:
        chunks = list(unpack(io.BytesIO(gzip.compress(bytes(10_000_000))), LIMITS))

        assert max(map(len, chunks)) <= 1 << 18

    def test_without_a_zstd_module_the_error_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing(name: str) -> Iterator[None]:
            raise ImportError(name)

        monkeypatch.setattr("render.xpkg.layers.importlib.import_module", missing)

        with pytest.raises(RenderError) as refused:
            unpacked(zstd.compress(b"data"))

        assert "xplock[zstd]" in refused.value.next[0]
