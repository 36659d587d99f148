"""The folder that a cluster is adopted into: new, or with manifests, settings and a lock of its own."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from render.app.adopting.choices import AdoptChoices
from render.app.operator_settings import OperatorSettings
from render.errors import InvalidInput, RenderError
from render.inputs.folders import list_kustomizations
from render.inputs.projects import Edits, Inputs, NothingAsked, read_inputs, read_settings
from render.lifecycle.update import CurrentLock, read_current
from render.limits import Limits
from render.lock.model import Lock, State
from render.references import Source
from render.rewrites import Rewrite
from render.settings import SETTINGS_FILE, Settings
from render.system.files import InvalidFile, is_folder, is_there, make_folder, read_plain, replace_file


class KustomizationThere(InvalidInput):
    """A folder whose inputs a kustomization makes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has a kustomization",
            why="only what it lists is read, so new files would have no effect",
            next="adopt into another folder, and list that one in the kustomization of the cluster",
        )


class FileThere(InvalidInput):
    """A file in the way."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__(
            f"{paths[0]} exists, and has other contents",
            why=[f"{path} would be replaced" for path in paths[1:]] or "files that exist are not replaced",
            next="move it away, adopt into another folder, or replace it with --force",
        )


class SettingsThere(InvalidInput):
    """A --pin for a folder that has settings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has settings or a lock, which decide how it pins",
            why="--pin is for a new folder",
            next=f"leave out --pin; set pin in {folder / SETTINGS_FILE}, and adopt after that",
        )


@dataclass(frozen=True, slots=True)
class TargetFolder:
    """The folder before anything is written."""

    path: Path
    limits: Limits
    # The sources that its own inputs ask for, the objects that they hold, and its lock.
    sources: Collection[Source]
    passthrough: Collection[tuple[str, str]]
    current: CurrentLock
    # Whether it has settings or a lock, which decide how it pins.
    is_configured: bool
    settings: Settings = field(default_factory=Settings)
    rewrites: tuple[Rewrite, ...] = ()

    @property
    def installed(self) -> set[tuple[str, str]]:
        """The package objects of its lock."""
        return {(str(one.kind), one.object_name) for one in self.current.lock.installed()}

    @property
    def locked(self) -> set[Source]:
        """The sources, as its cluster knows them, that its lock has."""
        return {one.cluster_source for one in self.current.lock.packages.values()}

    @property
    def leaving(self) -> set[Source]:
        """The sources of packages that its lock keeps until they are retired."""
        lock = self.current.lock
        off = {one.cluster_source for one in lock.deactivated.values()}
        return off | {one.cluster_source for one in lock.packages.values() if one.state is not State.WANTED}

    def has(self, kind: str, name: str) -> bool:
        """Return whether the folder has a manifest of an object."""
        return (kind, name) in self.passthrough

    def read(self, name: str) -> bytes | None:
        """Return a file of the folder; None if it is not there."""
        path = self.path / name
        return read_plain(path, self.limits.lock_bytes) if is_there(path) else None

    def inputs_for_fetching(self, rewrites: Iterable[tuple[str, str]]) -> Inputs:
        """Return all that matters for fetching: the settings, and the rewrites of the folder and of the cluster."""
        known = {rewrite.prefix for rewrite in self.rewrites}
        more = [Rewrite(*pair, "the cluster") for pair in rewrites if pair[0] not in known]
        return Inputs(self.path, (), self.settings, (*self.rewrites, *more), (), {})

    def inputs(self, files: Mapping[str, bytes], operator: OperatorSettings) -> Inputs:
        """Return what the folder asks for with more files in it."""
        return read_inputs(self.path, self.limits, operator.environ, operator.boundary, Edits(files=files))


def read_target(choices: AdoptChoices, operator: OperatorSettings) -> TargetFolder:
    """Read the folder that a cluster is adopted into."""
    path, limits = choices.folder, operator.limits
    if path.is_symlink() or (is_there(path) and not is_folder(path)):
        raise InvalidFile(f"{path} is not written", why="it is not a folder", next="name another one")
    if not is_folder(path):
        return TargetFolder(path, limits, (), (), CurrentLock(Lock()), is_configured=False)
    if list_kustomizations(path):
        raise KustomizationThere(path)
    current = read_current(path, limits, new=False)
    configured = bool(current.lock.inputs) or is_there(path / SETTINGS_FILE)
    if configured and choices.pin:
        raise SettingsThere(path)
    try:
        inputs = read_inputs(path, limits, operator.environ, operator.boundary)
    except NothingAsked:
        settings = read_settings(path, limits, operator.boundary)
        return TargetFolder(path, limits, (), (), current, configured, settings, settings.rewrites)
    objects = {(str(one.get("kind")), str(one["metadata"].get("name"))) for one in inputs.passthrough}
    return TargetFolder(
        path,
        limits,
        {root.source for root in inputs.roots},
        objects,
        current,
        configured,
        inputs.settings,
        inputs.rewrites,
    )


def check_files(folder: Path, files: Iterable[str], *, replaced: Collection[str], force: bool) -> None:
    """Raise for files that exist with other contents, but for some that are replaced; not with force."""
    blocked = [folder / name for name in files if is_there(folder / name) and name not in replaced]
    if blocked and not force:
        raise FileThere(blocked)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, all or none."""
    there = [folder / name for name in files if is_there(folder / name)]
    made: list[Path] = []
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    old = {path: path.read_bytes() for path in there}
    try:
        make_folder(folder)
        for name, data in files.items():
            path = folder / name
            replace_file(path, data)
            made.append(path)
    except BaseException:
        _undo(made, old, created)
        raise


def _undo(made: list[Path], old: Mapping[Path, bytes], created: list[Path]) -> None:
    for path in made:
        with suppress(OSError, RenderError):
            if path in old:
                replace_file(path, old[path])
            else:
                path.unlink()
    for folder in created:
        with suppress(OSError):
            folder.rmdir()
