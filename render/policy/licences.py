"""SPDX licence expressions: which licences a package offers, and whether a set of allowed ones is enough."""

import re
from collections.abc import Collection, Sequence

from render.errors import InvalidInput
from render.lean import dataclass
from render.texts import hides_something

_LONGEST = 512
_DEEPEST = 20
_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")
# SPDX 2.3, Annex D. A reference to a licence text of the package's own is a name like any other.
_NAME = re.compile(r"(?:DocumentRef-[A-Za-z0-9.-]+:)?[A-Za-z0-9][A-Za-z0-9.-]*")
_OPERATORS = frozenset({"and", "or", "with"})
# SPDX: nothing is known. In a lock: a policy asked, and the package says nothing.
NOTHING_SAID = "NOASSERTION"
_NOTHING_SAID = frozenset({"none", NOTHING_SAID.casefold(), "unknown"})
_OR_LATER, _ONLY = "-or-later", "-only"


class InvalidLicence(InvalidInput):
    """A text that is no SPDX expression."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(
            f"{text!r} is no SPDX licence expression",
            why=why,
            next="write names of the SPDX licence list: Apache-2.0, or MPL-2.0 OR Apache-2.0",
        )


@dataclass(frozen=True, slots=True)
class Licence:
    """One licence, in small letters: names of licences are equal whatever their case."""

    name: str
    # Whether later versions of it may be chosen as well.
    or_later: bool = False
    exception: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """Licences that all hold, or that one may choose from; a single one is a choice of one."""

    parts: "tuple[Licence | Expression, ...]"
    all_hold: bool = False


def said_licence(text: str | None) -> str | None:
    """Return what a package says about its licence; None if that is nothing, or nothing that can be shown."""
    text = (text or "").strip()
    if not text or text.casefold() in _NOTHING_SAID or len(text) > _LONGEST or hides_something(text):
        return None
    return text


def parse_expression(text: str) -> Expression:
    """Parse an SPDX expression; AND binds more closely than OR."""
    if len(text) > _LONGEST:
        raise InvalidLicence(text[:40], f"it has more than {_LONGEST:,} characters")
    return _Parser(text).parse()


def parse_licence(text: str) -> Licence:
    """Parse a single licence, with its exception if it has one."""
    part: Licence | Expression = parse_expression(text)
    while isinstance(part, Expression):
        if len(part.parts) > 1:
            raise InvalidLicence(text, "it is more than one licence; write each as an item of its own")
        part = part.parts[0]
    return part


def is_allowed(part: Licence | Expression, allowed: Collection[Licence]) -> bool:
    """Return whether the allowed licences are enough to use a package."""
    if isinstance(part, Expression):
        answers = [is_allowed(one, allowed) for one in part.parts]
        return all(answers) if part.all_hold else any(answers)
    # Of a licence "or later", the version that is named may be chosen.
    return part in allowed or (part.or_later and Licence(part.name, exception=part.exception) in allowed)


def licences_in(part: Licence | Expression) -> list[Licence]:
    """Return every licence of an expression."""
    if isinstance(part, Licence):
        return [part]
    return [licence for one in part.parts for licence in licences_in(one)]


class _Parser:
    """Reads one expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression:
        found = self._choice()
        if self._at < len(self._tokens):
            raise self._wrong(f"{self._tokens[self._at]!r} is out of place")
        return found

    def _choice(self) -> Expression:
        parts = [self._conjunction()]
        while self._takes("or"):
            parts.append(self._conjunction())
        return Expression(tuple(parts))

    def _conjunction(self) -> Expression:
        parts = [self._operand()]
        while self._takes("and"):
            parts.append(self._operand())
        return Expression(tuple(parts), all_hold=True)

    def _operand(self) -> Licence | Expression:
        if not self._takes("("):
            return self._licence()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"it has more than {_DEEPEST} parentheses within each other")
        inner = self._choice()
        if not self._takes(")"):
            raise self._wrong("a parenthesis is not closed")
        self._depth -= 1
        return inner

    def _licence(self) -> Licence:
        word = self._name("a licence")
        exception = self._name("an exception") if self._takes("with") else ""
        return _make_licence(word, exception)

    def _name(self, what: str) -> str:
        token: str = self._tokens[self._at] if self._at < len(self._tokens) else ""
        name = token.removesuffix("+") if what == "a licence" else token
        if token.casefold() in _OPERATORS or not _NAME.fullmatch(name):
            raise self._wrong(
                f"expected {what}, found {token!r}" if token else f"{what} is missing at its end"
            )
        self._at += 1
        return token.casefold()

    def _takes(self, wanted: str) -> bool:
        # SPDX writes operators in capitals, and since version 3.0 in small letters as well.
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        taken = token in (wanted, wanted.upper())
        self._at += taken
        return taken

    def _wrong(self, why: str) -> InvalidLicence:
        return InvalidLicence(self._text, why)


def _make_licence(word: str, exception: str) -> Licence:
    # GPL-2.0, GPL-2.0-only and GPL-2.0+, GPL-2.0-or-later: an older and a newer way to say the same.
    or_later = word.endswith(("+", _OR_LATER))
    name = word.removesuffix("+").removesuffix(_OR_LATER).removesuffix(_ONLY)
    return Licence(name, or_later, exception)


def parse_allowed(texts: Sequence[str]) -> dict[str, Licence]:
    """Parse a list of allowed licences, by the texts as they are written."""
    return {text: parse_licence(text) for text in texts}
