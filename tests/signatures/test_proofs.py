"""A signature is good or it is not: every byte counts, and so does every step from its key to a root."""

import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from rig.signatures.cosigned import PROVENANCE, Signing
from rig.signatures.sigstore import ISSUER, NOW, SUBJECT, Sigstore, b64, new_key, public_der, public_pem

from render.references import Digest
from render.signatures.crypto.keys import PublicKey
from render.signatures.found import CERTIFICATE, CHAIN, ENTRY, SIGNATURE, Attached, Form
from render.signatures.proofs import Believed, prove
from render.signatures.refusals import Reason, Refused
from render.signatures.rules import Identity
from render.signatures.trusted_root import TrustedRoot, parse_trusted_root

IMAGE = Digest("sha256:" + "ab" * 32)
OTHER = Digest("sha256:" + "cd" * 32)
SIGSTORE = Sigstore()
ROOT = parse_trusted_root(SIGSTORE.trusted_root())
KEY = new_key()
BY_KEY = Signing(SIGSTORE, KEY)
BY_CERTIFICATE = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY))
OF_KEY = Believed(PublicKey.from_pem(public_pem(KEY)))
OF_SUBJECT = Believed(identities=(Identity(ISSUER, SUBJECT),))


def reason_of(
    one: Attached,
    believed: Believed,
    root: TrustedRoot | None = ROOT,
    image: Digest = IMAGE,
    *,
    logged: bool = True,
) -> Reason:
    """Return why a signature is not good."""
    with pytest.raises(Refused) as refused:
        prove(one, image, believed, root, logged=logged)
    return refused.value.reason


@pytest.mark.parametrize("made", [BY_KEY.sign(IMAGE), BY_KEY.attest(IMAGE), BY_KEY.bundle(IMAGE)])
def test_a_signature_by_the_key_is_good(made: Attached) -> None:
    proof = prove(made, IMAGE, OF_KEY, ROOT)

    assert (proof.key, proof.since) == (PublicKey.from_pem(public_pem(KEY)).fingerprint, NOW + 60)


@pytest.mark.parametrize(
    "made", [BY_CERTIFICATE.sign(IMAGE), BY_CERTIFICATE.attest(IMAGE), BY_CERTIFICATE.bundle(IMAGE)]
)
def test_a_signature_by_a_certificate_of_the_identity_is_good(made: Attached) -> None:
    proof = prove(made, IMAGE, OF_SUBJECT, ROOT)

    assert (proof.issuer, proof.subjects, proof.since) == (ISSUER, (SUBJECT,), NOW + 60)


