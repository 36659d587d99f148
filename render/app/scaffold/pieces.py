"""The files of a scaffold: which ones there are, and their texts."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from render.app.scaffold.choices import Choices
from render.app.scaffold.files import File, check_way, writing
from render.app.scaffold.names import APPLICATION, job_name
from render.commands import as_path, shell
from render.system.files import LOCK_FILE
from render.views.templating import fill_template
from render.yaml.writer import format_document

CI_SERVERS = ("github", "gitlab")
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
# Those by which an install is known, whatever else is in its folder.
INSTALL_FILES = tuple(piece.path for piece in _INSTALL[:3])
_JSON = (_RENOVATE.template,)


class Extras(NamedTuple):
    """The files of a project that are written when asked for."""

    ci: str | None = None
    hydrate: bool = False
    renovate: bool = False
    cron_job: bool = False


def choose_pieces(extras: Extras | None = None, *, sample: bool) -> list[Piece]:
    """Return the files of a project; the hydrator needs another Application."""
    wanted = extras or Extras()
    return [
        *([Piece("provider", SAMPLE)] if sample else []),
        Piece("hydrator" if wanted.hydrate else "application", APPLICATION),
        *([Piece("cronjob", "argocd/cronjob.yaml")] if wanted.cron_job else []),
        Piece("resources", "argocd/kustomization.yaml"),
        _HOOKS,
        *([_CI[wanted.ci]] if wanted.ci else []),
        *([_RENOVATE] if wanted.renovate else []),
    ]


def choose_install(choices: Choices) -> list[Piece]:
    """Return the files that one Argo CD needs, however many folders it renders."""
    return [*_INSTALL, *([Piece("commit", "commit.yaml")] if choices.commit_to else [])]


def format_piece(template: str, choices: Choices, *, cron_job: bool = False) -> str:
    """Fill a template; every value becomes one scalar."""
    suffix, write = ("json", json.dumps) if template in _JSON else ("yaml", _yaml)
    scalars = {key: write(value) for key, value in _values(choices).items()}
    flags = {"commits": bool(choices.commit_to), "cron_job": cron_job}
    return fill_template(f"init/{template}.{suffix}.j2", **flags, **scalars)


def format_file(piece: Piece, choices: Choices, *, cron_job: bool = False) -> File:
    """Return the text of a file, and its part of a shared file."""
    text = format_piece(piece.template, choices, cron_job=cron_job)
    return File(text.encode(), _part(piece, text) if piece.shared else "", piece.below)


def place_files(
    pieces: Sequence[Piece], choices: Choices, project: Path, top: Path, *, cron_job: bool = False
) -> dict[Path, File]:
    """Return every file by its path; raise if something on the way to it is not a folder."""
    files = {}
    for piece in pieces:
        base = top if piece.shared else project
        path = base / piece.path
        with writing(path):
            check_way(base, path)
        files[path] = format_file(piece, choices, cron_job=cron_job)
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
    return {
        "application": choices.name,
        "job": job_name(choices.name),
        "repository": choices.repository,
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
    }
