"""package.yaml → its meta document and the list of its objects, in one pass."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from render.errors import UnusableContent
from render.limits import LimitExceeded, Limits
from render.packages import Metadata, PackagedObject, is_meta
from render.texts import counted, first_lines
from render.xpkg.allowed_objects import is_known
from render.xpkg.definitions import Composition, Definition, Definitions, definitions_of
from render.xpkg.identity import CONTENT_LINE, identify
from render.xpkg.metadata import parse_metadata
from render.xpkg.outline import describe_definition
from render.yaml.documents import InvalidDocument, decode_utf8

_SEPARATOR = b"\n---"
_SEPARATOR_LINE = re.compile(rb"\n---[ \t\r]*(?:#[^\n]*)?(?=\n|\Z)")
_SHOWN_PROBLEMS = 50


class InvalidContents(UnusableContent):
    """A package.yaml that Crossplane refuses, or may read in another way than we do."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream: a line break and its text, and the line of the stream where it starts."""

    data: bytes
    line: int

    def text(self) -> str:
        """Return the document as text, without the line break in front."""
        return decode_utf8(self.data.removeprefix(b"\n"))


@dataclass(frozen=True, slots=True)
class Contents:
    """The content of a package.yaml."""

    meta: Document
    objects: tuple[PackagedObject, ...]
    definitions: Definitions


def read_contents(chunks: Iterable[bytes], limits: Limits) -> Contents:
    """Read a package.yaml: exactly one meta document, the identity of every object, and facts about definitions.

    Crossplane refuses a package for one document that it cannot decode. We also refuse a document that it might
    decode in another way than we do: a CRD or a dependency would be missing from the lock.
    """
    metas: list[Document] = []
    objects: list[PackagedObject] = []
    described: list[Definition | Composition | None] = []
    problems: list[str] = []
    for document in split_documents(chunks, limits):
        try:
            found = identify(document.data, limits)
        except InvalidDocument as error:
            problems.append(f"line {document.line + error.line - 1}: {error.problem}")
            continue
        if is_meta(found.api_version):
            metas.append(document)
        elif is_known(found):
            objects.append(found)
            described.append(describe_definition(found, document.data, limits))
        else:
            problems.append(f"line {document.line}: {_describe_unknown(found)}")
    definitions = definitions_of(one for one in described if one is not None)
    return Contents(_only_meta(metas, problems), tuple(objects), definitions)


def parse_meta(data: bytes, line: int, limits: Limits) -> Metadata:
    """Parse the meta document that starts on a line of package.yaml."""
    try:
        return parse_metadata(data, limits)
    except InvalidDocument as error:
        raise InvalidContents(
            "its metadata cannot be read",
            why=f"package.yaml, line {line + error.line - 1}: {error.problem}",
            next="ask the package's maintainers to correct its crossplane.yaml and build it again",
        ) from None


def split_documents(chunks: Iterable[bytes], limits: Limits) -> Iterator[Document]:
    """Split a YAML stream where Crossplane does: at lines that begin with three dashes."""
    # Every document starts with the line break before its first line, so that every line starts with one.
    buffer, line, searched, count = b"\n", 1, 0, 0
    for chunk in _whole_lines(chunks, limits):
        buffer += chunk
        start = 0
        while (end := buffer.find(_SEPARATOR, max(start, searched))) >= 0:
            count += 1
            if count > limits.documents:
                raise LimitExceeded("its package.yaml has too many documents", "documents", limits)
            yield from _document(buffer[start:end], line)
            line += buffer.count(b"\n", start, end) + 1
            start = searched = _end_of_separator(buffer, end, line - 1)
        buffer = buffer[start:]
        searched = max(len(buffer) - 1, 0)
        if len(buffer) > limits.document_bytes:
            raise LimitExceeded(
                f"the document at line {line} of its package.yaml is too large", "document_bytes", limits
            )
    yield from _document(buffer, line)


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
            raise LimitExceeded("a line of its package.yaml is too long", "document_bytes", limits)
    yield rest


def _document(data: bytes, line: int) -> Iterator[Document]:
    if CONTENT_LINE.search(data):
        yield Document(data, line)


def _end_of_separator(buffer: bytes, at: int, line: int) -> int:
    match = _SEPARATOR_LINE.match(buffer, at)
    if match is None:
        raise InvalidContents(
            f"line {line} of its package.yaml has text behind ---",
            why="Crossplane splits package.yaml there, and refuses the whole package for it",
            next="ask the package's maintainers to put that text on a line of its own",
        )
    return match.end()


def _describe_unknown(found: PackagedObject) -> str:
    return f"Crossplane reads no {found.kind} of {found.api_version} from a package, and refuses the whole package"


def _only_meta(metas: list[Document], problems: list[str]) -> Document:
    if len(metas) == 1 and not problems:
        return metas[0]
    if len(metas) > 1:
        places = ", ".join(str(meta.line) for meta in metas)
        problems = [f"{len(metas)} documents describe the package, at lines {places}; one has to", *problems]
    if not metas:
        problems = [
            "no document has the group meta.pkg.crossplane.io, so none describes the package",
            *problems,
        ]
    raise InvalidContents(
        f"its package.yaml has {counted(len(problems), 'problem')}",
        why=first_lines(problems, _SHOWN_PROBLEMS),
        next="ask the package's maintainers to correct it; `xplock package build` makes no such package",
    )
