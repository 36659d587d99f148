"""Simple YAML, read line by line without a parser; in any doubt it is left to the real one."""

import re
from collections.abc import Sequence
from functools import lru_cache

from render.lean import Any, TypeAlias
from render.yaml.scalars import parse_plain_scalar

# Characters that an unquoted scalar cannot start with; a dash can, if no blank follows.
_INDICATORS = frozenset(["", *"-?:,[]{}#&*!|>'\"%@` "])
_QUOTES = ('"', "'")
# Compiled when they are needed: quotes with escapes or other quotes between them, or a comment behind them.
_QUOTED = r""""[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^']*+(?:''[^']*+)*+'"""
_QUOTED_KEY = rf"({_QUOTED}):((?: .*+)?)"
_ESCAPE = r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4}))?'
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# YAML 1.2, section 7.4.2: a key has at most 1024 characters.
_LONGEST_KEY = 1_000
# One line opens a list and a mapping, and holds a key and a value.
_NODES_PER_LINE = 4
_EMPTY = object()

# A line: its column, the columns behind its dashes, its key if any, its value.
_Line: TypeAlias = tuple[int, tuple[int, ...], str | None, Any]
_MARKER: _Line = (-1, (), None, None)


class _Doubt(Exception):
    """Text that only a real parser can accept or reject."""


class _Literal(str):
    """The header of a literal, whose lines follow."""

    __slots__ = ()


# These become values only in their place.
_LATER: dict[str, Any] = {
    "": _EMPTY,
    "{}": dict,
    "[]": list,
    "|": _Literal("|"),
    "|-": _Literal("|-"),
}


def parse_plain(text: str, *, depth: int, nodes: int) -> list[Any] | None:
    """Return the documents of a text exactly as a full parser would; nothing if that is uncertain."""
    if (text.count("\n") + 1) * _NODES_PER_LINE > nodes:
        return None
    try:
        return _Reader(text, depth).read()
    except _Doubt:
        return None


class _Reader:
    """Builds documents from lines, with a stack of the mappings and lists that are open and their columns."""

    def __init__(self, text: str, depth: int) -> None:
        self._lines = text.split("\n")
        self._depth = depth
        self._documents: list[Any] = []
        # The first line behind the literal that was read last.
        self._next = 0
        self._begun = False
        self._start()

    def read(self) -> list[Any]:
        for number, text in enumerate(self._lines):
            line = _read_line(text) if number >= self._next else None
            if line is None:
                continue
            if line is _MARKER:
                self._take_marker()
                continue
            column, inner, key, value = line
            self._enter(column, list if inner else dict)
            if inner:
                self._open_inner(inner, key)
            self._take_value(key, value, number)
        self._finish()
        return self._documents

    def _start(self) -> None:
        # At the bottom there is a mapping with one key, whose value is the document.
        self._root: dict[str, Any] = {"": None}
        self._waiting: str | None = ""
        self._columns = [-1]
        self._open: list[Any] = [self._root]

    def _finish(self) -> None:
        if self._begun or self._root[""] is not None:
            self._documents.append(self._root[""])

    def _take_marker(self) -> None:
        self._finish()
        self._start()
        self._begun = True

    def _take_value(self, key: str | None, value: Any, number: int) -> None:
        # Almost every value is a text, and needs no further work.
        found = value if type(value) is str else self._make_value(value, number)
        within = self._open[-1]
        if key is None:
            within.append(found)
        elif key in within:
            raise _Doubt
        else:
            within[key] = found
            self._waiting = key if value is _EMPTY else None

    def _make_value(self, value: Any, number: int) -> Any:
        if value is _EMPTY:
            return None
        if value is dict or value is list:
            self._check_depth()
            return value()
        return self._take_literal(value, number + 1) if type(value) is _Literal else value

    def _enter(self, column: int, kind: type[Any]) -> None:
        """Make the mapping or list that a line belongs to the innermost one."""
        columns = self._columns
        while columns[-1] > column:
            self._pop()
        fits = type(self._open[-1]) is kind
        if fits and columns[-1] == column:
            return
        if columns[-1] < column or (not fits and kind is list):
            # Text further to the right, unless below a key without a value, continues the line above.
            if self._waiting is None:
                raise _Doubt
            value = self._open[-1][self._waiting] = kind()
            self._push(column, value)
        elif not fits:
            # A list may start in the column of its key, and ends at the next key there.
            self._pop()
            if columns[-1] != column:
                raise _Doubt

    def _open_inner(self, columns: Sequence[int], key: str | None) -> None:
        """Open the lists that the dashes of a line start, and a mapping if there is a key."""
        for column in columns[:-1]:
            self._append(column, [])
        if key is not None:
            self._append(columns[-1], {})

    def _append(self, column: int, value: Any) -> None:
        self._open[-1].append(value)
        self._push(column, value)

    def _push(self, column: int, value: Any) -> None:
        self._check_depth()
        self._columns.append(column)
        self._open.append(value)
        self._waiting = None

    def _pop(self) -> None:
        self._columns.pop()
        self._open.pop()
        self._waiting = None

    def _check_depth(self) -> None:
        # The bottom of the stack is not part of the text.
        if len(self._open) > self._depth:
            raise _Doubt

    def _take_literal(self, header: str, first: int) -> str:
        lines = self._lines
        # Whether a literal at the end of the text ends in a line break is part of its value.
        if lines[-1] != "":
            raise _Doubt
        width = len(lines[first]) - len(lines[first].lstrip(" "))
        if width <= self._columns[-1]:
            raise _Doubt
        end = first
        while end < len(lines) and (lines[end].startswith(" " * width) or not lines[end].strip(" ")):
            end += 1
        if any(line and not (line.strip(" ") and line.isprintable()) for line in lines[first:end]):
            raise _Doubt
        self._next = end
        body = "\n".join([line[width:] for line in lines[first:end]]).rstrip("\n")
        return body + "\n" if header == "|" else body


