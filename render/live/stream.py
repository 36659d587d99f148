"""Text that kubectl prints → objects, one at a time: all definitions of a cluster take more room than memory should give."""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.yaml.documents import InvalidDocument, lock_rules, parse_documents

_BLOCK = 1 << 20
# The least that has to be known of a line to see a marker in it.
_MARKER_LENGTH = 4
_LISTS_IN_LISTS = 5
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*")
_SPACE = re.compile(r"[ \t\r\n]*")
_MARKER = re.compile(r"---(?=\s|\Z)|\.\.\.(?=\s|\Z)")
# kubectl writes no line of an object in the first column, but for its dash.
_BEFORE_TOP_LINE = re.compile(r"\n(?=[^\s#])")
# Schemas, and the lists of what a provider installs, are most of a cluster's text.
_SCHEMA = re.compile(r"^( *)(openAPIV3Schema|managedFields):[ \r]*\n(?:(?:\1[ -].*)?\n)+", re.MULTILINE)
_INSTALLED = re.compile(r"^( *)objectRefs:[ \r]*\n((?:\1[ -].*\n)+)", re.MULTILINE)
_CUT = "it ends in the middle of an object"
_DECODER = json.JSONDecoder()


class InvalidLiveObjects(InvalidInput):
    """Text that kubectl did not print."""

    def __init__(self, why: str | list[str]) -> None:
        super().__init__(
            "input is not kubectl output",
            why=why,
            next="give what `kubectl get ... -o yaml` prints; between the output of several calls goes a line ---",
        )


def iterate_objects(read: Callable[[int], bytes], limits: Limits) -> Iterator[Any]:
    """Yield the objects of a text: of one document, of several, or of Lists; YAML and JSON may follow each other.

    Of a revision in YAML, `status.objectRefs` is the number of its items.
    """
    text = _Text(read, limits)
    found = 0
    while text.begin_document():
        document = _read_json(text) if text.peek() == "{" else _read_yaml(text)
        for one in document:
            found += 1
            if found > limits.live_objects:
                raise LimitExceeded("there are too many objects", "live_objects", limits)
            yield one


