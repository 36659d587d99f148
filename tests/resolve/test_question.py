"""The search's problem, answered from the catalog."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, candidate, digest_of, locked, named, root, solve

from render.errors import UnusableContent
from render.limits import Limits
from render.packages import Package
from render.references import Source
from render.resolve.candidates import ABSENT, bit
from render.resolve.edges import dependency_edges
from render.resolve.model import Edge, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.question import NewCandidates, Question
from render.resolve.solver import USER
from render.versions.requests import Request, Root
from render.versions.version import parse_version

BASES: Packages = {"base v1.0.0": {}, "base v1.1.0": {}, "base v2.0.0": {}}
APP: Packages = {"app v1.0.0": {"base": "<2.0.0"}}


def edges(source: Source, package: Package) -> tuple[Edge, ...]:
    return dependency_edges(source, package, complete=True)


@contextmanager
def asking(catalog: FakeCatalog, *roots: Root, **more: object) -> Iterator[Question]:
    wanted = Wanted(roots, **more)  # type: ignore[arg-type]  # tests name fields of Wanted
    with Fetcher(catalog, Limits(), edges, wanted) as fetcher:
        yield Question(wanted, fetcher)


def test_a_root_excludes_absence_and_other_candidates() -> None:
    with asking(FakeCatalog(BASES), root("base", "<2")) as question:
        [wish] = question.requirements()

    assert wish.terms[USER] == bit(0)
    assert wish.terms[named("base")] == ~(bit(0) | bit(1))
    assert wish.fact
    assert wish.fact.edge == Edge(named("base"), root("base", "<2").request, None, "base.yaml")


def test_a_request_of_the_command_line_allows_absence() -> None:
    with asking(FakeCatalog(BASES), asked={named("base"): Request(tag="v1.1.0")}) as question:
        [wish] = question.requirements()

    assert not wish.terms[named("base")] & ABSENT
    assert USER not in wish.terms


def test_the_facts_of_a_candidate_are_its_dependencies() -> None:
    with asking(FakeCatalog({**APP, **BASES}), root("app")) as question:
        [fact] = question.facts(named("app"), 0)

    assert fact.terms == {named("app"): bit(0), named("base"): ~(bit(0) | bit(1))}


def test_a_candidate_for_another_crossplane_is_ruled_out_with_the_reason() -> None:
    catalog = FakeCatalog(BASES, crossplane={"base v1.0.0": ">=v2"})

    with asking(catalog, root("base"), crossplane=parse_version("v1.20.0")) as question:
        [fact] = question.facts(named("base"), 0)

    assert fact.terms == {named("base"): bit(0)}
    assert fact.fact
    assert fact.fact.problem == f"{named('base')} v1.0.0 needs Crossplane >=v2, and yours is v1.20.0"


def test_a_missing_source_has_no_candidates_but_a_reason() -> None:
    with asking(FakeCatalog(BASES), root("gone")) as question:
        universe = question.universe(named("gone"))

    assert (universe.candidates, universe.problem) == ((), f"{named('gone')} does not exist")


def test_a_digest_found_during_the_search_restarts_it_once() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": digest_of("base v1.1.0")}, **BASES})

    with asking(catalog, root("app"), root("base")) as question:
        question.universe(named("base"))
        with pytest.raises(NewCandidates):
            question.facts(named("app"), 0)
        [fact] = question.facts(named("app"), 0)
        universe = question.universe(named("base"))

    assert universe.candidates[0] == candidate("v1.1.0", digest_of("base v1.1.0"))
    assert fact.terms[named("base")] == ~bit(0)


def test_a_digest_alone_is_not_compared_with_every_tag() -> None:
    catalog = FakeCatalog(BASES)

    with asking(catalog, root("base", digest=digest_of("base v1.1.0"))) as question:
        universe = question.universe(named("base"))

    assert universe.candidates[0].digest == digest_of("base v1.1.0")
    assert catalog.fetched == []


def test_the_locked_candidate_is_tried_first_and_else_the_highest() -> None:
    with asking(FakeCatalog(BASES), root("base"), preferred=locked(base="v1.0.0")) as question:
        everything = question.universe(named("base")).everything

        assert question.choose(named("base"), everything, {}) == 0
        assert question.choose(named("base"), bit(1) | bit(2), {}) == 2


def test_roots_come_in_one_order() -> None:
    roots = [root("b"), root("a"), root("c")]

    with asking(FakeCatalog(BASES), *roots) as one, asking(FakeCatalog(BASES), *reversed(roots)) as other:
        assert one.roots() == other.roots()
        assert [edge.source.name for edge in one.roots()] == ["a", "b", "c"]


def test_a_package_that_cannot_be_used_is_reported_with_who_requires_it() -> None:
    def broken(what: str) -> None:
        if what.startswith("base"):
            raise UnusableContent(f"{what} is broken", why="it is damaged")

    packages: Packages = {"app v1.0.0": {"base": "*"}, "tool v1.0.0": {"base": ">=v1.0.0"}, **BASES}

    with pytest.raises(UnusableContent) as caught:
        solve(FakeCatalog(packages, before=_only_packages(broken)), root("app"), root("tool"))

    assert caught.value.why == (
        "it is damaged",
        f"{named('app')} requires it",
        f"{named('tool')} requires it",
    )


def _only_packages(check: Callable[[str], None]) -> Callable[[str], None]:
    return lambda what: check(what) if " " in what else None
