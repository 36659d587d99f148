"""Digests of what runs: no live object holds the digest of a tag, but the name of its revision proves one.

Up to v2.3 a revision is named after the digest, from v2.4 on after the digest and the generation of its package.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from render.digests import sha256_hex
from render.errors import RenderError
from render.live.adopting.found import Found
from render.live.model import Cluster
from render.names import friendly_id, revision_name
from render.references import Digest
from render.versions.version import Version, parse_version


class NamingRule(StrEnum):
    """How a Crossplane names revisions."""

    DIGEST = "digest"
    GENERATION = "generation"


# The newest version that has the older rule, and the first one that has the newer.
_ASSUMED = {NamingRule.DIGEST: "v2.3.0", NamingRule.GENERATION: "v2.4.0"}
_IMAGE_TAG = re.compile(r"/crossplane:(v?[0-9][^@]*)")


def proving_rule(package: Found, digest: Digest) -> NamingRule | None:
    """Return the rule by which the revision's name proves a digest; None if it proves another one."""
    name, current = package.name, package.object.current_revision
    if revision_name(name, digest) == current:
        return NamingRule.DIGEST
    generation = package.object.metadata.generation
    hashed = sha256_hex(f"{digest.removeprefix('sha256:')}|{generation}")
    return NamingRule.GENERATION if friendly_id(name, hashed) == current else None


def find_rule(packages: Iterable[Found], digests: Mapping[str, Digest]) -> NamingRule | None:
    """Return the rule that the revisions of a cluster follow, by the digests that are known."""
    rules = {
        proving_rule(package, digests[package.title]) for package in packages if package.title in digests
    }
    found = [rule for rule in NamingRule if rule in rules]
    return found[-1] if found else None


def find_crossplane(cluster: Cluster) -> Version | None:
    """Return the version of Crossplane, by the image that its Deployment runs."""
    for deployment in cluster.deployments:
        if deployment.metadata.labels.get("app") != "crossplane":
            continue
        for match in filter(None, map(_IMAGE_TAG.search, deployment.images)):
            try:
                return parse_version(f"v{match[1].removeprefix('v')}")
            except RenderError:
                continue
    return None


def assumed_crossplane(rule: NamingRule) -> Version:
    """Return the version to assume where only the names of revisions show which one it is."""
    return parse_version(_ASSUMED[rule])
