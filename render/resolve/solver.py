"""The search, conflict-driven: after a conflict it returns to the decision that caused it, not to the last one.

The algorithm is PubGrub. Every fact is an *incompatibility*, a set of terms that must not all hold: "a v1 depends on
b" is "a is v1, and b is none of these". Each conflict yields a new incompatibility that rules out its cause. If no
decision is left to undo, the incompatibilities are the explanation.
"""

import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from render.crd_dependencies import CrdRequest
from render.errors import RenderError
from render.limits import LimitExceeded, Limits, setting
from render.references import Source
from render.resolve.candidates import ABSENT, ANYTHING, Bits, Universe, bit
from render.resolve.model import Candidate, Edge

# The user, as a package that depends on the roots.
USER = Source("", "")
USER_CANDIDATE = Candidate("user")
_USER_UNIVERSE = Universe((USER_CANDIDATE,))


class SearchTooLong(RenderError):
    """The search reached its limit."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """A candidate that does not serve the CRDs that are asked of it."""

    crd: CrdRequest
    source: Source
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Fact:
    """The reason for an incompatibility that is not derived from others."""

    edge: Edge | None = None
    candidate: Candidate | None = None
    problem: str = ""
    # Advice, if something other than another version helps.
    advice: tuple[str, ...] = ()
    # The source of the candidate, if policies refuse it.
    refused: Source | None = None
    # Why a candidate is no answer to the edge, although its version is accepted.
    unserved: Unserved | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Incompatibility:
    """Terms that must not all hold; each is a source and a set of its candidates."""

    terms: Mapping[Source, Bits]
    fact: Fact | None = None
    causes: "tuple[Incompatibility, Incompatibility] | None" = None

    @property
    def is_hopeless(self) -> bool:
        """Whether it contains no decision that could be undone, only the user's requests."""
        return all(source == USER for source in self.terms)


class Unsolvable(Exception):
    """No set of versions satisfies every constraint; carries the derivation."""

    def __init__(self, cause: Incompatibility) -> None:
        super().__init__("no solution")
        self.cause = cause


