"""Definitions of two locks as a whole: their versions, names and packages. Schemas have tests of their own."""

from typing import Any

import pytest
from rig.builders.compared import found
from rig.builders.definitions import (
    XRD_API_V2,
    a_composition,
    a_crd,
    a_version,
    an_mrd,
    an_xrd,
)

from render.definitions.rules import RULES, Risk

V1, V2 = a_version("v1"), a_version("v2")
OLD_V1, OLD_V2 = a_version("v1", storage=False), a_version("v2", storage=False)
CLAIM = {"kind": "C", "plural": "cs"}
TARGET = a_composition()
CONFIG = {"kind": "ProviderConfig", "plural": "things"}

# By rule: definitions before and after that break it, and after that do not; and the class.
PAIRS: dict[str, list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], Risk]]] = {
    "stored-version-gone": [
        (a_crd(V1, OLD_V2), a_crd(V2), a_crd(OLD_V1, V2), Risk.BLOCKED),
        (an_xrd(V1, OLD_V2), an_xrd(V2), an_xrd(OLD_V1, V2), Risk.BLOCKED),
    ],
    "version-gone": [
        (a_crd(OLD_V1, V2), a_crd(V2), a_crd(OLD_V1, V2, a_version("v3", storage=False)), Risk.WRITERS),
        (a_crd(a_version("v1", storage=False, served=False), V2), a_crd(V2), a_crd(OLD_V1, V2), Risk.NOTE),
    ],
    "version-unserved": [
        (
            a_crd(OLD_V1, V2),
            a_crd(a_version("v1", storage=False, served=False), V2),
            a_crd(OLD_V1, V2),
            Risk.WRITERS,
        )
    ],
    "storage-moved": [(a_crd(OLD_V1, V2), a_crd(V1, OLD_V2), a_crd(V2), Risk.NOTE)],
    "no-way-back": [(a_crd(V1), a_crd(OLD_V1, V2), a_crd(V1, OLD_V2), Risk.NOTE)],
    "version-deprecated": [
        (a_crd(V1), a_crd(a_version("v1", deprecated=True)), a_crd(V1, OLD_V2), Risk.NOTE)
    ],
    "scope": [
        (a_crd(), a_crd(scope="Namespaced"), a_crd(scope="Cluster"), Risk.BLOCKED),
        (
            an_xrd(),
            an_xrd(api_version=XRD_API_V2),
            an_xrd(api_version=XRD_API_V2, scope="LegacyCluster"),
            Risk.BLOCKED,
        ),
    ],
    "names": [
        (
            a_crd(),
            a_crd(names={"kind": "Other", "plural": "things"}),
            a_crd(names={"plural": "things", "kind": "Thing"}, scope="Namespaced"),
            Risk.BLOCKED,
        ),
        # Crossplane makes a ManagedResourceDefinition of every kind but a few.
        (
            a_crd(),
            a_crd(names={"kind": "Thing", "plural": "things", "shortNames": ["t"]}),
            a_crd(),
            Risk.BLOCKED,
        ),
        (
            a_crd(names=CONFIG),
            a_crd(names=CONFIG | {"kind": "ClusterProviderConfig"}),
            a_crd(names=CONFIG | {"categories": ["c"]}),
            Risk.BLOCKED,
        ),
        (
            an_xrd(),
            an_xrd(names={"kind": "Thing", "plural": "things", "shortNames": ["t"]}),
            an_xrd(names={"kind": "Thing", "plural": "things"}),
            Risk.BLOCKED,
        ),
    ],
    "claim-names": [
        (
            an_xrd(claimNames=CLAIM),
            an_xrd(claimNames=CLAIM | {"kind": "D"}),
            an_xrd(V1, OLD_V2, claimNames=CLAIM),
            Risk.BLOCKED,
        ),
        (an_xrd(claimNames=CLAIM), an_xrd(), an_xrd(claimNames=CLAIM), Risk.WRITERS),
    ],
    "enforced-composition": [
        (
            an_xrd(enforcedCompositionRef={"name": "a"}),
            an_xrd(enforcedCompositionRef={"name": "b"}),
            an_xrd(V1, OLD_V2, enforcedCompositionRef={"name": "a"}),
            Risk.BLOCKED,
        ),
        (
            an_xrd(enforcedCompositionRef={"name": "a"}),
            an_xrd(),
            an_xrd(enforcedCompositionRef={"name": "a"}),
            Risk.WRITERS,
        ),
        (an_xrd(), an_xrd(enforcedCompositionRef={"name": "a"}), an_xrd(), Risk.NOTE),
    ],
    "legacy-fields": [
        (
            an_xrd(claimNames=CLAIM, api_version=XRD_API_V2, scope="Cluster") | an_xrd(scope="Cluster"),
            an_xrd(api_version=XRD_API_V2, scope="Cluster", connectionSecretKeys=["a"]),
            an_xrd(scope="Cluster", api_version=XRD_API_V2),
            Risk.BLOCKED,
        ),
        (
            an_xrd(claimNames=CLAIM),
            an_xrd(claimNames=CLAIM, scope="LegacyCluster", api_version=XRD_API_V2),
            an_xrd(claimNames=CLAIM, scope="LegacyCluster"),
            Risk.BLOCKED,
        ),
    ],
    "conversion": [
        (
            a_crd(),
            a_crd(conversion={"strategy": "Webhook"}),
            a_crd(conversion={"strategy": "None"}),
            Risk.NOTE,
        )
    ],
    "subresource": [
        (
            a_crd(a_version(subresources={"status": {}, "scale": {}})),
            a_crd(a_version(subresources={"status": {}})),
            a_crd(a_version(subresources={"status": {}, "scale": {"a": "b"}})),
            Risk.WRITERS,
        )
    ],
    "composition-type": [
        (
            TARGET,
            a_composition(kind="Other"),
            TARGET | {"metadata": {"name": "thing", "labels": {}}},
            Risk.BLOCKED,
        ),
        (TARGET, a_composition("example.org/v2"), TARGET, Risk.BLOCKED),
    ],
    "composition-changed": [
        (TARGET, {**TARGET, "spec": {**TARGET["spec"], "mode": "Resources"}}, TARGET, Risk.NOTE)
    ],
}


