"""package.yaml → its meta document and the list of its objects, in one pass over any number of megabytes."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from render.errors import UnusableContent
from render.limits import LimitExceeded, Limits
from render.packages import Metadata, PackagedObject, is_meta
from render.texts import hides_something
from render.xpkg.metadata import parse_metadata
from render.yaml.documents import InvalidDocument, decode_utf8, glance_rules, parse_first_document, type_name
from render.yaml.scalars import parse_plain_scalar

_SEPARATOR = b"\n---"
_SEPARATOR_LINE = re.compile(rb"\n---[ \t\r]*(?:#[^\n]*)?(?=\n|\Z)")

# A document is plain when its top level is a block mapping of simple keys, each of them once. Then a key is
# where it seems to be: the keys of a block mapping all stand in one column, whatever lies between them.
_TOP_LINE = re.compile(rb"\n([^ \n#][^\n]*)")
_KEY_LINE = re.compile(rb"([A-Za-z][A-Za-z0-9]*):(?:[ \t]+([^#\s][^\n]*))?(?:[ \t]+#[^\n]*)?[ \t]*")
_VALUE = re.compile(rb"""(["']?)([A-Za-z0-9](?:[A-Za-z0-9./_-]*[A-Za-z0-9])?)\1(?:[ \t]+#[^\n]*)?[ \t]*""")
_NEXT_LINE = re.compile(rb"[ \t\n]*\n([ \t]*)\S")
_MOST_KEYS = 100
# Quotes and brackets may go on over several lines in any column. These do not: they are the whole value of a
# line, so that nothing before them can make their first quote a last one.
_CLOSED = re.compile(
    rb"""\n *(?:- +)*(?:[A-Za-z0-9_./-]+: +)?(?:"[^"\\\n]*"|'[^'\n]*')[ \t]*(?=\n|\Z)|\{\}|\[\]"""
)
_OPENER = re.compile(rb"""["'{\[]""")
# A line that is more than a comment or the mark of a document's start or end.
_SOMETHING = re.compile(rb"^[ \t\r\x0b\x0c]*+(?!#|---[ \t\r]*$|\.\.\.[ \t\r]*$)\S", re.MULTILINE)
# Line breaks to a YAML 1.1 reader, though not to us.
_OTHER_BREAKS = (b"\r", "\x85".encode(), "\u2028".encode(), "\u2029".encode())

_IDENTITY = frozenset({"apiVersion", "kind", "metadata", "name"})
_SHOWN_PROBLEMS = 3


class InvalidContents(UnusableContent):
    """A package.yaml that Crossplane would not install from."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream: a line break, its text, and the line of the stream it starts on."""

    data: bytes
    line: int

    def text(self) -> str:
        """Return the document as text, without the line break in front."""
        return decode_utf8(self.data.removeprefix(b"\n"))


@dataclass(frozen=True, slots=True)
class Contents:
    """What a package.yaml holds."""

    meta: Document
    objects: tuple[PackagedObject, ...]
    unreadable: tuple[str, ...]


def read_contents(chunks: Iterable[bytes], limits: Limits) -> Contents:
    """Read a package.yaml: exactly one meta document, and the identity of every object."""
    metas: list[Document] = []
    objects: list[PackagedObject] = []
    unreadable: list[str] = []
    for document in split_documents(chunks, limits):
        try:
            found = identify(document.data, limits)
        except InvalidDocument as error:
            unreadable.append(f"line {document.line + error.line - 1}: {error.problem}")
            continue
        if is_meta(found.api_version):
            metas.append(document)
        else:
            objects.append(found)
    return Contents(_only_meta(metas, unreadable), tuple(objects), tuple(unreadable))


def parse_meta(data: bytes, line: int, limits: Limits) -> Metadata:
    """Parse the meta document that starts on a line of package.yaml."""
    try:
        return parse_metadata(data, limits)
    except InvalidDocument as error:
        raise InvalidContents(
            "the package's metadata cannot be read",
            why=f"package.yaml, line {line + error.line - 1}: {error.problem}",
            next="ask the package's maintainers, or correct its crossplane.yaml and build it again",
        ) from None


def split_documents(chunks: Iterable[bytes], limits: Limits) -> Iterator[Document]:
    """Split a YAML stream where Crossplane does: at lines that begin with three dashes."""
    # Every document starts with the line break before its first line, so that all lines look alike.
    buffer, line, searched, count = b"\n", 1, 0, 0
    for chunk in _whole_lines(chunks, limits):
        buffer += chunk
        start = 0
        while (end := buffer.find(_SEPARATOR, max(start, searched))) >= 0:
            count += 1
            if count > limits.documents:
                raise LimitExceeded("package.yaml has too many documents", "documents", limits)
            yield from _document(buffer[start:end], line)
            line += buffer.count(b"\n", start, end) + 1
            start = searched = _end_of_separator(buffer, end, line - 1)
        buffer = buffer[start:]
        searched = max(len(buffer) - 1, 0)
        if len(buffer) > limits.document_bytes:
            raise LimitExceeded(
                f"the document at line {line} of package.yaml is too large", "document_bytes", limits
            )
    yield from _document(buffer, line)


def identify(data: bytes, limits: Limits) -> PackagedObject:
    """Tell a document's apiVersion, kind and name: by a glance if it is plain, else by the YAML parser.

    Both give the same answer for every document that is YAML. A glance does not read on behind what it looks for, so
    of a document that breaks later it tells what the part before says; Crossplane refuses the package for it.
    """
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return _glance(data) or _parse_identity(data, limits)


def _whole_lines(chunks: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        whole, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = tail
        else:
            rest += chunk
        if len(rest) > limits.document_bytes:
            raise LimitExceeded("a line of package.yaml is too long", "document_bytes", limits)
    yield rest


def _document(data: bytes, line: int) -> Iterator[Document]:
    if _SOMETHING.search(data):
        yield Document(data, line)


def _end_of_separator(buffer: bytes, at: int, line: int) -> int:
    match = _SEPARATOR_LINE.match(buffer, at)
    if match is None:
        raise InvalidContents(
            f"line {line} starts with --- and goes on",
            why="Crossplane splits package.yaml there, and refuses the whole package for it",
            next="put what follows --- on a line of its own and build the package again",
        )
    return match.end()


def _only_meta(metas: list[Document], unreadable: list[str]) -> Document:
    if len(metas) == 1:
        return metas[0]
    if metas:
        places = ", ".join(str(meta.line) for meta in metas)
        why = f"there are {len(metas)} of them, at lines {places}, and Crossplane takes exactly one"
    else:
        why = "none of the documents has the group meta.pkg.crossplane.io"
    raise InvalidContents(
        "package.yaml has no single Provider, Configuration or Function that describes the package",
        why=[why, *(f"unreadable: {problem}" for problem in unreadable[:_SHOWN_PROBLEMS])],
        next="ask the package's maintainers; `xplock package build` makes packages with exactly one",
    )


def _glance(data: bytes) -> PackagedObject | None:
    lines = _TOP_LINE.finditer(data) if not _has_odd_characters(data) else iter(())
    first = next(lines, None)
    if first is None or _is_item(first) or _SOMETHING.search(data, 0, first.start() + 1):
        return None
    keys = _simple_keys(chain([first], lines))
    described = keys.get(b"metadata")
    if described is None or described[1]:
        return None
    after = _TOP_LINE.search(data, described[0].end())
    end = after.start() if after else len(data)
    values = [
        _plain_value(data, keys.get(b"apiVersion"), 0),
        _plain_value(data, keys.get(b"kind"), 0),
        _glance_name(data, described[0].end(), end),
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


def _simple_keys(lines: Iterable[re.Match[bytes]]) -> dict[bytes, tuple[re.Match[bytes], bytes | None]]:
    keys: dict[bytes, tuple[re.Match[bytes], bytes | None]] = {}
    for line in lines:
        if _is_item(line):
            continue
        key = _KEY_LINE.fullmatch(line[1])
        if key is None or key[1] in keys or len(keys) >= _MOST_KEYS:
            return {}
        keys[key[1]] = (line, key[2])
    return keys


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


def _glance_name(data: bytes, start: int, end: int) -> tuple[bytes, int] | None:
    first = _NEXT_LINE.match(data, start, end)
    indent = len(first[1]) if first else 0
    shallower = re.compile(rb"\n[ \t]{0,%d}[^ \t\n#]" % max(indent - 1, 0))
    if not indent or shallower.search(data, start, end):
        return None
    children = re.compile(rb"\n {%d}([^ \n#][^\n]*)" % indent).finditer(data, start, end)
    return _plain_value(data, _simple_keys(children).get(b"name"), indent)


def _parse_identity(data: bytes, limits: Limits) -> PackagedObject:
    document = parse_first_document(data.removeprefix(b"\n"), glance_rules(limits, _IDENTITY))
    if not isinstance(document, dict):
        raise InvalidDocument(f"expected an object, found {type_name(document)}", 1)
    described = document.get("metadata")
    if described is not None and not isinstance(described, dict):
        raise InvalidDocument(f"expected metadata to be a mapping, found {type_name(described)}", 1)
    name = (described or {}).get("name")
    found = (document.get("apiVersion"), document.get("kind"), "" if name is None else name)
    texts = [text for text in found if isinstance(text, str)]
    if len(texts) < len(found):
        raise InvalidDocument("apiVersion, kind and metadata.name are not all text", 1)
    if any(hides_something(text) for text in texts):
        raise InvalidDocument("apiVersion, kind or metadata.name holds a control character", 1)
    return PackagedObject(*texts)
