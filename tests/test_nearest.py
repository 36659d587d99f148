"""Which version or source was probably meant."""

import pytest
from rig.builders.catalogs import named

from render.nearest import nearest_sources, nearest_tags, on_nearest_hosts
from render.references import Source

TAGS = ["v1.9.0", "v1.20.0", "v1.21.0", "v1.21.1", "v1.22.0-rc.1", "v2.0.0", "latest", "sha256-ab.sig"]


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("1.21.0", "v1.21.0"),
        ("vv1.21.0", "v1.21.0"),
        ("V1.21.0", "v1.21.0"),
        ("v1.21.2", "v1.21.1"),
        ("v1.21.9", "v1.21.1"),
        ("v1.21", "v1.21.1"),
        ("v1", "v1.21.1"),
        ("v1.23.0", "v1.21.1"),
        ("v1.22.0", "v1.22.0-rc.1"),
        ("v1.22.0-rc.2", "v1.22.0-rc.1"),
        ("v1.10.0", "v1.9.0"),
        ("v9.0.0", "v2.0.0"),
        ("v1.21.0+build", "v1.21.0"),
        ("lastest", "latest"),
        ("v1.21.o", "v1.21.1"),
        ("main", "v2.0.0"),
    ],
)
def test_the_nearest_version_comes_first(wanted: str, first: str) -> None:
    assert nearest_tags(wanted, TAGS)[0] == first


def test_behind_a_number_that_differs_the_highest_comes_first() -> None:
    assert nearest_tags("v9.0.0", TAGS)[:3] == ["v2.0.0", "v1.21.1", "v1.21.0"]


def test_every_version_is_offered_once_and_tags_that_are_none_are_not() -> None:
    assert sorted(nearest_tags("v1.0.0", TAGS)) == sorted(tag for tag in TAGS if tag[0] == "v")
    assert nearest_tags("v1.0.0", []) == []


KNOWN = [
    named("provider-aws-s3"),
    named("provider-aws-ec2"),
    Source("other.example", "acme/function-auto-ready"),
]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (named("provider-aws-s4"), named("provider-aws-s3")),
        (named("provider-aws-ec"), named("provider-aws-ec2")),
        (Source("xpkg.example.org", "amce/provider-aws-s3"), named("provider-aws-s3")),
        (Source("xpkg.exmaple.org", "acme/provider-aws-s3"), named("provider-aws-s3")),
    ],
)
def test_a_source_that_is_spelled_nearly_like_a_known_one_means_that(wrong: Source, meant: Source) -> None:
    assert nearest_sources(wrong, KNOWN)[0] == meant


@pytest.mark.parametrize(
    "other",
    [named("function-kcl"), Source("quay.example", "acme/provider-aws-s3"), named("provider-aws-s3")],
)
def test_an_altogether_different_source_means_none_of_them(other: Source) -> None:
    assert named("provider-aws-s3") not in nearest_sources(other, KNOWN)


def test_a_host_that_is_spelled_nearly_like_a_known_one_means_that_whatever_the_package() -> None:
    wrong = Source("xpkg.exmaple.org", "acme/quite-another")

    assert on_nearest_hosts(wrong, KNOWN) == [named("quite-another")]
    assert on_nearest_hosts(named("quite-another"), KNOWN) == []
