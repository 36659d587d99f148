"""Rules and signatures make Crossplane's verdict, and the text tells an attack from a format."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from rig.signatures.cosigned import PROVENANCE, Signing
from rig.signatures.sigstore import ISSUER, SUBJECT, Sigstore, new_key, public_pem

from render.references import Digest
from render.signatures.found import Found
from render.signatures.keyrings import Keyring, SecretKey, read_keyring
from render.signatures.rules import parse_rule
from render.signatures.trusted_root import parse_trusted_root
from render.signatures.verdicts import Judge, Judgement, Trouble, Verdict

IMAGE = Digest("sha256:" + "ab" * 32)
OTHER = Digest("sha256:" + "cd" * 32)
SIGSTORE = Sigstore()
ROOT = parse_trusted_root(SIGSTORE.trusted_root())
KEY = new_key()
BY_KEY = Signing(SIGSTORE, KEY)
BY_CERTIFICATE = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY))
MALLORY = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, subject="mallory@example.org"))
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "acme"},
    "stringData": {"cosign.pub": public_pem(KEY)},
}
JUDGE = Judge(read_keyring([SECRET]), ROOT)

OF_KEY = {
    "name": "of-key",
    "key": {"secretRef": {"name": "acme", "key": "cosign.pub"}, "hashAlgorithm": "sha256"},
}
OF_SUBJECT = {"name": "of-subject", "keyless": {"identities": [{"issuer": ISSUER, "subject": SUBJECT}]}}
ATTESTED = {
    **OF_KEY,
    "name": "attested",
    "attestations": [{"name": "built", "predicateType": "slsaprovenance1"}],
}


def judge(found: Found, *authorities: Mapping[str, Any], judge: Judge = JUDGE) -> Judgement:
    """Judge by a rule with some authorities."""
    rule = parse_rule("acme", {"provider": "Cosign", "cosign": {"authorities": list(authorities)}})
    return judge.judge([rule], found, IMAGE)


@pytest.mark.parametrize(
    ("found", "authority"),
    [
        (Found((BY_KEY.sign(IMAGE),)), OF_KEY),
        (Found((BY_CERTIFICATE.sign(IMAGE),)), OF_SUBJECT),
        (Found((BY_KEY.attest(IMAGE),)), ATTESTED),
        # A bad one beside a good one does no harm.
        (Found((BY_KEY.sign(OTHER), BY_KEY.sign(IMAGE))), OF_KEY),
    ],
)
def test_one_good_signature_is_enough(found: Found, authority: Mapping[str, Any]) -> None:
    judged = judge(found, authority)

    assert (judged.verdict, judged.outside, judged.trouble) == (Verdict.ACCEPTED, Verdict.ACCEPTED, None)
    assert judged.authority == authority["name"]
    assert judged.proofs


def test_one_authority_is_enough() -> None:
    judged = judge(Found((BY_CERTIFICATE.sign(IMAGE),)), ATTESTED, OF_SUBJECT)

    assert (judged.verdict, judged.authority) == (Verdict.ACCEPTED, "of-subject")


@pytest.mark.parametrize(
    ("found", "authority", "trouble", "outside"),
    [
        (Found(), OF_KEY, Trouble.UNSIGNED, Verdict.REFUSED),
        (Found(), ATTESTED, Trouble.UNSIGNED, Verdict.REFUSED),
        (Found((BY_KEY.bundle(IMAGE),)), OF_KEY, Trouble.UNREADABLE_BY_CROSSPLANE, Verdict.ACCEPTED),
        (Found((BY_CERTIFICATE.bundle(IMAGE),)), OF_SUBJECT, Trouble.UNREADABLE_BY_CROSSPLANE, Verdict.ACCEPTED),
        (Found((BY_KEY.bundle(IMAGE, PROVENANCE),)), ATTESTED, Trouble.UNREADABLE_BY_CROSSPLANE, Verdict.ACCEPTED),
        # An attestation of something else is no signature.
        (Found((BY_KEY.bundle(IMAGE, PROVENANCE),)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((BY_KEY.without_log().sign(IMAGE),)), OF_KEY, Trouble.NOT_LOGGED, Verdict.ACCEPTED),
        (Found((BY_CERTIFICATE.without_log().sign(IMAGE),)), OF_SUBJECT, Trouble.NOT_LOGGED, Verdict.REFUSED),
        # Whoever else signed it, a missing log entry is not the news.
        (Found((Signing(SIGSTORE, new_key()).without_log().sign(IMAGE),)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((MALLORY.without_log().sign(IMAGE),)), OF_SUBJECT, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((BY_KEY.sign(OTHER),)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((Signing(SIGSTORE, new_key()).sign(IMAGE),)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((Signing(SIGSTORE, new_key()).bundle(IMAGE),)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((BY_KEY.sign(IMAGE),)), OF_SUBJECT, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((BY_KEY.sign(IMAGE),)), ATTESTED, Trouble.ATTESTATION_MISSING, Verdict.REFUSED),
        (Found((BY_KEY.attest(IMAGE, "https://example.org/x"),)), ATTESTED, Trouble.ATTESTATION_MISSING, Verdict.REFUSED),
        # Signatures are not looked at where attestations are asked for, and the other way round.
        (Found((BY_KEY.attest(IMAGE),)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
        (Found((), ("sha256-….sig is an index",)), OF_KEY, Trouble.NOT_ACCEPTED, Verdict.REFUSED),
    ],
)  # fmt: skip
def test_each_trouble_has_its_name(
    found: Found, authority: Mapping[str, Any], trouble: Trouble, outside: Verdict
) -> None:
    judged = judge(found, authority)

    assert (judged.verdict, judged.trouble, judged.outside) == (Verdict.REFUSED, trouble, outside)
    assert judged.details


def test_the_text_of_a_missing_attestation_names_what_was_found() -> None:
    judged = judge(Found((BY_KEY.attest(IMAGE, "https://example.org/x"),)), ATTESTED)

    assert judged.details == ("authority attested: the attestations are of type https://example.org/x",)


def test_the_text_of_a_bundle_names_the_way_out() -> None:
    judged = judge(Found((BY_KEY.bundle(IMAGE),)), OF_KEY)

    assert "--new-bundle-format=false --use-signing-config=false" in judged.details[-1]


@pytest.mark.parametrize(
    "authorities",
    [(), ({"name": "a"},), ({"name": "a", "keyless": {}},), ({"name": "a", "keyless": {"identities": []}},)],
)
def test_a_rule_that_names_nobody_accepts_every_certificate(
    authorities: tuple[Mapping[str, Any], ...],
) -> None:
    stranger = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, subject="mallory@example.org"))

    assert judge(Found((stranger.sign(IMAGE),)), *authorities).verdict is Verdict.ACCEPTED


def test_without_authorities_even_an_unsigned_image_is_accepted() -> None:
    assert judge(Found()).verdict is Verdict.ACCEPTED


def test_beside_a_key_identities_do_not_count() -> None:
    both = {**OF_SUBJECT, **OF_KEY}

    assert judge(Found((BY_KEY.sign(IMAGE),)), both).verdict is Verdict.ACCEPTED
    stranger = new_key()
    certified = Signing(SIGSTORE, stranger, SIGSTORE.certify(stranger))
    assert judge(Found((certified.sign(IMAGE),)), both).verdict is Verdict.REFUSED


@pytest.mark.parametrize("verification", [{"provider": "Other"}, {"provider": "Cosign"}, {}, [], "x"])
def test_a_rule_that_crossplane_cannot_use_refuses_everything(verification: Any) -> None:
    judged = JUDGE.judge([parse_rule("acme", verification)], Found((BY_KEY.sign(IMAGE),)), IMAGE)

    assert (judged.verdict, judged.trouble) == (Verdict.REFUSED, Trouble.NOT_ACCEPTED)


def test_an_unknown_hash_refuses_everything() -> None:
    odd = {"name": "odd", "key": {**OF_KEY["key"], "hashAlgorithm": "md5"}}  # type: ignore[dict-item]
    blank = {"name": "odd", "key": {**OF_KEY["key"], "hashAlgorithm": " SHA256 "}}  # type: ignore[dict-item]

    assert judge(Found((BY_KEY.sign(IMAGE),)), odd).verdict is Verdict.REFUSED
    assert judge(Found((BY_KEY.sign(IMAGE),)), blank).verdict is Verdict.ACCEPTED


# ---- What is not known -----------------------------------------------------------------------------------------------


def test_an_unknown_key_is_never_taken_as_passed() -> None:
    judged = judge(Found((BY_KEY.sign(IMAGE),)), OF_KEY, judge=Judge(Keyring(), ROOT))

    assert (judged.verdict, judged.trouble) == (Verdict.UNKNOWN, Trouble.NOT_CHECKED)
    assert "--key acme/cosign.pub=FILE" in judged.details[0]


def test_without_a_signature_no_key_is_needed_to_refuse() -> None:
    judged = judge(Found(), OF_KEY, judge=Judge(Keyring(), None))

    assert (judged.verdict, judged.trouble) == (Verdict.REFUSED, Trouble.UNSIGNED)


def test_secrets_of_two_namespaces_that_disagree_are_no_key() -> None:
    other = {
        **SECRET,
        "metadata": {"name": "acme", "namespace": "b"},
        "stringData": {"cosign.pub": public_pem(new_key())},
    }
    keyring = read_keyring([SECRET, other])

    judged = judge(Found((BY_KEY.sign(IMAGE),)), OF_KEY, judge=Judge(keyring, ROOT))
    given = keyring.replaced_by({SecretKey("acme", "cosign.pub"): public_pem(KEY)})

    assert judged.verdict is Verdict.UNKNOWN
    assert judge(Found((BY_KEY.sign(IMAGE),)), OF_KEY, judge=Judge(given, ROOT)).verdict is Verdict.ACCEPTED


def test_without_a_trusted_root_nothing_is_accepted() -> None:
    blind = replace(JUDGE, root=None)

    for found, authority in ((BY_KEY.sign(IMAGE), OF_KEY), (BY_CERTIFICATE.sign(IMAGE), OF_SUBJECT)):
        judged = judge(Found((found,)), authority, judge=blind)

        assert judged.trouble is Trouble.NOT_CHECKED
        assert "--trusted-root" in judged.details[0]


def test_an_authority_that_accepts_decides_beside_one_that_is_unknown() -> None:
    unknown = {**OF_KEY, "key": {"secretRef": {"name": "none", "key": "x"}}}

    assert judge(Found((BY_CERTIFICATE.sign(IMAGE),)), unknown, OF_SUBJECT).verdict is Verdict.ACCEPTED
    assert judge(Found((BY_KEY.sign(IMAGE),)), unknown, OF_SUBJECT).verdict is Verdict.UNKNOWN


def test_an_expression_that_go_refuses_is_not_passed() -> None:
    odd = {"name": "odd", "keyless": {"identities": [{"issuer": ISSUER, "subjectRegExp": "(?=x)"}]}}

    assert judge(Found((BY_CERTIFICATE.sign(IMAGE),)), odd).verdict is Verdict.UNKNOWN


def test_of_two_rules_for_one_prefix_both_have_to_accept() -> None:
    good, bad = (
        parse_rule(name, {"provider": "Cosign", "cosign": {"authorities": [one]}})
        for name, one in (("good", OF_KEY), ("bad", OF_SUBJECT))
    )

    judged = JUDGE.judge([good, bad], Found((BY_KEY.sign(IMAGE),)), IMAGE)

    assert (judged.verdict, judged.rule) == (Verdict.REFUSED, "bad")
