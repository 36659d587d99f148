"""Objects → a folder: one file for each object and a kustomization that lists them; other people's files stay.

At every moment the folder builds to the old objects or to the new ones, or it cannot be built: a kustomization that
fails to build is in place while more than one file changes. So an interrupted run never leaves a mixture that builds.
"""

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.manifests.identity import Identity, identify
from render.manifests.text import format_yaml
from render.system.files import open_plain, read_plain
from render.yaml.documents import file_rules, parse_documents
from render.yaml.writer import format_document

KUSTOMIZATION = "kustomization.yaml"

_UNSAFE = re.compile(r"[^a-z0-9.-]+")
# Some file systems stop at 143 bytes, most at 255.
_LONGEST = 120
_HASH_DIGITS = 16


def name_files(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a file name for each object: its shortest possible name that no other object may also have."""
    options = [_possible_names(identify(value)) for value in objects]
    uses = Counter(name for names in options for name in set(names))
    uses[KUSTOMIZATION] += 1
    return [next((name for name in names if uses[name] == 1), names[-1]) for names in options]


def _possible_names(identity: Identity) -> tuple[str, str, str]:
    group, kind, namespace, name = identity
    mark = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:_HASH_DIGITS]
    short, grouped = _safe(kind, namespace, name), _safe(kind, group, namespace, name)
    return _bounded(short, mark), _bounded(grouped, mark), _marked(short, mark)


def _safe(*parts: str) -> str:
    # In lower case, since some file systems ignore case.
    text = "-".join(part for part in parts if part).lower()
    return _UNSAFE.sub("-", text).strip("-.") or "object"


def _bounded(text: str, mark: str) -> str:
    return f"{text}.yaml" if len(text) <= _LONGEST else _marked(text, mark)


def _marked(text: str, mark: str) -> str:
    return f"{text[: _LONGEST - len(mark) - 1]}-{mark}.yaml"


# The first line of every file. A file without it is not ours.
HEADER = "# Written by xplock render. Changes to this file are lost.\n"
_OURS = HEADER.encode()
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\.yaml")
_STAGING = re.compile(r"\.xplock-[0-9a-f]{16}")
_STAGING_SECONDS = 60
# A resource that never exists, so that no kustomize builds a folder whose kustomization lists it. Its name is part of
# the error that kustomize prints. No object's file has a slash in its name.
_NOT_BUILDABLE = ".xplock-incomplete/run-xplock-render-again"


class ForeignFolder(InvalidInput):
    """A folder with files that xplock did not write."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(
            f"{folder} is not written to",
            why=why,
            next="name a new folder, an empty one, or one that xplock render wrote",
        )


class ForeignFile(InvalidInput):
    """A file that xplock would replace, but did not write."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is not replaced", why=why, next="move it elsewhere, or name another folder")


class UnnamedObject(InvalidInput):
    """An object whose name the API server generates; kustomize rejects such objects."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"a {kind} cannot be written to a file of its own",
            why="it has no metadata.name, and kustomize rejects objects without one",
            next="give it a name",
        )


@dataclass(frozen=True, slots=True)
class FolderReport:
    """The names of all files that were written, left unchanged, or removed."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def write_folder(folder: Path, objects: Sequence[Mapping[str, Any]], limits: Limits) -> FolderReport:
    """Write these objects to a folder and remove those of earlier runs; all checks come before the first change."""
    files = format_files(objects)
    with _translate_errors(folder), _exclusive(folder):
        listed = _read_listed(folder, limits)
        written = {name: data for name, data in files.items() if not _is_unchanged(folder / name, data)}
        removed = sorted(name for name in listed - files.keys() if _is_ours(folder / name))
        _change(folder, _plan_steps(written, removed, listed, files[KUSTOMIZATION]))
    unchanged = tuple(name for name in files if name not in written)
    return FolderReport(tuple(written), unchanged, tuple(removed))


def format_files(objects: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the bytes of every file by name, the kustomization first."""
    for value in objects:
        if not identify(value)[3]:
            raise UnnamedObject(str(value.get("kind")))
    names = name_files(objects)
    texts = {name: format_yaml([value]) for name, value in zip(names, objects, strict=True)}
    files = {name: f"{HEADER}{text}".encode() for name, text in texts.items()}
    return {KUSTOMIZATION: _format_kustomization(names), **files}