class _Text:
    """Text that is read as far as needed, and forgotten behind that."""

    def __init__(self, read: Callable[[int], bytes], limits: Limits) -> None:
        self.limits = limits
        self.ended = False
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._data, self._at = "", 0
        self._bytes, self._line = 0, 1

    def begin_document(self) -> bool:
        """Go to the beginning of the next document; return whether there is one."""
        while True:
            self._skip(_BLANK_LINES)
            self._need(_MARKER_LENGTH)
            marker = _MARKER.match(self._data, self._at)
            if marker is None:
                return self._skip(_SPACE, keep=True)
            self._go(marker.end())

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        self._skip(_SPACE, keep=True)
        at = _end_of(_SPACE, self._data, self._at)
        return self._data[at : at + 1]

    def expect(self, allowed: str) -> str:
        """Return the next character that is not blank; it has to be one of these."""
        found = self.peek()
        if not found:
            raise self.invalid(_CUT)
        if found not in allowed:
            raise self.invalid(f"this is not JSON: expected {' or '.join(allowed)}, found {found}")
        return found

    def take(self, allowed: str) -> str:
        """Take the next character that is not blank; it has to be one of these."""
        found = self.expect(allowed)
        self._skip(_SPACE)
        self._go(self._at + 1)
        return found

    def take_json(self) -> Any:
        """Take a value of JSON."""
        self._skip(_SPACE)
        while True:
            try:
                value, end = _DECODER.raw_decode(self._data, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos + _BLOCK // 16 > len(self._data)
                if self.ended and error.pos >= len(self._data.rstrip()):
                    raise self.invalid(_CUT, error.pos) from None
                if self.ended or not cut:
                    raise self.invalid(f"this is not JSON: {error.msg}", error.pos) from None
            except (ValueError, RecursionError) as error:
                raise self.invalid(f"this is not JSON: {error}") from None
            else:
                if self.ended or end < len(self._data):
                    self._go(end)
                    return value
            self._more()

    def take_block(self) -> str | None:
        """Take the lines up to the next one in the first column; None at the end of a document."""
        self._need(_MARKER_LENGTH)
        if self._at == len(self._data) or _MARKER.match(self._data, self._at):
            return None
        searched = self._at
        while True:
            found = _BEFORE_TOP_LINE.search(self._data, searched)
            if found or self.ended:
                break
            # The last character may be the end of a line.
            searched = max(0, len(self._data) - self._at - 1)
            self._more()
        end = found.end() if found else len(self._data)
        block = self._data[self._at : end]
        self._go(end)
        return block

    def parse_yaml(self, block: str, lines_above: int = 0) -> list[Any]:
        """Parse the documents of a block that was just taken."""
        rules = lock_rules(self.limits)
        lean = _INSTALLED.sub(_count_items, _SCHEMA.sub(r"\1\2: {}\n", block))
        try:
            return parse_documents(lean.encode(), rules)
        except InvalidDocument as error:
            line = error.line
        try:
            # What was cut out may have been the text of something else; and lines are counted with it.
            return parse_documents(block.encode(), rules)
        except InvalidDocument as error:
            line = error.line + lines_above + self._line - 1 - block.count("\n")
            raise InvalidLiveObjects(f"line {max(line, 1):,}: {error.problem}") from None

    def invalid(self, problem: str, at: int | None = None) -> InvalidLiveObjects:
        """Return the error of a problem here."""
        line = self._line + (self._data.count("\n", self._at, at) if at else 0)
        return InvalidLiveObjects(f"line {line:,}: {problem}")

    def _skip(self, blank: re.Pattern[str], *, keep: bool = False) -> bool:
        """Skip what is blank, reading on while only that is known; return whether anything follows."""
        while True:
            end = _end_of(blank, self._data, self._at)
            if not keep:
                self._go(end)
                end = self._at
            if end < len(self._data) or self.ended:
                return end < len(self._data)
            self._more()

    def _need(self, length: int) -> None:
        while len(self._data) - self._at < length and not self.ended:
            self._more()

    def _go(self, end: int) -> None:
        self._line += self._data.count("\n", self._at, end)
        self._at = end

    def _more(self) -> None:
        waiting = len(self._data) - self._at
        if waiting > self.limits.lock_bytes:
            raise LimitExceeded("an object of the cluster is too large", "lock_bytes", self.limits)
        data = self._read(max(_BLOCK, waiting))
        self._bytes += len(data)
        if self._bytes > self.limits.live_bytes:
            raise LimitExceeded("what the cluster has is too large", "live_bytes", self.limits)
        self.ended = not data
        try:
            more = self._decoder.decode(data, final=self.ended)
        except UnicodeDecodeError as error:
            raise InvalidLiveObjects(f"byte 0x{error.object[error.start]:02x} is not UTF-8") from None
        self._data, self._at = self._data[self._at :] + more.removeprefix("\ufeff"), 0


def _end_of(pattern: re.Pattern[str], data: str, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at


def _read_json(text: _Text) -> Iterator[Any]:
    """Yield what a JSON document holds."""
    head: dict[str, Any] = {}
    listed = False
    text.take("{")
    more = text.peek() != "}" or not text.take("}")
    while more:
        text.expect('"')
        key = text.take_json()
        text.take(":")
        if key == "items" and text.peek() == "[":
            listed = True
            yield from _read_json_items(text)
        else:
            head[key] = text.take_json()
        more = text.take(",}") == ","
    if not listed:
        yield head
    if text.peek() not in ("", "{", "-"):
        raise text.invalid("another document starts here without ---")


def _read_json_items(text: _Text) -> Iterator[Any]:
    text.take("[")
    more = text.peek() != "]" or not text.take("]")
    while more:
        yield from _flatten(text.take_json(), text)
        more = text.take(",]") == ","


def _read_yaml(text: _Text) -> Iterator[Any]:
    """Yield what a YAML document holds; the items of a List each as soon as its end is read."""
    head: list[str] = []
    above, listed, within = 0, False, False
    while (block := text.take_block()) is not None:
        within = within and block.startswith("-")
        if within:
            listed = True
            above += block.count("\n")
            for (item,) in text.parse_yaml(block):
                yield from _flatten(item, text)
            continue
        within = block.strip() == "items:"
        head.append(block)
        if sum(map(len, head)) > text.limits.lock_bytes:
            raise LimitExceeded("an object of the cluster is too large", "lock_bytes", text.limits)
    for value in text.parse_yaml("".join(head)):
        if not listed:
            yield from _flatten(value, text)
        elif not (isinstance(value, dict) and value.get("kind")):
            raise text.invalid("the List has no end; the output was cut off")


def _flatten(value: Any, text: _Text, depth: int = 0) -> Iterator[Any]:
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        yield value
    elif depth == _LISTS_IN_LISTS:
        raise text.invalid("Lists of Lists are nested too deep")
    else:
        for item in items:
            yield from _flatten(item, text, depth + 1)


def _count_items(found: re.Match[str]) -> str:
    count = f"\n{found[2]}".count(f"\n{found[1]}- ")
    return f"{found[1]}objectRefs: {count}\n"
