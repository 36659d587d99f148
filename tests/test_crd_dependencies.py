"""The texts that name a CRD, or the CRDs of a group, in a dependency."""

import pytest

from render.crd_dependencies import CrdRequest, InvalidCrd, make_crd, parse_crd

BUCKET = ("Bucket", "buckets", "bucket")


@pytest.mark.parametrize(
    ("text", "group", "name", "version"),
    [
        ("mytype.mygroup.example.org/v1alpha1", "mygroup.example.org", "mytype", "v1alpha1"),
        ("*.yourstack.example.org/v1alpha1", "yourstack.example.org", "*", "v1alpha1"),
        ("gitlabcluster.gitlab.com/v1alpha1", "gitlab.com", "gitlabcluster", "v1alpha1"),
        ("buckets.s3.example.org", "s3.example.org", "buckets", None),
        ("Bucket.S3.example.org/v1", "s3.example.org", "bucket", "v1"),
        ("my-type.example.org/v2beta3", "example.org", "my-type", "v2beta3"),
    ],
)
def test_a_text_names_a_kind_its_group_and_a_version(
    text: str, group: str, name: str, version: str | None
) -> None:
    request = parse_crd(text)

    assert request == CrdRequest(group, name, version)
    assert parse_crd(str(request)) == request


@pytest.mark.parametrize(
    ("text", "why", "shown"),
    [
        ("", "it has no name", "buckets.s3.aws.upbound.io/v1beta1"),
        ("bucket", "has no group", "buckets.s3.aws.upbound.io/v1beta1"),
        ("bucket/v1", "has no group", "<plural|singular|kind|*>.<group>[/<version>]"),
        ("bucket.s3", "not an API group", "buckets.s3.aws.upbound.io/v1beta1"),
        ("bucket.s3 .org", "not an API group", "buckets.s3.aws.upbound.io/v1beta1"),
        (".s3.example.org", "'' is not the name of a kind", "buckets.s3.aws.upbound.io/v1beta1"),
        ("bucket.*.example.org/v1", "a group holds no *", "*.example.org"),
        ("*.*.example.org/v1", "a group holds no *", "*.example.org"),
        ("*.*", "a group holds no *", "*.s3.aws.upbound.io"),
        ("*.*.org", "a group holds no *", "*.s3.aws.upbound.io"),
        ("bucket*.s3.example.org", "stands for the whole name only", "*.s3.example.org"),
        ("bucket.s3.example.org/", "leave it out to accept any", "bucket.s3.example.org/v1alpha1"),
        ("bucket.s3.example.org/*", "leave it out to accept any", "bucket.s3.example.org/v1alpha1"),
        ("bucket.s3.example.org/v1/v2", "not an API version", "bucket.s3.example.org/v1alpha1"),
        ("bucket.s3.example.org/V1", "not an API version", "bucket.s3.example.org/v1alpha1"),
    ],
)
def test_an_unreadable_text_is_refused_with_the_grammar_and_an_example(
    text: str, why: str, shown: str
) -> None:
    with pytest.raises(InvalidCrd) as raised:
        parse_crd(text)

    assert why in str(raised.value)
    assert shown in str(raised.value)
    assert "<plural|singular|kind|*>.<group>[/<version>]" in str(raised.value)


@pytest.mark.parametrize("name", ["bucket", "buckets", "Bucket", "BUCKET"])
def test_the_name_is_plural_singular_or_kind_in_any_case(name: str) -> None:
    assert parse_crd(f"{name}.s3.example.org").names("s3.example.org", BUCKET)


def test_a_name_is_compared_as_a_whole_and_within_its_group() -> None:
    assert not parse_crd("bucke.s3.example.org").names("s3.example.org", BUCKET)
    assert not parse_crd("bucket.example.org").names("s3.example.org", BUCKET)


def test_the_wildcard_does_not_reach_into_sub_groups() -> None:
    every = parse_crd("*.aws.example.org")

    assert every.names("aws.example.org", BUCKET)
    assert not every.names("s3.aws.example.org", BUCKET)
    assert not every.names("example.org", BUCKET)


def test_a_version_has_to_be_served_and_without_one_any_will_do() -> None:
    assert parse_crd("bucket.s3.example.org/v1").accepts_version(["v1beta1", "v1"])
    assert not parse_crd("bucket.s3.example.org/v1").accepts_version(["v1beta1"])
    assert parse_crd("bucket.s3.example.org").accepts_version(["v1beta1"])
    assert not parse_crd("bucket.s3.example.org").accepts_version([])


def test_parts_make_the_same_request_as_their_text() -> None:
    assert make_crd("s3.example.org", "v1", "Bucket") == parse_crd("bucket.s3.example.org/v1")
    assert make_crd("s3.example.org", None, "*") == parse_crd("*.s3.example.org")
