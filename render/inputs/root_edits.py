"""Exact requests in files: the text of a tag, a digest or a version is replaced, and every other byte stays."""

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from render.inputs.folders import list_kustomizations, read_inside
from render.inputs.roots import VERSION_ANNOTATION
from render.lean import dataclass
from render.limits import Limits
from render.references import Reference
from render.settings import SETTINGS_FILE
from render.versions.requests import Request, Root
from render.yaml.documents import Place, file_rules, find_lines, parse_documents

# As Root.place names them.
_MANIFEST = re.compile(
    r"(?P<file>[^:/]+)(?:: document (?P<number>[0-9]+))?(?P<items>(?:: items\[[0-9]+\])*): spec\.package"
)
_SETTING = re.compile(rf"(?P<file>{re.escape(SETTINGS_FILE)}): roots\[(?P<index>[0-9]+)\]")
_DEPENDENCY = re.compile(
    r"(?P<file>[^:/]+): spec\.(?P<list>[A-Za-z]+)\[(?P<index>[0-9]+)\](?P<below>\.xpkg)?"
)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text in a file, by its place in the stream."""

    file: str
    place: Place


def is_exact(request: Request) -> bool:
    """Return whether a request names one version or digest, be it as a tag or as the only version of a range."""
    return request.exact or request.only_tag is not None


def edit_roots(
    folder: Path, requests: Sequence[tuple[Root, Request]], limits: Limits
) -> dict[str, bytes] | None:
    """Return the files that ask for these roots with other exact requests; None if one of them cannot be edited."""
    if list_kustomizations(folder):
        return None
    files: dict[str, bytes] = {}
    for root, request in requests:
        for place in root.place.split(" and "):
            if not _edit(folder, place, root, request, files, limits):
                return None
    return files


def _edit(
    folder: Path, place: str, root: Root, request: Request, files: dict[str, bytes], limits: Limits
) -> bool:
    for scalar in _scalars(place):
        data = files.get(scalar.file) or read_inside(folder / scalar.file, folder, limits)
        edited = _edit_scalar(data, scalar.place, root, request, limits)
        if edited is not None:
            files[scalar.file] = edited
            return True
    return False


def _scalars(place: str) -> Iterator[Scalar]:
    """Yield the texts that may hold the request of a root."""
    if found := _MANIFEST.fullmatch(place):
        items = [part for index in re.findall(r"[0-9]+", found["items"]) for part in ("items", int(index))]
        top: Place = (int(found["number"] or 1) - 1, *items)
        yield Scalar(found["file"], (*top, "spec", "package"))
        yield Scalar(found["file"], (*top, "metadata", "annotations", VERSION_ANNOTATION))
    elif found := _SETTING.fullmatch(place):
        entry: Place = (0, "roots", int(found["index"]))
        yield Scalar(found["file"], (*entry, "package"))
        yield Scalar(found["file"], (*entry, "version"))
    elif found := _DEPENDENCY.fullmatch(place):
        below = ("xpkg",) if found["below"] else ()
        yield Scalar(found["file"], (0, "spec", found["list"], int(found["index"]), *below, "version"))


def _edit_scalar(data: bytes, place: Place, root: Root, request: Request, limits: Limits) -> bytes | None:
    """Return a file with another text at a place; None if the text there is not this request, or not in one line."""
    documents = parse_documents(data, file_rules(limits))
    old = _value_at(documents, place)
    new = _replacement(old, root, request)
    line = find_lines(data, [place]).get(place)
    if new is None or line is None:
        return None
    lines = data.decode().splitlines(keepends=True)
    # A file may start with a mark that the parser leaves out; it is part of the first line.
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    edited = "".join(lines).encode()
    expected = copy.deepcopy(documents)
    _parent(expected, place)[place[-1]] = new
    return edited if parse_documents(edited, file_rules(limits)) == expected else None


def _replacement(old: Any, root: Root, request: Request) -> str | None:
    """Return the text that replaces a request: of a package with its reference, or of a version alone."""
    asked = root.request
    if not isinstance(old, str):
        return None
    if not asked.exact:
        return request.tag if asked.only_tag in (old, old.strip()) else None
    if old == str(asked):
        return str(request)
    reference = str(Reference(root.source, asked.tag, asked.digest))
    return str(Reference(root.source, request.tag, request.digest)) if old == reference else None


def _value_at(documents: Any, place: Place) -> Any:
    try:
        return _parent(documents, place)[place[-1]]
    except (KeyError, IndexError, TypeError):
        return None


def _parent(value: Any, place: Place) -> Any:
    for step in place[:-1]:
        value = value[step]
    return value
