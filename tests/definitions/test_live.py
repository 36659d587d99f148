"""What a cluster knows makes findings exact."""

from typing import Any

import pytest
from rig.builders.compared import found
from rig.builders.definitions import a_crd, a_version, an_xrd

from render.definitions.model import LiveDefinition, LiveDefinitions
from render.definitions.rules import Risk

NAME = "things.example.org"
V1, V2 = a_version("v1"), a_version("v2")
OLD_V1 = a_version("v1", storage=False)
CRD = frozenset({"CustomResourceDefinition"})


def live(*stored: str, **more: bool) -> LiveDefinitions:
    return LiveDefinitions({NAME: LiveDefinition(stored, **more)}, CRD)


def test_a_version_that_was_stored_long_ago_blocks() -> None:
    findings = found(a_crd(OLD_V1, V2), a_crd(V2), live("v1", "v2"))

    assert {rule: one.risk for rule, one in findings.items()} == {"stored-version-gone": Risk.BLOCKED}
    assert findings["stored-version-gone"].version == "v1"


def test_a_version_that_is_not_stored_does_not_block() -> None:
    unknown, known = found(a_crd(OLD_V1, V2), a_crd(V2)), found(a_crd(OLD_V1, V2), a_crd(V2), live("v2"))

    assert unknown["version-gone"].risk is known["version-gone"].risk is Risk.WRITERS
    assert "storedVersions" in unknown["version-gone"].detail
    assert not known["version-gone"].detail


def test_an_unserved_version_that_is_not_stored_concerns_nobody() -> None:
    unserved = a_version("v1", storage=False, served=False)

    assert not found(a_crd(unserved, V2), a_crd(V2), live("v2"))


@pytest.mark.parametrize(
    "cluster",
    [
        live(is_inactive=True),
        live("v1", is_deleted=True),
        LiveDefinitions({}, CRD),
    ],
    ids=["an inactive MRD", "being deleted", "not there"],
)
def test_what_the_cluster_does_not_have_has_no_findings(cluster: LiveDefinitions) -> None:
    assert not found(a_crd(V1), a_crd(V2, scope="Namespaced"), cluster)


def test_what_was_not_read_is_unknown() -> None:
    cluster = LiveDefinitions({}, frozenset({"ManagedResourceDefinition"}))

    assert found(a_crd(V1), a_crd(V2), cluster).keys() == found(a_crd(V1), a_crd(V2)).keys()


def test_claims_have_stored_versions_of_their_own() -> None:
    claims: dict[str, Any] = {"claimNames": {"kind": "C", "plural": "cs"}}
    cluster = LiveDefinitions(
        {NAME: LiveDefinition(("v2",)), "cs.example.org": LiveDefinition(("v1", "v2"))}, CRD
    )

    findings = found(an_xrd(OLD_V1, V2, **claims), an_xrd(V2, **claims), cluster)

    assert findings.keys() == {"stored-version-gone"}
