"""YAML → plain values with libyaml: everything that is valid, and an error with its line for the rest."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

import yaml

from render.limits import LimitExceeded, setting
from render.yaml.documents import InvalidDocument, Place, Rules
from render.yaml.folding import fold
from render.yaml.scalars import parse_plain_scalar

# The same parser in C, twenty times faster; wheels for some platforms come without it.
_LOADER: Any = getattr(yaml, "CLoader", yaml.SafeLoader)

_TEXT_TAG = "tag:yaml.org,2002:str"
_UNKNOWN = object()
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


def parse_stream(text: str, rules: Rules) -> Iterator[Any]:
    """Yield the documents of a text, each as soon as its end is read."""
    builder = _Builder(rules)
    for event in parse_events(text):
        builder.take(event)
        if isinstance(event, yaml.DocumentEndEvent):
            yield builder.root
            builder = _Builder(rules)


def parse_events(text: str) -> Iterator[Any]:
    """Yield YAML events; raise InvalidDocument for invalid YAML."""
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidDocument(error.problem or "this is not YAML", line) from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise InvalidDocument(f"character #x{error.character:04x} is not allowed in YAML", line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidDocument(f"this is not YAML: {error}", 1) from None


def check_single_document(text: str) -> None:
    """Parse a text to its end, and raise unless it is YAML with one document."""
    started, anchors = 0, set[str]()
    for event in parse_events(text):
        line = event.start_mark.line + 1
        started += isinstance(event, yaml.DocumentStartEvent)
        if started > 1:
            raise InvalidDocument("a second document starts here without ---", line)
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            raise InvalidDocument(f"alias *{event.anchor} has no value yet", line)
        anchors.add(getattr(event, "anchor", None) or "")


def find_lines(text: str, places: Collection[Place]) -> dict[Place, int]:
    """Return the lines of some values of a text."""
    found = {}
    finder = _Finder()
    for event in parse_events(text):
        place = finder.take(event)
        if place in places:
            found[place] = _line(event)
    return found


def document_lines(text: str) -> list[int]:
    """Return the line that each document of a stream starts at, counted from 0: its marker, or its first value."""
    return [_line(event) - 1 for event in parse_events(text) if isinstance(event, yaml.DocumentStartEvent)]


class _Builder:
    """Builds one document from events, with a stack of its own, so that deep nesting cannot overflow Python's."""

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
        self._stack.append(_Open(event, self._nodes, self._rules, self._stack[-1] if self._stack else None))
        self._nodes += 1

    def _close(self) -> None:
        done = self._stack.pop()
        done.close()
        self._add(done.start, done.value, nodes=self._nodes - done.nodes_before, counted=True)

    def _alias(self, event: Any) -> None:
        if not self._rules.aliases:
            raise InvalidDocument("aliases are not allowed here", _line(event))
        if event.anchor not in self._anchors:
            raise InvalidDocument(f"alias *{event.anchor} has no value yet", _line(event))
        self._aliases += 1
        if self._aliases > self._rules.limits.file_aliases and self._rules.only is None:
            raise LimitExceeded("a YAML document has too many aliases", "file_aliases", self._rules.limits)
        value, nodes = self._anchors[event.anchor]
        # Values that are not kept take no memory.
        self._add(event, value, nodes=nodes if self._rules.only is None else 1)

    def _add(self, event: Any, value: Any, *, nodes: int, counted: bool = False) -> None:
        if not counted:
            self._nodes += nodes
        limit = self._rules.nodes
        if limit and self._nodes > getattr(self._rules.limits, limit):
            raise LimitExceeded("a YAML document has too many values", limit, self._rules.limits)
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._anchors[event.anchor] = (value, nodes)
        if not self._stack:
            self.root = value
        else:
            self._stack[-1].add(event, value)

    def _check(self, event: Any) -> None:
        if event.anchor is not None and not self._rules.aliases:
            raise InvalidDocument("anchors are not allowed here", _line(event))
        if event.anchor is not None and len(self._anchors) >= self._rules.limits.file_nodes:
            raise LimitExceeded("a YAML document has too many anchors", "file_nodes", self._rules.limits)
        if self._rules.only is not None:
            return
        if event.tag is not None and (not self._rules.aliases or event.tag not in _CORE_TAGS):
            raise InvalidDocument(f"the tag {event.tag} is not allowed here", _line(event))

    def _scalar(self, event: Any) -> Any:
        if event.tag is None:
            return parse_plain_scalar(event.value) if event.implicit[0] else event.value
        if event.tag == _TEXT_TAG:
            return event.value
        # The value of an unknown tag must not be taken for text.
        return parse_plain_scalar(event.value) if event.tag in _CORE_TAGS else _UNKNOWN


