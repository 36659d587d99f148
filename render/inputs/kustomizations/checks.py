"""Checks on every kustomization before it is built: nothing remote, nothing that runs programs."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from render.errors import InvalidInput, RenderError, in_one_line
from render.inputs.folders import is_repository, list_kustomizations, read_inside
from render.inputs.kustomizations.keys import PATHS_BELOW, PLAIN_KEYS, find_unknown_keys
from render.inputs.problems import find_conflict, placed
from render.limits import LimitExceeded, Limits
from render.system.boundary import Boundary, real_path
from render.system.files import is_file, is_folder
from render.yaml.documents import Place, kustomization_rules, parse_documents
from render.yaml.fields import Fields, Problems, format_place
from render.yaml.folding import KnownFields, find_lookalike_fields, fold

_FOLDER_LISTS = ("resources", "bases", "components")
# Entries of these are paths or YAML documents.
_INLINE_LISTS = ("patchesStrategicMerge",)
_FILE_LISTS = ("crds", "configurations", *_INLINE_LISTS)
_PLUGIN_LISTS = ("generators", "transformers", "validators")
_HELM_KEYS = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
# What kustomize needs to know of a plugin before it runs it.
_PLUGIN_FIELDS: KnownFields = {
    "apiVersion": None,
    "kind": None,
    "metadata": dict.fromkeys(("name", "namespace", "labels", "annotations")),
}
# The files of these are content, and may hold anything.
_CONTENT_LISTS = ("configMapGenerator", "secretGenerator")
_PATH_NAMES = frozenset({"path", "paths", "file", "files", "env", "envs"})

# kustomize reads keys in upper or lower case (RESOURCES is resources), and a later version may know more keys, so a key
# that is not listed is refused.
_KEYS: KnownFields = {
    **PLAIN_KEYS,
    **PATHS_BELOW,
    **dict.fromkeys((*_FOLDER_LISTS, *_FILE_LISTS, *_PLUGIN_LISTS)),
}

# Everything that kustomize could take for a URL or a git repository: a scheme, user@host, host:path, ?ref=, //, .git
_REMOTE = re.compile(r"[:@?\\]|//|^github\.com(?:/|$)|\.git(?:/|$)|(?:^|/)_git(?:/|$)", re.IGNORECASE)


def check_kustomizations(
    folder: Path, limits: Limits, boundary: Boundary | None = None, *, alone: bool = False
) -> list[str]:
    """Return the problems of a folder's kustomization, and of all that it builds on; no path leaves the boundary."""
    problems: list[str] = []
    project = real_path(folder)
    area = _area(project, boundary, alone=alone)
    waiting, seen = [project], {project}
    while waiting:
        bases = _check_folder(waiting.pop(), project, area, limits, problems)
        waiting.extend(bases - seen)
        seen |= bases
        if len(seen) > limits.kustomizations:
            raise LimitExceeded(f"{folder} builds on too many kustomizations", "kustomizations", limits)
    return problems


def read_paths(file: Path, limits: Limits) -> list[tuple[str, str]]:
    """Return the paths that a kustomization names, each with its place; without the names that generators give files."""
    document = _only_document(read_inside(file, file.parent, limits), limits)
    lists = _entries(Fields(document, Problems()), (*_FOLDER_LISTS, *_FILE_LISTS, *_PLUGIN_LISTS))
    keys = sorted(PATHS_BELOW.keys() & document.keys())
    below = [entry for key in keys for entry in _path_texts(document[key], (key,))]
    found = [
        *((place, entry) for place, entry in lists if not _may_be_inline(place, entry)),
        *((place, text.rpartition("=")[2]) for place, text in below),
    ]
    return [(format_place(place), text) for place, text in found if "\0" not in text]


class _Area(NamedTuple):
    """The files that a kustomization may read, and their name in errors."""

    boundary: Boundary
    name: str


def _area(project: Path, boundary: Boundary | None, *, alone: bool) -> _Area:
    if alone:
        return _Area(Boundary(project), "the folder, which is built alone")
    return _Area(boundary or repository_of(project), "the repository")


def repository_of(folder: Path) -> Boundary:
    """Return the repository of a folder; without a repository, all files."""
    top = real_path(folder)
    found = next((path for path in (top, *top.parents) if is_repository(path)), Path(top.anchor))
    return Boundary(found)


def _check_folder(folder: Path, project: Path, area: _Area, limits: Limits, problems: list[str]) -> set[Path]:
    """Check the kustomization in one folder, and return the folders that it builds on."""
    files = list_kustomizations(folder)
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        problems.append(f"{os.path.relpath(folder, project)}: expected one kustomization, found {names}")
        return set()
    found = Problems()
    check = _Check(folder, area, limits, found)
    try:
        check.document(_only_document(read_inside(files[0], folder, limits), limits))
    except RenderError as error:
        found.add((), in_one_line(error))
    problems.extend(placed(os.path.relpath(files[0], project), found.texts()))
    return check.bases


def _only_document(data: bytes, limits: Limits) -> Mapping[str, Any]:
    conflict = find_conflict(data)
    if conflict:
        raise InvalidInput(conflict)
    documents = parse_documents(data, kustomization_rules(limits))
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise InvalidInput("expected one document, a mapping")
    return documents[0]


