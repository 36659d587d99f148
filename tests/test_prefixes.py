"""Prefixes of sources end where a part of the path ends."""

import pytest

from render.overrides import InvalidPrefix, covers, parse_prefix, prefixes_of
from render.references import Source


@pytest.mark.parametrize(
    ("prefix", "covered"),
    [
        ("", True),
        ("r.example", True),
        ("r.example/", True),
        ("r.example/acme", True),
        ("r.example/acme/app", True),
        ("r.example/acme/app/", True),
        ("r.example/acme/app/more", False),
        ("r.example/acme/ap", False),
        ("r.exampl", False),
        ("r.example:5000", False),
        ("acme", False),
    ],
)
def test_a_prefix_ends_where_a_path_component_ends(prefix: str, covered: bool) -> None:
    assert covers(prefix, Source("r.example", "acme/app")) == covered


def test_a_source_is_below_its_registry_and_every_part_of_its_path() -> None:
    assert prefixes_of(Source("r.example:5000", "acme/team/app")) == [
        "r.example:5000",
        "r.example:5000/acme",
        "r.example:5000/acme/team",
        "r.example:5000/acme/team/app",
    ]


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("r.example", "r.example"),
        ("r.example/", "r.example"),
        ("R.example:443", "r.example"),
        ("r.example:5000", "r.example:5000"),
        ("localhost", "localhost"),
        # Without its port it would be taken for an organisation.
        ("registry:443", "registry:443"),
        ("[::1]:5000/acme", "[::1]:5000/acme"),
        ("R.example:443/acme/app/", "r.example/acme/app"),
        # The longest source that there is.
        ("r.example/" + "a" * 255, "r.example/" + "a" * 255),
    ],
)
def test_a_prefix_is_spelled_as_sources_are(text: str, prefix: str) -> None:
    assert parse_prefix(text) == prefix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "acme",
        "acme/app",
        "r.example//",
        "r.example//acme",
        "r.example/Acme",
        "r.example/acme:v1",
        "r.example/acme@sha256:" + "ab" * 32,
        "https://r.example/acme",
        "r.example/acme*",
        "r.example/" + "a" * 256,
    ],
)
def test_what_no_source_begins_with_is_no_prefix(text: str) -> None:
    with pytest.raises(InvalidPrefix) as caught:
        parse_prefix(text)

    assert "is neither a source nor the beginning of one" in caught.value.what


def test_a_password_in_a_prefix_is_not_shown() -> None:
    with pytest.raises(InvalidPrefix) as caught:
        parse_prefix("user:p@ss@r.example/acme")

    assert str(caught.value).startswith("'***@r.example/acme' is neither")
