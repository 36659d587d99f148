"""Public keys, and whether they made a signature."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from render.signatures.encoding import pem_blocks
from render.signatures.refusals import Reason, Refused

HASHES: Mapping[str, hashes.HashAlgorithm] = {
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_SMALLEST_RSA = 2048
_KINDS = "a key has to be ECDSA on P-256, P-384 or P-521, or RSA of at least 2048 bits"
_LABELS = ("PUBLIC KEY", "RSA PUBLIC KEY")

_Key: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key of a kind that cosign signs with; two are equal if their bytes are."""

    # As SubjectPublicKeyInfo.
    der: bytes
    _key: _Key = field(repr=False, compare=False)

    @classmethod
    def of(cls, key: object) -> "PublicKey":
        """Return a key of the library; raise for a kind that signs nothing here."""
        is_rsa = isinstance(key, rsa.RSAPublicKey) and key.key_size >= _SMALLEST_RSA
        is_ecdsa = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES)
        if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey) or not (is_rsa or is_ecdsa):
            raise Refused(Reason.UNSUPPORTED, _KINDS)
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return cls(key.public_bytes(serialization.Encoding.DER, form), key)

    @classmethod
    def from_der(cls, data: bytes) -> "PublicKey":
        """Load a key."""
        try:
            return cls.of(serialization.load_der_public_key(data))
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise Refused(Reason.UNREADABLE, "it is not a public key") from None

    @classmethod
    def from_pem(cls, text: str) -> "PublicKey":
        """Load the only key of a text."""
        blocks = pem_blocks(text)
        if len(blocks) > 1 or blocks[0][0] not in _LABELS:
            raise Refused(Reason.UNREADABLE, "it is not one public key in PEM form")
        return cls.from_der(blocks[0][1])

    @property
    def fingerprint(self) -> str:
        """The hash that names the key."""
        return hashlib.sha256(self.der).hexdigest()

    def made(self, signature: bytes, data: bytes, algorithm: str = "sha256") -> bool:
        """Return whether the owner of the key signed some bytes."""
        used = HASHES[algorithm]
        try:
            if isinstance(self._key, rsa.RSAPublicKey):
                self._key.verify(signature, data, padding.PKCS1v15(), used)
            else:
                self._key.verify(signature, data, ec.ECDSA(used))
        except (InvalidSignature, ValueError, UnsupportedAlgorithm):
            return False
        return True
