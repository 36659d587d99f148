"""Whatever a registry serves as a signature, the answer is a proof or a refusal, and its text can be shown."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from rig.signatures.cosigned import Signing
from rig.signatures.hostile import changed
from rig.signatures.sigstore import ISSUER, SUBJECT, Sigstore, new_key, public_pem

from render.references import Digest
from render.signatures.crypto.keys import PublicKey
from render.signatures.found import ENTRY, Attached, Form, Found
from render.signatures.proofs import Believed, prove
from render.signatures.refusals import Refused
from render.signatures.rules import Identity
from render.signatures.signers import find_signers
from render.signatures.trusted_root import parse_trusted_root
from render.texts import visible

IMAGE = Digest("sha256:" + "ab" * 32)
SIGSTORE = Sigstore()
ROOT = parse_trusted_root(SIGSTORE.trusted_root())
KEY = new_key()
BY_KEY = Signing(SIGSTORE, KEY), Believed(PublicKey.from_pem(public_pem(KEY)))
BY_CERTIFICATE = (
    Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY)),
    Believed(identities=(Identity(ISSUER, SUBJECT),)),
)


def _payloads(signing: Signing) -> Iterator[Attached]:
    """Yield good signatures of odd payloads."""
    for value in changed(json.loads(signing.sign(IMAGE).data)):
        yield signing.sign_payload(json.dumps(value).encode())


def _statements(signing: Signing) -> Iterator[Attached]:
    """Yield good signatures of odd statements."""
    envelope = json.loads(signing.attest(IMAGE).data)
    for value in changed(json.loads(base64.b64decode(envelope["payload"]))):
        yield signing.attest_statement(json.dumps(value).encode())


def _envelopes(signing: Signing) -> Iterator[Attached]:
    made = signing.attest(IMAGE)
    for value in changed(json.loads(made.data)):
        yield replace(made, data=json.dumps(value).encode())


def _entries(signing: Signing) -> Iterator[Attached]:
    """Yield signatures with odd log entries, and with good ones of odd things."""
    for made in (signing.sign(IMAGE), signing.attest(IMAGE)):
        entry = json.loads(made.annotation(ENTRY))
        body = json.loads(base64.b64decode(entry["Payload"]["body"]))
        for value in (*changed(entry), *map(SIGSTORE.promise, changed(body))):
            yield replace(made, annotations={**made.annotations, ENTRY: json.dumps(value)})


def _bundles(signing: Signing) -> Iterator[Attached]:
    for value in changed(json.loads(signing.bundle(IMAGE).data)):
        yield Attached(Form.BUNDLE, json.dumps(value).encode())


@pytest.mark.parametrize(("signing", "believed"), [BY_KEY, BY_CERTIFICATE], ids=["key", "certificate"])
@pytest.mark.parametrize("documents", [_payloads, _statements, _envelopes, _entries, _bundles])
def test_any_document_is_proven_or_refused(
    documents: Callable[[Signing], Iterator[Attached]], signing: Signing, believed: Believed
) -> None:
    answers = set()
    for one in documents(signing):
        try:
            proof = prove(one, IMAGE, believed, ROOT, logged=one.form is not Form.BUNDLE)
        except Refused as refused:
            assert visible(refused.text).encode()
            answers.add("refused")
        else:
            assert proof.key or (proof.issuer, proof.subjects) == (ISSUER, (SUBJECT,))
            answers.add("proven")
        for signer in find_signers(Found((one,)), IMAGE, ROOT):
            assert signer.key or (signer.issuer, signer.subject) == (ISSUER, SUBJECT)

    # Some parts make no difference, but none of an envelope that a log has the hash of.
    assert answers == ({"refused"} if documents is _envelopes else {"refused", "proven"})
