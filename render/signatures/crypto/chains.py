"""From the certificate of a signer to a root, and to the log that lists the certificate."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.certificate_transparency import LogEntryType, SignedCertificateTimestamp

from render.signatures.crypto.certificates import Certificate
from render.signatures.crypto.keys import PublicKey
from render.signatures.refusals import Reason, Refused

_LONGEST = 8
# How many issuers are tried: authorities that certify each other make many ways.
_MOST_TRIES = 200


def find_chain(
    leaf: Certificate, roots: Sequence[Certificate], intermediates: Sequence[Certificate]
) -> tuple[Certificate, ...]:
    """Return the certificates from a signer to a root, all valid when the signer's one begins."""
    tries = [0]
    found = _extend((leaf,), roots, intermediates, leaf.not_before, tries)
    if found is None or not all(one.allows_code_signing() for one in found):
        raise Refused(Reason.UNTRUSTED, "no trusted authority issued the certificate for signing")
    return found


def _extend(
    chain: tuple[Certificate, ...],
    roots: Sequence[Certificate],
    intermediates: Sequence[Certificate],
    time: int,
    tries: list[int],
) -> tuple[Certificate, ...] | None:
    for issuers, is_end in ((roots, True), (intermediates, False)):
        for issuer in issuers:
            tries[0] += 1
            if tries[0] > _MOST_TRIES or not _fits(issuer, chain, time):
                continue
            longer = (*chain, issuer)
            found = longer if is_end else _extend(longer, roots, intermediates, time, tries)
            if found:
                return found
    return None


def _fits(issuer: Certificate, chain: tuple[Certificate, ...], time: int) -> bool:
    is_new = issuer not in chain and len(chain) < _LONGEST
    return (
        is_new and issuer.is_valid_at(time) and issuer.may_issue(len(chain) - 1) and issuer.issued(chain[-1])
    )


def require_listed(chain: Sequence[Certificate], keys: Mapping[str, PublicKey]) -> None:
    """Raise unless known logs of certificates promised to list the first one of a chain; `keys` by their fingerprint."""
    stamps, data = chain[0].sct_parts
    if not stamps:
        raise Refused(Reason.NO_SCT, "its certificate has no timestamp of a certificate log (SCT)")
    issuer = bytes.fromhex(chain[1].key.fingerprint)
    for stamp in stamps:
        key = keys.get(stamp.log_id.hex())
        if key is None:
            raise Refused(Reason.NO_SCT, f"the certificate log {stamp.log_id.hex()} is not known")
        if not _promised(stamp, key, issuer, data):
            raise Refused(Reason.NO_SCT, "the timestamp of a certificate log in its certificate is not good")


def _promised(stamp: SignedCertificateTimestamp, key: PublicKey, issuer: bytes, data: bytes) -> bool:
    try:
        is_usual = isinstance(stamp.signature_hash_algorithm, hashes.SHA256)
        is_early = stamp.entry_type is LogEntryType.PRE_CERTIFICATE
        return is_usual and is_early and key.made(stamp.signature, _signed_by_log(stamp, issuer, data))
    except (ValueError, OverflowError, UnsupportedAlgorithm):
        # A time that no clock shows, or a hash that no log uses.
        return False


def _signed_by_log(stamp: SignedCertificateTimestamp, issuer: bytes, data: bytes) -> bytes:
    """Return what a log signs about a certificate before it is issued (RFC 6962, 3.2)."""
    time = stamp.timestamp.replace(tzinfo=UTC)
    milliseconds = int(time.replace(microsecond=0).timestamp()) * 1000 + time.microsecond // 1000
    more = stamp.extension_bytes
    head = b"\x00\x00" + milliseconds.to_bytes(8) + b"\x00\x01" + issuer
    return head + len(data).to_bytes(3) + data + len(more).to_bytes(2) + more


def require_valid(certificates: Iterable[Certificate], time: int) -> None:
    """Raise unless all certificates are valid at a time."""
    if not all(one.is_valid_at(time) for one in certificates):
        raise Refused(Reason.EXPIRED, "its certificate was not valid when the signature was logged")
