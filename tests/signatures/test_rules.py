"""Rules are read as Crossplane reads them, with the defaults of its CRD."""

from typing import Any

import pytest

from render.signatures.keyrings import SecretKey
from render.signatures.rules import Authority, Identity, KeyRef, Rule, parse_rule


def authority_of(value: dict[str, Any]) -> Authority:
    """Return the only authority of a rule."""
    [found] = parse_rule("acme", {"provider": "Cosign", "cosign": {"authorities": [value]}}).authorities
    return found


def test_an_authority_with_a_key_is_read() -> None:
    secret = {"name": "acme", "key": "cosign.pub"}

    found = authority_of({"name": "a", "key": {"secretRef": secret, "hashAlgorithm": " SHA512 "}})

    assert found == Authority("a", KeyRef(SecretKey("acme", "cosign.pub"), "sha512"))


def test_the_hash_is_sha256_unless_named() -> None:
    key = authority_of({"name": "a", "key": {"secretRef": {"name": "acme", "key": "k"}}}).key

    assert key
    assert key.algorithm == "sha256"


def test_identities_and_attestations_are_read() -> None:
    found = authority_of(
        {
            "name": "a",
            "keyless": {
                "identities": [{"issuer": "i", "subject": "s", "issuerRegExp": "ir", "subjectRegExp": "sr"}],
                "insecureIgnoreSCT": True,
            },
            "attestations": [{"name": "x", "predicateType": "spdx"}],
        }
    )

    assert found == Authority("a", None, (Identity("i", "s", "ir", "sr"),), True, ("spdx",))


@pytest.mark.parametrize(
    "value", [{"key": 5}, {"keyless": []}, {"name": 5}, {"keyless": {"identities": ["x"]}}]
)
def test_values_of_a_wrong_type_name_no_signer(value: dict[str, Any]) -> None:
    authority = authority_of(value)

    assert (authority.key, authority.identities) == (None, ())


def test_a_rule_of_another_provider_is_broken() -> None:
    assert parse_rule("acme", {"provider": "Notation"}) == Rule("acme", (), "its provider is not Cosign")
