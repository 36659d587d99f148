"""Random closures with random policies: nothing that is refused is chosen, and one more rule lets nothing in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, digest_of, named, root, short, solve
from rig.properties import examples

from render.policy.judge import Judge
from render.policy.licences import parse_allowed
from render.policy.model import Denied, Evidence, LicenceRule, Policy, SourceRule, Unknown
from render.references import Reference
from render.resolve.conflict import NoSolution

pytestmark = pytest.mark.property

NAMES = ("a", "b", "c", "d")
VERSIONS = ("v1.0.0", "v1.1.0", "v2.0.0")
LICENCES = ("MIT", "BUSL-1.1", "MIT OR BUSL-1.1", "MIT AND BUSL-1.1", "", "no licence")


@dataclass(frozen=True)
class Case:
    """A closure, the licences in it, and a policy for it."""

    packages: Mapping[str, Mapping[str, str]]
    licences: Mapping[str, str]
    policy: Policy

    def judge(self, policy: Policy) -> Judge:
        """Return a judge that knows the licences of this closure."""
        known = {digest_of(key): text for key, text in self.licences.items() if text}
        return Judge((policy,), lambda package: Evidence(known.get(package.digest)))

    def choose(self, policy: Policy) -> dict[str, str] | None:
        """Return what is chosen under a policy, by name; None without a solution."""
        try:
            found = solve(FakeCatalog(self.packages), root("a"), judge=self.judge(policy))
        except NoSolution:
            return None
        return {short(source): str(one.candidate) for source, one in found.packages.items()}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    packages = {}
    for at, name in enumerate(NAMES):
        for version in draw(st.sets(st.sampled_from(VERSIONS), min_size=1)):
            needs = draw(st.sets(st.sampled_from(NAMES[at + 1 :]), max_size=2)) if NAMES[at + 1 :] else ()
            wishes = st.sampled_from(["*", ">=v1.1.0", "<v2.0.0", "v1.0.0 || v2.0.0"])
            packages[f"{name} {version}"] = {other: draw(wishes) for other in sorted(needs)}
    licences = {key: draw(st.sampled_from(LICENCES)) for key in packages}
    return Case(packages, licences, draw(policies()))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    denied = draw(st.sets(st.sampled_from(NAMES[1:]), max_size=2))
    rule = SourceRule(deny=tuple(Denied(str(named(name)), "no") for name in sorted(denied)))
    allow = draw(st.sampled_from([(), ("MIT",), ("MIT", "BUSL-1.1")]))
    return Policy(
        "xplock.yaml",
        sources=rule,
        licences=LicenceRule(parse_allowed(allow), draw(st.sampled_from(list(Unknown)))),
    )


def refused(case: Case, policy: Policy) -> set[str]:
    """Return the packages that a policy refuses, worked out one by one."""
    judge, catalog = case.judge(policy), FakeCatalog(case.packages)
    found = set()
    for key in case.packages:
        name, tag = key.split(" ")
        package = catalog.package(Reference(named(name), tag))
        if judge.refuse_source(named(name)) or judge.refuse(tag, package):
            found.add(key)
    return found


def keys(chosen: Mapping[str, str] | None) -> set[str]:
    return {f"{name} {version}" for name, version in (chosen or {}).items()}


@examples(200)
@given(cases())
def test_nothing_that_is_refused_is_chosen(case: Case) -> None:
    assert not keys(case.choose(case.policy)) & refused(case, case.policy)


@examples(200)
@given(cases(), st.sampled_from(NAMES))
def test_one_more_denied_source_lets_nothing_in(case: Case, name: str) -> None:
    rule = case.policy.sources
    assert rule
    stricter = replace(rule, deny=(*rule.deny, Denied(str(named(name)), "no more")))
    policy = replace(case.policy, sources=stricter)

    chosen = case.choose(policy)

    assert not keys(chosen) & (refused(case, case.policy) | refused(case, policy))
    # What cannot be solved with fewer rules cannot be solved with more.
    if case.choose(case.policy) is None:
        assert chosen is None


@examples(200)
@given(cases(), policies())
def test_two_policies_allow_what_each_of_them_allows(case: Case, other: Policy) -> None:
    judge = replace(case.judge(case.policy), policies=(case.policy, other))
    try:
        found = solve(FakeCatalog(case.packages), root("a"), judge=judge)
    except NoSolution:
        return

    chosen = {f"{short(source)} {one.candidate}" for source, one in found.packages.items()}
    assert not chosen & (refused(case, case.policy) | refused(case, other))