@lru_cache(maxsize=8_192)
def _read_line(line: str) -> _Line | None:
    """Parse a line, independent of its place; cached, since many lines of a lock are equal."""
    # Unprintable: tabs, carriage returns, other line ends of some readers, and characters that YAML forbids.
    if not line.isprintable():
        raise _Doubt
    text = line.lstrip(" ")
    if not text or text[0] == "#":
        return None
    column, inner = len(line) - len(text), []
    if column == 0 and text.rstrip(" ") == "---":
        return _MARKER
    while text.startswith("- "):
        text = text[2:].lstrip(" ")
        inner.append(len(line) - len(text))
    key, value = _split(text)
    found = _understand(value)
    if key is not None:
        return column, tuple(inner), _parse_key(key), found
    if found is _EMPTY or not inner:
        raise _Doubt
    return column, tuple(inner), None, found


def _split(text: str) -> tuple[str | None, str]:
    """Return the key of a line, if it has one, and the text behind it."""
    if text.startswith(_QUOTES):
        found = re.fullmatch(_QUOTED_KEY, text)
        return (found[1], found[2]) if found else (None, text)
    key, colon, value = text.partition(": ")
    if colon:
        return key, value
    return (text[:-1], "") if text.endswith(":") else (None, text)


def _cut_comment(text: str) -> str:
    text = text.strip(" ")
    if text.startswith("#"):
        return ""
    if not text.startswith(_QUOTES):
        return text.partition(" #")[0].rstrip(" ")
    found = re.match(rf"(?:{_QUOTED})(?= +#)", text) if " #" in text else None
    return found[0] if found else text


def _parse_key(text: str) -> str:
    # << is a merge key, not a text.
    if len(text) > _LONGEST_KEY or text == "<<":
        raise _Doubt
    if text.startswith(_QUOTES):
        return _unquote(text)
    if not _begins_plain(text) or " #" in text or text[-1] == " ":
        raise _Doubt
    return text


def _understand(text: str) -> Any:
    """Return a value, or a placeholder for one: nothing yet, an empty mapping or list, a literal."""
    plain = _cut_comment(text) if " " in text else text
    return _LATER[plain] if plain in _LATER else _parse_scalar(plain)


def _parse_scalar(text: str) -> Any:
    if text.startswith(_QUOTES):
        return _unquote(text)
    if not _begins_plain(text) or ": " in text or text[-1] == ":":
        raise _Doubt
    return parse_plain_scalar(text)


def _begins_plain(text: str) -> bool:
    first, second = text[:1], text[1:2]
    return first not in _INDICATORS or (first == "-" and (second.isalnum() or second == "."))


def _unquote(text: str) -> str:
    quote, inner = text[0], text[1:-1]
    if quote not in inner and "\\" not in inner and text[-1] == quote and len(text) > 1:
        return inner
    if not re.fullmatch(_QUOTED, text):
        raise _Doubt
    return inner.replace("''", "'") if quote == "'" else re.sub(_ESCAPE, _unescape, inner)


def _unescape(match: re.Match[str]) -> str:
    short, code = match.groups()
    if short:
        return _ESCAPED[short]
    # Half of a surrogate pair is no character.
    if not code or "d800" <= code.lower() <= "dfff":
        raise _Doubt
    return chr(int(code, 16))
