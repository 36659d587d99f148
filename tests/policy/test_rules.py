"""Every rule of a policy, applied to one package."""

from datetime import UTC, datetime, timedelta

import pytest

from render.app.trust.evidence import replace_signers
from render.policy.licences import parse_allowed
from render.policy.model import (
    AgeRule,
    Denied,
    Evidence,
    ExceptionEntry,
    Judged,
    LicenceRule,
    Policy,
    ProvenanceRule,
    Rule,
    SignedBy,
    SignerPattern,
    SourceRule,
    Unknown,
    fits_pattern,
)
from render.policy.rules import accepted_signers, judge_age, judge_licence, judge_rewrite, judge_source
from render.policy.times import Released
from render.references import Digest, parse_source
from render.rewrites import Rewrite
from render.signatures.signers import Signer

STORE = parse_source("xpkg.example.org/acme/provider-store")
DIGEST = Digest("sha256:" + "0" * 64)
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def refuses(rule: SourceRule, source: str, *exceptions: ExceptionEntry) -> bool:
    policy = Policy("xplock.yaml", sources=rule, exceptions=exceptions)
    return judge_source(policy, parse_source(source)) is not None


@pytest.mark.parametrize(
    ("prefix", "source", "below"),
    [
        ("xpkg.example.org/acme", "xpkg.example.org/acme/x", True),
        ("xpkg.example.org/acme", "xpkg.example.org/acme-evil/x", False),
        ("xpkg.example.org/acme", "xpkg.example.org/acme", True),
        ("xpkg.example.org", "xpkg.example.org/acme/x", True),
        ("xpkg.example.org", "xpkg.example.org.evil.example/acme/x", False),
        ("xpkg.example.org/acme/x", "xpkg.example.org/acme/xy", False),
        ("xpkg.example.org", "xpkg.example.org:443/acme/x", True),
        ("xpkg.example.org", "xpkg.example.org:5000/acme/x", False),
        # Docker Hub by its other names.
        ("docker.io", "index.docker.io/acme/x", True),
        ("docker.io", "registry-1.docker.io/acme/x", True),
        ("index.docker.io/acme", "docker.io/acme/x", True),
        ("index.docker.io/acme", "registry.hub.docker.com/acme/x", True),
        ("docker.io/acme", "index.docker.io/acme-evil/x", False),
    ],
)
def test_prefixes_end_where_a_path_does(prefix: str, source: str, below: bool) -> None:
    assert refuses(SourceRule(allow=(prefix,)), source) is not below
    assert refuses(SourceRule(deny=(Denied(prefix, "no"),)), source) is below


INSIDE = SourceRule(allow=("xpkg.example.org", "mirror.example/xp"))
OPEN = SourceRule(deny=(Denied("evil.example", "closed"),))


@pytest.mark.parametrize(
    ("rule", "replacement", "told"),
    [
        (INSIDE, "evil.example/x:v1", "evil.example/x is below none of the allowed sources"),
        (INSIDE, f"evil.example/x@{DIGEST}", "evil.example/x is below none of the allowed sources"),
        (INSIDE, "evil.example/", "evil.example/ is below none of the allowed sources"),
        (INSIDE, "evil.ex", "evil.ex/ is below none of the allowed sources"),
        (INSIDE, "evil.", "which may be the beginning of any place"),
        (INSIDE, "mirror.example/xp-evil/", "mirror.example/xp-evil is below none of the allowed sources"),
        (INSIDE, "mirror.example/xp/acme/", ""),
        # What is allowed is a part of it; packages are judged by where they are pulled from as well.
        (INSIDE, "mirror.example/", ""),
        (OPEN, "evil.example/x/", "below evil.example: closed"),
        (OPEN, "EVIL.example:443/x/", "below evil.example: closed"),
        (OPEN, "mirror.example/", ""),
    ],
)
def test_a_rewrite_is_judged_by_the_place_that_it_leads_to(
    rule: SourceRule, replacement: str, told: str
) -> None:
    rewrite = Rewrite("xpkg.example.org/acme/", replacement, "lead.yaml: spec.matchImages[0]")

    verdict = judge_rewrite(Policy("xplock.yaml", sources=rule), rewrite)

    assert (verdict is None) is (told == "")
    assert verdict is None or told in verdict.reason


def test_what_is_denied_is_refused_even_if_it_is_allowed() -> None:
    rule = SourceRule(allow=(str(STORE),), deny=(Denied("xpkg.example.org", "closed down"),))

    verdict = judge_source(Policy("xplock.yaml", sources=rule), STORE)

    assert verdict
    assert "closed down" in verdict.reason


def test_an_exception_for_one_version_is_for_no_other() -> None:
    entry = ExceptionEntry(STORE, Rule.SOURCES, "wanted", version="v1.2.3")
    policy = Policy("xplock.yaml", sources=SourceRule(allow=("xpkg.example.org/labs",)), exceptions=(entry,))

    assert judge_source(policy, STORE) is None
    assert judge_source(policy, STORE, "v1.2.3", DIGEST) is None
    assert judge_source(policy, STORE, "v1.2.4", DIGEST)


