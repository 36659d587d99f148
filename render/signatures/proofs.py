"""Whether one signature is good: by a key, or by a certificate."""

import base64
from dataclasses import dataclass

from render.references import Digest
from render.signatures.claims import Envelope, read_envelope, read_predicate_type, require_claim
from render.signatures.crypto.certificates import Certificate
from render.signatures.crypto.chains import find_chain, require_listed, require_valid
from render.signatures.crypto.keys import PublicKey
from render.signatures.encoding import dig, read_object, text_at, unbase64, written_number_at
from render.signatures.found import CERTIFICATE, CHAIN, ENTRY, SIGNATURE, Attached, Form
from render.signatures.identities import require_identity
from render.signatures.log_entries import LogEntry, hash_of, parse_entry, read_logged, require_promised
from render.signatures.refusals import Reason, Refused
from render.signatures.rules import Identity
from render.signatures.trusted_root import ADVICE, TrustedRoot

_BUNDLE = "application/vnd.dev.sigstore.bundle"
_WHAT = "its bundle"


@dataclass(frozen=True, slots=True)
class Believed:
    """Whose signatures count: those by a key, or else those by a certificate."""

    key: PublicKey | None = None
    algorithm: str = "sha256"
    # Without any, every certificate counts.
    identities: tuple[Identity, ...] = ()
    ignores_sct: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """A good signature: who made it, what it attests, and since when a log has it."""

    # The fingerprint of a key; empty for a certificate.
    key: str = ""
    issuer: str = ""
    subjects: tuple[str, ...] = ()
    predicate: str = ""
    # In seconds since 1970; None without a log entry.
    since: int | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """One signature with its parts, the same for all forms."""

    certificate: Certificate | None
    # Each in the text that a log has of it, and what all of them are over.
    signatures: tuple[str, ...]
    signed: bytes
    # What a log has a hash of, if that is known byte for byte.
    logged: bytes | None
    predicate: str


def prove(
    one: Attached, digest: Digest, believed: Believed, root: TrustedRoot | None, *, logged: bool = True
) -> Proof:
    """Verify a signature of an image; raise if it is not good. Without `logged`, a key needs no log entry."""
    read = _read_bundle(one, digest) if one.form is Form.BUNDLE else _read_layer(one, digest)
    if believed.key is None:
        return _prove_certificate(one, read, believed, root)
    key = believed.key
    if read.certificate and read.certificate.key != key:
        raise Refused(Reason.WRONG_KEY, f"it was signed with the key {read.certificate.key.fingerprint}")
    signature = _find_made(read, key, believed.algorithm)
    if not logged:
        return Proof(key=key.fingerprint, predicate=read.predicate)
    time = _require_logged(find_entry(one), read, signature, key, root)
    if read.certificate:
        require_valid([read.certificate], time)
    return Proof(key=key.fingerprint, predicate=read.predicate, since=time)


def _prove_certificate(one: Attached, read: _Read, believed: Believed, root: TrustedRoot | None) -> Proof:
    certificate = read.certificate
    if certificate is None:
        raise Refused(Reason.WRONG_FORM, "it was signed with a key, and has no certificate")
    if root is None:
        raise Refused(Reason.UNKNOWN, f"certificates are judged by a trusted root, --trusted-root; {ADVICE}")
    chain = find_chain(certificate, root.roots, root.intermediates or _sent_along(one))
    if not believed.ignores_sct:
        require_listed(chain, root.certificate_logs)
    signature = _find_made(read, certificate.key, "sha256")
    issuer, subjects = certificate.issuer, certificate.subjects
    # Before its log entry: a missing one is not the news about a stranger's signature.
    require_identity(believed.identities, issuer, subjects)
    time = _require_logged(find_entry(one), read, signature, certificate.key, root)
    require_valid(chain, time)
    return Proof(issuer=issuer, subjects=subjects, predicate=read.predicate, since=time)


def _sent_along(one: Attached) -> list[Certificate]:
    """Return the certificates that came with a signature but for the last one, which counts as a root."""
    text = one.annotation(CHAIN)
    return Certificate.from_pem(text)[:-1] if text else []


