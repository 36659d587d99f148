"""YAML → plain values, without its traps: bounded, typed as Kubernetes types it, each error with its line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from render.errors import RenderError
from render.limits import LimitExceeded, Limits, setting

# libyaml's parser is the same machine, twenty times faster; wheels on odd platforms come without it.
_LOADER: Any = getattr(yaml, "CLoader", yaml.SafeLoader)

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_OCTAL = re.compile(r"([-+]?)0([0-7_]+)")
_LONGEST_INTEGER = 64
_TYPES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


@dataclass(frozen=True, slots=True)
class Rules:
    """What a document may contain."""

    limits: Limits
    size: str  # names of limits, so that an error can name them
    depth: str
    aliases: bool
    # None: the whole tree, every oddity an error. A number: only so many levels below the root and below
    # each anchor are kept, and what other readers shrug at (tags, repeated keys) is let pass.
    levels: int | None = None


def meta_rules(limits: Limits) -> Rules:
    """Return the rules for text out of a package: nothing that two parsers could read in two ways."""
    return Rules(limits, size="meta_bytes", depth="meta_depth", aliases=False)


def file_rules(limits: Limits) -> Rules:
    """Return the rules for the user's own files, where anchors are a habit."""
    return Rules(limits, size="file_bytes", depth="file_depth", aliases=True)


def glance_rules(limits: Limits) -> Rules:
    """Return the rules for a stranger's document of which only the first levels matter."""
    return Rules(limits, size="document_bytes", depth="document_depth", aliases=True, levels=2)


class InvalidDocument(RenderError):
    """YAML that we cannot or will not read."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(f"line {line}: {problem}")
        self.problem = problem
        self.line = line


def parse_documents(data: bytes, rules: Rules) -> list[Any]:
    """Parse every document of a YAML stream into dict, list, str, int, float, bool and None."""
    limits = rules.limits
    if len(data) > getattr(limits, rules.size):
        raise LimitExceeded("a YAML document is too large", rules.size, limits, found=f"{len(data):,} bytes")
    return list(_build_documents(decode_utf8(data), rules))


def decode_utf8(data: bytes) -> str:
    """Decode text, telling the line of what is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidDocument(f"byte 0x{data[error.start]:02x} is not UTF-8", line) from None


