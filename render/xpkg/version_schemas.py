"""The schemas of some versions of a definition, cut out of its text, and parsed one by one."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from render.limits import Limits
from render.packages import PackagedObject
from render.xpkg.outline import OLD_CRD, UnclearOutline, parse_schemas, search_outline, with_schemas
from render.yaml.documents import definition_rules, parse_documents

_KEY = "openAPIV3Schema"
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
# What a version without a schema takes.
_ANYTHING: Mapping[str, Any] = {"type": "object", _KEEPS_UNKNOWN: True}


def cut_schemas(
    item: PackagedObject, data: bytes, names: Collection[str], limits: Limits
) -> dict[str, bytes]:
    """Return the text of the schema of some versions, for `parse_schema`.

    Only a text with an unusual outline has to be parsed for it; then the schemas are JSON, on one line. One of the
    errors of UNREADABLE is raised for a text that is no definition.
    """
    try:
        return {name: text for name, text in _cut(item, data) if name in names}
    except UnclearOutline:
        pass
    spec, schemas = parse_schemas(data, limits)
    pairs = with_schemas(item, spec, schemas)
    keeps = item.api_version == OLD_CRD and spec.get("preserveUnknownFields") is not False
    return {
        str(version.get("name")): json.dumps(_complete(schema, keeps_unknown=keeps)).encode()
        for version, schema in pairs
        if version.get("name") in names
    }


def parse_schema(text: bytes, limits: Limits) -> Any:
    """Parse the schema of a version; it may be no schema at all."""
    if text.startswith(b"{"):
        schema = json.loads(text)
    else:
        schema = parse_documents(text, definition_rules(limits))[0]["schema"]
    return schema.get(_KEY, _ANYTHING) if isinstance(schema, dict) else schema


def _cut(item: PackagedObject, data: bytes) -> Iterator[tuple[str, bytes]]:
    outline = search_outline(item, data)
    for version, place in with_schemas(item, outline.spec, list(outline.places)):
        text = b"{}"
        if place is not None:
            column, start, end = place
            text = b" " * column + b"schema:" + outline.text[start:end] + b"\n"
        yield str(version.get("name")), text


def _complete(schema: Any, *, keeps_unknown: bool) -> Any:
    """Return the schema of a version, with the field that a CRD of version v1beta1 has for all of its versions."""
    inner = schema.get(_KEY) if isinstance(schema, dict) else None
    if schema is None or not isinstance(inner, dict) or not keeps_unknown:
        return schema or {}
    return {_KEY: {_KEEPS_UNKNOWN: True, **inner}}
