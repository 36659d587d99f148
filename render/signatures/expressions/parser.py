"""Texts → expressions; only what Go reads in the same way."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from render.signatures.expressions.letters import forms
from render.signatures.expressions.machine import Border, Machine, Test, UnusableExpression

_DEEPEST = 50
_MOST_REPEATS = 1_000
_AMOUNT = re.compile(r"\{(0|[1-9][0-9]{0,3})(,(0|[1-9][0-9]{0,3})?)?\}", re.ASCII)
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_DIGITS = frozenset("0123456789")
_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") | _DIGITS
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": frozenset("\t\n\f\r ")}
_CONTROLS = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

# A part of an expression: adds its places in front of the one that follows it, and returns the first of them.
_Part: TypeAlias = Callable[[Machine, int], int]


def parse(text: str) -> Machine:
    """Parse an expression."""
    machine = Machine(text)
    machine.end = machine.add()
    machine.start = _Parser(text).parse()(machine, machine.end)
    return machine


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.folds = self._take("(?i)")

    def parse(self) -> _Part:
        part = self._alternatives()
        if self.at < len(self.text):
            raise self._bad("a ) has no (")
        return part

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return lambda machine, end: machine.add(*[part(machine, end) for part in parts])

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated(self._item()))
        return lambda machine, end: _in_a_row(machine, parts, end)

    def _item(self) -> _Part:
        character = self._next()
        if character == "(":
            return self._group()
        if character in "*+?" or _AMOUNT.match(self.text, self.at - 1):
            raise self._bad(f"nothing is in front of {character}")
        if character in "^$":
            return _bordered(at_start if character == "^" else at_end)
        if character == "\\" and self._peek() in _BORDERS:
            return _bordered(_BORDERS[self._next()])
        if character == ".":
            return _tested(lambda one: one != "\n")
        return _tested(self._bracket() if character == "[" else self._one_of(character))

    def _group(self) -> _Part:
        if not self._take("?:") and self._peek() == "?":
            raise self._bad("it has a group of an unknown kind")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._bad("its groups are nested too deep")
        part = self._alternatives()
        if not self._take(")"):
            raise self._bad("a ( has no )")
        self.depth -= 1
        return part

    def _repeated(self, part: _Part) -> _Part:
        amount = self._amount()
        if amount is None:
            return part
        # Whether it takes few or many makes no difference to whether it fits.
        self._take("?")
        if self._amount() is not None:
            raise self._bad("one repeat follows another")
        least, most = amount
        return lambda machine, end: _several(machine, part, least, most, end)

    def _amount(self) -> tuple[int, int | None] | None:
        for sign, amount in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return amount
        found = _AMOUNT.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        least = int(found[1])
        most = None if found[2] == "," else int(found[3] or least)
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
            raise self._bad(f"{found[0]} is no amount")
        return least, most

    def _bracket(self) -> Test:
        negated = self._take("^")
        tests: list[Test] = []
        while not tests or self._peek() != "]":
            tests.append(self._bracket_part())
        self.at += 1
        return lambda one: any(test(one) for test in tests) is not negated

    def _bracket_part(self) -> Test:
        first = self._next()
        if first in "[]":
            raise self._bad(f"write \\{first} in brackets")
        if first == "\\" and self._peek().lower() in _CLASSES:
            return self._one_of(first)
        first = self._literal(first)
        if not (self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "")):
            return self._same(first)
        self.at += 1
        last = self._literal(self._next())
        if last < first:
            raise self._bad("a range has its ends in the wrong order")
        return lambda one: any(first <= form <= last for form in self._forms(one))

    def _one_of(self, character: str) -> Test:
        name = self._peek()
        if character == "\\" and name.lower() in _CLASSES:
            self.at += 1
            members = _CLASSES[name.lower()]
            return lambda one: (one in members) is name.islower()
        return self._same(self._literal(character))

    def _literal(self, character: str) -> str:
        if character != "\\":
            return character
        escaped = self._next()
        if escaped not in _CONTROLS and escaped not in _PUNCTUATION:
            raise self._bad(f"\\{escaped} is not known")
        return _CONTROLS.get(escaped, escaped)

    def _same(self, character: str) -> Test:
        return lambda one: character in self._forms(one)

    def _forms(self, character: str) -> Sequence[str]:
        return forms(character) if self.folds else character

    def _peek(self) -> str:
        # A space is in none of the sets that it is compared with.
        return self.text[self.at] if self.at < len(self.text) else " "

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise self._bad("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def _take(self, text: str) -> bool:
        found = self.text.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def _bad(self, why: str) -> UnusableExpression:
        return UnusableExpression(self.text, why)


def _tested(test: Test) -> _Part:
    return lambda machine, end: machine.add(end, test=test)


def _bordered(border: Border) -> _Part:
    return lambda machine, end: machine.add(end, border=border)


def _in_a_row(machine: Machine, parts: Sequence[_Part], end: int) -> int:
    for part in reversed(parts):
        end = part(machine, end)
    return end


def _several(machine: Machine, part: _Part, least: int, most: int | None, end: int) -> int:
    """Put a part there as often as it may come, the optional ones last."""
    following = end
    if most is None:
        following = machine.add()
        machine.join(following, part(machine, following), end)
    for _ in range(most - least if most is not None else 0):
        following = machine.add(part(machine, following), end)
    return _in_a_row(machine, [part] * least, following)


def at_start(_: str, at: int) -> bool:
    """Return whether a text begins here."""
    return at == 0


def at_end(text: str, at: int) -> bool:
    """Return whether a text ends here."""
    return at == len(text)


def _at_word(text: str, at: int) -> bool:
    return (at > 0 and text[at - 1] in _WORD) != (at < len(text) and text[at] in _WORD)


_BORDERS: dict[str, Border] = {
    "A": at_start,
    "z": at_end,
    "b": _at_word,
    "B": lambda text, at: not _at_word(text, at),
}
