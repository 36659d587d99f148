"""A tag is pulled from the repository that the longest matching rewrite names."""

import pytest
from rig.builders.render_inputs import rewrite

from render.errors import InvalidInput
from render.manifests.pins import Locations
from render.references import parse_source

NOP = "xpkg.example.org/acme/nop"
DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("pairs", "pulled", "location"),
    [
        ({}, f"{NOP}:v1.2", NOP),
        ({"other.example": "mirror.example"}, f"{NOP}:v1.2", NOP),
        ({"": "mirror.example"}, f"{NOP}:v1.2", NOP),
        (
            {"xpkg.example.org": "mirror.example/up"},
            "mirror.example/up/acme/nop:v1.2",
            "mirror.example/up/acme/nop",
        ),
        # Plain text: the prefix may end anywhere.
        ({"xpkg.example.org/acme/n": "mirror.example/m"}, "mirror.example/mop:v1.2", "mirror.example/mop"),
        # The longest one counts, wherever it stands.
        ({"xpkg.example.org/": "a.example/", NOP: "b.example/nop"}, "b.example/nop:v1.2", "b.example/nop"),
        ({NOP: "b.example/nop", "xpkg.example.org/": "a.example/"}, "b.example/nop:v1.2", "b.example/nop"),
        # One that reaches into the tag may change it.
        ({f"{NOP}:v1": "c.example/nop:stable-v1"}, "c.example/nop:stable-v1.2", "c.example/nop"),
        ({f"{NOP}:v1.2": f"c.example/nop@{DIGEST}"}, f"c.example/nop@{DIGEST}", "c.example/nop"),
        ({f"{NOP}:v1.2": f"c.example/nop:v9@{DIGEST}"}, f"c.example/nop:v9@{DIGEST}", "c.example/nop"),
        # A prefix that is longer than the reference does not fit it.
        ({f"{NOP}:v1.20": "c.example/nop:v1.20"}, f"{NOP}:v1.2", NOP),
        # The text is kept: other prefixes are compared with it.
        (
            {"xpkg.example.org": "Mirror.example:443"},
            "Mirror.example:443/acme/nop:v1.2",
            "Mirror.example:443/acme/nop",
        ),
        ({"xpkg.example.org": "127.0.0.1:5000"}, "127.0.0.1:5000/acme/nop:v1.2", "127.0.0.1:5000/acme/nop"),
    ],
)
def test_the_pulled_reference_and_its_repository(pairs: dict[str, str], pulled: str, location: str) -> None:
    locations = Locations([rewrite(old, new) for old, new in pairs.items()])

    assert locations.find(parse_source(NOP), "v1.2") == (pulled, location)
    assert locations.find(parse_source(NOP), "v1.2") == (pulled, location)


@pytest.mark.parametrize(
    "pairs",
    [
        {"xpkg.example.org/acme": "mirror"},
        {"xpkg.example.org": "https://mirror.example"},
        {f"{NOP}:v1": f"c.example/nop@{DIGEST}"},
        {f"{NOP}:v1.2": "c.example/nop"},
    ],
)
def test_the_error_names_a_rewrite_whose_result_is_not_a_reference(pairs: dict[str, str]) -> None:
    locations = Locations(
        [rewrite(old, new, "mirror.yaml: spec.matchImages[0]") for old, new in pairs.items()]
    )

    with pytest.raises(InvalidInput, match="does not fit") as error:
        locations.find(parse_source(NOP), "v1.2")

    assert "mirror.yaml: spec.matchImages[0]" in str(error.value)


def test_every_tag_is_checked_even_if_another_tag_of_its_source_was_valid() -> None:
    locations = Locations([rewrite(NOP, "mirror.example/nop"), rewrite(f"{NOP}:v1", "mirror.example/nop/")])

    assert locations.find(parse_source(NOP), "v2") == ("mirror.example/nop:v2", "mirror.example/nop")
    with pytest.raises(InvalidInput, match="does not fit"):
        locations.find(parse_source(NOP), "v1.2")


def test_only_a_rewrite_of_the_whole_reference_is_exact() -> None:
    whole = rewrite(f"{NOP}:v1.2", "c.example/nop:v1.2")
    locations = Locations([rewrite(NOP, "b.example/nop"), whole])

    assert locations.exact(f"{NOP}:v1.2") is whole
    assert locations.exact(f"{NOP}:v1.20") is None
