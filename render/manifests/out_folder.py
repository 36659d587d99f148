"""Objects → a folder: one file each and a kustomization that lists them; nothing but our own files is touched."""

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
    """Return a name for each object: the shortest one that no other object could have, too."""
    offers = [_offer_names(identify(value)) for value in objects]
    wanted = Counter(name for names in offers for name in set(names))
    wanted[KUSTOMIZATION] += 1
    return [next((name for name in names if wanted[name] == 1), names[-1]) for names in offers]


def _offer_names(identity: Identity) -> tuple[str, str, str]:
    group, kind, namespace, name = identity
    mark = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:_HASH_DIGITS]
    short, grouped = _safe(kind, namespace, name), _safe(kind, group, namespace, name)
    return _bounded(short, mark), _bounded(grouped, mark), _marked(short, mark)


def _safe(*parts: str) -> str:
    # In lower case, since some file systems take two names for one that differ only in that.
    text = "-".join(part for part in parts if part).lower()
    return _UNSAFE.sub("-", text).strip("-.") or "object"


def _bounded(text: str, mark: str) -> str:
    return f"{text}.yaml" if len(text) <= _LONGEST else _marked(text, mark)


def _marked(text: str, mark: str) -> str:
    return f"{text[: _LONGEST - len(mark) - 1]}-{mark}.yaml"


# The first line of every file: what starts otherwise is not ours.
HEADER = "# Written by xplock render. Changes to this file are lost.\n"
_OURS = HEADER.encode()
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\.yaml")
_STAGING = re.compile(r"\.xplock-[0-9a-f]{16}")
_STAGING_SECONDS = 60


class ForeignFolder(InvalidInput):
    """A folder that somebody else filled."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(
            f"{folder} is not written to",
            why=why,
            next="name a new folder, an empty one, or one that render made",
        )


class ForeignFile(InvalidInput):
    """Something in a file's place that render did not put there."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is not replaced", why=why, next="move it elsewhere, or name another folder")


class UnnamedObject(InvalidInput):
    """An object that has its name from the API server; kustomize takes none of those."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"a {kind} cannot be written to a file of its own",
            why="it has no metadata.name, and kustomize takes no object without one",
            next="give it a name",
        )


@dataclass(frozen=True, slots=True)
class FolderReport:
    """The names of files, by what became of them."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def write_folder(folder: Path, objects: Sequence[Mapping[str, Any]], limits: Limits) -> FolderReport:
    """Make a folder hold these objects; whatever is wrong is found out before anything changes."""
    files = format_files(objects)
    with _told(folder):
        listed = _read_listed(folder, limits)
        written = {name: data for name, data in files.items() if not _is_unchanged(folder / name, data)}
        removed = sorted(name for name in listed - files.keys() if _is_ours(folder / name))
        _change(folder, written, removed)
    unchanged = tuple(name for name in files if name not in written)
    return FolderReport(tuple(written), unchanged, tuple(removed))


def format_files(objects: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the bytes of every file by its name; the kustomization comes first."""
    for value in objects:
        if not identify(value)[3]:
            raise UnnamedObject(str(value.get("kind")))
    names = name_files(objects)
    texts = {KUSTOMIZATION: _format_kustomization(names)}
    texts |= {name: format_yaml([value]) for name, value in zip(names, objects, strict=True)}
    return {name: f"{HEADER}{text}".encode() for name, text in texts.items()}


def _format_kustomization(names: Sequence[str]) -> str:
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        # Otherwise kustomize sorts by kind, and packages would come before their pins.
        "sortOptions": {"order": "fifo"},
        "resources": names,
    }
    return f"---\n{format_document(document)}"


def _read_listed(folder: Path, limits: Limits) -> set[str]:
    """Return the names of the files that an earlier run wrote; a folder of anybody else's is refused."""
    if folder.is_symlink():
        raise ForeignFolder(folder, "it is a symbolic link")
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise ForeignFolder(folder, "it is not a folder")
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
        raise ForeignFile(path, "it was changed, so nobody can tell which files belong to it") from None


def _is_unchanged(path: Path, data: bytes) -> bool:
    """Tell whether a file has these bytes already; what is not ours is refused."""
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


def _change(folder: Path, files: Mapping[str, bytes], removed: Sequence[str]) -> None:
    """Write everything beside its place first: what can fail fails there, and leaves the folder as it was."""
    if not files and not removed:
        return
    with _staging(folder) as staged:
        for name, data in files.items():
            (staged / name).write_bytes(data)
        # The list changes before the files, and after those that it no longer names: whenever we are
        # stopped, every file of ours is on it, and the next run goes on from there.
        for name in removed:
            (folder / name).unlink()
        for name in files:
            (staged / name).replace(folder / name)
    _sweep(folder)


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    staged = folder / f".xplock-{os.urandom(8).hex()}"
    try:
        staged.mkdir(parents=True)
        yield staged
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise
    shutil.rmtree(staged, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed runs left; whoever writes right now needs less than a minute."""
    for path in folder.iterdir():
        with suppress(OSError):
            if _STAGING.fullmatch(path.name) and time.time() - path.lstat().st_mtime > _STAGING_SECONDS:
                shutil.rmtree(path)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RenderError(
            f"{folder} cannot be written", why=os.strerror(error.errno or 0).lower(), next="check the folder"
        ) from None
