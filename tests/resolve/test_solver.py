"""The search alone, over numbers instead of packages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import pytest
from rig.builders.catalogs import named

from render.limits import LimitExceeded, Limits
from render.references import Source
from render.resolve.candidates import Bits, Universe, bit, highest
from render.resolve.conflict import find_facts
from render.resolve.model import Candidate, Edge
from render.resolve.solver import USER, Fact, Incompatibility, SearchTooLong, Solver, Unsolvable
from render.versions.requests import Request

Needs = Mapping[str, Sequence[int]]


@dataclass
class Puzzle:
    """Sources with some candidates each; a candidate needs others to be among certain ones."""

    sizes: Mapping[str, int]
    user: Needs
    needs: Mapping[tuple[str, int], Needs] = field(default_factory=dict)
    opened: list[tuple[str, int]] = field(default_factory=list)

    def requirements(self) -> list[Incompatibility]:
        """Return what the user asks for."""
        return self._incompatibilities(USER, 0, self.user)

    def universe(self, source: Source) -> Universe:
        """Return all candidates of a source."""
        return _universe(self.sizes[source.name])

    def facts(self, source: Source, index: int) -> list[Incompatibility]:
        """Return what holds once a candidate is chosen."""
        self.opened.append((source.name, index))
        return self._incompatibilities(source, index, self.needs.get((source.name, index), {}))

    def choose(self, _source: Source, allowed: Bits, _chosen: Mapping[Source, int]) -> int:
        """Return the candidate to try first."""
        return highest(allowed)

    def _incompatibilities(self, source: Source, index: int, needs: Needs) -> list[Incompatibility]:
        return [
            Incompatibility(
                {source: bit(index), named(name): ~sum(bit(i) for i in indexes)},
                Fact(Edge(named(name), Request(), None if source == USER else source)),
            )
            for name, indexes in needs.items()
        ]


@cache
def _universe(size: int) -> Universe:
    return Universe(tuple(Candidate(str(i)) for i in range(size)))


def solve(puzzle: Puzzle, limits: Limits | None = None) -> dict[str, int]:
    return {source.name: index for source, index in Solver(puzzle, limits or Limits()).solve().items()}


def test_without_requests_nothing_is_chosen() -> None:
    assert solve(Puzzle({}, {})) == {}


def test_only_what_is_needed_is_chosen() -> None:
    puzzle = Puzzle({"a": 2, "b": 2, "c": 1}, {"a": [0, 1]}, {("a", 1): {"b": [0]}})

    assert solve(puzzle) == {"a": 1, "b": 0}
    assert puzzle.opened == [("a", 1), ("b", 0)]


def test_a_conflict_returns_to_its_cause_and_skips_decisions_between() -> None:
    bystanders = {f"x{i}": 5 for i in range(20)}
    user = {"a": [0, 1], **{name: range(5) for name in bystanders}, "z": [0]}
    puzzle = Puzzle({"a": 2, **bystanders, "z": 1}, user, {("z", 0): {"a": [0]}})

    chosen = solve(puzzle)

    assert chosen["a"] == 0
    assert all(chosen[name] == 4 for name in bystanders)
    # Each bystander once, not in five versions each.
    assert len(puzzle.opened) == len(bystanders) + 3


def test_the_same_mistake_is_not_made_twice() -> None:
    sizes = {"a": 10, "b": 10, "c": 1}
    needs = {("a", i): {"b": [i]} for i in range(10)} | {("b", i): {"c": [0]} for i in range(10)}
    puzzle = Puzzle(sizes, {"a": range(10), "b": [0]}, {**needs, ("c", 0): {}})

    assert solve(puzzle) == {"a": 0, "b": 0, "c": 0}
    assert len(set(puzzle.opened)) == len(puzzle.opened)


def test_an_early_wrong_decision_is_undone() -> None:
    puzzle = Puzzle(
        {"a": 3, "b": 3, "c": 3},
        {"a": range(3), "b": range(3), "c": range(3)},
        {
            ("a", 2): {"b": [0, 1]},
            ("b", 1): {"c": [0]},
            ("c", 0): {"a": [0, 1]},
            ("b", 0): {"c": [1], "a": [0, 1]},
            ("b", 2): {"a": [0]},
        },
    )

    chosen = solve(puzzle)

    assert chosen == {"a": 1, "b": 1, "c": 0}


@pytest.mark.parametrize(
    ("user", "needs"),
    [
        ({"a": []}, {}),
        ({"a": [0], "b": [0]}, {("a", 0): {"b": [1]}}),
        ({"a": [0, 1]}, {("a", 0): {"b": []}, ("a", 1): {"b": [0], "c": [0]}, ("c", 0): {"b": [1]}}),
    ],
)
def test_without_a_solution_the_facts_of_the_conflict_are_returned(
    user: Needs, needs: Mapping[tuple[str, int], Needs]
) -> None:
    with pytest.raises(Unsolvable) as caught:
        solve(Puzzle({"a": 2, "b": 2, "c": 1}, user, needs))

    facts = find_facts(caught.value.cause)
    asked = sum(map(len, needs.values())) + len(user)
    assert 0 < len(facts) <= asked
    # They rule it out by themselves: each fact is about something that the others do not allow.
    assert all(fact.edge for fact in facts)


def test_facts_outside_of_the_conflict_are_not_returned() -> None:
    puzzle = Puzzle({"a": 1, "b": 2, "c": 1}, {"c": [0], "a": [0], "b": [0]}, {("a", 0): {"b": [1]}})

    with pytest.raises(Unsolvable) as caught:
        solve(puzzle)

    named_sources = {str(fact.edge.source) for fact in find_facts(caught.value.cause) if fact.edge}
    assert named_sources == {str(named("a")), str(named("b"))}


def pigeonhole(pigeons: int) -> Puzzle:
    """One hole too few: there is no short proof of that for a search like ours."""
    holes = range(pigeons - 1)
    sizes = {f"pigeon{i}": len(holes) for i in range(pigeons)} | {f"hole{j}": pigeons for j in holes}
    needs = {(f"pigeon{i}", j): {f"hole{j}": [i]} for i in range(pigeons) for j in holes}
    return Puzzle(sizes, {f"pigeon{i}": holes for i in range(pigeons)}, needs)


def test_a_small_puzzle_without_an_answer_is_finished() -> None:
    with pytest.raises(Unsolvable):
        solve(pigeonhole(4))


def test_a_search_ends_at_the_limit_of_rounds_and_names_the_packages_it_tried() -> None:
    with pytest.raises(SearchTooLong) as caught:
        solve(pigeonhole(12), Limits(solver_rounds=300, solver_seconds=1_000_000))

    assert caught.value.exit_code == 1
    assert str(caught.value).count("xpkg.example.org/acme/pigeon") >= 2
    assert "XPLOCK_LIMIT_SOLVER_ROUNDS" in str(caught.value)


def test_a_search_ends_at_its_time_limit() -> None:
    with pytest.raises(SearchTooLong):
        solve(pigeonhole(12), Limits(solver_rounds=1_000_000_000, solver_seconds=1))


@pytest.mark.parametrize(("limit", "enough"), [(5, True), (4, False)])
def test_a_closure_has_a_largest_size(limit: int, enough: bool) -> None:
    sizes = {f"p{i}": 1 for i in range(5)}
    puzzle = Puzzle(sizes, {"p0": [0]}, {(f"p{i}", 0): {f"p{i + 1}": [0]} for i in range(4)})

    if enough:
        assert len(solve(puzzle, Limits(packages=limit))) == 5
        return
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_PACKAGES"):
        solve(puzzle, Limits(packages=limit))
