"""The files of a folder: subfolders are not entered, and only plain files inside the folder are read."""

import os
from pathlib import Path

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.system.boundary import real_path
from render.system.files import InvalidFile, is_there, open_plain
from render.yaml.folding import fold

KUSTOMIZATION_FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_SUFFIXES = (".yaml", ".yml", ".json")
_JSON = ".json"
# Argo CD evaluates such a file, and we have no interpreter for it.
_JSONNET = ".jsonnet"
# Every manifest in JSON has these keys, as Go compares keys; JSON files without them belong to other tools.
_MANIFEST_KEYS = ("apiversion", "kind")
# A file without any of these cannot have such a key: it is written out, escaped, or with a character that folds to it.
_KEY_SIGNS = (b"kind", b"\\u", "\u212a".encode())


def list_yaml_files(folder: Path, limits: Limits) -> list[str]:
    """Return the names of a folder's YAML files and JSON manifests, sorted; hidden files belong to other tools."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _may_be_input(entry) and (
                    not entry.name.endswith(_JSON) or _is_manifest(Path(entry.path), folder, limits)
                ):
                    names.append(entry.name)
                if len(names) > limits.files:
                    raise LimitExceeded(f"{folder} has too many YAML files", "files", limits)
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be read", why=(error.strerror or str(error)).lower(), next="name a folder"
        ) from None
    return sorted(names)


def list_jsonnet_files(folder: Path) -> list[str]:
    """Return the names of the files that Argo CD's own directory source would evaluate, and that are not read here."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(_JSONNET))
    except OSError:
        return []


def list_kustomizations(folder: Path) -> list[Path]:
    """Return the kustomization files of a folder; a valid folder has one at most. A broken link counts."""
    return [path for name in KUSTOMIZATION_FILES if is_there(path := folder / name)]


def reads_elsewhere(folder: Path, limits: Limits) -> bool:
    """Return whether files outside of a folder may be read for it, through a kustomization or a link."""
    links = (folder / name for name in list_yaml_files(folder, limits))
    return bool(list_kustomizations(folder)) or any(path.is_symlink() for path in links)


def is_linked(folder: Path, other: Path) -> bool:
    """Return whether the path from one folder to another has a link, which may change while both folders stay."""
    return os.path.normpath(real_path(folder) / other) != str(real_path(folder / other))


def is_repository(path: Path) -> bool:
    """Return whether a folder is the top of a repository; one that cannot be entered counts as none."""
    try:
        return (path / ".git").exists()
    except OSError:
        return False


def read_inside(path: Path, folder: Path, limits: Limits) -> bytes:
    """Read a plain file; a link is followed if it stays inside the folder."""
    # Checked before anything is read, so that a link out of the folder reveals nothing.
    target = _resolve_inside(path, folder)
    try:
        with open_plain(target) as file:
            data = file.read(limits.file_bytes + 1)
    except InvalidFile as error:
        raise InvalidFile("it cannot be read", why=error.why) from None
    if len(data) > limits.file_bytes:
        raise LimitExceeded("the file is too large", "file_bytes", limits)
    return data


def _may_be_input(entry: os.DirEntry[str]) -> bool:
    named = entry.name.endswith(_SUFFIXES) and entry.name[0] != "."
    return named and not entry.is_dir(follow_symlinks=False)


def _is_manifest(path: Path, folder: Path, limits: Limits) -> bool:
    try:
        data = read_inside(path, folder, limits)
    except LimitExceeded:
        # Large data, since no API server accepts an object of that size.
        return False
    except InvalidFile:
        # Reported when the inputs are read.
        return True
    text = data.lower()
    if not any(sign in text for sign in _KEY_SIGNS):
        return False
    # Imported late: only files that may be manifests in JSON need it.
    from render.yaml.json_text import top_keys

    keys = top_keys(data)
    if keys is None:
        # Reported when the inputs are read, unless it looks like data of another tool.
        return all(f'"{key}"'.encode() in text for key in _MANIFEST_KEYS)
    return {fold(key) for key in keys}.issuperset(_MANIFEST_KEYS)


def _resolve_inside(path: Path, folder: Path) -> Path:
    # First, so that the error for a path outside is the same whether it exists or not.
    if not real_path(path).is_relative_to(real_path(folder)):
        raise InvalidFile("it cannot be read", why="it is a link to a path outside of its folder")
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise InvalidFile("it cannot be read", why="it is a broken link") from None
