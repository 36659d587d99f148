"""Every policy that a run has to obey, applied to candidates while they are tried."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from render.lean import Any, dataclass, field, replace
from render.mirrors import Mirror, NoPath
from render.packages import Package
from render.policy.licences import NOTHING_SAID
from render.policy.model import Evidence, Judged, Policy, Rule, SignedBy, Verdict
from render.policy.rules import accepted_signers, judge_age, judge_licence, judge_provenance, judge_source
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
        own = judge_source(policy, source, *versions)
        if own:
            yield own
        # A project writes its own rewrites and mirror, and must not get around the operator's policy by one.
        for place in self._places(source, versions) if policy.author else ():
            verdict = judge_source(policy, place, *versions)
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

    def refuse(self, tag: str | None, package: Package) -> Sequence[Verdict]:
        """Return why a package is refused."""
        verdicts = [verdict for verdict in self._verdicts(tag, package) if verdict.refused]
        if verdicts:
            self.refused[package.source, tag or package.digest] = verdicts
        return verdicts

    def warnings(self, tag: str | None, package: Package) -> list[Verdict]:
        """Return what is to be said about a package that is allowed."""
        return [verdict for verdict in self._verdicts(tag, package) if not verdict.refused]

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
            found = (judge_licence(policy, judged), judge_provenance(policy, judged))
            yield from (verdict for verdict in found if verdict)

    def _verdicts(self, tag: str | None, package: Package) -> Iterator[Verdict]:
        evidence = self.examine(package) if self.needs_evidence else Evidence()
        judged = Judged(package.source, tag, package.digest, evidence)
        yield from self.judge(judged)
        if (package.source, package.digest) not in self.locked:
            aged = (judge_age(policy, judged, self._now()) for policy in self.policies if policy.age)
            yield from (verdict for verdict in aged if verdict)

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
