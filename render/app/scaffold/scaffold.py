"""Three scaffolds: what a project and its repository start with, what one Argo CD needs, and what many projects need."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from render.app.scaffold.choices import Choices, check_choices
from render.app.scaffold.files import ScaffoldReport, write_scaffold
from render.app.scaffold.names import choose_name, find_others, find_same
from render.app.scaffold.pieces import (
    INSTALL_FILES,
    SAMPLE,
    Extras,
    choose_fleet,
    choose_install,
    choose_pieces,
    place_files,
)
from render.app.scaffold.surroundings import Surroundings, choose, look_around
from render.commands import xplock
from render.errors import InvalidInput
from render.inputs.below import find_projects_below
from render.inputs.folders import list_kustomizations, list_yaml_files
from render.inputs.projects import read_settings
from render.limits import Limits
from render.settings import SETTINGS_FILE
from render.system.boundary import real_path
from render.system.files import is_folder, is_there


class NotForInstall(InvalidInput):
    """A folder whose files would become a part of the install, or would stop being read, with its kustomization."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(
            f"{folder} gets no install for Argo CD",
            why=f"it has {name}, and the kustomization of an install belongs to a folder of its own",
            next=xplock("init", "--argocd", folder=folder / "argocd"),
        )


def scaffold_project(
    folder: Path,
    given: Mapping[str, str | None],
    extras: Extras,
    limits: Limits,
    *,
    force: bool,
    dry_run: bool,
) -> ScaffoldReport:
    """Write the files of a project; values that are not given come from the repository, else from an example."""
    around = look_around(folder, limits)
    others = find_others(around.top, folder, limits)
    if extras.promote:
        given = {**given, "origin": _find_origin(given.get("origin"), around, folder)}
    usual = choose(around, given)
    same = find_same(usual.name, others)
    renamed = same is not None and given.get("name") is None
    if renamed:
        around = around._replace(name=choose_name(usual.name, around.path, others))
    choices = choose(around, given)
    check_choices(choices)
    # A sample in a folder with manifests would be installed beside them.
    sample = not (is_folder(folder) and list_yaml_files(folder, limits))
    pieces = choose_pieces(extras, sample=sample, name=choices.name)
    files = place_files(pieces, choices, folder, around.top)
    report = write_scaffold(files, force=force, dry_run=dry_run)
    left = report.left if sample else {folder / SAMPLE: "the folder has manifests already", **report.left}
    report = replace(report, left=left, choices=choices, knows_repository=around.url is not None)
    return replace(report, same_name=same, renamed=renamed)


def scaffold_install(
    folder: Path, given: Mapping[str, str | None], limits: Limits, *, force: bool, dry_run: bool
) -> ScaffoldReport:
    """Write the install for one Argo CD, which all folders share."""
    _refuse_other_files(folder, limits)
    around = look_around(folder, limits)
    # Neither the folder's name nor its path is in these files.
    choices = choose(around._replace(name=None, path="."), given)
    check_choices(choices)
    files = place_files(choose_install(choices), choices, folder, folder)
    report = write_scaffold(files, force=force, dry_run=dry_run)
    return replace(report, choices=choices, knows_repository=around.url is not None)


def scaffold_fleet(
    folder: Path,
    given: Mapping[str, str | None],
    limits: Limits,
    *,
    shards: int | None,
    force: bool,
    dry_run: bool,
) -> ScaffoldReport:
    """Write the files for all projects below a folder: their Applications, and what locks them in several parts."""
    around = look_around(folder, limits)
    below = [path for path in find_projects_below(folder, limits).projects if path != folder]
    depths = {len(path.relative_to(folder).parts) for path in below}
    if len(depths) > 1:
        raise UnevenFolders(folder, below)
    choices = replace(
        choose(around, given),
        depth=max(depths, default=1),
        environments=_find_environments(folder, below, limits),
        shards=shards or 0,
    )
    check_choices(choices)
    files = place_files(choose_fleet(choices), choices, folder, around.top)
    report = write_scaffold(files, force=force, dry_run=dry_run)
    return replace(report, choices=choices, knows_repository=around.url is not None)


class UnevenFolders(InvalidInput):
    """Project folders at different depths: one pattern cannot name all of them and nothing else."""

    def __init__(self, folder: Path, below: Sequence[Path]) -> None:
        least = min(below, key=lambda path: (len(path.parts), path))
        most = max(below, key=lambda path: (len(path.parts), path))
        super().__init__(
            f"{folder} gets no ApplicationSet",
            why=f"{most} is deeper below it than {least}, and no pattern is for both",
            next="move the projects to one depth, such as ENVIRONMENT/CLUSTER, or name a folder whose projects are",
        )


def _find_environments(folder: Path, below: Sequence[Path], limits: Limits) -> tuple[str, ...]:
    """Return the environments in their order, as settings of the folder name them, or else by their names."""
    named = read_settings(folder, limits).environments if is_there(folder / SETTINGS_FILE) else ()
    found = dict.fromkeys(path.relative_to(folder).parts[0] for path in below)
    return tuple(named or found or Choices().environments)


class UnknownOrigin(InvalidInput):
    """A promotion from nowhere."""


def _find_origin(given: str | None, around: Surroundings, folder: Path) -> str:
    """Return the path of the folder that versions are promoted from, from the top of the repository."""
    if given is None:
        raise UnknownOrigin(
            f"{folder} gets no promotion",
            why="it has to be known which folder its versions come from",
            next="name that folder: --promote-from clusters/staging",
        )
    path = Path(os.path.relpath(real_path(Path(given)), real_path(around.top))).as_posix()
    if not is_folder(Path(given)) or path.startswith("../"):
        raise UnknownOrigin(
            f"versions are not promoted from {given}",
            why="it is not a folder of this repository",
            next="name one, as it is called from here: --promote-from DIR",
        )
    return path


def _refuse_other_files(folder: Path, limits: Limits) -> None:
    """Raise for a folder with other manifests; an earlier install can be written again, and may have more files."""
    if not is_folder(folder) or all(is_there(folder / name) for name in INSTALL_FILES):
        return
    kustomizations = [path.name for path in list_kustomizations(folder)]
    found = [*kustomizations, *list_yaml_files(folder, limits)]
    if found:
        raise NotForInstall(folder, found[0])