def licensed(text: str | None, *allow: str, unknown: Unknown = Unknown.REFUSE, **more: object) -> str:
    rule = LicenceRule(parse_allowed(allow), unknown, more.get("clarify", {}))  # type: ignore[arg-type]
    verdict = judge_licence(
        Policy("xplock.yaml", licences=rule), Judged(STORE, "v1.0.0", DIGEST, Evidence(text))
    )
    return verdict.reason if verdict and verdict.refused else "warned" if verdict else ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Apache-2.0", ""),
        ("MPL-2.0 OR Apache-2.0", ""),
        ("BUSL-1.1", "has the licence BUSL-1.1, which is not allowed"),
        (None, "does not say which licence it has"),
        ("Apache 2", "says its licence is 'Apache 2', which is no SPDX expression"),
    ],
)
def test_a_licence_is_allowed_refused_or_unknown(text: str | None, expected: str) -> None:
    assert licensed(text, "Apache-2.0").endswith(expected)
    assert bool(licensed(text, "Apache-2.0")) is bool(expected)


def test_without_a_list_every_known_licence_is_allowed() -> None:
    assert licensed("BUSL-1.1") == ""
    assert licensed(None)


@pytest.mark.parametrize(
    ("unknown", "expected"), [(Unknown.WARN, "warned"), (Unknown.ALLOW, "")], ids=["warn", "allow"]
)
def test_an_unknown_licence_may_be_allowed_or_warned_of(unknown: Unknown, expected: str) -> None:
    assert licensed(None, "Apache-2.0", unknown=unknown) == expected
    # A licence that is known to be another one is no unknown one.
    assert "BUSL-1.1" in licensed("BUSL-1.1", "Apache-2.0", unknown=unknown)


def test_a_clarified_licence_counts_more_than_the_words_of_the_package() -> None:
    assert licensed("BUSL-1.1", "Apache-2.0", clarify={STORE: "Apache-2.0"}) == ""
    assert "BUSL-1.1" in licensed("Apache-2.0", "Apache-2.0", clarify={STORE: "BUSL-1.1"})


def aged(released: datetime | None, unknown: Unknown = Unknown.REFUSE, **more: object) -> str:
    rule = AgeRule(timedelta(7), "7d", unknown=unknown, **more)  # type: ignore[arg-type]
    evidence = Evidence(released=Released(released) if released else None)
    verdict = judge_age(Policy("xplock.yaml", age=rule), Judged(STORE, "v1.0.0", DIGEST, evidence), NOW)
    return verdict.reason if verdict and verdict.refused else "warned" if verdict else ""


def test_a_version_is_old_enough_to_the_second() -> None:
    assert aged(NOW - timedelta(7)) == ""
    assert "old enough from 2026-06-01T00:00:01Z on" in aged(NOW - timedelta(7) + timedelta(seconds=1))


def test_a_time_in_the_future_is_unknown() -> None:
    assert "in the future" in aged(NOW + timedelta(seconds=1))
    assert aged(NOW + timedelta(1), Unknown.WARN) == "warned"
    assert aged(NOW + timedelta(1), Unknown.ALLOW) == ""


def test_an_unknown_age_comes_with_the_way_out() -> None:
    policy = Policy("xplock.yaml", age=AgeRule(timedelta(7), "7d"))

    verdict = judge_age(policy, Judged(STORE, "v1.0.0", DIGEST), NOW)

    assert verdict
    assert any("exempt: [xpkg.example.org/acme/]" in line for line in verdict.advice)
    assert any("unknown: warn" in line for line in verdict.advice)


def test_exempt_publishers_may_release_at_any_time() -> None:
    assert aged(None, exempt=("xpkg.example.org/acme",)) == ""
    assert aged(None, exempt=("xpkg.example.org/acm",))


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("https://git.example/acme/*", "https://git.example/acme/x@refs/tags/v1", True),
        ("https://git.example/acme/*", "https://git.example/acme-evil/x", False),
        ("https://git.example/acme/*", "x https://git.example/acme/x", False),
        ("*@acme.example", "bob@acme.example", True),
        ("*@acme.example", "bob@acme.example.evil.example", False),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c", False),
        ("ab*ba", "aba", False),
        ("a*b*b", "a-b", False),
        ("*" * 40 + "x", "y" * 2_000, False),
    ],
)
def test_a_star_stands_for_any_text_and_nothing_else_does(pattern: str, text: str, fits: bool) -> None:
    assert fits_pattern(pattern, text) is fits


def test_a_name_with_a_space_is_no_other_name() -> None:
    """A lock has issuer and subject in one text, which has to be read in one way only."""
    odd = [
        Signer(issuer="https://issuer.example evil", subject="x"),
        Signer(issuer="https://issuer.example", subject="x\x1b[2J"),
        Signer(issuer="https://issuer.example", subject="x", predicate="y by sha256:0"),
    ]

    assert replace_signers(Evidence(), odd).signed_by == ()


def test_of_several_signers_one_of_the_rule_is_enough() -> None:
    rule = ProvenanceRule((SignerPattern(issuer="i", subject="a*"), SignerPattern(key="sha256:1")))
    evidence = Evidence(signed_by=(SignedBy("i b"), SignedBy("sha256:1"), SignedBy("i ab")))

    assert [one.signer for one in accepted_signers(rule, evidence)] == ["i ab", "sha256:1"]
    assert accepted_signers(rule, Evidence(signed_by=(SignedBy("i ab", "https://spdx.dev/Document"),))) == []


@pytest.mark.parametrize(
    "one", [SignedBy("https://i.example a by b", "https://t.example/x"), SignedBy("sha256:1", "x")]
)
def test_a_lock_has_the_signer_of_an_attestation_in_one_text(one: SignedBy) -> None:
    assert SignedBy.of_attestation(str(one)) == one