def parse_events(text: str) -> Iterator[Any]:
    """Yield YAML events; whatever is wrong becomes an InvalidDocument."""
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidDocument(error.problem or "this is not YAML", line) from None
    except (yaml.YAMLError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidDocument(f"this is not YAML: {error}", 1) from None


def parse_plain_scalar(text: str) -> Any:
    """Return the value of an unquoted scalar as the Kubernetes YAML reader sees it."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) <= _LONGEST_INTEGER and _INTEGER.fullmatch(text):
        return _parse_integer(text)
    if _FLOAT.fullmatch(text):
        # Python spells infinity and "not a number" without the dot.
        return float(text if text[-1].isdigit() or text[-1] == "." else text.replace(".", ""))
    return text


def type_name(value: Any) -> str:
    """Return what a parsed value is, in a person's words."""
    return _TYPES.get(type(value), "nothing")


def _parse_integer(text: str) -> int:
    octal = _OCTAL.fullmatch(text)
    if octal:
        return int(octal[1] + "0o" + octal[2].replace("_", ""), 0)
    return int(text.replace("_", ""), 0)


def _build_documents(text: str, rules: Rules) -> Iterator[Any]:
    builder = _Builder(rules)
    for event in parse_events(text):
        builder.take(event)
        if isinstance(event, yaml.DocumentEndEvent):
            yield builder.root
            builder = _Builder(rules)


class _Builder:
    """Builds one document from events with a stack of its own, so that no depth can overflow ours."""

    def __init__(self, rules: Rules) -> None:
        self.root: Any = None
        self._rules = rules
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliases = 0
        self._nodes = 0

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._check(event)
            self._add(event, self._scalar(event), nodes=1)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)

    def _open(self, event: Any) -> None:
        self._check(event)
        depth = getattr(self._rules.limits, self._rules.depth)
        if len(self._stack) >= depth:
            raise InvalidDocument(
                f"nested deeper than {depth} levels ({setting(self._rules.depth)})", _line(event)
            )
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        level = self._stack[-1].level + 1 if self._stack and event.anchor is None else 0
        self._stack.append(_Open(value, event, self._nodes, level, self._rules))
        self._nodes += 1

    def _close(self) -> None:
        done = self._stack.pop()
        if isinstance(done.value, dict):
            _merge(done)
        self._add(done.start, done.value, nodes=self._nodes - done.nodes_before, counted=True)

    def _alias(self, event: Any) -> None:
        if not self._rules.aliases:
            raise InvalidDocument("aliases are not allowed here", _line(event))
        if event.anchor not in self._anchors:
            raise InvalidDocument(f"alias *{event.anchor} has no value yet", _line(event))
        self._aliases += 1
        if self._aliases > self._rules.limits.file_aliases and self._rules.levels is None:
            raise LimitExceeded("a YAML document has too many aliases", "file_aliases", self._rules.limits)
        value, nodes = self._anchors[event.anchor]
        self._add(event, value, nodes=nodes)

    def _add(self, event: Any, value: Any, *, nodes: int, counted: bool = False) -> None:
        if not counted:
            self._nodes += nodes
        if self._nodes > self._rules.limits.file_nodes and self._rules.aliases and self._rules.levels is None:
            raise LimitExceeded("a YAML document has too many values", "file_nodes", self._rules.limits)
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._anchors[event.anchor] = (value, nodes)
        if not self._stack:
            self.root = value
        else:
            self._stack[-1].add(event, value)

    def _check(self, event: Any) -> None:
        if event.anchor is not None and not self._rules.aliases:
            raise InvalidDocument("anchors are not allowed here", _line(event))
        if self._rules.levels is not None:
            return
        if event.tag is not None and (not self._rules.aliases or event.tag not in _CORE_TAGS):
            raise InvalidDocument(f"the tag {event.tag} is not allowed here", _line(event))

    def _scalar(self, event: Any) -> Any:
        if self._rules.levels is not None:
            return event.value
        if event.tag == "tag:yaml.org,2002:str" or not event.implicit[0]:
            return event.value
        try:
            return parse_plain_scalar(event.value)
        except ValueError:
            raise InvalidDocument("a number is too long", _line(event)) from None


class _Open:
    """A mapping or a list that is not closed yet."""

    def __init__(self, value: Any, start: Any, nodes_before: int, level: int, rules: Rules) -> None:
        self.value = value
        self.start = start
        self.nodes_before = nodes_before
        self.level = level
        self._rules = rules
        self._kept = rules.levels is None or level <= rules.levels
        self.merged: list[tuple[Any, int]] = []
        self._key: str | None = None
        self._merging = False

    def add(self, event: Any, value: Any) -> None:
        if not self._kept:
            return
        if isinstance(self.value, list):
            self.value.append(value)
        elif self._merging:
            self._merging = False
            self.merged.append((value, _line(event)))
        elif self._key is None:
            self._take_key(event)
        else:
            self.value[self._key] = value
            self._key = None

    def _take_key(self, event: Any) -> None:
        if not isinstance(event, yaml.ScalarEvent):
            raise InvalidDocument("a key must be a plain text", _line(event))
        if event.value == "<<" and event.implicit[0]:
            if not self._rules.aliases:
                raise InvalidDocument("merge keys are not allowed here", _line(event))
            self._merging = True
        elif event.value in self.value and self._rules.levels is None:
            raise InvalidDocument(f"the key {event.value!r} stands here a second time", _line(event))
        else:
            self._key = event.value


def _merge(done: _Open) -> None:
    for merged, line in done.merged:
        for mapping in merged if isinstance(merged, list) else [merged]:
            if not isinstance(mapping, dict):
                raise InvalidDocument("<< takes a mapping or a list of mappings", line)
            for key, value in mapping.items():
                done.value.setdefault(key, value)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
