"""Finds the file and the line of a finding."""

import re
from collections.abc import Iterable
from pathlib import Path

from render.checks.model import CheckedFolder, Place
from render.errors import RenderError
from render.inputs.folders import KUSTOMIZATION_FILES, list_yaml_files
from render.limits import Limits
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE, is_file, is_there, read_plain
from render.yaml.documents import find_lines

_LINE = r"(?:^|: )line ([0-9]{1,9}): "
# "document 2: spec.package: ", or only one of both.
_KEYS = r"(?:document ([0-9]{1,9}): )?(?:([^\s:]+): )?"
_KEY = r"\[([0-9]{1,9})\]|([^.\[\]]+)"
_LIMITS = Limits()


def lock_place(one: CheckedFolder) -> Place:
    """Return the first line of a folder's lock."""
    return Place(one.folder / LOCK_FILE)


def read_lock_place(one: CheckedFolder, mark: str) -> Place:
    """Return the line of a folder's lock that holds a text, or its first line."""
    return read_marked_place(one.folder / LOCK_FILE, mark)


def read_settings_place(one: CheckedFolder, key: str) -> Place:
    """Return the place of a key in a folder's settings."""
    place = _first_place(one, SETTINGS_FILE)
    return read_marked_place(place.file, f"\n{key}:") if place.file.name == SETTINGS_FILE else place


def read_marked_place(path: Path, mark: str) -> Place:
    """Return the first line of a file that holds a text, or its first line; `mark` may start with a line break."""
    text = _read_lines(path)
    found = text.find(mark)
    return Place(path, text.count("\n", 0, found + 1) if found > 0 else 1)


def read_entry_place(path: Path, entry: str) -> Place:
    """Return the first line of a file that holds an entry, not in a comment and not as a part of another entry."""
    text = _read_lines(path)
    found = re.search(rf"^[^#\n]*(?<![\w./-]){re.escape(entry)}(?![\w./-])", text, re.MULTILINE)
    return Place(path, text.count("\n", 0, found.end()) if found else 1)


def find_told_place(one: CheckedFolder, lines: Iterable[str], default: str) -> Place:
    """Return the file and line that the lines of an error start with; a line without a file is one of the default file."""
    for text in lines:
        line = re.search(_LINE, text)
        number = int(line[1]) if line else 1
        if text.startswith("line "):
            return Place(one.folder / default, number)
        name, _, told = text.partition(": ")
        path = one.folder / name
        if is_file(path):
            return Place(path, number if line else _find_line(path, told))
    return _first_place(one, default)


def _find_line(path: Path, told: str) -> int:
    """Return the line of the value that a problem names by its document and its keys, or of the nearest one around it."""
    found = re.match(_KEYS, told)
    if not found or not found[0]:
        return 1
    document = int(found[1] or 1) - 1
    keys = [int(index) if index else name for index, name in re.findall(_KEY, found[2] or "")]
    places = [(document, *keys[:i]) for i in range(len(keys), -1, -1)]
    try:
        known = find_lines(read_plain(path, _LIMITS.file_bytes) or b"", places)
    except RenderError:
        return 1
    return next((known[place] for place in places if place in known), 1)


def _read_lines(path: Path) -> str:
    """Return the text of a file with a line break before every line; empty, if it cannot be read."""
    try:
        return f"\n{(read_plain(path, _LIMITS.lock_bytes) or b'').decode(errors='replace')}"
    except RenderError:
        return ""


def _first_place(one: CheckedFolder, name: str) -> Place:
    """Return the first line of a file or, if it does not exist, of another input of the folder, so that there is something to show."""
    try:
        names = (name, *KUSTOMIZATION_FILES, *list_yaml_files(one.folder, _LIMITS))
        return Place(next((path for name in names if is_there(path := one.folder / name)), one.folder))
    except RenderError:
        return Place(one.folder)
