"""An expression as a machine: places, and the ways between them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from render.signatures.refusals import Reason, Refused

# Their product with the longest name of a signer bounds the time.
_MOST_STATES = 2_000

# Whether one character fits; whether a position of a text does.
Test: TypeAlias = Callable[[str], bool]
Border: TypeAlias = Callable[[str, int], bool]


class UnusableExpression(Refused):
    """An expression that Go refuses, or that is too unusual to be read here."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(Reason.UNKNOWN, f"the expression {text[:100]!r} cannot be used: {why}")


@dataclass(slots=True)
class _State:
    """A place in an expression: what has to be true here, and the places after it."""

    following: list[int]
    test: Test | None = None
    border: Border | None = None


@dataclass(slots=True)
class Machine:
    """All places of an expression."""

    expression: str
    start: int = 0
    end: int = 0
    _states: list[_State] = field(default_factory=list)

    def add(self, *following: int, test: Test | None = None, border: Border | None = None) -> int:
        """Add a place in front of others, and return its number."""
        if len(self._states) >= _MOST_STATES:
            raise UnusableExpression(self.expression, "it is too large")
        self._states.append(_State(list(following), test, border))
        return len(self._states) - 1

    def join(self, number: int, *following: int) -> None:
        """Let more places follow one."""
        self._states[number].following += following

    def fits(self, text: str) -> bool:
        """Return whether some part of a text fits."""
        current: set[int] = set()
        for at in range(len(text) + 1):
            # A match may begin anywhere.
            current = self._reach({*current, self.start}, text, at)
            if self.end in current:
                return True
            if at < len(text):
                current = self._step(current, text[at])
        return False

    def ends_without(self, border: Border) -> bool:
        """Return whether a way leads from start to end that does not cross a border."""
        found: set[int] = set()
        left = [self.start]
        while left:
            number = left.pop()
            if number not in found and self._states[number].border is not border:
                found.add(number)
                left += self._states[number].following
        return self.end in found

    def _reach(self, starts: set[int], text: str, at: int) -> set[int]:
        """Return all places that are reached without another character."""
        found: set[int] = set()
        left = list(starts)
        while left:
            number = left.pop()
            state = self._states[number]
            if number not in found and (state.border is None or state.border(text, at)):
                found.add(number)
                left += () if state.test else state.following
        return found

    def _step(self, current: set[int], character: str) -> set[int]:
        """Return the places behind a character."""
        fitting = [state for number in current if (state := self._states[number]).test]
        return {one for state in fitting if state.test and state.test(character) for one in state.following}