class _Check:
    """Checks one kustomization, and collects the folders it builds on."""

    def __init__(self, folder: Path, area: _Area, limits: Limits, problems: Problems) -> None:
        self.bases: set[Path] = set()
        self._folder = folder
        self._area = area
        self._limits = limits
        self._problems = problems

    def document(self, document: Mapping[str, Any]) -> None:
        fields = Fields(document, self._problems)
        for key, value in document.items():
            if key in _HELM_KEYS:
                fields.complain("charts are not inflated, since that runs helm", key)
                continue
            unknown = list(find_unknown_keys({key: value}, _KEYS, ()))
            for place in unknown:
                fields.complain("unknown key, which might fetch something or run a program", *place)
            if key in PATHS_BELOW and not unknown:
                self._paths_below(value, (key,))
        for place, entry in _entries(fields, _FOLDER_LISTS):
            self._local(entry, place)
        for place, entry in _entries(fields, _FILE_LISTS):
            if _may_be_inline(place, entry):
                # kustomize looks for a file of this name before it reads the text.
                self._refuse_outside(self._folder / entry, entry, place)
            else:
                self._file(entry, place)
        for place, entry in _entries(fields, _PLUGIN_LISTS):
            self._plugin(entry, place)

    def _local(self, entry: str, place: Place) -> None:
        if self._refuse_unusable(entry, place):
            return
        # First, so that the error for a path outside is the same whether it exists or not.
        if self._refuse_outside(self._folder / entry, entry, place):
            return
        path = real_path(self._folder / entry)
        if Path(entry).is_absolute() or not (is_folder(path) or is_file(path)):
            self._problems.add(place, f"{entry!r} is not the relative path of a file or a folder")
        elif is_folder(path):
            self.bases.add(path)
        else:
            self._refuse_conflict(path, entry, place)

    def _file(self, entry: str, place: Place) -> None:
        if not self._refuse_unusable(entry, place):
            # Files of a generator may have names: name=path.
            path = self._folder / entry.rpartition("=")[2]
            if not self._refuse_outside(path, entry, place) and place[0] not in _CONTENT_LISTS:
                self._refuse_conflict(real_path(path), entry, place)

    def _refuse_conflict(self, path: Path, entry: str, place: Place) -> None:
        """Report a conflict marker in a file that kustomize reads as YAML."""
        try:
            conflict = find_conflict(read_inside(path, path.parent, self._limits)) if is_file(path) else ""
        except RenderError:
            # kustomize says what is wrong with it.
            return
        if conflict:
            self._problems.add(place, f"{entry}: {conflict}")

    def _refuse_outside(self, path: Path, entry: str, place: Place) -> bool:
        if self._area.boundary.includes(path):
            return False
        self._problems.add(place, f"{entry!r} is outside of {self._area.name}")
        return True

    def _plugin(self, entry: str, place: Place) -> None:
        if not _is_inline(entry) and self._refuse_unusable(entry, place):
            return
        # A text that kustomize cannot read as YAML is a path to it.
        if self._refuse_outside(self._folder / entry, entry, place):
            return
        try:
            for document in parse_documents(self._plugin_data(entry), kustomization_rules(self._limits)):
                self._plugin_document(document, place)
        except RenderError as error:
            self._problems.add(place, in_one_line(error))

    def _plugin_data(self, entry: str) -> bytes:
        if _is_inline(entry):
            return entry.encode(errors="replace")
        return read_inside(self._folder / entry, self._folder, self._limits)

    def _plugin_document(self, document: Any, place: Place) -> None:
        fields = Fields(document, Problems())
        annotations = fields.mapping("metadata").texts("annotations")
        runs = any(name.endswith("/function") for name in annotations)
        chart = fold(fields.text("kind")).startswith("helm")
        # kustomize takes the items of a list for plugins, too.
        several = "items" in fields
        if fields.text("apiVersion") != "builtin" or runs or chart or several:
            self._problems.add(
                place, "only kustomize's builtin plugins are allowed, and none that runs a program"
            )
        for below, problem in find_lookalike_fields(document, _PLUGIN_FIELDS):
            self._problems.add((*place, *below), problem)
        self._paths_below(document, place)

    def _paths_below(self, value: Any, place: Place) -> None:
        for found_at, text in _path_texts(value, place):
            self._file(text, found_at)

    def _refuse_unusable(self, text: str, place: Place) -> bool:
        if "\0" in text:
            self._problems.add(place, f"{text!r} is no path")
            return True
        if not _REMOTE.search(text):
            return False
        self._problems.add(place, f"{text!r} looks remote, and only local paths are allowed")
        return True


def _entries(fields: Fields, keys: Sequence[str]) -> Iterator[tuple[Place, str]]:
    for key in keys:
        for i, entry in enumerate(fields.list_of_texts(key)):
            yield (key, i), entry


def _may_be_inline(place: Place, entry: str) -> bool:
    return place[0] in (*_INLINE_LISTS, *_PLUGIN_LISTS) and _is_inline(entry)


def _is_inline(entry: str) -> bool:
    """Return whether an entry is a YAML document and not a path."""
    return "\n" in entry or entry.lstrip().startswith("{")


def _path_texts(value: Any, place: Place, *, in_path: bool = False) -> Iterator[tuple[Place, str]]:
    """Yield every text below a key that names paths, with its place."""
    if isinstance(value, dict):
        # Below fieldSpecs, a path is one through an object, not to a file.
        for key, item in ((key, item) for key, item in value.items() if key != "fieldSpecs"):
            yield from _path_texts(item, (*place, key), in_path=fold(key) in _PATH_NAMES)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _path_texts(item, (*place, i), in_path=in_path)
    elif isinstance(value, str) and in_path:
        yield place, value