@pytest.mark.parametrize(
    "key", [rsa.generate_private_key(65537, 2048), new_key(ec.SECP384R1()), new_key(ec.SECP521R1())]
)
def test_other_kinds_of_keys_are_good(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
    made = Signing(SIGSTORE, key).sign(IMAGE)

    assert prove(made, IMAGE, Believed(PublicKey.from_pem(public_pem(key))), ROOT).since


def test_an_attestation_says_what_it_attests() -> None:
    assert prove(BY_KEY.attest(IMAGE), IMAGE, OF_KEY, ROOT).predicate == PROVENANCE


# ---- Every byte counts -----------------------------------------------------------------------------------------------


def _flipped(data: bytes) -> Iterator[bytes]:
    """Yield the same bytes with one of them changed, at every position."""
    for at in range(len(data)):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _flipped_text(text: str) -> Iterator[str]:
    for data in _flipped(text.encode()):
        yield data.decode("ascii", "replace")


def _variants(one: Attached) -> Iterator[Attached]:
    for data in _flipped(one.data):
        yield replace(one, data=data)
    for name in (SIGNATURE, CERTIFICATE, ENTRY):
        for text in _flipped_text(one.annotation(name)):
            yield replace(one, annotations={**one.annotations, name: text})


@pytest.mark.parametrize(
    ("made", "believed"),
    [(BY_KEY.sign(IMAGE), OF_KEY), (BY_CERTIFICATE.sign(IMAGE), OF_SUBJECT), (BY_KEY.attest(IMAGE), OF_KEY)],
    ids=["key", "certificate", "attestation"],
)
def test_no_byte_can_be_changed(made: Attached, believed: Believed) -> None:
    assert prove(made, IMAGE, believed, ROOT)
    for variant in _variants(made):
        with pytest.raises(Refused):
            prove(variant, IMAGE, believed, ROOT)


def test_a_damaged_certificate_is_refused_and_nothing_worse() -> None:
    made = BY_CERTIFICATE.sign(IMAGE)
    certificate = BY_CERTIFICATE.certificate
    assert certificate
    der = certificate.public_bytes(serialization.Encoding.DER)
    for at in range(len(der)):
        for value in {0, 0x7F, 0xFF, der[at] ^ 0x10} - {der[at]}:
            changed = b64(der[:at] + bytes([value]) + der[at + 1 :])
            pem = f"-----BEGIN CERTIFICATE-----\n{changed}\n-----END CERTIFICATE-----\n"
            with pytest.raises(Refused):
                prove(
                    replace(made, annotations={**made.annotations, CERTIFICATE: pem}), IMAGE, OF_SUBJECT, ROOT
                )


_LOAD = """
import sys
from render.signatures.crypto.certificates import Certificate
from render.signatures.refusals import Refused
try:
    Certificate.from_der(bytes.fromhex(sys.argv[1]))
except Refused as error:
    print(error.text)
"""


def test_a_certificate_that_the_library_only_warns_of_is_refused_without_a_word() -> None:
    certificate = BY_CERTIFICATE.certificate
    assert certificate
    der = certificate.public_bytes(serialization.Encoding.DER)
    serial = der.index(certificate.serial_number.to_bytes((certificate.serial_number.bit_length() + 8) // 8))

    # Outside of tests, a warning is no error.
    odd = (der[:serial] + b"\xff" + der[serial + 1 :]).hex()
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", _LOAD, odd], capture_output=True, text=True, timeout=60
    )

    assert (done.stdout, done.stderr) == ("a certificate cannot be read\n", "")


def test_no_byte_of_an_envelope_in_a_bundle_can_be_changed() -> None:
    value = json.loads(BY_KEY.bundle(IMAGE).data)
    envelope = value["dsseEnvelope"]
    for name in ("payloadType", "payload"):
        for text in _flipped_text(envelope[name]):
            changed = {**value, "dsseEnvelope": {**envelope, name: text}}
            made = Attached(Form.BUNDLE, json.dumps(changed).encode())
            with pytest.raises(Refused):
                prove(made, IMAGE, OF_KEY, ROOT, logged=False)


# ---- By a key --------------------------------------------------------------------------------------------------------


def test_a_signature_by_another_key_is_not_good() -> None:
    assert reason_of(Signing(SIGSTORE, new_key()).sign(IMAGE), OF_KEY) is Reason.WRONG_KEY


@pytest.mark.parametrize("made", [BY_KEY.sign(OTHER), BY_KEY.attest(OTHER), BY_KEY.bundle(OTHER)])
def test_a_signature_of_another_image_is_not_good(made: Attached) -> None:
    assert reason_of(made, OF_KEY) is Reason.WRONG_CLAIM


def test_a_signature_without_a_log_entry_is_good_where_logs_do_not_matter() -> None:
    made = BY_KEY.without_log().sign(IMAGE)

    assert reason_of(made, OF_KEY) is Reason.NOT_LOGGED
    assert prove(made, IMAGE, OF_KEY, None, logged=False).since is None


def test_without_a_trusted_root_a_log_entry_cannot_be_judged() -> None:
    assert reason_of(BY_KEY.sign(IMAGE), OF_KEY, None) is Reason.UNKNOWN
    assert reason_of(BY_CERTIFICATE.sign(IMAGE), OF_SUBJECT, None) is Reason.UNKNOWN


def test_an_entry_of_a_log_that_is_not_known_is_not_good() -> None:
    stranger = replace(SIGSTORE, signature_log=new_key())

    assert reason_of(Signing(stranger, KEY).sign(IMAGE), OF_KEY) is Reason.WRONG_ENTRY


def test_the_entry_of_another_signature_is_not_good() -> None:
    one, other = BY_KEY.sign(IMAGE), BY_KEY.sign(IMAGE)

    mixed = replace(one, annotations={**one.annotations, ENTRY: other.annotation(ENTRY)})

    assert reason_of(mixed, OF_KEY) is Reason.WRONG_ENTRY


def test_the_entry_of_another_envelope_is_not_good() -> None:
    one, other = BY_KEY.attest(IMAGE), BY_KEY.attest(IMAGE, "https://example.org/other")

    mixed = replace(one, annotations={**one.annotations, ENTRY: other.annotation(ENTRY)})

    assert reason_of(mixed, OF_KEY) is Reason.WRONG_ENTRY


def test_a_signature_over_another_hash_has_no_good_entry() -> None:
    made = replace(BY_KEY, algorithm=hashes.SHA512())
    believed = replace(OF_KEY, algorithm="sha512")

    assert reason_of(made.sign(IMAGE), believed) is Reason.WRONG_ENTRY
    # The entry of an envelope is about the envelope, and not about the hash that was signed.
    assert prove(made.attest(IMAGE), IMAGE, believed, ROOT).since


def test_a_key_beside_a_certificate_of_another_key_is_not_good() -> None:
    stranger = new_key()
    made = Signing(SIGSTORE, KEY, SIGSTORE.certify(stranger)).sign(IMAGE)

    assert reason_of(made, OF_KEY) is Reason.WRONG_KEY
    assert prove(BY_CERTIFICATE.sign(IMAGE), IMAGE, OF_KEY, ROOT).key


@pytest.mark.parametrize(
    "payload",
    [
        b'{"critical":{"image":{"docker-manifest-digest":"%s"},"Image":{"docker-manifest-digest":"%s"}}}',
        b'{"critical":{"image":{"docker-manifest-digest":"%s","docker-manifest-digest":"%s"}}}',
        b'{"critical":{"image":{"docker-manifest-digest":"%s"}},"optional":NaN,"x":"%s"}',
        b'{"critical":{"image":{"docker-manifest-digest":"%s"}},"optional":{"x":1e999,"y":"%s"}}',
        b'{"critical":{"image":{"docker-manifest-digest":"%s"}},"optional":{"x":1"0","y":"%s"}}'.replace(
            b'"0"', b"0" * 400
        ),
        b'{"critical":{"image":{"docker-manifest-digest":"%s"}},"optional":"%s"}',
        b'{"critical":{"image":{"docker-manifest-digest":"%s"},"type":5},"x":"%s"}',
        b'["%s","%s"]',
        b"\xff%s%s",
    ],
)
def test_a_payload_that_two_readers_could_read_differently_is_refused(payload: bytes) -> None:
    made = BY_KEY.sign_payload(payload % (IMAGE.encode(), IMAGE.encode()))

    assert reason_of(made, OF_KEY) is Reason.UNREADABLE


def test_a_key_of_an_unsupported_kind_is_named_so() -> None:
    text = public_pem(ed25519.Ed25519PrivateKey.generate())  # type: ignore[arg-type]

    with pytest.raises(Refused) as refused:
        PublicKey.from_pem(text)

    assert refused.value.reason is Reason.UNSUPPORTED


# ---- By a certificate ------------------------------------------------------------------------------------------------


def test_a_signer_that_the_rule_does_not_name_is_told() -> None:
    stranger = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, subject="mallory@example.org"))

    with pytest.raises(Refused) as refused:
        prove(stranger.sign(IMAGE), IMAGE, OF_SUBJECT, ROOT)

    assert refused.value.reason is Reason.WRONG_IDENTITY
    assert refused.value.text == f"it was signed by mallory@example.org, as {ISSUER} says"


