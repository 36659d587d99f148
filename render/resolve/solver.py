"""The search. It is conflict-driven: it backs up to the decision that caused a conflict, not to the last one.

The method is that of PubGrub. Every fact is an *incompatibility*, a set of terms that must not all hold: that a
v1 depends on b is "a is v1, and b is none of these". A conflict yields a new incompatibility, which forbids its
cause for ever; where nothing is left to give up, they are the explanation.
"""

import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from render.errors import RenderError
from render.limits import LimitExceeded, Limits, setting
from render.references import Source
from render.resolve.candidates import ABSENT, ANYTHING, Bits, Universe, bit
from render.resolve.model import Candidate, Edge

# The user, whom nobody depends on.
USER = Source("", "")
_USER_UNIVERSE = Universe((Candidate("user"),))


class SearchTooLong(RenderError):
    """The search was given up."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Why an incompatibility holds, where it does not follow from others."""

    edge: Edge | None = None
    candidate: Candidate | None = None
    problem: str = ""
    # What to do about it, if there is something besides another version.
    advice: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Incompatibility:
    """Terms that must not all hold; each says that a source is one of a set."""

    terms: Mapping[Source, Bits]
    fact: Fact | None = None
    causes: "tuple[Incompatibility, Incompatibility] | None" = None

    @property
    def is_hopeless(self) -> bool:
        """Whether nothing but the user's own wishes could be given up."""
        return all(source == USER for source in self.terms)


class Unsolvable(Exception):
    """No choice suits everyone; carries the derivation."""

    def __init__(self, cause: Incompatibility) -> None:
        super().__init__("no solution")
        self.cause = cause


class Question(Protocol):
    """What is to be solved; the answers do not change while a search runs."""

    def requirements(self) -> Sequence[Incompatibility]:
        """Return what the user asks for."""
        ...

    def universe(self, source: Source) -> Universe:
        """Return all candidates of a source."""
        ...

    def facts(self, source: Source, index: int) -> Sequence[Incompatibility]:
        """Return what holds once a candidate is chosen."""
        ...

    def choose(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> int:
        """Return the candidate to try first."""
        ...


@dataclass(slots=True)
class _Step:
    """One step of the search: a decision, or what follows from the steps before."""

    source: Source
    bits: Bits
    level: int
    cause: Incompatibility | None


class Solver:
    """One search."""

    def __init__(self, question: Question, limits: Limits) -> None:
        self._question = question
        self._limits = limits
        self._known: dict[Source, list[Incompatibility]] = {}
        self._steps: list[_Step] = []
        self._allowed: dict[Source, Bits] = {}
        self._chosen: dict[Source, int] = {}
        # Sources in the order in which somebody first needed them, as Crossplane would meet them.
        self._met: dict[Source, int] = {}
        self._needed: list[tuple[int, Source]] = []
        self._expanded: set[tuple[Source, int]] = set()

    def solve(self) -> dict[Source, int]:
        """Return the index of one candidate for every source that is needed, or raise Unsolvable."""
        give_up_at = time.thread_time() + self._limits.solver_seconds
        self._learn(Incompatibility({USER: ABSENT}))
        # The user comes first: else a wish that nothing answers would do away with the user, not with itself.
        self._propagate(USER)
        for incompatibility in self._question.requirements():
            self._learn(incompatibility)
        changed: Source | None = USER
        for _ in range(self._limits.solver_rounds):
            self._propagate(changed or USER)
            changed = self._decide()
            if changed is None:
                return {source: index for source, index in self._chosen.items() if source != USER}
            # Time on the processor: waiting for a registry has bounds of its own.
            if time.thread_time() > give_up_at:
                break
        raise self._too_long()

    def _learn(self, incompatibility: Incompatibility) -> None:
        for source in incompatibility.terms:
            self._known.setdefault(source, []).append(incompatibility)
            self._met.setdefault(source, len(self._met))

    def _propagate(self, changed: Source) -> None:
        """Draw every conclusion from what is known about a source that just changed."""
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
        """Apply one incompatibility: return it if it is violated, or the source that it says something new of."""
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
        return (_USER_UNIVERSE if source == USER else self._question.universe(source)).everything

    def _assign(self, source: Source, bits: Bits, cause: Incompatibility | None) -> None:
        self._steps.append(_Step(source, bits, len(self._chosen), cause))
        self._restrict(source, bits)

    def _restrict(self, source: Source, bits: Bits) -> None:
        before = self._allowed_of(source)
        after = self._allowed[source] = before & bits
        if before & ABSENT and not after & ABSENT:
            heapq.heappush(self._needed, (self._met[source], source))

    def _decide(self) -> Source | None:
        """Choose a candidate for the source that was met first; return nothing when all are chosen."""
        while self._needed and self._needed[0][1] in self._chosen:
            heapq.heappop(self._needed)
        if not self._needed:
            return None
        if len(self._chosen) > self._limits.packages:
            raise LimitExceeded("the closure has too many packages", "packages", self._limits)
        source = self._needed[0][1]
        index = 0 if source == USER else self._question.choose(source, self._allowed[source], self._chosen)
        if not self._expand(source, index):
            self._chosen[source] = index
            self._assign(source, bit(index), None)
        return source

    def _expand(self, source: Source, index: int) -> bool:
        """Learn what follows from a candidate; tell whether that already rules it out."""
        if source == USER or (source, index) in self._expanded:
            return False
        self._expanded.add((source, index))
        facts = self._question.facts(source, index)
        for fact in facts:
            self._learn(fact)
        return any(self._rules_out(fact, source) for fact in facts)

    def _rules_out(self, fact: Incompatibility, chosen: Source) -> bool:
        others = [(source, bits) for source, bits in fact.terms.items() if source != chosen]
        return all(not self._allowed_of(source) & ~bits for source, bits in others)

    def _resolve_conflict(self, conflict: Incompatibility) -> Incompatibility:
        """Find the decision that a conflict goes back to, undo everything since, and return why it was wrong."""
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
        """Return the step that completed a conflict, and the level of everything else in it."""
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
        """Return what a step leaves possible of its source besides what a conflict says of it."""
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
        """Replace the step that completed a conflict by its own cause."""
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
            "no answer was found in reasonable time",
            why=f"the search was given up while it tried versions of {', '.join(list(tried)[:6])}",
            next=f"give some roots narrower versions, or the search more room with {setting('solver_rounds')}",
        )
