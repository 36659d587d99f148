"""Images are fetched from the location of their rewrite, under their original names."""

import hashlib
from collections.abc import Sequence
from io import BytesIO
from typing import IO

import pytest

from render.references import Digest, Reference, Source, parse_reference, parse_source
from render.registry.oci import OCI_LAYER, OCI_MANIFEST, Content, Descriptor
from render.registry.routes import Rewritten
from render.rewrites import InvalidRewrite, Rewrite, Rewrites

NOP = "xpkg.example.org/acme/provider-nop"
MIRROR = "mirror.corp/xp/provider-nop"
LAYER = Descriptor(OCI_LAYER, Digest("sha256:" + "1a" * 32), 3)
MANIFEST = f'{{"layers": [{{"digest": "{LAYER.digest}"}}]}}'.encode()
DIGEST = Digest("sha256:" + hashlib.sha256(MANIFEST).hexdigest())


class Asked:
    """Answers everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def tags(self, source: Source) -> Sequence[str]:
        self.questions.append(f"tags {source}")
        return ("v1",)

    def content(self, reference: Reference) -> Content:
        self.questions.append(f"content {reference}")
        return Content(MANIFEST, OCI_MANIFEST, DIGEST)

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        self.questions.append(f"blob {source} {descriptor.digest}")
        return BytesIO(b"abc")


def rewritten(*pairs: tuple[str, str]) -> tuple[Rewritten, Asked]:
    asked = Asked()
    return Rewritten(asked, Rewrites([Rewrite(old, new, f"{old}.yaml") for old, new in pairs])), asked


@pytest.mark.parametrize(
    ("pairs", "text", "expected"),
    [
        ([], f"{NOP}:v1", f"{NOP}:v1"),
        ([("other.org", "mirror.corp")], f"{NOP}:v1", f"{NOP}:v1"),
        ([("xpkg.example.org/acme", "mirror.corp/xp")], f"{NOP}:v1", f"{MIRROR}:v1"),
        ([("xpkg.example.org/acme", "mirror.corp/xp")], f"{NOP}@{DIGEST}", f"{MIRROR}@{DIGEST}"),
        ([("xpkg.example.org/acme", "mirror.corp/xp")], f"{NOP}:v1@{DIGEST}", f"{MIRROR}:v1@{DIGEST}"),
        # Not aware of slashes.
        ([("xpkg.example.org/ac", "mirror.corp/")], f"{NOP}:v1", "mirror.corp/me/provider-nop:v1"),
        # The longest one counts, whatever the order.
        (
            [("xpkg.example.org/", "a.io/"), (f"{NOP}:", "b.io/x:"), ("xpkg.example.org/acme/", "c.io/")],
            f"{NOP}:v1",
            "b.io/x:v1",
        ),
        # Once, even if the result fits again.
        ([("xpkg.example.org/", "xpkg.example.org/xpkg.example.org/")], f"{NOP}:v1", None),
        ([("xpkg.example.org/", "a.io/"), ("a.io/", "b.io/")], f"{NOP}:v1", "a.io/acme/provider-nop:v1"),
        ([("", "a.io/")], f"{NOP}:v1", f"{NOP}:v1"),
        # A pin: the tag goes, the digest comes.
        ([(f"{NOP}:v1", f"{NOP}@{DIGEST}")], f"{NOP}:v1", f"{NOP}@{DIGEST}"),
    ],
)
def test_a_reference_is_rewritten_once_by_the_longest_prefix(
    pairs: list[tuple[str, str]], text: str, expected: str | None
) -> None:
    images, asked = rewritten(*pairs)

    images.content(parse_reference(text))

    assert asked.questions == [f"content {expected or 'xpkg.example.org/' + text}"]


def test_tags_are_listed_by_the_bare_source() -> None:
    images, asked = rewritten(("xpkg.example.org/acme", "mirror.corp/xp"), (f"{NOP}:", "b.io/x:"))

    tags = images.tags(parse_source(NOP))

    assert tags == ("v1",)
    assert asked.questions == [f"tags {MIRROR}"]


def test_everything_of_an_image_comes_from_where_its_tag_was_found() -> None:
    images, asked = rewritten((f"{NOP}:v1", "b.io/x:v1"))
    source = parse_source(NOP)

    content = images.content(Reference(source, "v1"))
    images.content(Reference(source, digest=content.digest))
    images.content(Reference(source, digest=LAYER.digest))
    images.blob(source, LAYER)

    assert asked.questions == [
        "content b.io/x:v1",
        f"content b.io/x@{DIGEST}",
        f"content b.io/x@{LAYER.digest}",
        f"blob b.io/x {LAYER.digest}",
    ]


def test_a_location_found_for_one_source_is_not_used_for_another() -> None:
    images, asked = rewritten((f"{NOP}:v1", "b.io/x:v1"))
    other = parse_source("xpkg.example.org/acme/other")

    images.content(parse_reference(f"{NOP}:v1"))
    images.blob(other, LAYER)

    assert asked.questions[-1] == f"blob {other} {LAYER.digest}"


def test_a_blob_without_a_known_location_is_fetched_by_its_source() -> None:
    images, asked = rewritten(("xpkg.example.org/acme", "mirror.corp/xp"))

    images.blob(parse_source(NOP), LAYER)

    assert asked.questions == [f"blob {MIRROR} {LAYER.digest}"]


@pytest.mark.parametrize("ask", ["content", "tags"])
def test_the_error_names_a_rewrite_whose_result_is_not_a_reference(ask: str) -> None:
    images, asked = rewritten(("xpkg.example.org/", "Mirror Corp/"))

    with pytest.raises(InvalidRewrite) as caught:
        images.content(parse_reference(f"{NOP}:v1")) if ask == "content" else images.tags(parse_source(NOP))

    assert caught.value.exit_code == 2
    assert "the rewrite of xpkg.example.org/ to Mirror Corp/ does not fit" in caught.value.what
    assert caught.value.why[0] == "it comes from xpkg.example.org/.yaml"
    assert asked.questions == []
