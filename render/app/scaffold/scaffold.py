"""Two scaffolds: what a project and its repository start with, and what one Argo CD needs."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from render.app.scaffold.choices import check_choices
from render.app.scaffold.files import ScaffoldReport, write_scaffold
from render.app.scaffold.names import choose_name, find_others, find_same
from render.app.scaffold.pieces import (
    INSTALL_FILES,
    SAMPLE,
    Extras,
    choose_install,
    choose_pieces,
    place_files,
)
from render.app.scaffold.surroundings import choose, look_around
from render.commands import xplock
from render.errors import InvalidInput
from render.inputs.folders import list_kustomizations, list_yaml_files
from render.limits import Limits
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
    usual = choose(around, given)
    same = find_same(usual.name, others)
    renamed = same is not None and given.get("name") is None
    if renamed:
        around = around._replace(name=choose_name(usual.name, around.path, others))
    choices = choose(around, given)
    check_choices(choices)
    # A sample in a folder with manifests would be installed beside them.
    sample = not (is_folder(folder) and list_yaml_files(folder, limits))
    pieces = choose_pieces(extras, sample=sample)
    files = place_files(pieces, choices, folder, around.top, cron_job=extras.cron_job)
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


def _refuse_other_files(folder: Path, limits: Limits) -> None:
    """Raise for a folder with other manifests; an earlier install can be written again, and may have more files."""
    if not is_folder(folder) or all(is_there(folder / name) for name in INSTALL_FILES):
        return
    kustomizations = [path.name for path in list_kustomizations(folder)]
    found = [*kustomizations, *list_yaml_files(folder, limits)]
    if found:
        raise NotForInstall(folder, found[0])