def _format_kustomization(names: Sequence[str]) -> bytes:
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        # Otherwise kustomize sorts by kind, and packages would come before their pins.
        "sortOptions": {"order": "fifo"},
        "resources": names,
    }
    return f"{HEADER}---\n{format_document(document)}".encode()


def _read_listed(folder: Path, limits: Limits) -> set[str]:
    """Return the names of the files that an earlier run wrote; raise if the folder is not ours."""
    if all(_STAGING.fullmatch(path.name) for path in folder.iterdir()):
        return set()
    path = folder / KUSTOMIZATION
    if not path.is_symlink() and not path.exists():
        raise ForeignFolder(folder, f"it is not empty, and has no {KUSTOMIZATION}")
    if not _is_ours(path):
        raise ForeignFolder(folder, f"its {KUSTOMIZATION} was not written by xplock render")
    return _parse_listed(path, limits)


def _parse_listed(path: Path, limits: Limits) -> set[str]:
    data = read_plain(path, limits.file_bytes)
    if data is None:
        raise LimitExceeded(f"{path} is too large", "file_bytes", limits)
    try:
        [document] = parse_documents(data, file_rules(limits))
        resources = document["resources"]
        return {name for name in resources if isinstance(name, str) and _PLAIN_NAME.fullmatch(name)}
    except (RenderError, ValueError, LookupError, TypeError):
        raise ForeignFile(path, "it was changed, so the files that belong to it are unknown") from None


def _is_unchanged(path: Path, data: bytes) -> bool:
    """Return whether a file already has these bytes; raise if it is not ours."""
    start = _read_start(path, len(data) + 1)
    if start is None:
        return False
    if not start.startswith(_OURS):
        raise ForeignFile(path, "it was not written by xplock render")
    return start == data


def _is_ours(path: Path) -> bool:
    start = _read_start(path, len(_OURS))
    return start == _OURS


def _read_start(path: Path, size: int) -> bytes | None:
    if path.is_symlink():
        raise ForeignFile(path, "it is a symbolic link")
    if not path.exists():
        return None
    if not path.is_file():
        raise ForeignFile(path, "it is not a plain file")
    with open_plain(path) as file:
        return file.read(size)


def _change(folder: Path, steps: Sequence[tuple[str, bytes | None]]) -> None:
    """Write all files to a staging folder first: most errors happen there and leave the folder as it was."""
    if not steps:
        return
    with _staging(folder) as staged:
        for number, (_, data) in enumerate(steps):
            if data is not None:
                (staged / str(number)).write_bytes(data)
        for number, (name, data) in enumerate(steps):
            if data is None:
                (folder / name).unlink()
            else:
                (staged / str(number)).replace(folder / name)
    _remove_old_staging(folder)


def _plan_steps(
    written: Mapping[str, bytes], removed: Sequence[str], listed: set[str], kustomization: bytes
) -> list[tuple[str, bytes | None]]:
    """Return the changes in order, each a name and its new bytes; None removes the file."""
    if len(written) + len(removed) <= 1:
        return list(written.items())
    objects = [(name, data) for name, data in written.items() if name != KUSTOMIZATION]
    # It lists the files before and after the change, so that the next run knows all of them.
    names = sorted(listed.union(name for name, _ in objects))
    return [
        (KUSTOMIZATION, _format_kustomization([*names, _NOT_BUILDABLE])),
        *((name, None) for name in removed),
        *objects,
        (KUSTOMIZATION, kustomization),
    ]


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Make the folder, and let no other run write to it meanwhile; an error removes the folders that were made."""
    if folder.is_symlink():
        raise ForeignFolder(folder, "it is a symbolic link")
    if folder.exists() and not folder.is_dir():
        raise ForeignFolder(folder, "it is not a folder")
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Some network file systems cannot lock a folder; there two runs at once stay unprotected.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    staged = folder / f".xplock-{os.urandom(8).hex()}"
    try:
        staged.mkdir()
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _remove_old_staging(folder: Path) -> None:
    """Remove the staging folders of killed runs; a minute is longer than any run needs."""
    for path in folder.iterdir():
        with suppress(OSError):
            if _STAGING.fullmatch(path.name) and time.time() - path.lstat().st_mtime > _STAGING_SECONDS:
                shutil.rmtree(path)


@contextmanager
def _translate_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RenderError(
            f"{folder} cannot be written",
            why=os.strerror(error.errno or 0).lower(),
            next="check the folder, then run it again",
        ) from None
