"""YAML that needs no parser: read line by line, or not at all where there is the slightest doubt."""

import re
from typing import Any

from render.scalars import parse_plain_scalar

# What a scalar without quotes does not start with; a dash may, if no blank follows it.
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
_EMPTY, _UNKNOWN = object(), object()


class _Doubt(Exception):
    """Something that only a real parser understands, or refuses."""


def parse_plain(text: str, *, depth: int, nodes: int) -> list[Any] | None:
    """Return the documents of a text, exactly as a full parser would; or nothing, whenever that is uncertain."""
    # Not printable are tabs, carriage returns, whatever else ends a line to some reader, and what YAML forbids.
    if not text.replace("\n", "").isprintable() or (text.count("\n") + 1) * _NODES_PER_LINE > nodes:
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
        # Texts recur: each is understood once.
        self._keys: dict[str | None, str] = {}
        self._values: dict[str, Any] = {"": _EMPTY}
        # The first line behind the literal that was read last.
        self._next = 0
        self._begun = False
        self._start()

    def read(self) -> list[Any]:
        for number, line in enumerate(self._lines):
            text = line.lstrip(" ")
            if not text or text[0] == "#" or number < self._next:
                continue
            column = len(line) - len(text)
            if text.startswith("- "):
                self._take_item(column, text, number)
            elif text.startswith("---") and column == 0:
                self._take_marker(text)
            else:
                self._enter(column, dict)
                self._take_entry(*_split(text), number)
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

    def _take_marker(self, text: str) -> None:
        if text.rstrip(" ") != "---":
            raise _Doubt
        self._finish()
        self._start()
        self._begun = True

    def _take_item(self, column: int, text: str, number: int) -> None:
        self._enter(column, list)
        item = text[2:].lstrip(" ")
        while item.startswith("- "):
            self._append(column + len(text) - len(item), [])
            column, text = self._columns[-1], item
            item = text[2:].lstrip(" ")
        key, value = _split(item)
        if key is not None:
            self._append(column + len(text) - len(item), {})
            self._take_entry(key, value, number)
            return
        found = self._values.get(item, _UNKNOWN)
        self._open[-1].append(self._understand(item, number) if found is _UNKNOWN else found)
        if self._open[-1][-1] is _EMPTY:
            raise _Doubt

    def _take_entry(self, text: str | None, value: str, number: int) -> None:
        key = self._keys.get(text)
        if key is None:
            key = self._keys[text] = _parse_key(text)
        mapping = self._open[-1]
        if key in mapping:
            raise _Doubt
        found = self._values.get(value, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._understand(value, number)
        self._waiting = key if found is _EMPTY else None
        mapping[key] = None if found is _EMPTY else found

    def _enter(self, column: int, kind: type[Any]) -> None:
        """Make the mapping or list that a line belongs to the innermost one."""
        columns = self._columns
        while columns[-1] > column:
            self._pop()
        fits = type(self._open[-1]) is kind
        if fits and columns[-1] == column:
            return
        if columns[-1] < column or (not fits and kind is list):
            # What is further to the right, and not below a key without a value, goes on with the line above.
            if self._waiting is None:
                raise _Doubt
            value = self._open[-1][self._waiting] = kind()
            self._push(column, value)
        elif not fits:
            # A list may stand right below its key, and ends where the next key stands.
            self._pop()
            if columns[-1] != column:
                raise _Doubt

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
        # The bottom of the stack is ours.
        if len(self._open) > self._depth:
            raise _Doubt

    def _understand(self, text: str, number: int) -> Any:
        plain = _cut_comment(text) if " " in text else text
        if plain in ("|", "|-"):
            return self._take_literal(plain, number + 1)
        if plain in ("{}", "[]"):
            self._check_depth()
            return {} if plain == "{}" else []
        value = self._values[text] = _parse_scalar(plain)
        return value

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
        if any(line and not line.strip(" ") for line in lines[first:end]):
            raise _Doubt
        self._next = end
        body = "\n".join([line[width:] for line in lines[first:end]]).rstrip("\n")
        return body + "\n" if header == "|" else body


def _split(text: str) -> tuple[str | None, str]:
    """Return the key of a line, if it has one, and what stands behind it."""
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


def _parse_key(text: str | None) -> str:
    # << means something else than its text.
    if text is None or len(text) > _LONGEST_KEY or text == "<<":
        raise _Doubt
    if text.startswith(_QUOTES):
        return _unquote(text)
    if not _begins_plain(text) or " #" in text or text[-1] == " ":
        raise _Doubt
    return text


def _parse_scalar(text: str) -> Any:
    if not text:
        return _EMPTY
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
