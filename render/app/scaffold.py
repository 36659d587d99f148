"""A scaffold: the files that a project, its repository and its Argo CD start with."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from render import __version__
from render.errors import InvalidInput, RenderError
from render.git.failures import GitMissing, NotARepository
from render.git.names import check_branch
from render.git.repository import Repository, locate_folder
from render.git.temporary import InvalidUrl, check_url
from render.inputs.folders import list_yaml_files
from render.limits import Limits
from render.names import dns_label, is_dns_label
from render.references import parse_reference
from render.system.files import InvalidFile, is_folder, read_plain, replace_file
from render.views.templating import fill_template
from render.yaml.writer import format_document

CI_SERVERS = ("github", "gitlab")
SAMPLE = "provider.yaml"

_BRANCH = "main"
# In XPLOCK_COMMIT_TO these separate entries, match anything, and begin the branch.
_UNLISTABLE = re.compile(r"[,*#]")
_SHARED = "is shared with others"
# Shells, CI servers and Kubernetes all have characters that they replace; a path that needs none of them is safe in each.
_PART = re.compile(r"(?!-)[\w.@+=,~-]+(?: [\w.@+=,~-]+)*")
# The longest name of a CronJob, the shortest limit of all jobs.
_LONGEST_JOB = 52
# The names of files that `xplock check` may read.
_CHECKED = r"(\.ya?ml|\.json|\bKustomization)$"


class InvalidChoice(InvalidInput):
    """A name or a path cannot be written into every file of a scaffold."""

    def __init__(self, what: str, text: str, why: str, option: str) -> None:
        super().__init__(f"{text!r} is not used as {what}", why=why, next=f"name another one: {option}")


@dataclass(frozen=True, slots=True)
class Choices:
    """The values in the files: the Application's name, where the folder is, xplock's image, and the branch for locks."""

    name: str = "production"
    repository: str = "https://git.example.org/acme/platform.git"
    path: str = "clusters/production"
    image: str = f"registry.example.org/xplock:{__version__}"
    # The branch that the plugin may commit locks to, if any.
    commit_to: str | None = None


class Piece(NamedTuple):
    """A file: its template, and its path from the project or, if it is shared, from the top of the repository."""

    template: str
    path: str
    # Other folders, and often other tools, have their parts in it.
    shared: bool = False
    # The key in a shared file below which all parts are.
    below: str = ""


class File(NamedTuple):
    """The bytes of a file; for a shared file also the part that belongs into an existing one, and below which key."""

    data: bytes
    part: str = ""
    below: str = ""


_PIECES = (
    Piece("argocd-cm", "argocd/argocd-cm.yaml"),
    Piece("cronjob", "argocd/cronjob.yaml"),
    Piece("kustomization", "argocd/kustomization.yaml"),
    Piece("plugin", "argocd/plugin.yaml"),
    Piece("repo-server", "argocd/repo-server.yaml"),
    Piece("pre-commit", ".pre-commit-config.yaml", shared=True, below="repos"),
)
_CI = {
    "github": Piece("github", ".github/workflows/xplock.yaml", shared=True, below="jobs"),
    "gitlab": Piece("gitlab", ".gitlab-ci.yml", shared=True),
}


class _Surroundings(NamedTuple):
    """The repository that a folder is in: its top, the folder's path from there and name, and the remote's URL."""

    top: Path
    path: str
    name: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class ScaffoldReport:
    """The files that were written, those left as they are with the reason, and those that lack our part."""

    written: tuple[Path, ...]
    left: Mapping[Path, str]
    lacking: Mapping[Path, File]
    choices: Choices = Choices()
    # Whether git has a remote whose URL others can use.
    knows_repository: bool = False


def scaffold(
    folder: Path,
    given: Mapping[str, str | None],
    limits: Limits,
    *,
    ci: str | None,
    hydrate: bool,
    force: bool,
    dry_run: bool,
) -> ScaffoldReport:
    """Write the files of a scaffold; values that are not given come from the repository, else from an example."""
    around = _look_around(folder, limits)
    choices = _choose(around, given)
    check_choices(choices)
    # A sample in a folder with manifests would be installed beside them.
    sample = not (is_folder(folder) and list_yaml_files(folder, limits))
    pieces = choose_pieces(choices, ci, sample=sample, hydrate=hydrate)
    files = place_files(pieces, choices, folder, around.top)
    report = write_scaffold(files, force=force, dry_run=dry_run)
    left = report.left if sample else {folder / SAMPLE: "the folder has manifests already", **report.left}
    return replace(report, left=left, choices=choices, knows_repository=around.url is not None)


def check_choices(choices: Choices) -> None:
    """Raise for values that would not work, or would mean something else, in one of the files."""
    if not is_dns_label(choices.name):
        why = "an Application has small letters, digits and dashes in its name, 63 at most"
        raise InvalidChoice("a name", choices.name, why, "--name NAME")
    parts = PurePosixPath(choices.path).parts
    if ".." in parts or not all(map(_PART.fullmatch, parts)):
        why = "it leads out of the repository, or has characters that a shell would replace"
        raise InvalidChoice("a path", choices.path, why, "--path PATH")
    check_url(choices.repository)
    parse_reference(choices.image)
    if choices.commit_to is not None:
        check_branch(choices.commit_to)
        listed = _UNLISTABLE.search(choices.repository + choices.commit_to)
        if listed:
            why = f"{listed[0]!r} has a meaning of its own in XPLOCK_COMMIT_TO"
            raise InvalidChoice("a branch to commit to", choices.commit_to, why, "--commit-to BRANCH")


def choose_pieces(
    choices: Choices, ci: str | None = None, *, sample: bool, hydrate: bool = False
) -> list[Piece]:
    """Return the files of a scaffold; a CI server adds one, and the hydrator needs another Application."""
    return [
        *([Piece("provider", SAMPLE)] if sample else []),
        Piece("hydrator" if hydrate else "application", "argocd/application.yaml"),
        *([Piece("commit", "argocd/commit.yaml")] if choices.commit_to else []),
        *_PIECES,
        *([_CI[ci]] if ci else []),
    ]


def format_piece(template: str, choices: Choices) -> str:
    """Fill a template; every value becomes one YAML scalar."""
    values = {
        "application": choices.name,
        "job": f"xplock-{choices.name}"[:_LONGEST_JOB].rstrip("-"),
        "repository": choices.repository,
        # Kubernetes replaces $(NAME) in commands and variables.
        "clone": choices.repository.replace("$", "$$"),
        "credential": f"credential.{choices.repository}.helper".replace("$", "$$"),
        "path": choices.path,
        "files": _CHECKED if choices.path == "." else f"^{re.escape(choices.path)}/.*{_CHECKED}",
        "image": choices.image,
        "commit_to": f"{choices.repository}#{choices.commit_to or _BRANCH}".replace("$", "$$"),
        "rendered_branch": f"rendered/{choices.name}",
        # The hydrator owns all of the folder that it writes to, which cannot be the top.
        "rendered_path": choices.name if choices.path == "." else choices.path,
    }
    scalars = {key: format_document(value).rstrip("\n") for key, value in values.items()}
    return fill_template(f"init/{template}.yaml.j2", commits=bool(choices.commit_to), **scalars)


def format_file(piece: Piece, choices: Choices) -> File:
    """Return the text of a file, and its part of a shared file."""
    text = format_piece(piece.template, choices)
    part = text.partition(f"\n{piece.below}:\n")[2] if piece.below else text
    return File(text.encode(), part if piece.shared else "", piece.below)


def place_files(pieces: Sequence[Piece], choices: Choices, project: Path, top: Path) -> dict[Path, File]:
    """Return every file by its path; raise if something on the way to it is not a folder."""
    files = {}
    for piece in pieces:
        base = top if piece.shared else project
        path = base / piece.path
        with _writing(path):
            _refuse_links(base, path)
        files[path] = format_file(piece, choices)
    return files


def write_scaffold(files: Mapping[Path, File], *, force: bool, dry_run: bool) -> ScaffoldReport:
    """Write the files that do not exist; with force, also those that differ and are not shared."""
    left = {path: why for path, file in files.items() if (why := _reason_to_leave(path, file, force=force))}
    written = tuple(path for path in files if path not in left)
    lacking = {path: files[path] for path, why in left.items() if why == _SHARED}
    for path in () if dry_run else written:
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, files[path].data)
    return ScaffoldReport(written, left, lacking)


def _reason_to_leave(path: Path, file: File, *, force: bool) -> str:
    if not path.exists():
        return ""
    if _holds(path, file.data):
        return "is the same"
    if file.part:
        return _SHARED
    return "" if force else "exists already"


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_plain(path, len(data)) == data
    except InvalidFile:
        # It may not be read, so it counts as different.
        return False


def _refuse_links(base: Path, path: Path) -> None:
    """Raise for a link on the way, which may lead out of the repository."""
    for step in (base / part for part in path.relative_to(base).parents if part != Path()):
        if step.is_symlink() or (step.exists() and not step.is_dir()):
            raise InvalidFile(
                f"{path} is not written", why=f"{step} is not a folder", next="move it elsewhere"
            )
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidFile(f"{path} is not written", why="it is not a plain file", next="move it elsewhere")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RenderError(
            f"{path} cannot be written", why=os.strerror(error.errno or 0).lower(), next="check the folder"
        ) from None


def _look_around(folder: Path, limits: Limits) -> _Surroundings:
    here = Path(os.path.realpath(folder))
    # The folder need not exist yet.
    existing = next(path for path in (here, *here.parents) if is_folder(path))
    name = dns_label(here.name.lower()) or None
    try:
        repository = locate_folder(existing, limits).repository
    except (NotARepository, GitMissing):
        return _Surroundings(folder, ".", name, None)
    path = here.relative_to(repository.root).as_posix()
    return _Surroundings(Path(os.path.relpath(repository.root)), path, name, _find_url(repository))


def _find_url(repository: Repository) -> str | None:
    """Return the URL of the remote if others can use it, without user name and password."""
    answer = repository.ask("config", "--get", "remote.origin.url")
    url = answer.output.decode(errors="replace").strip()
    try:
        parts = urlsplit(url)
        if parts.scheme == "https":
            url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        check_url(url)
    except (InvalidUrl, ValueError):
        return None
    return url


def _choose(around: _Surroundings, given: Mapping[str, str | None]) -> Choices:
    """Return the values that were given, else found, else those of the example."""
    found = {"name": around.name, "repository": around.url, "path": around.path}
    known = [*found.items(), *given.items()]
    choices = replace(Choices(), **{key: value for key, value in known if value is not None})
    return replace(choices, path=PurePosixPath(choices.path).as_posix())