class _Open:
    """A mapping or a list that is not closed yet."""

    def __init__(self, start: Any, nodes_before: int, rules: Rules, parent: "_Open | None") -> None:
        self.value: Any = {} if isinstance(start, yaml.MappingStartEvent) else []
        self.start = start
        self.nodes_before = nodes_before
        self._rules = rules
        self._key: str | None = None
        self._merging = False
        self._merged: list[tuple[Any, int]] = []
        # A list is kept only as the value of a merge key.
        self._is_merged = parent is not None and parent._merging
        self._kept = rules.only is None or parent is None or start.anchor is not None or parent._leads_on()

    def add(self, event: Any, value: Any) -> None:
        if not self._kept:
            return
        if isinstance(self.value, list):
            if self._rules.only is None or self._is_merged:
                self.value.append(value)
        elif self._merging:
            self._merging = False
            self._take_merged(event, value)
        elif self._key is None:
            self._take_key(event, value)
        else:
            if self._rules.only is None or self._is_wanted():
                self.value[self._key] = value
            self._key = None

    def close(self) -> None:
        """Add merged keys; a key that is written in the mapping itself wins, wherever the merge key is."""
        for mapping, _ in self._merged:
            for key, value in mapping.items():
                self.value.setdefault(key, value)

    def _leads_on(self) -> bool:
        return self._kept and (self._merging or self._is_merged or self._is_wanted())

    def _is_wanted(self) -> bool:
        # Other spellings of a wanted key are kept as well: Go may take them for it, so the caller has to see them.
        return self._key is not None and fold(self._key) in _folded(self._rules.only)

    def _take_key(self, event: Any, value: Any) -> None:
        key = value if isinstance(event, yaml.AliasEvent) else getattr(event, "value", None)
        if not isinstance(key, str):
            raise InvalidDocument("a key must be a plain text", _line(event))
        if self._rules.only is not None and getattr(event, "tag", None) not in (None, "!", _TEXT_TAG):
            raise InvalidDocument(f"a key has the tag {event.tag}", _line(event))
        if key == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            if not (self._rules.aliases and self._rules.merges):
                raise InvalidDocument("merge keys are not allowed here", _line(event))
            self._merging = True
        elif key in self.value and self._rules.only is None:
            raise InvalidDocument(f"the key {key!r} stands here a second time", _line(event))
        else:
            self._key = key

    def _take_merged(self, event: Any, value: Any) -> None:
        mappings = value if isinstance(value, list) else [value]
        by_alias = isinstance(event, yaml.AliasEvent) and isinstance(value, list)
        if by_alias or not all(isinstance(mapping, dict) for mapping in mappings):
            raise InvalidDocument("<< takes a mapping or a list of mappings", _line(event))
        if self._rules.only is None:
            self._merged += [(mapping, _line(event)) for mapping in mappings]
            return
        # go-yaml merges at the position of <<: over keys before it, under keys after it.
        for mapping in reversed(mappings):
            self.value.update(mapping)


class _Finder:
    """Follows events and knows the place of each; a key has the place of its value."""

    def __init__(self) -> None:
        self._document = -1
        self._way: list[int | str] = []
        self._lists: list[bool] = []
        self._has_key: list[bool] = []

    def take(self, event: Any) -> Place:
        """Return the place that begins with an event, if any."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._document += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            for open_ones in (self._way, self._lists, self._has_key):
                open_ones.pop()
        elif isinstance(event, yaml.NodeEvent):
            place = (self._document, *self._way) if self._step(event) else ()
            if isinstance(event, yaml.CollectionStartEvent):
                self._way.append(-1)
                self._lists.append(isinstance(event, yaml.SequenceStartEvent))
                self._has_key.append(False)
            return place
        return ()

    def _step(self, event: Any) -> bool:
        if self._way and self._lists[-1]:
            self._way[-1] = int(self._way[-1]) + 1
        elif self._way and self._has_key[-1]:
            self._has_key[-1] = False
            return False
        elif self._way:
            self._way[-1] = getattr(event, "value", "")
            self._has_key[-1] = True
        return True


@lru_cache
def _folded(only: frozenset[str] | None) -> frozenset[str]:
    return frozenset(map(fold, only or ()))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
