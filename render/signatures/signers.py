"""Who signed an image, and since when that is proven: facts for policies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from render.references import Digest
from render.signatures.crypto.keys import PublicKey
from render.signatures.found import Attached, Found
from render.signatures.log_entries import read_logged
from render.signatures.proofs import Believed, Proof, find_entry, prove
from render.signatures.refusals import Refused
from render.signatures.trusted_root import TrustedRoot


@dataclass(frozen=True, slots=True)
class Signer:
    """One signer of an image: the fingerprint of a key, or the names in a certificate."""

    key: str = ""
    issuer: str = ""
    subject: str = ""
    # What it attests; empty for a plain signature.
    predicate: str = ""
    # The earliest second (since 1970) at which a log had it, so that the bytes are at least that old.
    since: int | None = None

    def __str__(self) -> str:
        return f"sha256:{self.key}" if self.key else f"{self.issuer} {self.subject}"


def find_signers(
    found: Found, digest: Digest, root: TrustedRoot | None, keys: Iterable[PublicKey] = ()
) -> tuple[Signer, ...]:
    """Return everyone who provably signed a digest, each once with the earliest time.

    Certificates, and keys in entries of known logs, prove themselves; without a log, only `keys` are tried.
    """
    known = tuple(keys)
    earliest: dict[Signer, int | None] = {}
    for one in found.attached:
        for proof in _proofs(one, digest, root, known):
            for signer in _signers(proof):
                times = [time for time in (earliest.get(signer), proof.since) if time is not None]
                earliest[signer] = min(times, default=None)
    made = [Signer(one.key, one.issuer, one.subject, one.predicate, since) for one, since in earliest.items()]
    return tuple(sorted(made, key=lambda one: (str(one), one.predicate)))


def _proofs(
    one: Attached, digest: Digest, root: TrustedRoot | None, keys: Iterable[PublicKey]
) -> Iterator[Proof]:
    tries = [(Believed(), True)]
    tries += [(Believed(key), True) for key in _logged_keys(one)]
    tries += [(Believed(key), False) for key in keys]
    for believed, logged in tries:
        try:
            yield prove(one, digest, believed, root, logged=logged)
        except Refused:
            continue


def _logged_keys(one: Attached) -> Iterator[PublicKey]:
    """Yield the key that the log entry of a signature names."""
    try:
        entry = find_entry(one)
        logged = read_logged(entry) if entry else None
        if logged and not logged.is_certificate:
            yield PublicKey.from_der(logged.signer)
    except Refused:
        return


def _signers(proof: Proof) -> list[Signer]:
    """Return the key, or each name in the certificate: joined, two names could fit a pattern that neither fits."""
    if proof.key:
        return [Signer(proof.key, predicate=proof.predicate)]
    return [Signer(issuer=proof.issuer, subject=name, predicate=proof.predicate) for name in proof.subjects]
