"""JSON → plain values, as a JSON parser reads it: an escaped pair of surrogates and DEL are no YAML, and valid JSON."""

import json
from collections.abc import Sequence

from render.lean import Any
from render.yaml.documents import InvalidDocument, Rules, decode_utf8, iterate_documents

# More values than this, and the parser of YAML reads the text: it stops at its limit, and not behind the last value.
_VALUES_PER_NODE = 4


def parse_json(data: bytes, rules: Rules) -> list[Any]:
    """Return the one value of a JSON file; what only a YAML parser accepts is an error, since Argo CD cannot read it."""
    limits = rules.limits
    values = data.count(b",") + data.count(b"{") + data.count(b"[")
    if len(data) > limits.file_bytes or values > limits.file_nodes * _VALUES_PER_NODE:
        return list(iterate_documents(data, rules))
    try:
        value = _load(decode_utf8(data), limits.file_depth)
    except InvalidDocument as error:
        raise _located(error, data, rules) from None
    if values > limits.file_nodes:
        # The exact count is in the parser of YAML.
        list(iterate_documents(json.dumps(value).encode(), rules))
    _check(value, limits.file_depth)
    return [value]


def top_keys(data: bytes) -> Sequence[str] | None:
    """Return the keys of the object that a JSON file holds; none for another value, None for what is no JSON."""
    try:
        # Values are not kept: only the keys of the last mapping, which is the outermost one, are asked for.
        found = json.loads(decode_utf8(data), object_pairs_hook=_Keys, parse_int=bool, parse_float=bool)
    except (ValueError, RecursionError, InvalidDocument):
        return None
    return found.names if isinstance(found, _Keys) else ()


class _Keys:
    __slots__ = ("names",)

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self.names = tuple([key for key, _ in pairs])


def _load(text: str, depth: int) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _invalid(f"this is not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise _invalid(f"nested deeper than {depth} levels", 1) from None
    except ValueError as error:
        raise _invalid(str(error), 1) from None


def _located(error: InvalidDocument, data: bytes, rules: Rules) -> InvalidDocument:
    """Return the error with the line that the parser of YAML knows, if that refuses the text, too."""
    try:
        list(iterate_documents(data, rules))
    except InvalidDocument as known:
        return _invalid(known.problem, known.line)
    return error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands in a mapping a second time")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _check(value: Any, depth: int) -> None:
    """Raise for values that nest too deep, and for half of a pair of surrogates, which is no character."""
    waiting = [(value, 0)]
    while waiting:
        one, level = waiting.pop()
        if isinstance(one, dict):
            waiting += [(text, level) for text in one]
        if isinstance(one, dict | list):
            if level >= depth:
                raise _invalid(f"nested deeper than {depth} levels", 1)
            waiting += [(below, level + 1) for below in (one.values() if isinstance(one, dict) else one)]
        elif isinstance(one, str) and not one.isascii() and any("\ud800" <= sign <= "\udfff" for sign in one):
            raise _invalid("half of a pair of surrogates is no character", 1)


def _invalid(problem: str, line: int) -> InvalidDocument:
    return InvalidDocument(problem, line)
