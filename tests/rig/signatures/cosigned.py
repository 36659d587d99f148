"""What cosign attaches to an image, byte for byte: signatures, attestations and bundles, by a key or a certificate."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from render.signatures.found import CERTIFICATE, CHAIN, ENTRY, SIGNATURE, Attached, Form
from rig.signatures.sigstore import NOW, PrivateKey, Sigstore, b64, certificate_pem, public_der, public_pem

SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
DSSE = "application/vnd.dsse.envelope.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
IN_TOTO = "application/vnd.in-toto+json"
PROVENANCE = "https://slsa.dev/provenance/v1"


@dataclass(frozen=True)
class Signing:
    """A way to sign: a key, with a certificate or without, in a log or not."""

    sigstore: Sigstore
    key: PrivateKey
    certificate: x509.Certificate | None = None
    logged: bool = True
    at: int = NOW + 60
    algorithm: hashes.HashAlgorithm | None = None

    def sign(self, image: str) -> Attached:
        """Sign as version 2 does."""
        payload = json.dumps(
            {
                "critical": {
                    "identity": {"docker-reference": "registry.example.org/acme/provider"},
                    "image": {"docker-manifest-digest": image},
                    "type": "cosign container image signature",
                },
                "optional": None,
            },
            separators=(",", ":"),
        ).encode()
        return self.sign_payload(payload)

    def sign_payload(self, payload: bytes) -> Attached:
        """Sign a payload of any form."""
        signature = b64(self._made(payload))
        body = {
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()}},
                "signature": {"content": signature, "publicKey": {"content": b64(self.signer)}},
            },
        }
        return Attached(Form.SIGNATURE, payload, {SIGNATURE: signature, **self._annotations(body)})

    def attest(self, image: str, predicate_type: str = PROVENANCE, predicate: Any = None) -> Attached:
        """Attest as version 2 does."""
        statement = _statement("v0.1", image, predicate_type, predicate or {"made": "here"})
        return self.attest_statement(statement, predicate_type)

    def attest_statement(self, statement: bytes, predicate_type: str = PROVENANCE) -> Attached:
        """Attest a statement of any form."""
        envelope = self._envelope(statement)
        data = json.dumps(envelope, separators=(",", ":")).encode()
        body = self._logged_envelope(envelope, hashlib.sha256(data).hexdigest())
        more = {SIGNATURE: "", "predicateType": predicate_type}
        return Attached(Form.ATTESTATION, data, {**more, **self._annotations(body)})

    def bundle(self, image: str, predicate_type: str = "https://sigstore.dev/cosign/sign/v1") -> Attached:
        """Sign or attest as version 3 does."""
        envelope = self._envelope(_statement("v1", image, predicate_type, {}))
        if self.certificate:
            der = self.certificate.public_bytes(serialization.Encoding.DER)
            material: dict[str, Any] = {"certificate": {"rawBytes": b64(der)}}
        else:
            material = {"publicKey": {"hint": b64(hashlib.sha256(public_der(self.key)).digest())}}
        if self.logged:
            material["tlogEntries"] = [self._bundled_entry(self._logged_envelope(envelope, "00" * 32))]
        value = {"mediaType": BUNDLE, "verificationMaterial": material, "dsseEnvelope": envelope}
        return Attached(Form.BUNDLE, json.dumps(value).encode())

    @property
    def signer(self) -> str:
        """The key or the certificate, as a log has it."""
        return certificate_pem(self.certificate) if self.certificate else public_pem(self.key)

    def without_log(self) -> "Signing":
        """Return the same way to sign, with no log."""
        return replace(self, logged=False)

    def _made(self, data: bytes) -> bytes:
        used = self.algorithm or hashes.SHA256()
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(data, padding.PKCS1v15(), used)
        return self.key.sign(data, ec.ECDSA(used))

    def _envelope(self, statement: bytes) -> dict[str, Any]:
        kind = IN_TOTO.encode()
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(statement), statement)
        return {
            "payloadType": IN_TOTO,
            "payload": b64(statement),
            "signatures": [{"keyid": "", "sig": b64(self._made(signed))}],
        }

    def _logged_envelope(self, envelope: dict[str, Any], digest: str) -> dict[str, Any]:
        signature = envelope["signatures"][0]["sig"]
        return {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": digest},
                "payloadHash": {"algorithm": "sha256", "value": "11" * 32},
                "signatures": [{"signature": signature, "verifier": b64(self.signer)}],
            },
        }

    def _annotations(self, body: dict[str, Any]) -> dict[str, str]:
        found = {}
        if self.certificate:
            found[CERTIFICATE] = self.signer
            found[CHAIN] = certificate_pem(self.sigstore.authority) + certificate_pem(self.sigstore.root)
        if self.logged:
            found[ENTRY] = json.dumps(self.sigstore.promise(body, at=self.at), separators=(",", ":"))
        return found

    def _bundled_entry(self, body: dict[str, Any]) -> dict[str, Any]:
        made = self.sigstore.promise(body, at=self.at)
        payload = made["Payload"]
        return {
            "logIndex": str(payload["logIndex"]),
            "logId": {"keyId": b64(bytes.fromhex(payload["logID"]))},
            "kindVersion": {"kind": body["kind"], "version": body["apiVersion"]},
            "integratedTime": str(payload["integratedTime"]),
            "inclusionPromise": {"signedEntryTimestamp": made["SignedEntryTimestamp"]},
            "canonicalizedBody": payload["body"],
        }


def _statement(version: str, image: str, predicate_type: str, predicate: Any) -> bytes:
    return json.dumps(
        {
            "_type": f"https://in-toto.io/Statement/{version}",
            "subject": [{"name": "acme/provider", "digest": {"sha256": image.removeprefix("sha256:")}}],
            "predicateType": predicate_type,
            "predicate": predicate,
        }
    ).encode()
