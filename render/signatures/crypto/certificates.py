"""Certificates of signers, with the fields that a certificate authority for signatures writes."""

import warnings
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID

from render.signatures.crypto.keys import PublicKey
from render.signatures.encoding import pem_blocks
from render.signatures.refusals import Reason, Refused

ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_OTHER_NAME = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
# What is checked here. Another one that is critical forbids to use the certificate.
_UNDERSTOOD = (x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage, x509.SubjectAlternativeName)
# Everything that the library raises for bytes which are no certificate.
_UNREADABLE = (
    *(ValueError, TypeError, OverflowError, UnsupportedAlgorithm),
    *(x509.DuplicateExtension, x509.InvalidVersion, x509.UnsupportedGeneralNameType),
    CryptographyDeprecationWarning,
)
# What the library only warns of, such as a serial number below zero, Go refuses.
warnings.filterwarnings("error", category=CryptographyDeprecationWarning, module=__name__.replace(".", r"\."))
# The kinds of names that are read as text; signers have one of these, or another name.
_NAMED = (x509.DNSName, x509.RFC822Name, x509.UniformResourceIdentifier, x509.IPAddress)
_WEAK = ("md5", "sha1")
_UTF8 = 0x0C


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate; two are equal if their bytes are."""

    der: bytes
    _read: x509.Certificate = field(repr=False, compare=False)

    @classmethod
    def from_der(cls, data: bytes) -> "Certificate":
        """Load a certificate, and read all of its extensions once."""
        try:
            read = x509.load_der_x509_certificate(data)
            for one in read.extensions:
                if one.critical and not isinstance(one.value, _UNDERSTOOD):
                    text = f"a certificate has the critical extension {one.oid.dotted_string}"
                    raise Refused(Reason.UNSUPPORTED, text)
            made = cls(data, read)
            # Read now, so that nothing fails later.
            _ = made.key, made.not_before, made.not_after, made.is_own_issuer
        except _UNREADABLE:
            raise Refused(Reason.UNREADABLE, "a certificate cannot be read") from None
        return made

    @classmethod
    def from_pem(cls, text: str) -> list["Certificate"]:
        """Load all certificates of a text."""
        blocks = pem_blocks(text)
        if any(label != "CERTIFICATE" for label, _ in blocks):
            raise Refused(Reason.UNREADABLE, "it has something else than certificates")
        return [cls.from_der(data) for _, data in blocks]

    @property
    def key(self) -> PublicKey:
        """The key of its owner."""
        return PublicKey.of(self._read.public_key())

    @property
    def not_before(self) -> int:
        """The first second in which it is valid."""
        return int(self._read.not_valid_before_utc.timestamp())

    @property
    def not_after(self) -> int:
        """The last second in which it is valid."""
        return int(self._read.not_valid_after_utc.timestamp())

    @property
    def is_own_issuer(self) -> bool:
        """Whether it names itself as its issuer, as a root does."""
        return self._read.subject.public_bytes() == self._read.issuer.public_bytes()

    @property
    def issuer(self) -> str:
        """The address of whatever identified the signer; empty without one."""
        try:
            value = self._read.extensions.get_extension_for_oid(ISSUER).value
        except x509.ExtensionNotFound:
            return ""
        return _utf8(value.public_bytes())

    @property
    def subjects(self) -> tuple[str, ...]:
        """The names of the signer."""
        try:
            names = self._read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return ()
        plain = [str(one.value) for one in names if isinstance(one, _NAMED)]
        other = [one.value for one in names if isinstance(one, x509.OtherName) and one.type_id == _OTHER_NAME]
        return (*plain, *map(_utf8_string, other))

    @property
    def sct_parts(self) -> tuple[list[x509.certificate_transparency.SignedCertificateTimestamp], bytes]:
        """The timestamps of certificate logs in it, and the bytes that these logs have signed a part of."""
        kind = x509.PrecertificateSignedCertificateTimestamps
        try:
            found = list(self._read.extensions.get_extension_for_class(kind).value)
        except x509.ExtensionNotFound:
            return [], b""
        return found, self._read.tbs_precertificate_bytes

    def allows_code_signing(self) -> bool:
        """Return whether a signature of code is one of its purposes."""
        try:
            purposes = list(self._read.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        except x509.ExtensionNotFound:
            return True
        return bool(
            {ExtendedKeyUsageOID.CODE_SIGNING, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & {*purposes}
        )

    def may_issue(self, below: int) -> bool:
        """Return whether it is of an authority that may have a number of authorities below it."""
        extensions = self._read.extensions
        try:
            basic = extensions.get_extension_for_class(x509.BasicConstraints).value
        except x509.ExtensionNotFound:
            return False
        try:
            signs = extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
        except x509.ExtensionNotFound:
            signs = True
        short = basic.path_length is None or below <= basic.path_length
        # Names that an authority may certify are not compared here, and such an authority is not trusted.
        limited = any(isinstance(one.value, x509.NameConstraints) for one in extensions)
        return basic.ca and signs and short and not limited

    def issued(self, other: "Certificate") -> bool:
        """Return whether its owner signed another certificate."""
        try:
            used = other._read.signature_hash_algorithm
            if used is None or used.name in _WEAK:
                return False
            other._read.verify_directly_issued_by(self._read)
        except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
            return False
        return True

    def is_valid_at(self, second: int) -> bool:
        """Return whether it is valid at a time."""
        return self.not_before <= second <= self.not_after


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused(Reason.UNREADABLE, "a name in a certificate is not UTF-8") from None


def _utf8_string(data: bytes) -> str:
    # A UTF8String in DER, whose length takes one byte, or several above 127.
    if len(data) < 2 or data[0] != _UTF8:
        raise Refused(Reason.UNREADABLE, "a name in a certificate is not text")
    size = data[1] & 0x7F if data[1] & 0x80 else 0
    length = int.from_bytes(data[2 : 2 + size]) if size else data[1]
    if length != len(data) - 2 - size:
        raise Refused(Reason.UNREADABLE, "a name in a certificate is not text")
    return _utf8(data[2 + size :])
