"""The name of a revision proves the digest of a package, by either rule of Crossplane, and no other digest."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.live_objects import crossplane_deployment

from render.live.adopting.digests import NamingRule, find_crossplane, find_rule, proving_rule
from render.live.adopting.found import Found
from render.live.kinds import read_metadata
from render.live.model import Cluster, Deployment, Metadata, PackageObject
from render.names import friendly_id
from render.packages import Kind
from render.references import Digest, parse_reference
from render.yaml.fields import Fields, Problems

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda text: Digest(f"sha256:{text}"))
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
GENERATIONS = st.integers(1, 10**6)


def found(name: str, revision: str, generation: int = 1) -> Found:
    metadata = Metadata(name, generation=generation)
    made = PackageObject(Kind.PROVIDER, metadata, {"package": "x.example.org/a:v1"}, revision)
    return Found(made, parse_reference("x.example.org/a:v1"))


@given(NAMES, DIGESTS, DIGESTS, GENERATIONS)
def test_a_revision_named_after_its_digest_proves_it(
    name: str, digest: Digest, other: Digest, generation: int
) -> None:
    package = found(name, friendly_id(name, digest.removeprefix("sha256:")), generation)

    assert proving_rule(package, digest) is NamingRule.DIGEST
    assert proving_rule(package, other) is (NamingRule.DIGEST if other[:19] == digest[:19] else None)


@given(NAMES, DIGESTS, GENERATIONS)
def test_a_revision_named_after_digest_and_generation_proves_both(
    name: str, digest: Digest, generation: int
) -> None:
    text = f"{digest.removeprefix('sha256:')}|{generation}"
    revision = friendly_id(name, hashlib.sha256(text.encode()).hexdigest())

    assert proving_rule(found(name, revision, generation), digest) is NamingRule.GENERATION
    assert proving_rule(found(name, revision, generation + 1), digest) is None


def test_the_rule_of_a_cluster_is_that_of_any_package_whose_digest_is_known() -> None:
    digest = Digest(f"sha256:{'a' * 64}")
    packages = [found("one", "one-aaaaaaaaaaaa"), found("two", "two-bbbbbbbbbbbb")]

    assert find_rule(packages, {"Provider one": digest, "Provider two": digest}) is NamingRule.DIGEST
    assert find_rule(packages, {"Provider two": digest}) is None
    assert find_rule(packages, {}) is None


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v2.3.4", "v2.3.4"), ("2.4.0", "v2.4.0"), ("latest", None), ("v2.3.4@sha256:a", "v2.3.4")],
)
def test_crossplanes_own_deployment_names_its_version(tag: str, version: str | None) -> None:
    value = crossplane_deployment(tag)
    image = value["spec"]["template"]["spec"]["containers"][0]["image"]
    deployment = Deployment(read_metadata(Fields(value, Problems())), (image,))
    other = Deployment(Metadata("other"), (image,))

    assert str(find_crossplane(Cluster(deployments=(other, deployment)))) == str(version)
    assert find_crossplane(Cluster(deployments=(other,))) is None
