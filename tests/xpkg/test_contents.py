"""A package.yaml is split where Crossplane splits it, and read exactly or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.images import CRD, META

from render.limits import LimitExceeded, Limits
from render.packages import PackagedObject
from render.xpkg.contents import (
    Document,
    InvalidContents,
    parse_meta,
    read_contents,
    split_documents,
)

LIMITS = Limits()


def split(text: bytes, chunk: int | None = None, limits: Limits = LIMITS) -> list[tuple[int, bytes]]:
    size = chunk or len(text) or 1
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    return [(found.line, found.data) for found in split_documents(chunks, limits)]


class TestSplitting:
    @pytest.mark.parametrize(
        ("text", "documents"),
        [
            (b"", []),
            (b"a", [(1, b"\na")]),
            (b"a\n", [(1, b"\na\n")]),
            (b"a\n---\nb\n", [(1, b"\na"), (3, b"\nb\n")]),
            (b"---\na\n---\n", [(2, b"\na")]),
            (b"---\n---\n\n---\na", [(5, b"\na")]),
            (b"--- # why\na", [(2, b"\na")]),
            (b"---\t#why\na", [(2, b"\na")]),
            (b"---   \na", [(2, b"\na")]),
            (b"---#why\na", [(2, b"\na")]),
            (b"a\r\n---\r\nb\r\n", [(1, b"\na\r"), (3, b"\nb\r\n")]),
            (b" ---\n", []),
            (b"a: |\n  ---\n", [(1, b"\na: |\n  ---\n")]),
            (b"a\n...\nb\n", [(1, b"\na\n...\nb\n")]),
            (b"...\n---\n...\n", []),
            (b"# a\n\n  # b\n---\n#c", []),
            (b"\n\n\n---\n \t\n", []),
            (b"# a\nb", [(1, b"\n# a\nb")]),
            (b"\xef\xbb\xbf---\na", [(1, b"\n\xef\xbb\xbf---\na")]),
        ],
    )
    def test_it_happens_where_crossplane_does_it(
        self, text: bytes, documents: list[tuple[int, bytes]]
    ) -> None:
        assert split(text) == documents

    @pytest.mark.parametrize("line", [b"---a", b"--- a", b"----", b"--- |", b"---\x0c", b"---\xc2\xa0"])
    def test_more_behind_a_separator_is_refused_with_its_line(self, line: bytes) -> None:
        with pytest.raises(InvalidContents, match=r"line 3 of its package\.yaml has text behind ---"):
            split(b"a\nb\n" + line + b"\n")

    @given(st.lists(st.sampled_from([b"a: b", b"---", b"--- # x", b"...", b"# c", b"", b"  x", b"\r", b"-"])))
    def test_the_size_of_the_pieces_does_not_matter(self, lines: list[bytes]) -> None:
        text = b"\n".join(lines)

        whole = split(text)

        assert all(split(text, chunk) == whole for chunk in range(1, len(text)))

    @given(st.lists(st.sampled_from(["a: b", "---", "--- # x", "...", "# c", "", "  x"]), max_size=12))
    def test_each_document_starts_on_the_line_it_claims(self, lines: list[str]) -> None:
        text = "\n".join(lines)

        for line, data in split(text.encode()):
            below = "\n" + "\n".join(lines[line - 1 :])
            assert below.startswith(data.decode().rstrip("\n"))

    def test_too_many_documents_are_refused(self) -> None:
        limits = Limits(documents=3)

        assert len(split(b"a\n---\n" * 3, limits=limits)) == 3
        with pytest.raises(LimitExceeded, match="too many documents"):
            split(b"a\n---\n" * 4, limits=limits)

    @pytest.mark.parametrize("text", [b"x" * 101, b"x\n" * 51, b"a\n---\n" + b"x" * 101])
    def test_a_document_that_is_too_large_is_refused(self, text: bytes) -> None:
        with pytest.raises(LimitExceeded, match="too l"):
            split(text, 10, Limits(document_bytes=100))


class TestReading:
    def test_metadata_and_objects_are_told_apart(self) -> None:
        found = read_contents([CRD, b"---\n", META], LIMITS)

        assert found.meta == Document(b"\n" + META, 6)
        assert found.objects == (
            PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.org"),
        )

    def test_documents_that_cannot_be_read_are_refused_with_their_lines(self) -> None:
        with pytest.raises(InvalidContents) as refused:
            read_contents([META, b"---\nfoo\n---\na: {\nb\n"], LIMITS)

        assert refused.value.why[0] == "line 6: expected an object, found text"
        assert refused.value.why[1].startswith("line 10: ")

    @pytest.mark.parametrize(
        "api_version", ["v1", "apps/v1", "apiextensions.k8s.io/v2", "pkg.crossplane.io/v1"]
    )
    def test_an_object_that_crossplane_cannot_decode_is_refused(self, api_version: str) -> None:
        other = f"apiVersion: {api_version}\nkind: ConfigMap\nmetadata:\n  name: x\n".encode()

        with pytest.raises(InvalidContents) as refused:
            read_contents([CRD, b"---\n", META, b"---\n", other], LIMITS)

        assert refused.value.why == (
            f"line 11: Crossplane reads no ConfigMap of {api_version} from a package, and refuses the whole package",
        )

    @pytest.mark.parametrize(
        ("spelled", "otherwise"),
        [
            (b"kind:", b"Kind:"),
            (b"kind:", "\u212aind:".encode()),
            (b"kind:", b"kind: CustomResourceDefinition\nKIND:"),
            (b"apiVersion:", b"apiversion:"),
            (b"apiVersion:", "apiVer\u017fion:".encode()),
            (b"metadata:", b"Metadata:"),
            (b"name:", b"Name:"),
            (b"name:", b"name: x\n  NAME:"),
            (b"name:", b"<<: {Name: y}\n  name:"),
        ],
    )
    @pytest.mark.parametrize("document", [CRD, META])
    def test_a_key_that_only_go_takes_for_a_known_one_is_refused(
        self, document: bytes, spelled: bytes, otherwise: bytes
    ) -> None:
        changed = document.replace(spelled, otherwise)
        assert changed != document

        with pytest.raises(InvalidContents, match="problem"):
            read_contents([META, b"---\n", changed], LIMITS)

    def test_other_spellings_are_free_where_no_field_is_read(self) -> None:
        free = CRD + b"  labels: {Name: x}\nspec:\n  props: &props {Kind: x, Name: y}\n  more: *props\n"

        found = read_contents([META, b"---\n", free], LIMITS)

        assert [item.name for item in found.objects] == ["things.example.org"]

    def test_metadata_that_is_refused_is_told_with_its_line(self) -> None:
        with pytest.raises(InvalidContents) as refused:
            parse_meta(META + b"spec: &a {}\n", 10, LIMITS)

        assert refused.value.why == ("package.yaml, line 14: anchors are not allowed here",)
        assert refused.value.next

    def test_a_document_is_text_without_its_first_break_and_mark(self) -> None:
        assert Document(b"\n\xef\xbb\xbfa: b", 1).text() == "a: b"
