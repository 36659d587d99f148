"""The value of `policy` → Policy."""

from collections.abc import Iterator
from datetime import timedelta

from render.errors import in_one_line
from render.inputs.table import Entry
from render.overrides import parse_prefix
from render.policy.licences import Licence, parse_expression, parse_licence
from render.policy.model import (
    AgeRule,
    Denied,
    ExceptionEntry,
    LicenceRule,
    Policy,
    Rule,
    SourceRule,
    Unknown,
)
from render.policy.times import parse_age
from render.references import InvalidReference, Source, parse_source


def parse_policy(top: Entry, file: str, author: str = "") -> Policy | None:
    """Parse the policy of a file; add to the problems of its fields."""
    entry = top.groups.get("policy")
    if entry is None:
        return None
    return Policy(
        file,
        author,
        _parse_sources(entry.groups.get("sources")),
        _parse_licences(entry.groups.get("licences")),
        _parse_age(entry.groups.get("age")),
        tuple(_parse_exceptions(entry)),
    )


def _parse_sources(entry: Entry | None) -> SourceRule | None:
    if entry is None:
        return None
    allow = tuple(_parse_prefixes(entry, "allow"))
    return SourceRule(allow, tuple(_parse_denied(entry)))


def _parse_denied(entry: Entry) -> Iterator[Denied]:
    for one in entry.entries.get("deny", ()):
        if one.plain.keys() >= {"prefix", "reason"}:
            with one.fields.errors_at("prefix"):
                yield Denied(parse_prefix(one.plain["prefix"]), one.plain["reason"])


def _parse_licences(entry: Entry | None) -> LicenceRule | None:
    if entry is None:
        return None
    said = entry.plain
    return LicenceRule(
        dict(_parse_allowed(entry)),
        Unknown(said.get("unknown", Unknown.WARN)),
        dict(_parse_clarified(entry)),
    )


def _parse_allowed(entry: Entry) -> Iterator[tuple[str, Licence]]:
    for i, text in enumerate(entry.plain.get("allow", ())):
        with entry.fields.errors_at("allow", i):
            yield text, parse_licence(text)


def _parse_clarified(entry: Entry) -> Iterator[tuple[Source, str]]:
    taken: set[Source] = set()
    for one in entry.entries.get("clarify", ()):
        source, text = _parse_source(one), one.plain.get("licence")
        if source in taken:
            one.fields.complain(f"{source} has an entry already", "source")
        with one.fields.errors_at("licence"):
            if source and text:
                parse_expression(text)
                taken.add(source)
                yield source, text


def _parse_age(entry: Entry | None) -> AgeRule | None:
    if entry is None or "minimum" not in entry.plain:
        return None
    said, minimum = entry.plain, timedelta()
    with entry.fields.errors_at("minimum"):
        minimum = parse_age(said["minimum"])
    return AgeRule(
        minimum,
        said["minimum"],
        unknown=Unknown(said.get("unknown", Unknown.REFUSE)),
        exempt=tuple(_parse_prefixes(entry, "exempt")),
    )


def _parse_exceptions(entry: Entry) -> Iterator[ExceptionEntry]:
    for i, one in enumerate(entry.entries.get("exceptions", ())):
        source, said = _parse_source(one), one.plain
        if source and said.keys() >= {"rule", "reason"}:
            place = f"policy.exceptions[{i}]"
            yield ExceptionEntry(source, Rule(said["rule"]), said["reason"], said.get("version"), place)


def _parse_prefixes(entry: Entry, key: str) -> Iterator[str]:
    for i, text in enumerate(entry.plain.get(key, ())):
        with entry.fields.errors_at(key, i):
            yield parse_prefix(text)


def _parse_source(entry: Entry) -> Source | None:
    if "source" not in entry.plain:
        return None
    try:
        return parse_source(entry.plain["source"])
    except InvalidReference as error:
        hint = "write a registry and a path in it, without tag and digest"
        entry.fields.complain(f"{in_one_line(error, advice=False)}; {hint}", "source")
        return None
