"""The files of a scaffold: which ones there are, and their texts."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from render.app.scaffold.choices import Choices
from render.app.scaffold.files import File, check_way, writing
from render.app.scaffold.names import APPLICATION, job_name
from render.commands import as_path, shell
from render.names import dns_label
from render.system.files import LOCK_FILE
from render.views.templating import fill_template
from render.yaml.writer import format_document

CI_SERVERS = ("github", "gitlab")
PROMOTIONS = ("actions", "kargo", "gitops-promoter")
SAMPLE = "provider.yaml"

_BRANCH = "main"
# The names of files that `xplock check` may read.
_CHECKED = r"(\.ya?ml|\.json|\bKustomization)$"


class Piece(NamedTuple):
    """A file: its template, and its path from the project or, if it is shared, from the top of the repository."""

    template: str
    path: str
    # Other folders, and often other tools, have their parts in it.
    shared: bool = False
    # The key in a shared file below which all parts are.
    below: str = ""


_HOOKS = Piece("pre-commit", ".pre-commit-config.yaml", shared=True, below="repos")
_CI = {
    "github": Piece("github", ".github/workflows/xplock.yaml", shared=True, below="jobs"),
    "gitlab": Piece("gitlab", ".gitlab-ci.yml", shared=True),
}
_RENOVATE = Piece("renovate", "renovate.json", shared=True, below="packageRules")
_INSTALL = (
    Piece("kustomization", "kustomization.yaml"),
    Piece("plugin", "plugin.yaml"),
    Piece("repo-server", "repo-server.yaml"),
    Piece("health", "health/kustomization.yaml"),
    Piece("argocd-cm", "health/argocd-cm.yaml"),
)
_APPLICATION_SET = Piece("applicationset", "argocd/applicationset.yaml")
_CRON_JOB = Piece("cronjob", "argocd/cronjob.yaml")
_RESOURCES = Piece("resources", "argocd/kustomization.yaml")
# Those by which an install is known, whatever else is in its folder.
INSTALL_FILES = tuple(piece.path for piece in _INSTALL[:3])
_JSON = (_RENOVATE.template,)


class Extras(NamedTuple):
    """The files of a project that are written when asked for."""

    ci: str | None = None
    hydrate: bool = False
    renovate: bool = False
    cron_job: bool = False
    promote: str | None = None


def choose_pieces(extras: Extras | None = None, *, sample: bool, name: str = "") -> list[Piece]:
    """Return the files of a project with this name; the hydrator needs another Application."""
    wanted = extras or Extras()
    return [
        *([Piece("provider", SAMPLE)] if sample else []),
        Piece("hydrator" if wanted.hydrate else "application", APPLICATION),
        *([_CRON_JOB] if wanted.cron_job else []),
        _RESOURCES,
        _HOOKS,
        *([_CI[wanted.ci]] if wanted.ci else []),
        *([_RENOVATE] if wanted.renovate else []),
        *(_promotion(wanted.promote, name) if wanted.promote else []),
    ]


def _promotion(way: str, name: str) -> list[Piece]:
    """Return the files by which versions get here from another folder; a workflow of its own for each project."""
    if way == "kargo":
        return [Piece("kargo", "promotion/kargo.yaml")]
    if way == "actions":
        return [Piece("promote", f".github/workflows/xplock-promote-{name}.yaml", shared=True)]
    gate = Piece("gate", f".github/workflows/xplock-gate-{name}.yaml", shared=True)
    return [Piece("strategy", "promotion/strategy.yaml"), gate]


def choose_fleet(choices: Choices) -> list[Piece]:
    """Return the files for all projects below a folder: their Applications, and what locks them in several parts."""
    fleet = Piece("fleet", f".github/workflows/xplock-fleet-{choices.name}.yaml", shared=True)
    return [_APPLICATION_SET, *([_CRON_JOB, fleet] if choices.shards else []), _RESOURCES]


def choose_install(choices: Choices) -> list[Piece]:
    """Return the files that one Argo CD needs, however many folders it renders."""
    return [*_INSTALL, *([Piece("commit", "commit.yaml")] if choices.commit_to else [])]


def format_piece(template: str, choices: Choices, *, cron_job: bool = False, fleet: bool = False) -> str:
    """Fill a template; every value becomes one scalar."""
    suffix, write = ("json", json.dumps) if template in _JSON else ("yaml", _yaml)
    scalars: dict[str, object] = {key: write(value) for key, value in _values(choices).items()}
    lists = {
        "environments": list(map(write, choices.environments)),
        "parts": list(range(1, choices.shards + 1)),
    }
    flags = {
        "commits": bool(choices.commit_to),
        "cron_job": cron_job,
        "shards": choices.shards,
        "fleet": fleet,
    }
    return fill_template(f"init/{template}.{suffix}.j2", **flags, **lists, **scalars)


def format_file(piece: Piece, choices: Choices, *, cron_job: bool = False, fleet: bool = False) -> File:
    """Return the text of a file, and its part of a shared file."""
    text = format_piece(piece.template, choices, cron_job=cron_job, fleet=fleet)
    return File(text.encode(), _part(piece, text) if piece.shared else "", piece.below)


def place_files(pieces: Sequence[Piece], choices: Choices, project: Path, top: Path) -> dict[Path, File]:
    """Return every file by its path; raise if something on the way to it is not a folder."""
    files = {}
    cron_job, fleet = _CRON_JOB in pieces, _APPLICATION_SET in pieces
    for piece in pieces:
        base = top if piece.shared else project
        path = base / piece.path
        with writing(path):
            check_way(base, path)
        files[path] = format_file(piece, choices, cron_job=cron_job, fleet=fleet)
    return files


def _part(piece: Piece, text: str) -> str:
    if piece.template in _JSON:
        [rule] = json.loads(text)[piece.below]
        return f"{json.dumps(rule, indent=2)}\n"
    return text.partition(f"\n{piece.below}:\n")[2] if piece.below else text


def _yaml(value: str) -> str:
    return format_document(value).rstrip("\n")


def _values(choices: Choices) -> Mapping[str, str]:
    here = "" if choices.path == "." else f"{choices.path}/"
    origin = PurePosixPath(choices.origin)
    repository = PurePosixPath(urlsplit(choices.repository).path or "/").name.removesuffix(".git")
    return {
        "application": choices.name,
        "job": job_name(choices.name),
        "repository": choices.repository,
        "git_repository": dns_label(repository.lower()) or "repository",
        # Kubernetes replaces $(NAME) in commands and variables.
        "clone": choices.repository.replace("$", "$$"),
        "credential": f"credential.{choices.repository}.helper".replace("$", "$$"),
        "path": choices.path,
        "files": f"^{re.escape(here)}.*{_CHECKED}" if here else _CHECKED,
        "manifests": f"{here}*.{{yaml,yml}}",
        "lock_file": f"{here}{LOCK_FILE}",
        "lock_command": shell("xplock", "lock", as_path(choices.path)),
        "image": choices.image,
        "commit_to": f"{choices.repository}#{choices.commit_to or _BRANCH}".replace("$", "$$"),
        "rendered_branch": f"rendered/{choices.name}",
        # The hydrator owns all of the folder that it writes to, which cannot be the top.
        "rendered_path": choices.name if choices.path == "." else choices.path,
        "origin": choices.origin,
        "origin_name": dns_label(origin.name.lower()) or "origin",
        "origin_lock": str(origin / LOCK_FILE),
        "origin_branch": f"rendered/{dns_label(origin.name.lower()) or 'origin'}",
        "promotion_branch": f"xplock/promote-{choices.name}",
        "promote_group": f"{job_name(choices.name)}-promote",
        "fleet_group": f"{job_name(choices.name)}-fleet",
        "projects": f"{here}{'/'.join('*' * choices.depth)}",
        "own_folder": f"{here}argocd",
        "environment_label": f"{{{{ index .path.segments {here.count('/')} }}}}",
    }
