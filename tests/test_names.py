"""Names come out exactly as Crossplane makes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.names import dns_label, friendly_id, is_dns_label, is_dns_name, object_name, revision_name
from render.references import Digest, PartialSource, Source

DIGEST = Digest("sha256:ecc25c121431dfc7058754427f97c034ecde26d4aafa0da16d258090e0443904")
LONG = "aws-plusabunchofothernonsensethatisgoingtogetslicedoff"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("-hi/my.name/is-", "hi-my-name-is"),
        ("a" * 64, "a" * 63),
        ("a" * 60 + "----", "a" * 60),
        ("a.b/c:d-e", "a-b-c-d-e"),
        ("a--b", "a--b"),
        ("Upper_case", "ppercase"),
        ("", ""),
        ("-./:", ""),
        ("_", ""),
        # The é takes two of the 63 positions, as it does in Go.
        ("é" + "a" * 63, "a" * 61),
        ("é/a", "a"),
        ("x" * 61 + "é-y", "x" * 61),
    ],
)
def test_a_label_keeps_letters_digits_and_inner_dashes(text: str, label: str) -> None:
    assert dns_label(text) == label


@given(st.text(max_size=100))
def test_a_label_is_always_empty_or_a_dns_label(text: str) -> None:
    label = dns_label(text)

    assert len(label) <= 63
    assert set(label) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert label == label.strip("-")


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True))
def test_a_dns_label_stays_as_it_is(label: str) -> None:
    assert dns_label(label) == label


@pytest.mark.parametrize(
    ("registry", "repository", "name"),
    [
        ("xpkg.crossplane.io", "crossplane-contrib/provider-nop", "crossplane-contrib-provider-nop"),
        ("xpkg.upbound.io", "upbound/provider-aws-s3", "upbound-provider-aws-s3"),
        (None, "crossplane-contrib/provider-nop", "crossplane-contrib-provider-nop"),
        (None, "provider-nop", "library-provider-nop"),
        ("docker.io", "thing", "library-thing"),
        ("index.docker.io", "thing", "library-thing"),
        ("docker.io", "library/thing", "library-thing"),
        ("registry.io", "pkg", "pkg"),
        ("ghcr.io", "org/sub/deep/pkg", "org-sub-deep-pkg"),
        ("ghcr.io", "org/pkg_with_underscore", "org-pkgwithunderscore"),
        ("ghcr.io", "org/__pkg", "org-pkg"),
        ("ghcr.io", "my_org/pkg", "myorg-pkg"),
        ("ghcr.io", "org/pkg.with.dots", "org-pkg-with-dots"),
        ("ghcr.io", "org/pkg--double", "org-pkg--double"),
        ("ghcr.io", "-org-/pkg-", "org--pkg"),
        ("registry.local:5000", "org/pkg", "org-pkg"),
        ("us-docker.pkg.dev", "proj/repo/provider-x", "proj-repo-provider-x"),
        ("123456789012.dkr.ecr.eu-central-1.amazonaws.com", "platform/config", "platform-config"),
        ("ghcr.io", "a.b/c", "a-b-c"),
        ("ghcr.io", "a/b.c", "a-b-c"),
        ("ghcr.io", "a-b/c", "a-b-c"),
        ("ghcr.io", "a/b-c", "a-b-c"),
        ("ghcr.io", "a" * 40 + "/" + "b" * 40, "a" * 40 + "-" + "b" * 22),
        ("ghcr.io", "a" * 61 + "/b", "a" * 61 + "-b"),
        ("ghcr.io", "a" * 62 + "/b", "a" * 62),
        ("ghcr.io", "a" * 61 + "_/bc", "a" * 61),
        ("ghcr.io", "_/_", ""),
    ],
)
def test_a_dependency_is_named_after_its_repository(registry: str | None, repository: str, name: str) -> None:
    source = Source(registry, repository) if registry else PartialSource(repository)

    assert object_name(source) == name


@pytest.mark.parametrize(
    ("package", "start"),
    [
        ("crossplane-contrib-provider-nop", "crossplane-contrib-provider-nop"),
        ("cool-provider", "cool-provider"),
        ("x", "x"),
        ("my.provider.with.dots", "my-provider-with-dots"),
        ("a" * 50, "a" * 50),
        ("a" * 51, "a" * 50),
        ("a" * 49 + "-b", "a" * 49 + "-"),
        ("a" * 49 + ".b", "a" * 49 + "-"),
        (
            "upbound-provider-family-azure-with-a-really-long-name-indeed-yes",
            "upbound-provider-family-azure-with-a-really-long-n",
        ),
    ],
)
def test_a_revision_is_named_after_its_package_and_digest(package: str, start: str) -> None:
    assert revision_name(package, DIGEST) == f"{start}-ecc25c121431"


@pytest.mark.parametrize(
    ("name", "hash_text", "expected"),
    [
        ("provider-aws", "1234567", "provider-aws-1234567"),
        (f"provider-{LONG}", "1234567", "provider-aws-plusabunchofothernonsensethatisgoingt-1234567"),
        ("provider-aws", "1234567891234567", "provider-aws-123456789123"),
        (
            f"provider-{LONG}",
            "1234567891234567",
            "provider-aws-plusabunchofothernonsensethatisgoingt-123456789123",
        ),
        (
            f"provider.{LONG}",
            "1234.567891234567",
            "provider-aws-plusabunchofothernonsensethatisgoingt-1234-5678912",
        ),
        ("provider-in-cluster", "provider-in-cluster", "provider-in-cluster-provider-in"),
        (
            "xpkg.crossplane.io/crossplane-contrib/provider-nop",
            DIGEST,
            "xpkg-crossplane-io-crossplane-contrib-provider-nop-sha256-ecc25",
        ),
        # The cut at 50 bytes goes through the é; what is left of it still takes a position.
        ("a" * 49 + "é", "123456789012", "a" * 49 + "-123456789012"),
    ],
)
def test_a_name_and_a_hash_share_one_label(name: str, hash_text: str, expected: str) -> None:
    assert friendly_id(name, hash_text) == expected


@pytest.mark.parametrize(
    ("text", "label", "name"),
    [
        ("a", True, True),
        ("provider-aws", True, True),
        ("0a", True, True),
        ("a" * 63, True, True),
        ("a" * 64, False, True),
        ("a.b", False, True),
        ("a" * 200 + "." + "b" * 52, False, True),
        ("a" * 200 + "." + "b" * 53, False, False),
        ("", False, False),
        ("A", False, False),
        ("-a", False, False),
        ("a-", False, False),
        ("a..b", False, False),
        ("a.-b", False, False),
        ("a\n", False, False),
        ("é", False, False),
    ],
)
def test_kubernetes_accepts_labels_for_packages_and_dots_elsewhere(
    text: str, label: bool, name: bool
) -> None:
    assert (is_dns_label(text), is_dns_name(text)) == (label, name)