@pytest.mark.parametrize(
    ("identity", "fits"),
    [
        (Identity(), True),
        (Identity(issuer=ISSUER), True),
        (Identity(subject="other", subject_expression="^https://git.example.org/acme/"), True),
        (Identity(issuer_expression="elsewhere", issuer=ISSUER), False),
        (Identity(ISSUER, "https://git.example.org/acme"), False),
    ],
)
def test_issuer_and_subject_of_one_identity_have_to_fit(identity: Identity, fits: bool) -> None:
    made, believed = BY_CERTIFICATE.sign(IMAGE), Believed(identities=(identity,))

    if fits:
        assert prove(made, IMAGE, believed, ROOT).subjects == (SUBJECT,)
    else:
        assert reason_of(made, believed) is Reason.WRONG_IDENTITY


def test_a_certificate_of_another_authority_is_not_good() -> None:
    stranger = Sigstore(signature_log=SIGSTORE.signature_log, certificate_log=SIGSTORE.certificate_log)

    made = Signing(stranger, KEY, stranger.certify(KEY)).sign(IMAGE)

    assert reason_of(made, OF_SUBJECT) is Reason.UNTRUSTED


def test_a_certificate_for_another_purpose_is_not_good() -> None:
    certificate = SIGSTORE.certify(KEY, purposes=[ExtendedKeyUsageOID.SERVER_AUTH])

    assert reason_of(Signing(SIGSTORE, KEY, certificate).sign(IMAGE), OF_SUBJECT) is Reason.UNTRUSTED


def test_authorities_that_come_with_a_signature_lead_to_a_root_that_knows_none_below_it() -> None:
    rootless = replace(ROOT, intermediates=())
    made = BY_CERTIFICATE.sign(IMAGE)
    other = Sigstore(certificate_log=SIGSTORE.certificate_log, signature_log=SIGSTORE.signature_log)
    foreign = Signing(other, KEY, other.certify(KEY)).sign(IMAGE)
    lonely = {name: text for name, text in made.annotations.items() if name != CHAIN}

    assert prove(made, IMAGE, OF_SUBJECT, rootless).issuer == ISSUER
    assert reason_of(replace(made, annotations=lonely), OF_SUBJECT, rootless) is Reason.UNTRUSTED
    # It brings its own root along, which nobody has to believe.
    assert reason_of(foreign, OF_SUBJECT, rootless) is Reason.UNTRUSTED


