"""The longest fitting prefix is replaced, and prefixes are plain text."""

import pytest

from render.rewrites import Rewrite, Rewrites

REWRITES = Rewrites([
    Rewrite("xpkg.example.org/acme", "mirror.example.org/acme", "one"),
    Rewrite("xpkg.example.org/acme/net:v1", "mirror.example.org/net@sha256:0", "two"),
    Rewrite("xpkg.example.org/acme", "other.example.org", "three"),
    Rewrite("", "nowhere.example.org/", "four"),
])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("xpkg.example.org/acme/net:v1", "two"),
        ("xpkg.example.org/acme/net:v1.2", "two"),
        ("xpkg.example.org/acme/net:v2", "one"),
        ("xpkg.example.org/acme-corp/net", "one"),
        ("xpkg.example.org/acm", None),
        ("docker.io/acme/net", None),
        ("", None),
    ],
)
def test_the_longest_prefix_that_fits_is_found_and_of_equals_the_first(text: str, place: str | None) -> None:
    found = REWRITES.find(text)

    assert (found.place if found else None) == place


def test_only_a_prefix_that_is_all_of_the_text_is_exact() -> None:
    exact = REWRITES.exact("xpkg.example.org/acme/net:v1")

    assert exact is not None
    assert exact.place == "two"
    assert REWRITES.exact("xpkg.example.org/acme/net:v1.2") is None
    assert REWRITES.exact("") is None


def test_a_rewrite_replaces_the_beginning_and_nothing_else() -> None:
    rewrite = Rewrite("a/", "b/c/", "here")

    assert rewrite.apply("a/x/a/y:v1") == "b/c/x/a/y:v1"
