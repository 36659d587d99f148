"""Policies applied to a lock, offline: by what the lock says about its packages, and without the rule about age."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from render.commands import xplock
from render.errors import Unsatisfiable
from render.inputs.projects import Inputs
from render.lean import dataclass
from render.lock.model import KeptPin, Lock, LockedPackage, State, pin_places
from render.policy.judge import Judge
from render.policy.licences import said_licence
from render.policy.model import Evidence, Judged, Policy, Rule, SignedBy, Verdict
from render.policy.rules import is_settled, judge_rewrite
from render.rewrites import Rewrites
from render.settings import SETTINGS_FILE, PinMode
from render.texts import first_lines

_SHOWN = 20


class NotAllowed(Unsatisfiable):
    """A lock with packages that a policy refuses."""

    def __init__(self, folder: Path, refusals: "Sequence[Refusal]") -> None:
        advice = dict.fromkeys(line for one in refusals for line in _advice(one, folder))
        super().__init__(
            f"the lock of {folder} has packages that are not allowed",
            why=first_lines([str(one.verdict) for one in refusals], _SHOWN),
            next=[
                f"lock again, where these policies are set: {xplock('lock', folder=folder)}",
                *list(advice)[:_SHOWN],
            ],
        )


class LedAway(Unsatisfiable):
    """A folder whose ImageConfigs lead packages, of whatever folder, to places that its operator does not allow."""

    def __init__(self, folder: Path, verdicts: Sequence[Verdict]) -> None:
        advice = dict.fromkeys(line for one in verdicts for line in one.advice)
        super().__init__(
            f"{folder} leads packages to places that are not allowed",
            why=first_lines(list(map(str, verdicts)), _SHOWN),
            next=["remove these rewrites", *list(advice)[:_SHOWN]],
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A locked package, and why a policy refuses it."""

    package: LockedPackage
    verdict: Verdict


def _advice(refusal: Refusal, folder: Path) -> Iterator[str]:
    if refusal.package.state is not State.WANTED:
        name = str(refusal.package.cluster_source)
        yield f"retire what is leaving, in two steps: {xplock('retire', name, folder=folder, option='-C')}"
    yield from refusal.verdict.advice


def require_allowed(lock: Lock, policies: tuple[Policy, ...], inputs: Inputs) -> None:
    """Raise if policies refuse what is locked, or where the folder leads packages."""
    require_led_well(policies, inputs)
    found = find_refused(lock, policies, inputs)
    if found:
        raise NotAllowed(inputs.folder, found)


def require_led_well(policies: tuple[Policy, ...], inputs: Inputs) -> None:
    """Raise if ImageConfigs of a folder lead to a place that an operator does not allow.

    They count in the whole cluster, also for packages that other folders have.
    """
    rendered = [one for one in inputs.rewrites if not one.place.startswith(f"{SETTINGS_FILE}: ")]
    judged = [judge_rewrite(policy, one) for policy in policies if policy.author for one in rendered]
    refused = [verdict for verdict in judged if verdict]
    if refused:
        raise LedAway(inputs.folder, refused)


def find_refused(lock: Lock, policies: tuple[Policy, ...], inputs: Inputs) -> list[Refusal]:
    """Return the packages that policies refuse, each with the reason."""
    judge = Judge(
        policies,
        rewrites=Rewrites(inputs.rewrites),
        mirror=inputs.settings.mirror,
        unpinned=inputs.settings.pin is PinMode.TAG,
    )
    # A project decides what leaves and which pins stay, so these have to satisfy the operator all the same.
    operators = judge.of_operators
    found = []
    for package in lock.installed():
        judges = judge if package.state is State.WANTED else operators
        found += [Refusal(package, one) for one in _judge_package(package, judges)]
        for pin in package.kept_pins:
            found += [Refusal(package, one) for one in _judge_pin(package, pin, operators)]
    return found


def as_judged(package: LockedPackage) -> Judged:
    """Return a locked package as policies see it."""
    evidence = Evidence(said_licence(package.licence), signed_by=locked_signers(package))
    return Judged(package.source, package.version_tag, package.digest, evidence)


def locked_signers(package: LockedPackage) -> tuple[SignedBy, ...]:
    """Return who signed a package, as a lock says it."""
    return (*map(SignedBy, package.signed_by), *map(SignedBy.of_attestation, package.attested_by))


def _judge_package(package: LockedPackage, judge: Judge) -> list[Verdict]:
    silent = list(_judge_silence(package, judge.policies))
    refused = [one for one in judge.judge(as_judged(package)) if one.refused]
    return [*(one for one in refused if not silent or one.rule is not Rule.LICENCES), *silent]


def _judge_silence(package: LockedPackage, policies: Iterable[Policy]) -> Iterator[Verdict]:
    """Yield a refusal for each rule about licences under which a package was not locked.

    Of a package that says nothing a lock says so; without a word, its licence may be any.
    """
    judged = as_judged(package)
    for policy in policies:
        if package.licence is None and policy.licences and not is_settled(policy, judged):
            reason = f"the lock does not say which licence {judged} has: it was made without this rule"
            yield Verdict(policy, Rule.LICENCES, reason)


def _judge_pin(package: LockedPackage, pin: KeptPin, judge: Judge) -> Iterator[Verdict]:
    place = pin_places(package, pin)[1]
    # Its package is judged by itself.
    if place != package.source:
        yield from judge.refuse_source(place, pin.tag, pin.digest)
