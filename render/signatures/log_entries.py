"""Entries of a signature log: what a log promises to keep for ever, and when it got that."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from render.signatures.encoding import dig, number_at, pem_blocks, read_object, text_at, unbase64
from render.signatures.refusals import Reason, Refused
from render.signatures.trusted_root import TrustedRoot

_ENVELOPE_KEYS = ("SignedEntryTimestamp", "Payload", "body", "integratedTime", "logIndex", "logID")
_BODY_KEYS = (
    "kind", "apiVersion", "spec", "signature", "signatures", "content", "publicKey", "verifier", "envelope",
    "envelopeHash", "data", "hash", "algorithm", "value", "sig",
)  # fmt: skip
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry as it came with a signature; nothing about it is verified."""

    body: bytes
    # In seconds since 1970.
    time: int
    index: int
    # The fingerprint of the log's key.
    log: str
    promise: bytes


@dataclass(frozen=True, slots=True)
class Logged:
    """What a log says that it got."""

    # The key or the certificate of the signer, in DER.
    signer: bytes
    is_certificate: bool
    # In base64; None where the entry names none.
    signature: str | None
    # Of the payload, or of the whole envelope.
    sha256: str
    # Whether the log compared the signature with the hash.
    is_hashed: bool


def parse_entry(annotation: str) -> LogEntry:
    """Return the entry in the annotation of a signature."""
    what = "its log entry"
    value = read_object(annotation, _ENVELOPE_KEYS, what)
    return LogEntry(
        unbase64(text_at(value, what, "Payload", "body"), what),
        number_at(value, what, "Payload", "integratedTime"),
        number_at(value, what, "Payload", "logIndex"),
        text_at(value, what, "Payload", "logID"),
        unbase64(text_at(value, what, "SignedEntryTimestamp"), what),
    )


def require_promised(entry: LogEntry, root: TrustedRoot) -> None:
    """Raise unless a known log promised to keep an entry."""
    key = root.logs.get(entry.log) if _HEX.fullmatch(entry.log) else None
    if key is None:
        raise Refused(Reason.WRONG_ENTRY, f"the signature log {entry.log[:64]} is not known")
    payload = {
        "body": base64.b64encode(entry.body).decode(),
        "integratedTime": entry.time,
        "logID": entry.log,
        "logIndex": entry.index,
    }
    data = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
    if not key.made(entry.promise, data):
        raise Refused(Reason.WRONG_ENTRY, "the signature log did not sign this entry")


def read_logged(entry: LogEntry) -> Logged:
    """Return what an entry is about."""
    what = "its log entry"
    body = read_object(entry.body, _BODY_KEYS, what)
    kind, version = text_at(body, what, "kind"), text_at(body, what, "apiVersion")
    read = _KINDS.get((kind, version))
    if read is None:
        raise Refused(Reason.UNSUPPORTED, f"its log entry is of kind {kind} {version}")
    key, signature, hashed = read(body.get("spec"), what)
    if dig(hashed, "algorithm") != "sha256":
        raise Refused(Reason.WRONG_ENTRY, "its log entry has no hash by SHA-256")
    label, der = _only_block(key)
    return Logged(
        der,
        label == "CERTIFICATE",
        signature,
        text_at(hashed, what, "value"),
        is_hashed=kind in ("hashedrekord", "rekord"),
    )


def _only_block(text: str) -> tuple[str, bytes]:
    try:
        blocks = pem_blocks(unbase64(text, "its log entry").decode())
    except UnicodeDecodeError:
        blocks = []
    if len(blocks) != 1:
        raise Refused(Reason.WRONG_ENTRY, "its log entry does not name one key or certificate")
    return blocks[0]


def _hashed_rekord(spec: Any, what: str) -> tuple[str, str | None, Any]:
    key = text_at(spec, what, "signature", "publicKey", "content")
    return key, text_at(spec, what, "signature", "content"), dig(spec, "data", "hash")


def _dsse(spec: Any, what: str) -> tuple[str, str | None, Any]:
    _require_one(dig(spec, "signatures"))
    key = text_at(spec, what, "signatures", 0, "verifier")
    return key, text_at(spec, what, "signatures", 0, "signature"), dig(spec, "envelopeHash")


def _intoto(spec: Any, what: str) -> tuple[str, str | None, Any]:
    _require_one(dig(spec, "content", "envelope", "signatures"))
    place = ("content", "envelope", "signatures", 0)
    signature = unbase64(text_at(spec, what, *place, "sig"), what)
    key = text_at(spec, what, *place, "publicKey")
    return key, signature.decode("ascii", "replace"), dig(spec, "content", "hash")


def _old_intoto(spec: Any, what: str) -> tuple[str, str | None, Any]:
    return text_at(spec, what, "publicKey"), None, dig(spec, "content", "hash")


def _require_one(signatures: Any) -> None:
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise Refused(Reason.UNSUPPORTED, "its log entry does not have exactly one signature")


_KINDS = {
    ("hashedrekord", "0.0.1"): _hashed_rekord,
    ("rekord", "0.0.1"): _hashed_rekord,
    ("dsse", "0.0.1"): _dsse,
    ("intoto", "0.0.2"): _intoto,
    ("intoto", "0.0.1"): _old_intoto,
}


def hash_of(data: bytes) -> str:
    """Return the hash of a payload or envelope, as entries have it."""
    return hashlib.sha256(data).hexdigest()
