"""Entries of a policy that no locked package needs: left over, or mistyped."""

from collections.abc import Iterator, Sequence

from render.errors import InvalidInput
from render.lean import replace
from render.lock.model import Lock
from render.lock.policies import as_judged
from render.policy.licences import licences_in, parse_expression
from render.policy.model import ExceptionEntry, Judged, LicenceRule, Policy, Rule, is_below
from render.policy.rules import judge_licence, judge_provenance, judge_source


def find_unused(policy: Policy, lock: Lock) -> Iterator[str]:
    """Yield a line for each allowed source or licence, each exemption and each exception without a package."""
    there = [as_judged(package) for package in lock.installed()]
    if policy.sources:
        yield from _unused_prefixes(policy.sources.allow, there, "sources.allow")
    if policy.licences:
        yield from _unused_licences(policy.licences, there)
    if policy.age:
        yield from _unused_prefixes(policy.age.exempt, there, "age.exempt")
    if policy.provenance:
        signers = {one.signer for judged in there for one in judged.evidence.signed_by}
        for pattern in policy.provenance.signers:
            if not any(pattern.fits(signer) for signer in signers):
                yield f"policy.provenance.signers has {pattern}, and no locked package was signed by it"
    for entry in policy.exceptions:
        if not any(_is_needed(entry, policy, one) for one in there):
            version = f" {entry.version}" if entry.version else ""
            yield f"{entry.place} is not needed: {entry.source}{version} needs no exception to {entry.rule}, or is not locked"


def _unused_prefixes(prefixes: Sequence[str], there: Sequence[Judged], key: str) -> Iterator[str]:
    for prefix in prefixes:
        if not any(is_below((prefix,), one.source) for one in there):
            yield f"policy.{key} has {prefix}, and no locked package comes from there"


def _unused_licences(rule: LicenceRule, there: Sequence[Judged]) -> Iterator[str]:
    found = set()
    for one in there:
        text = rule.clarify.get(one.source) or one.evidence.licence
        try:
            named = licences_in(parse_expression(text)) if text else []
        except InvalidInput:
            named = []
        # Of a licence "or later", the one that is named is allowed as well.
        found |= {*named, *(replace(licence, or_later=False) for licence in named)}
    for text, licence in rule.allow.items():
        if licence not in found:
            yield f"policy.licences.allow has {text}, and no locked package has this licence"
    for source in rule.clarify:
        if not any(one.source == source for one in there):
            yield f"policy.licences.clarify has {source}, which is not locked"


def _is_needed(entry: ExceptionEntry, policy: Policy, judged: Judged) -> bool:
    """Return whether a package would be refused without an exception; with age, whether it is there at all."""
    if not entry.covers(entry.rule, judged.source, judged.tag, judged.digest):
        return False
    without = replace(policy, exceptions=tuple(one for one in policy.exceptions if one != entry))
    if entry.rule is Rule.SOURCES:
        return judge_source(without, judged.source, judged.tag, judged.digest) is not None
    if entry.rule is Rule.LICENCES:
        return judge_licence(without, judged) is not None
    if entry.rule is Rule.PROVENANCE:
        return judge_provenance(without, judged) is not None
    # What is locked is not too young any more, and was when the exception was made.
    return True
