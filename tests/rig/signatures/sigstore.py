"""An own Sigstore: an authority for certificates, a log of certificates and a log of signatures, all made up."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ISSUER = "https://issuer.example.org"
SUBJECT = "https://git.example.org/acme/provider/.github/workflows/release.yml@refs/tags/v1.0.0"
# Everything of it happens around this second.
NOW = 1_750_000_000
_ISSUER_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_ISSUER_V2_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_SCT_OID = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_SINCE = {"start": "2020-01-01T00:00:00Z"}
_YEARS = timedelta(days=3_650)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def new_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    """Make a key on a curve."""
    return ec.generate_private_key(curve or ec.SECP256R1())


def public_der(key: PrivateKey) -> bytes:
    """Return the public part of a key as bytes."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.DER, form)


def public_pem(key: PrivateKey) -> str:
    """Return the public part of a key as a text."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def private_pem(key: PrivateKey) -> str:
    """Return the private part of a key as a text."""
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


def fingerprint(key: PrivateKey) -> str:
    """Return the hash by which logs and rules name a key."""
    return hashlib.sha256(public_der(key)).hexdigest()


def b64(data: bytes | str) -> str:
    """Encode in base64."""
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


@dataclass
class Sigstore:
    """One authority with an intermediate one below it, and its two logs."""

    root_key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: new_key(ec.SECP384R1()))
    authority_key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    certificate_log: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    signature_log: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    root: x509.Certificate = field(init=False)
    authority: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        self.root = _authority("root", self.root_key, self.root_key, "root", 1)
        self.authority = _authority("authority", self.authority_key, self.root_key, "root", 0)

    def certify(
        self,
        key: ec.EllipticCurvePrivateKey,
        *,
        subject: str = SUBJECT,
        others: Sequence[str] = (),
        issuer: str = ISSUER,
        listed: bool = True,
        log: ec.EllipticCurvePrivateKey | None = None,
        purposes: Sequence[x509.ObjectIdentifier] = (ExtendedKeyUsageOID.CODE_SIGNING,),
    ) -> x509.Certificate:
        """Issue a certificate of ten minutes, as its authority does for each signature."""
        names = [
            x509.UniformResourceIdentifier(one) if "://" in one else x509.RFC822Name(one)
            for one in (subject, *others)
        ]
        start = datetime.fromtimestamp(NOW, UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.authority.subject)
            .public_key(key.public_key())
            .serial_number(1 + int(fingerprint(key)[:15], 16))
            .not_valid_before(start)
            .not_valid_after(start + timedelta(minutes=10))
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage(list(purposes)), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER_OID, issuer.encode()), critical=False)
            .add_extension(x509.UnrecognizedExtension(_ISSUER_V2_OID, _utf8_string(issuer)), critical=False)
        )
        if not listed:
            return builder.sign(self.authority_key, hashes.SHA256())
        # A log signs the certificate without its own promise in it.
        poor = builder.sign(self.authority_key, hashes.SHA256())
        promise = self._promise(poor.tbs_certificate_bytes, log or self.certificate_log)
        return builder.add_extension(
            x509.UnrecognizedExtension(_SCT_OID, _octets(promise)), critical=False
        ).sign(self.authority_key, hashes.SHA256())

    def _promise(self, data: bytes, log: ec.EllipticCurvePrivateKey) -> bytes:
        time = (NOW * 1000 + 123).to_bytes(8)
        issuer = hashlib.sha256(public_der(self.authority_key)).digest()
        signed = b"\x00\x00" + time + b"\x00\x01" + issuer + len(data).to_bytes(3) + data + b"\x00\x00"
        signature = log.sign(signed, ec.ECDSA(hashes.SHA256()))
        sct = (
            b"\x00" + hashlib.sha256(public_der(log)).digest() + time + b"\x00\x00"
            + b"\x04\x03" + len(signature).to_bytes(2) + signature
        )  # fmt: skip
        item = len(sct).to_bytes(2) + sct
        return len(item).to_bytes(2) + item

    def promise(self, body: dict[str, Any], *, at: int = NOW + 60) -> dict[str, Any]:
        """Log an entry, and return what the log gives for it, as an annotation has it."""
        payload = {
            "body": b64(json.dumps(body, separators=(",", ":"), sort_keys=True)),
            "integratedTime": at,
            "logID": fingerprint(self.signature_log),
            "logIndex": 42,
        }
        data = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
        promised = self.signature_log.sign(data, ec.ECDSA(hashes.SHA256()))
        return {"SignedEntryTimestamp": b64(promised), "Payload": payload}

    def trusted_root(self) -> bytes:
        """Return the file by which xplock trusts it."""
        chain = [self.authority, self.root]
        certificates = [{"rawBytes": b64(one.public_bytes(serialization.Encoding.DER))} for one in chain]
        return json.dumps(
            {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [_log(self.signature_log)],
                "certificateAuthorities": [
                    {
                        "subject": {"organization": "example.org", "commonName": "authority"},
                        "uri": "https://authority.example.org",
                        "certChain": {"certificates": certificates},
                        "validFor": _SINCE,
                    }
                ],
                "ctlogs": [_log(self.certificate_log)],
            }
        ).encode()


def certificate_pem(certificate: x509.Certificate) -> str:
    """Return a certificate as a text."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _authority(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    issuer: str,
    below: int,
) -> x509.Certificate:
    start = datetime.fromtimestamp(NOW, UTC) - _YEARS / 2
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(7 + below)
        .not_valid_before(start)
        .not_valid_after(start + _YEARS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=below), critical=True)
        .add_extension(_usage(key_cert_sign=True), critical=True)
    )
    if name != issuer:
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}.example.org")])


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    return {
        "baseUrl": "https://log.example.org",
        "hashAlgorithm": "SHA2_256",
        "publicKey": {
            "rawBytes": b64(public_der(key)),
            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
            "validFor": _SINCE,
        },
        "logId": {"keyId": b64(hashlib.sha256(public_der(key)).digest())},
    }


def _utf8_string(text: str) -> bytes:
    return b"\x0c" + bytes([len(text.encode())]) + text.encode()


def _octets(data: bytes) -> bytes:
    length = bytes([len(data)]) if len(data) < 128 else b"\x81" + bytes([len(data)])
    return b"\x04" + length + data
