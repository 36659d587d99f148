"""The tags that a lock names: where registries have other bytes for them now, or none."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from render.commands import LockCall
from render.errors import RenderError, Unavailable
from render.lock.model import Lock, LockedPackage, State
from render.lock.online.published import Witness, drop_missing_pins, missing_versions
from render.lock.online.verify import VerifyFinding, verify_tag
from render.references import Digest, Reference

if TYPE_CHECKING:
    from render.xpkg.catalog import Catalog


@dataclass(frozen=True, slots=True)
class TagChecks:
    """Asks about tags, several at a time."""

    # The cache and layouts.
    known: "Catalog"
    # None, if no registry must be asked.
    registries: "Catalog | None"
    parallel: int

    def missing(self, lock: Lock, states: Sequence[State]) -> list[str]:
        """Return why packages in some states can be pulled no more."""
        with self._pool() as pool:
            return list(missing_versions(lock, states, self._witness(), pool.map))

    def without_missing(self, lock: Lock) -> tuple[Lock, list[str]]:
        """Return a lock without kept pins that lead nowhere, and what is known of tags that are gone."""
        with self._pool() as pool:
            after, notes = drop_missing_pins(lock, self._witness(), pool.map)
        leaving = self.missing(after, [State.ORPHANED, State.DEACTIVATED])
        return after, [
            *notes,
            *(f"{one}; it is leaving, and its tag was removed, or the lock was edited" for one in leaving),
        ]

    def moved(self, before: Lock, after: Lock, call: LockCall) -> list[str]:
        """Describe the pins that are kept although their tags now name other bytes; no leaving package takes others."""
        kept = [
            p
            for s, p in after.packages.items()
            if p.state is State.WANTED and s in before.packages and before.packages[s].digest == p.digest
        ]
        with self._pool() as pool:
            found = [finding for findings in pool.map(self._trouble, kept) for finding in findings]
        return [
            f"{finding.package.source} {finding.package.version}: {finding.trouble} since it was locked; "
            f"the locked bytes stay (to take others: {call.upgrading(str(finding.package.source))})"
            for finding in found
        ]

    def digests(self, references: Sequence[Reference]) -> dict[Reference, Digest | RenderError]:
        """Return the digests that tags name now, or why a tag has none."""
        with self._pool() as pool:
            return dict(zip(references, pool.map(self._digest, references), strict=True))

    def _digest(self, reference: Reference) -> Digest | RenderError:
        try:
            return self._asked.package(reference).digest
        except Unavailable:
            raise
        except RenderError as error:
            return error

    def _trouble(self, package: LockedPackage) -> list[VerifyFinding]:
        try:
            return list(verify_tag(package, self._asked))
        except RenderError:
            # Only a hint; `xplock verify` reports errors.
            return []

    @property
    def _asked(self) -> "Catalog":
        return self.registries or self.known

    def _witness(self) -> Witness:
        return Witness(self.known, self.registries)

    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.parallel, thread_name_prefix="xplock-tags")
