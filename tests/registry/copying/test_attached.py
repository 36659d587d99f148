"""What is attached to an image: its names, and the list of referrers for a registry that keeps none."""

import json

import pytest

from render.errors import RenderError
from render.references import Digest, Source
from render.registry.copying.attached import (
    artifact_type_of,
    attached_prefix,
    fallback_tag,
    format_referrers,
    parse_referrers,
    subject_of,
)
from render.registry.oci import OCI_MANIFEST, Content, digest_of

SUBJECT = Digest(f"sha256:{'a' * 64}")
SOURCE = Source("xpkg.example.org", "acme/app")


def content(**document: object) -> Content:
    """Return a manifest."""
    data = json.dumps(document).encode()
    return Content(data, OCI_MANIFEST, digest_of(data))


def test_tags_are_made_from_the_digest() -> None:
    assert fallback_tag(SUBJECT) == f"sha256-{'a' * 64}"
    assert f"sha256-{'a' * 64}.sig".startswith(attached_prefix(SUBJECT))
    assert not f"sha256-{'a' * 64}".startswith(attached_prefix(SUBJECT))


def test_the_type_is_the_one_of_the_configuration_if_nothing_else_is_said() -> None:
    assert artifact_type_of(content(artifactType="a/b", config={"mediaType": "c/d"})) == "a/b"
    assert artifact_type_of(content(config={"mediaType": "c/d"})) == "c/d"
    assert artifact_type_of(content(config=[])) == ""


def test_a_list_has_types_and_annotations_from_the_manifests_and_is_sorted() -> None:
    one = content(mediaType=OCI_MANIFEST, artifactType="x/one", annotations={"b": "2", "a": "1"}, subject={})
    two = content(mediaType=OCI_MANIFEST, config={"mediaType": "x/two"})

    made = format_referrers(None, [one, two])
    again = format_referrers(made, [two])

    entries = json.loads(made.data)["manifests"]
    assert [entry["digest"] for entry in entries] == sorted([one.digest, two.digest])
    by_type = {entry["artifactType"]: entry.get("annotations") for entry in entries}
    assert by_type == {"x/one": {"a": "1", "b": "2"}, "x/two": None}
    assert again == made == format_referrers(None, [two, one])


def test_entries_that_others_made_stay() -> None:
    older = {"manifests": [{"digest": SUBJECT, "size": 1, "mediaType": OCI_MANIFEST, "x-more": True}]}

    made = format_referrers(content(**older), [content(config={})])

    assert older["manifests"][0] in json.loads(made.data)["manifests"]
    assert len(json.loads(made.data)["manifests"]) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"manifests":1}',
        b'{"manifests":[{}]}',
        b'{"manifests":[{"digest":"x"}]}',
        b"[" * 9999,
    ],
)
def test_a_list_that_cannot_be_read_is_an_error(data: bytes) -> None:
    with pytest.raises(RenderError, match="cannot be read"):
        parse_referrers(SOURCE, SUBJECT, data)


@pytest.mark.parametrize("subject", [None, [], {}, {"digest": 1}, {"digest": "sha256:x"}])
def test_a_subject_that_is_none_is_none(subject: object) -> None:
    assert subject_of(content(subject=subject)) is None
