"""Random closures: an answer is found exactly where there is one, it suits everyone, and it is stable.

Constraints are written as lists of versions or as one digest, so the checker below shares no code with the solver.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, digest_of, named, root, short, solve
from rig.properties import examples

from render.lifecycle.names import NameChanged
from render.lifecycle.plan import make_plan
from render.lifecycle.preferences import Upgrade, kept_candidates, pinned_digests
from render.lifecycle.rules import check_plan
from render.lifecycle.states import Context, StableResolution
from render.lifecycle.write import make_lock
from render.limits import Limits
from render.lock.freshness import check_closure
from render.lock.model import Lock
from render.resolve.conflict import NoSolution
from render.resolve.model import Resolution, Wanted
from render.resolve.resolve import resolve
from render.versions.requests import Root

pytestmark = pytest.mark.property

NAMES = ("a", "b", "c", "d", "e")
VERSIONS = ("v1.0.0", "v1.1.0", "v2.0.0")
DIGESTS = {digest_of(f"{name} {version}"): version for name in NAMES for version in VERSIONS}


@dataclass(frozen=True)
class Wish:
    """The versions that somebody accepts; a single one may be meant by its digest."""

    accepted: frozenset[str]
    by_digest: bool = False

    def text(self, name: str) -> str:
        """Return it as a constraint."""
        if self.by_digest:
            return digest_of(f"{name} {min(self.accepted)}")
        return " || ".join(sorted(self.accepted)) or ">=99"


# Which versions of what there are, and what each of them needs.
Closure: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Wish]]]
Wishes: TypeAlias = Mapping[str, Wish]


@dataclass(frozen=True)
class Case:
    """A closure, and what is asked for in one run after the other."""

    closure: Closure
    runs: Sequence[Wishes]

    def catalog(self, *, shuffle: int = 0) -> FakeCatalog:
        """Return the closure, in some order."""
        packages = [
            (f"{name} {version}", {other: wish.text(other) for other, wish in needs.items()})
            for name, found in self.closure.items()
            for version, needs in found.items()
        ]
        random.Random(shuffle).shuffle(packages)
        return FakeCatalog(dict(packages))

    def roots(self, run: int = 0) -> list[Root]:
        """Return what is asked for in a run."""
        return [
            root(name, digest=wish.text(name)) if wish.by_digest else root(name, wish.text(name))
            for name, wish in self.runs[run].items()
        ]

    def suits(self, run: int, chosen: Mapping[str, str]) -> bool:
        """Tell whether a choice suits everyone who is part of it."""
        wishes = [*self.runs[run].items()]
        for name, version in chosen.items():
            wishes += self.closure[name][version].items()
        return all(chosen.get(name) in wish.accepted for name, wish in wishes)

    def answers(self, run: int = 0) -> Iterator[Mapping[str, str]]:
        """Try everything that is needed, in every version."""
        return self._extend({}, [*self.runs[run].items()])

    def _extend(
        self, chosen: Mapping[str, str], waiting: Sequence[tuple[str, Wish]]
    ) -> Iterator[Mapping[str, str]]:
        if not waiting:
            yield chosen
            return
        (name, wish), *rest = waiting
        there = {chosen[name]} if name in chosen else self.closure[name].keys()
        for version in there & wish.accepted:
            more = [] if name in chosen else self.closure[name][version].items()
            yield from self._extend({**chosen, name: version}, [*rest, *more])

    def needed(self, run: int, chosen: Mapping[str, str]) -> set[str]:
        """Return what a run needs of a choice, directly or not."""
        waiting, found = [*self.runs[run]], set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.closure[name].get(chosen.get(name, ""), {})
        return found


@st.composite
def cases(draw: st.DrawFn, *, runs: int = 1) -> Case:
    """Packages that depend on later ones only, so that there is no cycle."""
    there = {name: draw(st.sets(st.sampled_from(VERSIONS), min_size=1)) for name in NAMES}

    def wishes(names: Sequence[str], *, least: int, most: int) -> Wishes:
        asked = (
            draw(st.lists(st.sampled_from(names), unique=True, min_size=least, max_size=most))
            if names
            else []
        )
        return {name: draw(_wish(there[name])) for name in asked}

    closure = {
        name: {version: wishes(NAMES[i + 1 :], least=0, most=3) for version in sorted(there[name])}
        for i, name in enumerate(NAMES)
    }
    return Case(closure, [wishes(NAMES, least=1, most=3) for _ in range(runs)])


def _wish(there: set[str]) -> st.SearchStrategy[Wish]:
    return st.one_of(
        st.just(Wish(frozenset(VERSIONS))),
        st.frozensets(st.sampled_from(VERSIONS)).map(Wish),
        st.sampled_from(sorted(there)).map(lambda version: Wish(frozenset({version}), by_digest=True)),
    )


def tags(resolution: Resolution) -> dict[str, str]:
    """Return what was chosen; of a digest, the version that carries it."""
    return {short(source): DIGESTS[chosen.package.digest] for source, chosen in resolution.packages.items()}


@examples(200)
@given(cases())
def test_a_solution_is_found_exactly_if_one_exists(case: Case) -> None:
    possible = next(case.answers(), None)

    if possible is None:
        with pytest.raises(NoSolution):
            solve(case.catalog(), *case.roots())
        return
    resolution = solve(case.catalog(), *case.roots())

    chosen = tags(resolution)
    assert case.suits(0, chosen)
    assert chosen.keys() == case.needed(0, chosen)
    for source in resolution.packages:
        assert all(
            resolution.packages[source].candidate.answers(edge.request)
            for edge in resolution.edges_to(source)
        )


@examples(60)
@given(cases(), st.randoms())
def test_the_order_of_anything_does_not_matter(case: Case, chance: random.Random) -> None:
    def outcome(*, shuffle: int, roots: Sequence[Root]) -> object:
        try:
            return tags(solve(case.catalog(shuffle=shuffle), *roots))
        except NoSolution as error:
            return str(error)

    shuffled = case.roots()
    chance.shuffle(shuffled)

    assert outcome(shuffle=1, roots=case.roots()) == outcome(shuffle=2, roots=shuffled)


@examples(60)
@given(cases())
def test_every_suggested_edit_helps(case: Case) -> None:
    try:
        solve(case.catalog(), *case.roots())
    except NoSolution as error:
        for line in error.next:
            if line.startswith("ask for "):
                _, _, source, version, *_ = line.split(" ")
                others = [wish for wish in case.roots() if str(wish.source) != source]
                wish = (
                    root(source, digest=version)
                    if version.startswith("sha256:")
                    else root(source, tag=version)
                )

                assert solve(case.catalog(), *others, wish)


def lock_again(case: Case, run: int, current: Lock, roots: Sequence[Root] | None = None) -> Lock:
    """Lock a run on top of a lock, as the pipeline does."""
    kept, released = kept_candidates(current, Upgrade())
    wanted = Wanted(
        tuple(roots or case.roots(run)),
        preferred=kept,
        pinned=pinned_digests(current, kept),
        upgraded=released,
    )
    resolution = resolve(wanted, case.catalog(), Limits())
    return make_lock(check_plan(make_plan(StableResolution(resolution), Context(current))))


def locked_tags(lock: Lock) -> dict[str, str]:
    return {short(source): DIGESTS[item.digest] for source, item in lock.packages.items()}


def _is_nameless(before: Lock, after: Lock) -> bool:
    """Tell whether a digest that had no version is asked for by version now; nobody knows whether it fits."""
    return any(
        item.by_digest and item.tag is None and after.packages[source].version_tag is not None
        for source, item in before.packages.items()
        if source in after.packages
    )


@examples(80)
@given(cases(runs=3))
def test_pins_that_still_fit_stay(case: Case) -> None:
    current = Lock()
    for run in range(3):
        try:
            after = lock_again(case, run, current)
        except NoSolution:
            continue
        before = locked_tags(current)
        still = {name: before[name] for name in case.needed(run, before) if name in before}

        if case.suits(run, still) and not _is_nameless(current, after):
            assert locked_tags(after) == still
        assert not check_closure(after)
        assert lock_again(case, run, after) == after
        current = after


@examples(80)
@given(cases(runs=3), st.lists(st.sampled_from(["", "", "mine", "other"]), min_size=9, max_size=9))
def test_no_edit_changes_the_name_of_an_object(case: Case, given_names: list[str]) -> None:
    names = iter(given_names)
    current = Lock()
    for run in range(3):
        chosen = [(wish, next(names)) for wish in case.roots(run)]
        roots = [replace(wish, name=f"{name}-{wish.source.name}") if name else wish for wish, name in chosen]
        try:
            after = lock_again(case, run, current, roots)
        except NoSolution:
            continue
        except NameChanged as error:
            installed = [item.object_name for item in current.packages.values()]
            assert any(f"is already installed as {name}" in error.what for name in installed)
            continue

        for source in after.packages.keys() & current.packages.keys():
            assert after.packages[source].object_name == current.packages[source].object_name
        for wish in roots:
            assert wish.name in (None, after.packages[named(wish.source.name)].object_name)
        current = after
