"""Every policy that a run has to obey, applied to candidates while they are tried."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from render.lean import Any, dataclass, field, replace
from render.mirrors import Mirror, NoPath
from render.packages import Package
from render.policy.licences import NOTHING_SAID
from render.policy.model import Evidence, Judged, Policy, Rule, SignedBy, Verdict
from render.policy.rules import (
    accepted_signers,
    judge_age,
    judge_licence,
    judge_pinning,
    judge_provenance,
    judge_source,
)
from render.references import Digest, InvalidReference, Source, is_digest, parse_reference, parse_source
from render.rewrites import Rewrites


def _know_nothing(_: Package) -> Evidence:
    return Evidence()


def _no_clock() -> datetime:
    raise AssertionError("only `lock` has a clock")


@dataclass(frozen=True, slots=True)
class Judge:
    """Policies that all have to allow a package; without any, everything is allowed."""

    policies: tuple[Policy, ...] = ()
    examine: Callable[[Package], Evidence] = _know_nothing
    clock: Callable[[], datetime] = _no_clock
    # Where the cluster pulls packages from.
    rewrites: Rewrites = Rewrites(())
    mirror: Mirror | None = None
    # The digest that a tag of a source itself names now, None if that is not known; without it, tags are believed.
    named: Callable[[Source, str], Digest | None] | None = None
    # Whether manifests name tags alone, without the digests that were judged.
    unpinned: bool = False
    # What is locked already is not refused for its age; and who signed it, as the lock says.
    locked: Mapping[tuple[Source, Digest], tuple[SignedBy, ...]] = field(default_factory=dict)
    # Every package that was refused, by its source and by its tag or digest.
    refused: dict[tuple[Source, str], Sequence[Verdict]] = field(default_factory=dict, compare=False)
    _time: list[datetime] = field(default_factory=list, compare=False, repr=False)

    @property
    def needs_evidence(self) -> bool:
        """Whether a rule asks for more than the source of a package."""
        return any(policy.licences or policy.age or policy.provenance for policy in self.policies)

    def refuse_source(self, source: Source, *versions: str | None) -> list[Verdict]:
        """Return why nothing of a source, or not this version, may be asked for."""
        return [
            verdict for policy in self.policies for verdict in self._judge_places(policy, source, versions)
        ]

    def _judge_places(
        self, policy: Policy, source: Source, versions: tuple[str | None, ...]
    ) -> Iterator[Verdict]:
        proven, doubt = self._prove_tag(policy, source, versions)
        own = judge_source(policy, source, *proven)
        if own:
            yield replace(own, reason=f"{own.reason}{doubt}")
        # A project writes its own rewrites and mirror, and must not get around the operator's policy by one.
        for place in self._places(source, versions) if policy.author else ():
            verdict = judge_source(policy, place, *proven)
            if verdict:
                yield replace(verdict, reason=f"{source} is pulled from {place}: {verdict.reason}")

    def _places(self, source: Source, versions: tuple[str | None, ...]) -> list[Source]:
        """Return where rewrites and the mirror lead, other than to the source itself."""
        ends = ["", *(f"{'@' if is_digest(one) else ':'}{one}" for one in versions if one)]
        found = []
        for text in (f"{source}{end}" for end in ends):
            rewrite = self.rewrites.find(text)
            # Fetching raises for a rewrite that gives no reference.
            with suppress(InvalidReference):
                found += [_parse(rewrite.apply(text))] if rewrite else []
        # As does rendering for a path that is too long.
        with suppress(NoPath):
            found += [self.mirror.place(source)] if self.mirror else []
        return [place for place in dict.fromkeys(found) if place != source]

    def _prove_tag(
        self, policy: Policy, source: Source, versions: tuple[str | None, ...]
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the versions that count for exceptions, and a reason why one does not.

        A project may name any tag beside a digest, or rewrite tags; the exception of an operator is for the bytes that
        the registry has under its tag.
        """
        tag, digest = (*versions, None, None)[:2]
        if self.named is None or not (policy.author and tag and digest):
            return versions, ""
        excepted = any(one.source == source and one.version == tag for one in policy.exceptions)
        if not excepted or self.named(source, tag) == digest:
            return versions, ""
        return (
            digest,
        ), f"; its registry does not say that {tag} names these bytes, so no exception for it counts"

    def refuse(self, tag: str | None, package: Package) -> Sequence[Verdict]:
        """Return why a package is refused."""
        verdicts = [verdict for verdict in self._verdicts(tag, package) if verdict.refused]
        if verdicts:
            self.refused[package.source, tag or package.digest] = verdicts
        return verdicts

    def warnings(self, tag: str | None, package: Package) -> list[Verdict]:
        """Return what is to be said about a package that is allowed."""
        return [verdict for verdict in self._verdicts(tag, package) if not verdict.refused]

    @property
    def of_operators(self) -> "Judge":
        """The policies that no project decides about, alone."""
        return replace(self, policies=tuple(policy for policy in self.policies if policy.author))

    def leaving_fields(self, package: Package) -> Mapping[str, Any]:
        """Return the evidence that a lock holds of a package that is leaving: what its operator asks for."""
        asked = {rule for policy in self.policies for rule in policy.rules if policy.author}
        if not asked & {Rule.LICENCES, Rule.PROVENANCE}:
            return {}
        fields = self.of_operators.locked_fields(package)
        signed = {key: fields[key] for key in ("signed_by", "attested_by")}
        return {
            **({"licence": fields["licence"]} if Rule.LICENCES in asked else {}),
            **(signed if Rule.PROVENANCE in asked else {}),
        }

    def locked_fields(self, package: Package) -> Mapping[str, Any]:
        """Return the evidence that a lock holds of a package: only as much as policies ask for."""
        evidence = self.examine(package) if self.needs_evidence else Evidence()
        asked = {rule for policy in self.policies for rule in policy.rules}
        signers = self._signers(package, evidence)
        return {
            "licence": evidence.licence or NOTHING_SAID if Rule.LICENCES in asked else None,
            "released_at": self._release_time(evidence) if Rule.AGE in asked else None,
            "signed_by": tuple(sorted(str(one) for one in signers if not one.predicate)),
            "attested_by": tuple(sorted(str(one) for one in signers if one.predicate)),
        }

    def _release_time(self, evidence: Evidence) -> str | None:
        proven = evidence.proven if any(policy.needs_proven_times for policy in self.policies) else None
        known = proven or evidence.released
        return str(known) if known else None

    def _signers(self, package: Package, evidence: Evidence) -> set[SignedBy]:
        """Return one signer that each policy accepts: the one that is locked, since others may sign later."""
        before = self.locked.get((package.source, package.digest), ())
        found: set[SignedBy] = set()
        for rule in (policy.provenance for policy in self.policies if policy.provenance):
            accepted = accepted_signers(rule, evidence)
            found.update([one for one in accepted if one in before][:1] or accepted[:1])
        return found

    def judge(self, judged: Judged) -> Iterator[Verdict]:
        """Apply every rule that needs no clock to a package."""
        for policy in self.policies:
            yield from self._judge_places(policy, judged.source, (judged.tag, judged.digest))
            yield from self._apply(policy, judged, judge_licence, judge_provenance)
            # A project chooses how it pins, and an operator's rules about bytes must not be about other ones.
            if self.unpinned and policy.author and judged.tag:
                yield from self._apply(policy, judged, judge_pinning)

    def _verdicts(self, tag: str | None, package: Package) -> Iterator[Verdict]:
        evidence = self.examine(package) if self.needs_evidence else Evidence()
        judged = Judged(package.source, tag, package.digest, evidence)
        yield from self.judge(judged)
        if (package.source, package.digest) not in self.locked:
            for policy in self.policies:
                if policy.age:
                    yield from self._apply(policy, judged, partial(judge_age, now=self._now()))

    def _apply(
        self, policy: Policy, judged: Judged, *rules: Callable[[Policy, Judged], Verdict | None]
    ) -> Iterator[Verdict]:
        proven, doubt = self._prove_tag(policy, judged.source, (judged.tag, judged.digest))
        known = judged if judged.tag in proven else replace(judged, tag=None)
        for verdict in (rule(policy, known) for rule in rules):
            if verdict:
                yield replace(verdict, reason=f"{verdict.reason}{doubt}")

    def _now(self) -> datetime:
        # Read once: every candidate of a run is judged at one time.
        if not self._time:
            self._time.append(self.clock())
        return self._time[0]


def _parse(text: str) -> Source:
    try:
        return parse_source(text)
    except InvalidReference:
        return parse_reference(text).source