def _find_made(read: _Read, key: PublicKey, algorithm: str) -> str:
    """Return the signature that a key made."""
    for text in read.signatures:
        if key.made(unbase64(text, "its signature"), read.signed, algorithm):
            return text
    raise Refused(Reason.WRONG_KEY, f"it was not made with the key {key.fingerprint}, or was changed since")


def _require_logged(
    entry: LogEntry | None, read: _Read, signature: str, key: PublicKey, root: TrustedRoot | None
) -> int:
    """Return the time at which a log got a signature; raise unless a known log has exactly this one."""
    if entry is None:
        raise Refused(Reason.NOT_LOGGED, "no entry of a signature log came with it")
    logged = read_logged(entry)
    signer = read.certificate.der if read.certificate else key.der
    if logged.signer != signer:
        raise Refused(Reason.WRONG_ENTRY, "its log entry names another key or certificate")
    if logged.signature not in (None, signature):
        raise Refused(Reason.WRONG_ENTRY, "its log entry is about another signature")
    if read.logged is not None and logged.sha256 != hash_of(read.logged):
        raise Refused(Reason.WRONG_ENTRY, "its log entry is about other bytes")
    # Such a log has compared the signature with that hash, whatever hash the rule names.
    if logged.is_hashed and not key.made(
        unbase64(logged.signature or "", "its log entry"), read.logged or b""
    ):
        raise Refused(Reason.WRONG_ENTRY, "its log entry is about a signature over another kind of hash")
    if root is None:
        raise Refused(Reason.UNKNOWN, f"log entries are judged by a trusted root, --trusted-root; {ADVICE}")
    require_promised(entry, root)
    return entry.time


def _read_layer(one: Attached, digest: Digest) -> _Read:
    text = one.annotation(CERTIFICATE)
    certificate = Certificate.from_pem(text)[0] if text else None
    if one.form is Form.SIGNATURE:
        require_claim(one.data, digest)
        return _Read(certificate, (one.annotation(SIGNATURE),), one.data, one.data, "")
    envelope = read_envelope(one.data)
    predicate = read_predicate_type(envelope.payload, digest)
    return _Read(certificate, _texts(envelope), envelope.signed, one.data, predicate)


def _read_bundle(one: Attached, digest: Digest) -> _Read:
    value = read_object(one.data, (), _WHAT)
    signed = value.get("dsseEnvelope")
    if not text_at(value, _WHAT, "mediaType").startswith(_BUNDLE) or not isinstance(signed, dict):
        raise Refused(Reason.UNSUPPORTED, "it is not a bundle with an envelope")
    envelope = read_envelope(signed)
    predicate = read_predicate_type(envelope.payload, digest)
    # A bundle has the envelope in its own words, so the bytes that were logged are not known.
    return _Read(_bundled_certificate(value), _texts(envelope), envelope.signed, None, predicate)


def _bundled_certificate(value: object) -> Certificate | None:
    material = dig(value, "verificationMaterial")
    raw = dig(material, "certificate", "rawBytes")
    raw = raw or dig(material, "x509CertificateChain", "certificates", 0, "rawBytes")
    return Certificate.from_der(unbase64(raw, _WHAT)) if isinstance(raw, str) else None


def find_entry(one: Attached) -> LogEntry | None:
    """Return the log entry that came with a signature."""
    if one.form is not Form.BUNDLE:
        text = one.annotation(ENTRY)
        return parse_entry(text) if text else None
    value = dig(read_object(one.data, (), _WHAT), "verificationMaterial", "tlogEntries", 0)
    if value is None:
        return None
    if dig(value, "inclusionPromise") is None:
        raise Refused(Reason.UNKNOWN, "its log promises nothing in the entry; such newer logs are not read")
    return LogEntry(
        unbase64(text_at(value, _WHAT, "canonicalizedBody"), _WHAT),
        written_number_at(value, _WHAT, "integratedTime"),
        written_number_at(value, _WHAT, "logIndex"),
        unbase64(text_at(value, _WHAT, "logId", "keyId"), _WHAT).hex(),
        unbase64(text_at(value, _WHAT, "inclusionPromise", "signedEntryTimestamp"), _WHAT),
    )


def _texts(envelope: Envelope) -> tuple[str, ...]:
    return tuple(base64.b64encode(signature).decode() for signature in envelope.signatures)
