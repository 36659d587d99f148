"""The value of `policy` → Policy."""

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

from render.errors import in_one_line
from render.inputs.settings.table import Entry
from render.overrides import parse_prefix
from render.policy.licences import Licence, parse_expression, parse_licence
from render.policy.model import (
    AgeRule,
    Denied,
    ExceptionEntry,
    LicenceRule,
    Policy,
    ProvenanceRule,
    Required,
    Rule,
    SignerPattern,
    SourceRule,
    Times,
    Unknown,
)
from render.policy.times import parse_age
from render.references import InvalidReference, Source, is_digest, parse_source
from render.signatures.claims import predicate_uri
from render.signatures.encoding import pem_blocks
from render.signatures.refusals import Reason, Refused


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
        _parse_provenance(entry.groups.get("provenance")),
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
        Times(said.get("times", Times.CLAIMED)),
        unknown=Unknown(said.get("unknown", Unknown.REFUSE)),
        exempt=tuple(_parse_prefixes(entry, "exempt")),
    )


def _parse_provenance(entry: Entry | None) -> ProvenanceRule | None:
    if entry is None:
        return None
    signers = tuple(_parse_signers(entry))
    if "signers" in entry.fields and not entry.entries.get("signers"):
        entry.fields.complain("it is empty", "signers")
    required = Required(entry.plain.get("require", Required.SIGNATURE))
    predicates = tuple(map(predicate_uri, entry.plain.get("predicates", ())))
    if predicates and required is Required.SIGNATURE:
        entry.fields.complain(
            "predicates are those of attestations; write require: attestation", "predicates"
        )
    return ProvenanceRule(signers, required, predicates)


def _parse_signers(entry: Entry) -> Iterator[SignerPattern]:
    for one in entry.entries.get("signers", ()):
        said = one.plain
        if said.keys() not in ({"key"}, {"issuer", "subject"}):
            one.fields.complain("expected a key, or an issuer and a subject")
            continue
        if "key" not in said:
            yield SignerPattern(issuer=said["issuer"], subject=said["subject"])
            continue
        try:
            yield parse_key(said["key"])
        except Refused as error:
            one.fields.complain(f"{error.text}; write a key in PEM form, or its fingerprint", "key")


def parse_key(text: str) -> SignerPattern:
    """Parse the fingerprint of a key, or the key itself."""
    if is_digest(text):
        return SignerPattern(key=text)
    blocks = pem_blocks(text)
    if len(blocks) > 1 or blocks[0][0] != "PUBLIC KEY":
        raise Refused(Reason.UNREADABLE, "it is not one public key")
    return SignerPattern(key=f"sha256:{sha256(blocks[0][1]).hexdigest()}", pem=text)


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