def test_a_certificate_that_no_log_lists_is_good_only_where_the_rule_says_so() -> None:
    made = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, listed=False)).sign(IMAGE)

    assert reason_of(made, OF_SUBJECT) is Reason.NO_SCT
    assert prove(made, IMAGE, replace(OF_SUBJECT, ignores_sct=True), ROOT).issuer == ISSUER


def test_a_certificate_that_an_unknown_log_lists_is_not_good() -> None:
    made = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, log=new_key())).sign(IMAGE)

    assert reason_of(made, OF_SUBJECT) is Reason.NO_SCT


@pytest.mark.parametrize("at", [NOW - 1, NOW + 601])
def test_a_signature_that_was_logged_outside_of_the_certificates_minutes_is_not_good(at: int) -> None:
    assert reason_of(replace(BY_CERTIFICATE, at=at).sign(IMAGE), OF_SUBJECT) is Reason.EXPIRED


@pytest.mark.parametrize("at", [NOW, NOW + 600])
def test_the_first_and_the_last_second_count(at: int) -> None:
    assert prove(replace(BY_CERTIFICATE, at=at).sign(IMAGE), IMAGE, OF_SUBJECT, ROOT).since == at


def test_a_signature_by_a_certificate_without_a_log_entry_is_never_good() -> None:
    made = BY_CERTIFICATE.without_log().sign(IMAGE)

    assert reason_of(made, OF_SUBJECT) is Reason.NOT_LOGGED
    assert reason_of(made, OF_SUBJECT, logged=False) is Reason.NOT_LOGGED


def test_a_signature_by_a_key_has_no_identity() -> None:
    assert reason_of(BY_KEY.sign(IMAGE), OF_SUBJECT) is Reason.WRONG_FORM


# ---- Entries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "version", "spec"),
    [
        ("rekord", "0.0.1", {}),
        ("intoto", "0.0.2", None),
        ("intoto", "0.0.1", None),
        ("alpine", "0.0.1", {}),
    ],
)
def test_entries_of_known_kinds_are_read(kind: str, version: str, spec: object) -> None:
    made = BY_KEY.attest(IMAGE) if spec is None else BY_KEY.sign(IMAGE)
    entry = json.loads(made.annotation(ENTRY))
    body = json.loads(base64.b64decode(entry["Payload"]["body"]))
    body |= {"kind": kind, "apiVersion": version}
    if kind == "intoto":
        body["spec"] = _intoto(version, made)
    text = json.dumps(SIGSTORE.promise(body))
    logged = replace(made, annotations={**made.annotations, ENTRY: text})

    if kind == "alpine":
        assert reason_of(logged, OF_KEY) is Reason.UNSUPPORTED
    else:
        assert prove(logged, IMAGE, OF_KEY, ROOT).since


def _intoto(version: str, made: Attached) -> dict[str, object]:
    digest = {"algorithm": "sha256", "value": hashlib.sha256(made.data).hexdigest()}
    if version == "0.0.1":
        return {"publicKey": b64(public_pem(KEY)), "content": {"hash": digest}}
    signature = json.loads(made.data)["signatures"][0]["sig"]
    signed = {"sig": b64(signature), "publicKey": b64(public_pem(KEY))}
    return {"content": {"envelope": {"signatures": [signed]}, "hash": digest}}


@pytest.mark.parametrize("name", ["integratedTime", "logIndex"])
@pytest.mark.parametrize("odd", [str, float, lambda number: -number, lambda number: number << 60])
def test_numbers_of_an_entry_are_whole_numbers(name: str, odd: Callable[[int], object]) -> None:
    made = BY_KEY.sign(IMAGE)
    entry = json.loads(made.annotation(ENTRY))
    entry["Payload"][name] = odd(entry["Payload"][name])

    changed = replace(made, annotations={**made.annotations, ENTRY: json.dumps(entry)})

    assert reason_of(changed, OF_KEY) is Reason.UNREADABLE


def test_the_key_in_an_entry_has_to_be_the_key() -> None:
    made = BY_KEY.sign(IMAGE)
    entry = json.loads(made.annotation(ENTRY))
    body = json.loads(base64.b64decode(entry["Payload"]["body"]))
    body["spec"]["signature"]["publicKey"]["content"] = b64(public_pem(new_key()))
    text = json.dumps(SIGSTORE.promise(body))

    assert (
        reason_of(replace(made, annotations={**made.annotations, ENTRY: text}), OF_KEY) is Reason.WRONG_ENTRY
    )


def test_a_fingerprint_is_the_hash_of_the_key() -> None:
    assert PublicKey.from_der(public_der(KEY)) == PublicKey.from_pem(public_pem(KEY))
