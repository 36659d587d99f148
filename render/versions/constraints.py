"""Constraints: the versions a dependent accepts, in the grammar of Masterminds/semver v3, or one digest."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from render.errors import InvalidInput
from render.lean import TypeAlias, dataclass, field
from render.limits import Limits, format_amount, setting
from render.references import Digest, is_digest
from render.texts import visible
from render.versions.version import InvalidVersion, Version, parse_version

# A place in the order of versions: a precedence, its first parts alone, or one with something behind it.
# Tuples compare just so: (1, 3) is below everything in 1.3, prereleases of 1.3.0 included.
_Bound: TypeAlias = tuple[object, ...]

_BOTTOM: _Bound = ()
_TOP: _Bound = (1 << 64,)
_WILDCARDS = frozenset({"x", "X", "*"})
_DEFAULTS = Limits()
# The length of the whole text has been checked, so its parts need no check.
_UNMEASURED = Limits(version_chars=sys.maxsize)

# The white space of Go's regular expressions; Python's \s and strip() know more.
_SPACES = "\t\n\f\r "
_SPACE = f"[{_SPACES}]"
# Every repetition is possessive (++, *+): nothing is tried twice, whatever the text.
_IDENTIFIERS = r"[0-9A-Za-z-]++(?:\.[0-9A-Za-z-]++)*+"
# The library's grammar takes "|" for a digit. Numbers with one are refused later, but which ranges
# beside "||" can be read depends on it: "1 - 2.0||3.0" can, "1 - 2.0.0||3.0.0" cannot.
_PART = r"[0-9xX*|]++"
_OPERAND = rf"v?{_PART}(?:\.{_PART})?+(?:\.{_PART})?+(?:-{_IDENTIFIERS})?+(?:\+{_IDENTIFIERS})?+"
_TERM = re.compile(rf"(!=|>=|=>|<=|=<|~>|[=><~^])?+{_SPACE}*+({_OPERAND})")
# Compiled when a constraint has one.
_SEPARATOR = rf"{_SPACE}*+,{_SPACE}*+|{_SPACE}++"
_RANGE = rf"{_SPACE}*+({_OPERAND}){_SPACE}++-{_SPACE}++({_OPERAND}){_SPACE}*+"


class InvalidConstraint(InvalidInput):
    """A text that is neither a version constraint nor a digest."""

    def __init__(
        self,
        text: str,
        why: str | Sequence[str],
        *,
        next: str = "write it like >=v1.2.0, <v2.0.0 or ^1.2 or * (any release), or as sha256: and 64 hex digits",
    ) -> None:
        super().__init__(f"'{visible(text, limit=100)}' is not a version constraint", why=why, next=next)


class _Unreadable(Exception):
    """The reason why a part of a constraint is invalid."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """The version of a term: how many of its parts are written, and the rest filled with zeros."""

    version: Version
    written: int
    partial: bool

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.version.precedence[:3]

    @property
    def at(self) -> _Bound:
        """The place of the version itself."""
        return self.version.precedence

    @property
    def past(self) -> _Bound:
        """The place right behind it: above the version, and below any higher one."""
        return (*self.version.precedence, ())

    def past_all(self, count: int) -> _Bound:
        """Return the place past everything that has the same first parts."""
        return (*self.parts[: count - 1], self.parts[count - 1] + 1)


@dataclass(frozen=True, slots=True)
class _Span:
    """The versions from one place up to, but not including, another."""

    low: _Bound
    high: _Bound

    def covers(self, version: Version) -> bool:
        return self.low <= version.precedence < self.high


@dataclass(frozen=True, slots=True)
class _Hole:
    """The versions that != excludes: a span, or those in it that end like one version."""

    span: _Span
    like: Version | None = None

    def covers(self, version: Version) -> bool:
        return self.span.covers(version) and (self.like is None or _ending(self.like) == _ending(version))


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One alternative of a constraint: a span of versions, without those that != excludes."""

    span: _Span
    holes: tuple[_Hole, ...]
    prereleases: bool

    def accepts(self, version: Version) -> bool:
        if not self.span.covers(version) or (version.is_prerelease and not self.prereleases):
            return False
        return not any(hole.covers(version) for hole in self.holes)


