"""The rules of one policy, each applied to one package."""

from datetime import datetime

from render.errors import InvalidInput
from render.lean import replace
from render.overrides import parse_prefix
from render.policy.licences import is_allowed, licences_in, parse_expression
from render.policy.model import (
    AgeRule,
    Evidence,
    Judged,
    LicenceRule,
    Policy,
    ProvenanceRule,
    Required,
    Rule,
    SignedBy,
    Times,
    Unknown,
    Verdict,
    is_below,
)
from render.policy.times import Released, format_time
from render.references import Source, split_tag
from render.rewrites import Rewrite
from render.texts import first_names

_SHOWN = 3


def judge_source(policy: Policy, source: Source, *versions: str | None) -> Verdict | None:
    """Apply the rule about sources; with versions, exceptions for others do not count."""
    rule = policy.sources
    if rule is None or _is_excepted(policy, source, versions):
        return None
    denied = [one for one in rule.deny if is_below((one.prefix,), source)]
    if denied:
        # The longest prefix says most.
        first = max(denied, key=lambda one: len(one.prefix))
        reason = f"{source} is denied, as is everything below {first.prefix}: {first.reason}"
        if first.prefix == str(source):
            reason = f"{source} is denied: {first.reason}"
        return Verdict(policy, Rule.SOURCES, reason, _except(policy, Rule.SOURCES, source))
    if rule.allow and not is_below(rule.allow, source):
        return Verdict(
            policy,
            Rule.SOURCES,
            f"{source} is below none of the allowed sources",
            (
                f"add {source} to policy.sources.allow in {policy.name}",
                *_except(policy, Rule.SOURCES, source),
            ),
        )
    return None


def judge_rewrite(policy: Policy, rewrite: Rewrite) -> Verdict | None:
    """Apply the rule about sources to the place that a rewrite leads to, whichever packages it is for."""
    if policy.sources is None:
        return None
    leads = f"{rewrite.place} leads {rewrite.prefix} to {rewrite.replacement}"
    path = split_tag(rewrite.replacement.partition("@")[0])[0]
    try:
        registry, _, repository = parse_prefix(path).partition("/")
    except InvalidInput:
        # Half of a host, for instance.
        clearer = ("or let both prefixes end where a path does, so that the place is known",)
        return Verdict(policy, Rule.SOURCES, f"{leads}, which may be the beginning of any place", clearer)
    place = Source(registry, repository)
    text = f"{place}".removesuffix("/")
    # Of a wider place, what is allowed is a part.
    within = [one for one in policy.sources.allow if one.startswith(f"{text}/")]
    judged = replace(policy, sources=replace(policy.sources, allow=())) if within else policy
    verdict = judge_source(judged, place)
    if verdict is None:
        return None
    denied = is_below(tuple(one.prefix for one in policy.sources.deny), place)
    advice = [] if denied else [f"or add {text} to policy.sources.allow in {policy.name}"]
    return replace(verdict, policy=policy, reason=f"{leads}: {verdict.reason}", advice=tuple(advice))


def _is_excepted(policy: Policy, source: Source, versions: tuple[str | None, ...]) -> bool:
    if versions:
        return policy.excepts(Rule.SOURCES, source, *versions)
    # Before any version is known, an exception for one of them lets its source be asked for.
    return any((one.rule, one.source) == (Rule.SOURCES, source) for one in policy.exceptions)


def judge_licence(policy: Policy, judged: Judged) -> Verdict | None:
    """Apply the rule about licences."""
    rule = policy.licences
    if rule is None or policy.excepts(Rule.LICENCES, judged.source, judged.tag, judged.digest):
        return None
    text = rule.clarify.get(judged.source) or judged.evidence.licence
    try:
        expression = parse_expression(text) if text else None
    except InvalidInput:
        expression = None
    if expression is None:
        said = f"{judged} says its licence is {text!r}, which is no SPDX expression" if text else ""
        return _unknown_licence(policy, rule, judged, said or f"{judged} does not say which licence it has")
    if not rule.allow or is_allowed(expression, list(rule.allow.values())):
        return None
    return Verdict(
        policy,
        Rule.LICENCES,
        f"{judged} has the licence {text}, which is not allowed",
        (
            f"allow {_named(text)} in policy.licences of {policy.name}",
            *_except(policy, Rule.LICENCES, judged.source, judged.version),
        ),
    )


def is_settled(policy: Policy, judged: Judged) -> bool:
    """Return whether the policy itself says all about the licence of a package: by a clarification or an exception."""
    is_clarified = policy.licences is not None and judged.source in policy.licences.clarify
    return is_clarified or policy.excepts(Rule.LICENCES, judged.source, judged.tag, judged.digest)


def _named(text: str | None) -> str:
    found = {licence.name for licence in licences_in(parse_expression(text or ""))}
    return str(text) if len(found) == 1 else f"enough of {text}"


