"""The evidence about packages that policies ask for: what they say, and who signed them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock as Mutex
from typing import TYPE_CHECKING, Protocol

from render.app.trust.signatures import Published
from render.app.world import World
from render.errors import InvalidInput, RenderError
from render.lock.model import Lock
from render.lock.policies import locked_signers
from render.packages import Package
from render.policy.model import Evidence, Policy, SignedBy
from render.policy.times import Released, parse_released
from render.references import Digest, Source
from render.signatures.claims import SIGNED
from render.texts import hides_something

if TYPE_CHECKING:
    from render.signatures.signers import Signer
    from render.xpkg.catalog import Catalog


class MissingRoot(InvalidInput):
    """A policy about signers or proven times, without the roots of trust that it needs."""

    def __init__(self, advice: str) -> None:
        super().__init__(
            "signatures cannot be judged",
            why="a policy asks who signed packages, or since when, and no trusted root says which authorities and logs count",
            next=["name one: --trusted-root FILE, or the variable XPLOCK_TRUSTED_ROOT", advice],
        )


class MissingLibrary(RenderError):
    """A policy about signers, without the library that reads signatures."""

    def __init__(self) -> None:
        super().__init__(
            "signatures cannot be judged",
            why="a policy asks who signed packages, and the library cryptography is not installed",
            next="install the extra: pip install 'xplock[verify]'",
        )


class KnownSignatures(Protocol):
    """Adds what is known about the signatures of a package."""

    def add(self, evidence: Evidence, package: Package) -> Evidence: ...


def open_signatures(
    world: World,
    layouts: Sequence[tuple[str, Path]],
    catalog: "Catalog",
    policies: Sequence[Policy],
) -> "KnownSignatures":
    """Open the signatures of packages; raise if something is missing to judge them."""
    try:
        return Signatures(world, layouts, catalog, policies)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cryptography":
            raise
        raise MissingLibrary from None


class Examiner:
    """Fetches the evidence about packages, each once; it is called from several threads."""

    def __init__(self, catalog: "Catalog", signatures: "KnownSignatures | None" = None) -> None:
        self._catalog = catalog
        self._signatures = signatures
        self._known: dict[tuple[Source, Digest], Evidence] = {}
        self._mutex = Mutex()

    def evidence(self, package: Package) -> Evidence:
        """Return the evidence about a package."""
        key = package.source, package.digest
        with self._mutex:
            known = self._known.get(key)
        if known is None:
            known = self._catalog.evidence(package)
            if self._signatures:
                known = self._signatures.add(known, package)
            with self._mutex:
                self._known[key] = known
        return known


class Signatures:
    """Reads who signed a package, from where the cluster pulls it."""

    def __init__(
        self,
        world: World,
        layouts: Sequence[tuple[str, Path]],
        catalog: "Catalog",
        policies: Sequence[Policy],
    ) -> None:
        # Imported late: cryptography is an extra.
        from render.signatures.crypto.keys import PublicKey
        from render.signatures.trusted_root import ADVICE, read_trusted_root

        self._published = Published.open(world, layouts)
        self._catalog = catalog
        self._limits = world.limits
        self._root = read_trusted_root(world.settings.environ, world.limits)
        if self._root is None and any(map(_needs_root, policies)):
            raise MissingRoot(ADVICE)
        rules = [policy.provenance for policy in policies if policy.provenance]
        texts = dict.fromkeys(one.pem for rule in rules for one in rule.signers if one.pem)
        self._keys = [PublicKey.from_pem(text) for text in texts]

    def add(self, evidence: Evidence, package: Package) -> Evidence:
        """Return the evidence with everyone who provably signed a package."""
        from render.signatures.reading import read_signatures
        from render.signatures.signers import find_signers

        place = self._catalog.place(package)
        found = read_signatures(self._published, place, package.digest, self._limits)
        signers = find_signers(found, package.digest, self._root, self._keys)
        return replace_signers(evidence, signers)


def _needs_root(policy: Policy) -> bool:
    rule = policy.provenance
    # A key that is given proves its signatures by itself; a fingerprint needs a log that has the key.
    return policy.needs_proven_times or (rule is not None and any(not one.pem for one in rule.signers))


def replace_signers(evidence: Evidence, signers: "Sequence[Signer]") -> Evidence:
    """Return evidence with these signers, and the earliest time that a log proves."""
    made = {
        SignedBy(str(one), "" if one.predicate == SIGNED else one.predicate)
        for one in signers
        # A lock has these in one text, with spaces between them.
        if not any(map(_has_space, (one.issuer, one.predicate))) and not hides_something(one.subject)
    }
    times = [one.since for one in signers if one.since is not None]
    proven = Released(datetime.fromtimestamp(min(times), UTC), proven=True) if times else None
    ordered = sorted(made, key=lambda one: (one.signer, one.predicate))
    return replace(evidence, signed_by=tuple(ordered), proven=proven)


def _has_space(text: str) -> bool:
    return hides_something(text) or any(character.isspace() for character in text)


class LockedSignatures:
    """Knows who signed the packages of a lock, as it says; for working offline."""

    def __init__(self, lock: Lock) -> None:
        self._locked = {(one.source, one.digest): one for one in lock.installed()}

    def add(self, evidence: Evidence, package: Package) -> Evidence:
        """Return the evidence with what a lock says about a package."""
        known = self._locked.get((package.source, package.digest))
        if known is None:
            return evidence
        released = parse_released(known.released_at) if known.released_at else None
        return replace(
            evidence,
            signed_by=locked_signers(known),
            proven=released if released and released.proven else None,
        )