class SearchProblem(Protocol):
    """The problem to solve; its answers must not change during a search."""

    def requirements(self) -> Sequence[Incompatibility]:
        """Return the user's requests."""
        ...

    def universe(self, source: Source) -> Universe:
        """Return all candidates of a source."""
        ...

    def facts(self, source: Source, index: int) -> Sequence[Incompatibility]:
        """Return the facts that follow from a candidate: its dependencies."""
        ...

    def choose(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> int:
        """Return the candidate to try first."""
        ...


@dataclass(slots=True)
class _Step:
    """One step of the search: a decision, or a conclusion from earlier steps."""

    source: Source
    bits: Bits
    level: int
    cause: Incompatibility | None


class Solver:
    """One search."""

    def __init__(self, problem: SearchProblem, limits: Limits) -> None:
        self._problem = problem
        self._limits = limits
        self._known: dict[Source, list[Incompatibility]] = {}
        self._steps: list[_Step] = []
        self._allowed: dict[Source, Bits] = {}
        self._chosen: dict[Source, int] = {}
        # Sources in the order of their first mention, which is Crossplane's order, too.
        self._met: dict[Source, int] = {}
        self._needed: list[tuple[int, Source]] = []
        self._expanded: set[tuple[Source, int]] = set()

    def solve(self) -> dict[Source, int]:
        """Return the index of one candidate for every source that is needed, or raise Unsolvable."""
        give_up_at = time.thread_time() + self._limits.solver_seconds
        self._learn(Incompatibility({USER: ABSENT}))
        # The user is decided first: otherwise an impossible request would rule out the user instead of itself.
        self._propagate(USER)
        for incompatibility in self._problem.requirements():
            self._learn(incompatibility)
        changed: Source | None = USER
        for _ in range(self._limits.solver_rounds):
            self._propagate(changed or USER)
            changed = self._decide()
            if changed is None:
                return {source: index for source, index in self._chosen.items() if source != USER}
            # Processor time only: waiting for registries has its own limits.
            if time.thread_time() > give_up_at:
                break
        raise self._too_long()

    def _learn(self, incompatibility: Incompatibility) -> None:
        for source in incompatibility.terms:
            self._known.setdefault(source, []).append(incompatibility)
            self._met.setdefault(source, len(self._met))

    def _propagate(self, changed: Source) -> None:
        """Draw all conclusions after a source changed."""
        waiting = [changed]
        while waiting:
            source = waiting.pop()
            # Newest first: what was learnt from a conflict is most likely to apply.
            for incompatibility in reversed(self._known.get(source, [])):
                conclusion = self._conclude(incompatibility)
                if conclusion is incompatibility:
                    cause = self._resolve_conflict(incompatibility)
                    concluded = self._conclude(cause)
                    waiting = [concluded] if isinstance(concluded, Source) else []
                    break
                if isinstance(conclusion, Source) and conclusion not in waiting:
                    waiting.append(conclusion)

    def _conclude(self, incompatibility: Incompatibility) -> Source | Incompatibility | None:
        """Apply one incompatibility: return it if it is violated, or the source that it restricts further."""
        open_source = None
        for source, bits in incompatibility.terms.items():
            allowed = self._allowed_of(source)
            if not allowed & bits:
                return None
            if allowed & ~bits:
                if open_source is not None:
                    return None
                open_source = source
        if open_source is None:
            return incompatibility
        self._assign(open_source, ~incompatibility.terms[open_source], incompatibility)
        return open_source

    def _allowed_of(self, source: Source) -> Bits:
        allowed = self._allowed.get(source)
        return self._everything(source) if allowed is None else allowed

    def _everything(self, source: Source) -> Bits:
        return (_USER_UNIVERSE if source == USER else self._problem.universe(source)).everything

    def _assign(self, source: Source, bits: Bits, cause: Incompatibility | None) -> None:
        self._steps.append(_Step(source, bits, len(self._chosen), cause))
        self._restrict(source, bits)

    def _restrict(self, source: Source, bits: Bits) -> None:
        before = self._allowed_of(source)
        after = self._allowed[source] = before & bits
        if before & ABSENT and not after & ABSENT:
            heapq.heappush(self._needed, (self._met[source], source))

    def _decide(self) -> Source | None:
        """Choose a candidate for the required source that was mentioned first; return None when all are chosen."""
        while self._needed and self._needed[0][1] in self._chosen:
            heapq.heappop(self._needed)
        if not self._needed:
            return None
        if len(self._chosen) > self._limits.packages:
            raise LimitExceeded("the closure has too many packages", "packages", self._limits)
        source = self._needed[0][1]
        index = 0 if source == USER else self._problem.choose(source, self._allowed[source], self._chosen)
        if not self._expand(source, index):
            self._chosen[source] = index
            self._assign(source, bit(index), None)
        return source

    def _expand(self, source: Source, index: int) -> bool:
        """Learn the facts of a candidate, and return whether they already rule it out."""
        if source == USER or (source, index) in self._expanded:
            return False
        self._expanded.add((source, index))
        facts = self._problem.facts(source, index)
        for fact in facts:
            self._learn(fact)
        return any(self._rules_out(fact, source) for fact in facts)

    def _rules_out(self, fact: Incompatibility, chosen: Source) -> bool:
        others = [(source, bits) for source, bits in fact.terms.items() if source != chosen]
        return all(not self._allowed_of(source) & ~bits for source, bits in others)

    def _resolve_conflict(self, conflict: Incompatibility) -> Incompatibility:
        """Find the decision that caused a conflict, undo all steps since, and return the new incompatibility."""
        while not conflict.is_hopeless:
            at, before = self._latest_cause(conflict)
            step = self._steps[at]
            if step.cause is None or before < step.level:
                self._back_up(before)
                if conflict.fact is None:
                    self._learn(conflict)
                return conflict
            conflict = self._combine(conflict, step)
        raise Unsolvable(conflict)

    def _latest_cause(self, conflict: Incompatibility) -> tuple[int, int]:
        """Return the step that completed a conflict, and the highest level of its other terms."""
        # -1: before the first step.
        latest, at, before = USER, -1, 0
        for source, bits in conflict.terms.items():
            here = self._first_satisfying(source, bits)
            before = max(before, self._level_at(min(here, at)))
            if here > at:
                latest, at = source, here
        if at < 0:
            raise Unsolvable(conflict)
        rest = self._left_open(self._steps[at], conflict)
        if rest:
            # This step alone does not satisfy the term; an earlier one about the same source helped.
            before = max(before, self._level_at(self._first_satisfying(latest, ~rest)))
        return at, before

    def _level_at(self, at: int) -> int:
        return self._steps[at].level if at >= 0 else 0

    def _left_open(self, step: _Step, conflict: Incompatibility) -> Bits:
        """Return the candidates that a step allows and that are not in the conflict's term."""
        return self._everything(step.source) & step.bits & ~conflict.terms[step.source]

    def _first_satisfying(self, source: Source, bits: Bits) -> int:
        allowed = self._everything(source)
        if not allowed & ~bits:
            return -1
        for i, step in enumerate(self._steps):
            if step.source == source:
                allowed &= step.bits
                if not allowed & ~bits:
                    return i
        raise AssertionError("a term of a conflict is not satisfied")

    def _combine(self, conflict: Incompatibility, step: _Step) -> Incompatibility:
        """Return the conflict with the step that completed it replaced by that step's cause."""
        cause = step.cause
        assert cause is not None  # noqa: S101 - decisions were dealt with by the caller
        terms = {source: bits for source, bits in conflict.terms.items() if source != step.source}
        for source, bits in cause.terms.items():
            if source != step.source:
                terms[source] = terms.get(source, ANYTHING) & bits
        rest = self._left_open(step, conflict)
        if rest:
            terms[step.source] = ~rest
        return Incompatibility(terms, causes=(conflict, cause))

    def _back_up(self, level: int) -> None:
        self._steps = [step for step in self._steps if step.level <= level]
        kept = [step.source for step in self._steps if step.cause is None]
        self._chosen = {source: self._chosen[source] for source in kept}
        self._allowed, self._needed = {}, []
        for step in self._steps:
            self._restrict(step.source, step.bits)

    def _too_long(self) -> SearchTooLong:
        tried = dict.fromkeys(str(step.source) for step in reversed(self._steps) if step.source != USER)
        return SearchTooLong(
            "no set of versions was found within the limits of the search",
            why=f"the search ended while it tried versions of {', '.join(list(tried)[:6])}",
            next=f"give some roots narrower versions, or raise the limit with {setting('solver_rounds')}",
        )
