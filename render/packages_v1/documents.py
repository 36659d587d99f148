"""The YAML documents of a package's files, as readers that complain with file and field."""

from collections.abc import Collection

from render.errors import RenderError, in_one_line
from render.limits import Limits
from render.packages_v1.findings import Findings
from render.packages_v1.tree import File
from render.yaml.documents import InvalidDocument, decode_utf8, file_rules, parse_documents
from render.yaml.fields import Fields


def read_documents(file: File, limits: Limits, found: Findings) -> list[tuple[str, Fields]]:
    """Return each document of a file with its place; empty documents are left out."""
    try:
        values = parse_documents(file.data, file_rules(limits))
    except InvalidDocument as error:
        found.complain(file, f"line {error.line}: {error.problem}")
        return []
    except RenderError as error:
        found.complain(file, in_one_line(error))
        return []
    places = [str(file) if len(values) == 1 else f"{file}: document {i}" for i in range(1, len(values) + 1)]
    return [
        (place, Fields(value, found.of(place)))
        for place, value in zip(places, values, strict=True)
        if value is not None
    ]


def read_document(file: File, limits: Limits, found: Findings) -> Fields | None:
    """Return the only document of a file; nothing if it is empty or there are several."""
    documents = read_documents(file, limits, found)
    if len(documents) > 1:
        found.complain(file, f"expected one document, found {len(documents):,}")
        return None
    if not documents:
        return None
    _, fields = documents[0]
    return fields


def read_text(file: File, limits: Limits, found: Findings) -> str:
    """Return the text of a file, with plain line breaks."""
    try:
        if len(file.data) > limits.file_bytes:
            found.complain(file, f"it is larger than {limits.file_bytes:,} bytes")
            return ""
        return decode_utf8(file.data).replace("\r\n", "\n")
    except InvalidDocument as error:
        found.complain(file, f"line {error.line}: {error.problem}")
        return ""


def warn_unknown(fields: Fields, known: Collection[str], place: object, found: Findings) -> None:
    """Warn about fields that the first format does not have."""
    for name in sorted(fields.value.keys() - set(known)):
        found.warn(place, f"{name}: Packages v1 has no such field; it is left out")