def _unknown_licence(policy: Policy, rule: LicenceRule, judged: Judged, reason: str) -> Verdict | None:
    if rule.unknown is Unknown.ALLOW:
        return None
    clarify = f"say which it is under policy.licences.clarify of {policy.name}: {{source: {judged.source}, licence: …}}"
    return Verdict(
        policy,
        Rule.LICENCES,
        reason,
        (clarify, *_except(policy, Rule.LICENCES, judged.source, judged.version)),
        refused=rule.unknown is Unknown.REFUSE,
    )


def judge_age(policy: Policy, judged: Judged, now: datetime) -> Verdict | None:
    """Apply the rule about age."""
    rule = policy.age
    if (
        rule is None
        or is_below(rule.exempt, judged.source)
        or policy.excepts(Rule.AGE, judged.source, judged.tag, judged.digest)
    ):
        return None
    proven = rule.times is Times.PROVEN
    released = judged.evidence.proven if proven else judged.evidence.released
    if released is None or released.time > now:
        return _unknown_age(policy, rule, judged, released)
    since = released.time + rule.minimum
    if since <= now:
        return None
    return Verdict(
        policy,
        Rule.AGE,
        f"{judged} was released at {format_time(released.time)}, and is old enough from {format_time(since)} on",
        ("wait, or take an older version", *_except(policy, Rule.AGE, judged.source, judged.version)),
    )


def _unknown_age(policy: Policy, rule: AgeRule, judged: Judged, released: Released | None) -> Verdict | None:
    if rule.unknown is Unknown.ALLOW:
        return None
    proven = rule.times is Times.PROVEN
    said = f"{judged} does not say when it was released"
    if proven:
        said = f"no signature log that is known proves when {judged} was released"
    if released is not None:
        said = f"{judged} says it was released at {format_time(released.time)}, which is in the future"
    return Verdict(
        policy,
        Rule.AGE,
        said,
        (
            f"in {policy.name}, exempt its publisher under policy.age: exempt: [{_publisher(judged.source)}]",
            *(["or believe what packages say: times: claimed"] if proven else []),
            "or write unknown: warn there",
            *_except(policy, Rule.AGE, judged.source, judged.version),
        ),
        refused=rule.unknown is Unknown.REFUSE,
    )


def judge_provenance(policy: Policy, judged: Judged) -> Verdict | None:
    """Apply the rule about signers."""
    rule = policy.provenance
    if rule is None or policy.excepts(Rule.PROVENANCE, judged.source, judged.tag, judged.digest):
        return None
    if accepted_signers(rule, judged.evidence):
        return None
    what = "attested" if rule.require is Required.ATTESTATION else "signed"
    others = sorted({_described(one) for one in judged.evidence.signed_by})
    who = f"; it has {first_names(others, _SHOWN)}" if others else ""
    return Verdict(
        policy,
        Rule.PROVENANCE,
        f"{judged} is not {what} by a signer that is allowed{who}",
        (
            f"allow its signer in policy.provenance.signers of {policy.name}, if you trust it",
            *_except(policy, Rule.PROVENANCE, judged.source, judged.version),
        ),
    )


def judge_pinning(policy: Policy, judged: Judged) -> Verdict | None:
    """Refuse a package that manifests name by its tag alone, if a rule is about its bytes."""
    for rule in (Rule.PROVENANCE, Rule.LICENCES, Rule.AGE):
        if rule in policy.rules and not policy.excepts(rule, judged.source, judged.tag, judged.digest):
            reason = f"{judged} is installed by its tag alone, which may name other bytes later"
            return Verdict(policy, rule, reason, ("remove pin: tag from xplock.yaml, or write pin: native",))
    return None


def _described(one: SignedBy) -> str:
    return f"an attestation {one}" if one.predicate else f"a signature by {one}"


def accepted_signers(rule: ProvenanceRule, evidence: Evidence) -> list[SignedBy]:
    """Return the signers of a package that a rule accepts, in the order of the rule."""
    made = [one for one in evidence.signed_by if _is_required(rule, one)]
    return [one for pattern in rule.signers for one in made if pattern.fits(one.signer)]


def _is_required(rule: ProvenanceRule, one: SignedBy) -> bool:
    if rule.require is Required.SIGNATURE:
        return not one.predicate
    return one.predicate in rule.predicates if rule.predicates else bool(one.predicate)


def _except(policy: Policy, rule: Rule, source: Source, version: str = "") -> tuple[str, ...]:
    only = f", version: {version}" if version else ""
    entry = f"{{source: {source}{only}, rule: {rule}, reason: …}}"
    return (f"or add an exception to policy.exceptions of {policy.name}: {entry}",)


def _publisher(source: Source) -> str:
    registry, organisation = source.home
    return f"{registry}/{organisation}/"