@dataclass(frozen=True, slots=True)
class Constraint:
    """The versions a dependent accepts, or one digest; the text is kept as written."""

    text: str
    digest: Digest | None = field(default=None, compare=False)
    alternatives: tuple[_Alternative, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    def accepts(self, version: Version) -> bool:
        """Return whether a version is accepted; a digest accepts none."""
        return any(alternative.accepts(version) for alternative in self.alternatives)


def parse_constraint(text: str, *, limits: Limits = _DEFAULTS) -> Constraint:
    """Parse a constraint: alternatives joined by ||, each of terms joined by commas or spaces; or a digest."""
    if len(text) > limits.constraint_chars:
        raise _too_long(text, limits)
    return _parse(text)


@lru_cache(maxsize=8_192)
def _parse(text: str) -> Constraint:
    # Cached: many packages of a lock have the same constraints, which are read and then checked.
    if is_digest(text):
        return Constraint(text, Digest(text))
    plain = re.sub(_RANGE, r">= \1, <= \2 ", text) if "-" in text.split() else text
    try:
        alternatives = [_parse_alternative(part) for part in plain.split("||")]
    except _Unreadable as error:
        note = [] if plain == text else [f"with every range a - b written out it is '{plain}'"]
        raise InvalidConstraint(text, [str(error), *note]) from None
    return Constraint(text, None, tuple(alternatives))


def _parse_alternative(text: str) -> _Alternative:
    terms = [(operator, _parse_operand(operand)) for operator, operand in _split_terms(text)]
    spans = [_SPANS[operator](operand) for operator, operand in terms if operator != "!="]
    low = max((span.low for span in spans), default=_BOTTOM)
    high = min((span.high for span in spans), default=_TOP)
    holes = tuple([_hole(operand) for operator, operand in terms if operator == "!="])
    # One term with a prerelease is enough to let prereleases into the whole alternative.
    prereleases = any(operand.version.is_prerelease for _, operand in terms)
    return _Alternative(_Span(low, high), holes, prereleases)


def _split_terms(text: str) -> Iterator[tuple[str, str]]:
    text = text.strip(_SPACES)
    position = 0
    while term := _TERM.match(text, position):
        yield term[1] or "=", term[2]
        if term.end() == len(text):
            return
        separator = re.match(_SEPARATOR, text[term.end() :])
        if separator is None:
            raise _Unreadable(f"'{text[term.end() :]}' cannot follow '{term[0]}' directly")
        position = term.end() + separator.end()
    raise _Unreadable(_missing(text, position))


def _missing(text: str, position: int) -> str:
    if position < len(text):
        return f"'{text[position:]}' does not start with an operator (= != > < >= <= ~ ^) and a version"
    return f"behind '{text}' a version is missing" if text else "a version is missing; any release is *"


def _parse_operand(text: str) -> _Operand:
    core, _, prerelease = text.partition("+")[0].partition("-")
    parts = list(takewhile(lambda part: part not in _WILDCARDS, core.removeprefix("v").split(".")))
    filled = ".".join([*parts, "0", "0", "0"][:3])
    try:
        version = parse_version(f"{filled}-{prerelease}" if prerelease else filled, limits=_UNMEASURED)
    except InvalidVersion as error:
        raise _Unreadable(f"in '{text}': {error.why[0]}") from error
    # A wildcard for the major part is the one that stands for zeros, not for a range.
    return _Operand(version, written=len(parts) or 3, partial=len(parts) < 3)


def _equal(operand: _Operand) -> _Span:
    return _tilde(operand) if operand.partial else _Span(operand.at, operand.past)


def _tilde(operand: _Operand) -> _Span:
    if operand.written == 3 and operand.parts == (0, 0, 0):
        return _Span(operand.at, _TOP)
    return _Span(operand.at, operand.past_all(min(operand.written, 2)))


def _caret(operand: _Operand) -> _Span:
    # The first part that is not zero stays; of nothing but zeros, the last one written.
    fixed = next((count for count, part in enumerate(operand.parts, start=1) if part), operand.written)
    return _Span(operand.at, operand.past_all(fixed))


def _above(operand: _Operand) -> _Span:
    return _Span(operand.past if operand.written == 3 else operand.past_all(operand.written), _TOP)


def _at_least(operand: _Operand) -> _Span:
    return _Span(operand.at, _TOP)


def _below(operand: _Operand) -> _Span:
    return _Span(_BOTTOM, operand.at)


def _at_most(operand: _Operand) -> _Span:
    # "<=*" admits 0.0.z: here the library takes the zeros of a major wildcard for those of "<=0.0".
    return _Span(_BOTTOM, operand.past_all(min(operand.written, 2)) if operand.partial else operand.past)


def _hole(operand: _Operand) -> _Hole:
    if operand.written == 3:
        return _Hole(_Span(operand.at, operand.past))
    excluded = _Span(operand.parts[: operand.written], operand.past_all(operand.written))
    # "!=4" excludes all of 4, but "!=4.1" only the releases of 4.1, and "!=4.1-rc" only each 4.1.z-rc.
    return _Hole(excluded, like=operand.version if operand.written == 2 else None)


def _ending(version: Version) -> _Bound:
    return version.precedence[3:]


def _too_long(text: str, limits: Limits) -> InvalidConstraint:
    limit = format_amount("constraint_chars", limits.constraint_chars)
    return InvalidConstraint(
        text,
        f"it has {len(text):,} characters; the limit is {limit}",
        next=f"write it shorter, or raise the limit with {setting('constraint_chars')}",
    )


_SPANS: dict[str, Callable[[_Operand], _Span]] = {
    "=": _equal,
    ">": _above,
    "<": _below,
    ">=": _at_least,
    "=>": _at_least,
    "<=": _at_most,
    "=<": _at_most,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}

ANY = parse_constraint("*")
