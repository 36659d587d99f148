"""YAML document → apiVersion, kind and name of its object, as Crossplane decodes them."""

import re
from collections.abc import Iterable
from itertools import chain

from render.limits import Limits
from render.packages import PackagedObject
from render.texts import hides_something
from render.yaml.documents import InvalidDocument, identity_rules, parse_first_document, type_name
from render.yaml.folding import describe_lookalikes, find_lookalikes
from render.yaml.scalars import parse_plain_scalar

# The fields that are read, at the top and below metadata.
_TOP_FIELDS = ("apiVersion", "kind", "metadata")
_METADATA_FIELDS = ("name",)
_IDENTITY = frozenset({*_TOP_FIELDS, *_METADATA_FIELDS})

# A document is plain when its top level is a block mapping of simple keys, each of them once. The keys of a block
# mapping all stand in one column, whatever lies between them, so a search by column finds every key.
_TOP_LINE = re.compile(rb"\n([^ \n#][^\n]*)")
_KEY_LINE = re.compile(rb"([A-Za-z][A-Za-z0-9]*):(?:[ \t]+([^#\s][^\n]*))?(?:[ \t]+#[^\n]*)?[ \t]*")
_VALUE = re.compile(rb"""(["']?)([A-Za-z0-9](?:[A-Za-z0-9./_-]*[A-Za-z0-9])?)\1(?:[ \t]+#[^\n]*)?[ \t]*""")
_NEXT_LINE = re.compile(rb"[ \t\n]*\n([ \t]*)\S")
_MOST_KEYS = 100
# Quotes and brackets may span several lines, in any column. These do not: each is the whole value of a line, so no
# text before it can turn its first quote into a closing one.
_CLOSED = re.compile(
    rb"""\n *(?:- +)*(?:[A-Za-z0-9_./-]+: +)?(?:"[^"\\\n]*"|'[^'\n]*')[ \t]*(?=\n|\Z)|\{\}|\[\]"""
)
_OPENER = re.compile(rb"""["'{\[]""")
# A line that is more than a comment or the marker of a document's start or end.
CONTENT_LINE = re.compile(rb"^[ \t\r\x0b\x0c]*+(?!#|---[ \t\r]*$|\.\.\.[ \t\r]*$)\S", re.MULTILINE)
# A YAML 1.1 reader also ends a line at these characters.
_OTHER_BREAKS = (b"\r", "\x85".encode(), "\u2028".encode(), "\u2029".encode())


def identify(data: bytes, limits: Limits) -> PackagedObject:
    """Return a document's apiVersion, kind and name: by a quick search if it is plain, else by the YAML parser.

    Both give the same answer for every valid document. The quick search does not read to the end, so it accepts a
    document that is invalid further down; Crossplane refuses the package for it.
    """
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return _search_identity(data) or _parse_identity(data, limits)


def _search_identity(data: bytes) -> PackagedObject | None:
    lines = _TOP_LINE.finditer(data) if not _has_odd_characters(data) else iter(())
    first = next(lines, None)
    if first is None or _is_item(first) or CONTENT_LINE.search(data, 0, first.start() + 1):
        return None
    keys = _simple_keys(chain([first], lines), _TOP_FIELDS)
    described = keys.get(b"metadata")
    if described is None or described[1]:
        return None
    after = _TOP_LINE.search(data, described[0].end())
    end = after.start() if after else len(data)
    values = [
        _plain_value(data, keys.get(b"apiVersion"), 0),
        _plain_value(data, keys.get(b"kind"), 0),
        _search_name(data, described[0].end(), end),
    ]
    found = [value for value in values if value]
    if len(found) < 3 or _OPENER.search(_CLOSED.sub(b"", data[: max(end, *(at for _, at in found))])):
        return None
    return PackagedObject(*(text.decode() for text, _ in found))


def _is_item(line: re.Match[bytes]) -> bool:
    return line[1].startswith(b"- ") or line[1] == b"-"


def _has_odd_characters(data: bytes) -> bool:
    if b"\r" in data:
        return True
    if data.isascii():
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return any(other in data for other in _OTHER_BREAKS)


def _simple_keys(
    lines: Iterable[re.Match[bytes]], known: Iterable[str]
) -> dict[bytes, tuple[re.Match[bytes], bytes | None]]:
    """Return the line and the value of each key; nothing if a key is not simple, or looks like a known one."""
    keys: dict[bytes, tuple[re.Match[bytes], bytes | None]] = {}
    for line in lines:
        if _is_item(line):
            continue
        key = _KEY_LINE.fullmatch(line[1])
        if key is None or key[1] in keys or len(keys) >= _MOST_KEYS:
            return {}
        keys[key[1]] = (line, key[2])
    return {} if find_lookalikes([key.decode() for key in keys], known) else keys


def _plain_value(
    data: bytes, key: tuple[re.Match[bytes], bytes | None] | None, indent: int
) -> tuple[bytes, int] | None:
    value = _VALUE.fullmatch(key[1]) if key and key[1] else None
    if key is None or value is None:
        return None
    if not value[1] and not isinstance(parse_plain_scalar(value[2].decode()), str):
        return None
    end = key[0].end()
    following = _NEXT_LINE.match(data, end)
    goes_on = following is not None and len(following[1]) > indent
    return None if goes_on else (value[2], end)


def _search_name(data: bytes, start: int, end: int) -> tuple[bytes, int] | None:
    first = _NEXT_LINE.match(data, start, end)
    indent = len(first[1]) if first else 0
    shallower = re.compile(rb"\n[ \t]{0,%d}[^ \t\n#]" % max(indent - 1, 0))
    if not indent or shallower.search(data, start, end):
        return None
    children = re.compile(rb"\n {%d}([^ \n#][^\n]*)" % indent).finditer(data, start, end)
    return _plain_value(data, _simple_keys(children, _METADATA_FIELDS).get(b"name"), indent)


def _parse_identity(data: bytes, limits: Limits) -> PackagedObject:
    document = parse_first_document(data.removeprefix(b"\n"), identity_rules(limits, _IDENTITY))
    if not isinstance(document, dict):
        raise InvalidDocument(f"expected an object, found {type_name(document)}", 1)
    described = document.get("metadata")
    if described is not None and not isinstance(described, dict):
        raise InvalidDocument(f"expected metadata to be a mapping, found {type_name(described)}", 1)
    misspelled = [
        *describe_lookalikes(document, _TOP_FIELDS),
        *describe_lookalikes(described or {}, _METADATA_FIELDS),
    ]
    if misspelled:
        raise InvalidDocument(misspelled[0], 1)
    name = (described or {}).get("name")
    return _checked_identity(document.get("apiVersion"), document.get("kind"), "" if name is None else name)


def _checked_identity(*values: object) -> PackagedObject:
    texts = [text for text in values if isinstance(text, str)]
    if len(texts) < len(values):
        raise InvalidDocument("apiVersion, kind and metadata.name are not all text", 1)
    if any(hides_something(text) for text in texts):
        raise InvalidDocument("apiVersion, kind or metadata.name contains an invisible character", 1)
    return PackagedObject(*texts)