# Tests of their own have the rules about schemas, and about which package brings what.
ABOUT_SCHEMAS = {
    *("field-gone", "type-changed", "required-new", "enum-closed", "enum-smaller", "tighter", "rule-new"),
    *("merge-keys", "unknown-fields", "default-changed", "default-gone", "other"),
}
ABOUT_PACKAGES = {
    *("definition-gone", "definition-moved", "definition-new", "composition-gone", "composition-target"),
}


def test_every_rule_has_a_pair() -> None:
    assert PAIRS.keys() | ABOUT_SCHEMAS | ABOUT_PACKAGES == RULES.keys()


@pytest.mark.parametrize(
    ("rule", "old", "broken", "fine", "risk"),
    [(rule, *pair) for rule, pairs in PAIRS.items() for pair in pairs],
)
def test_a_rule_finds_what_breaks_it_and_nothing_else(
    rule: str, old: dict[str, Any], broken: dict[str, Any], fine: dict[str, Any], risk: Risk
) -> None:
    findings = found(old, broken)

    assert findings[rule].risk is risk
    assert (findings[rule].definition, findings[rule].kind) == (old["metadata"]["name"], old["kind"])
    assert (findings[rule].from_version, findings[rule].to_version) == ("v1.0.0", "v1.1.0")
    assert rule not in found(old, fine)


SHORT = {"kind": "Thing", "plural": "things", "shortNames": ["t"]}
ITEM = {"kind": "Item", "plural": "things"}


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        (a_crd(), a_crd(names=ITEM), "unhealthy, and the old controller is off by then"),
        (a_crd(), a_crd(names=SHORT), "since Crossplane v2.0 the new revision of the package stays unhealthy"),
        (a_crd(names=CONFIG), a_crd(names=ITEM), "since Crossplane v2.0 the package says that it is healthy"),
        (a_crd(), a_crd(scope="Namespaced"), "unhealthy, and the old controller is off by then"),
        (a_crd(V1), a_crd(V2), "since Crossplane v2.0 the package says that it is healthy"),
        (an_mrd(V1), an_mrd(V2), "the package says that it is healthy"),
        (a_crd(V1, names=CONFIG), a_crd(V2, names=CONFIG), "unhealthy, and the old controller is off by then"),
        (an_xrd(V1), an_xrd(V2), "the package says that it is healthy"),
        (an_xrd(), an_xrd(names=SHORT), "the new revision of the package stays unhealthy"),
    ],
)  # fmt: skip
def test_what_is_refused_says_where_it_shows(old: dict[str, Any], new: dict[str, Any], detail: str) -> None:
    [blocked] = [one for one in found(old, new).values() if one.risk is Risk.BLOCKED]

    assert detail in blocked.detail


def test_only_names_that_changed_are_shown() -> None:
    names = found(a_crd(), a_crd(names=SHORT))["names"]

    assert (names.before, names.after) == ("", 'shortNames ["t"]')
