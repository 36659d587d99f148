"""What a signature says: which image it is for, and for an attestation, what it attests."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from render.references import Digest
from render.signatures.encoding import dig, read_object, text_at, unbase64
from render.signatures.refusals import Reason, Refused

IN_TOTO = "application/vnd.in-toto+json"
SIGNED = "https://sigstore.dev/cosign/sign/v1"
# The short names that cosign and Crossplane know.
PREDICATES = {
    "custom": "https://cosign.sigstore.dev/attestation/v1",
    "slsaprovenance": "https://slsa.dev/provenance/v0.2",
    "slsaprovenance02": "https://slsa.dev/provenance/v0.2",
    "slsaprovenance1": "https://slsa.dev/provenance/v1",
    "spdx": "https://spdx.dev/Document",
    "spdxjson": "https://spdx.dev/Document",
    "cyclonedx": "https://cyclonedx.org/bom",
    "link": "https://in-toto.io/Link/v1",
    "vuln": "https://cosign.sigstore.dev/attestation/vuln/v1",
    "openvex": "https://openvex.dev/ns",
}
_SIMPLE_KEYS = (
    "critical",
    "identity",
    "image",
    "type",
    "optional",
    "docker-reference",
    "docker-manifest-digest",
)
# The types that a reader in Go requires.
_OBJECTS: Sequence[Sequence[str]] = [
    ("critical",),
    ("critical", "identity"),
    ("critical", "image"),
    ("optional",),
]
_TEXTS: Sequence[Sequence[str]] = [("critical", "identity", "docker-reference"), ("critical", "type")]
_ENVELOPE_KEYS = ("payloadType", "payload", "signatures", "keyid", "sig")
_STATEMENT_KEYS = {"_type", "subject", "predicateType", "predicate"}
_SUBJECT_KEYS = {"name", "uri", "digest", "content", "downloadLocation", "mediaType", "annotations"}
_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A signed envelope (DSSE), and the bytes that its signatures are over."""

    payload: bytes
    signatures: tuple[bytes, ...]
    signed: bytes


def require_claim(payload: bytes, digest: Digest) -> None:
    """Raise unless the payload of a plain signature is for an image."""
    what = "its payload"
    value = read_object(payload, _SIMPLE_KEYS, what)
    _check_simple(value)
    found = text_at(value, what, "critical", "image", "docker-manifest-digest")
    if found != digest:
        raise Refused(Reason.WRONG_CLAIM, f"it is for another image: {found[:80]}")


def _check_simple(value: Mapping[str, Any]) -> None:
    for way in _OBJECTS:
        if not isinstance(dig(value, *way), dict | None):
            raise Refused(Reason.UNREADABLE, f"its payload has no object at {'.'.join(way)}")
    for way in _TEXTS:
        if not isinstance(dig(value, *way), str | None):
            raise Refused(Reason.UNREADABLE, f"its payload has no text at {'.'.join(way)}")


def read_envelope(data: bytes | Mapping[str, Any]) -> Envelope:
    """Read an envelope, from its bytes or as a part of a bundle."""
    what = "its envelope"
    value = data if isinstance(data, Mapping) else read_object(data, _ENVELOPE_KEYS, what)
    kind = text_at(value, what, "payloadType")
    if kind != IN_TOTO:
        raise Refused(Reason.UNSUPPORTED, f"its envelope has a payload of type {kind[:80]}")
    payload = unbase64(text_at(value, what, "payload"), what)
    listed = dig(value, "signatures")
    items: Sequence[Any] = listed if isinstance(listed, list) else ()
    signatures = tuple(unbase64(text_at(item, what, "sig"), what) for item in items)
    return Envelope(payload, signatures, pre_authenticated(kind, payload))


def pre_authenticated(kind: str, payload: bytes) -> bytes:
    """Return what the signatures of an envelope are over."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


def read_predicate_type(payload: bytes, digest: Digest) -> str:
    """Return what a statement attests; raise unless it is about an image."""
    what = "its statement"
    value = read_object(payload, _STATEMENT_KEYS, what)
    subjects = dig(value, "subject")
    _require_only(value, _STATEMENT_KEYS)
    if not isinstance(subjects, list) or not isinstance(dig(value, "predicate"), dict | None):
        raise Refused(Reason.UNREADABLE, "its statement has no list of subjects, or no object as predicate")
    for subject in subjects:
        _require_only(subject, _SUBJECT_KEYS)
    found = [dig(subject, "digest", "sha256") for subject in subjects]
    if digest.removeprefix("sha256:") not in found:
        shown = next((one for one in found if isinstance(one, str) and _HEX.fullmatch(one)), "nothing")
        raise Refused(Reason.WRONG_CLAIM, f"it is for another image: {shown}")
    return text_at(value, what, "predicateType")


def _require_only(value: Any, known: set[str]) -> None:
    # Crossplane's reader refuses other fields.
    if not isinstance(value, dict) or not value.keys() <= known:
        raise Refused(Reason.UNREADABLE, "its statement has unknown fields")


def predicate_uri(name: str) -> str:
    """Return the full name of a predicate type."""
    return PREDICATES.get(name, name)
