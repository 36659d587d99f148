"""A scaffold: the files that a project, its repository and its Argo CD start with."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from render import __version__
from render.errors import InvalidInput, RenderError
from render.files import InvalidFile, read_plain, replace_file
from render.git.temporary import check_url
from render.references import parse_reference
from render.templating import fill_template
from render.yaml_text import format_document

CI_SERVERS = ("github", "gitlab")
SAMPLE = "provider.yaml"

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Shells, CI servers and Kubernetes all have characters that they replace; a path that needs none of them is safe in each.
_PART = re.compile(r"(?!-)[\w.@+=,~-]+(?: [\w.@+=,~-]+)*")
_LONGEST_CRONJOB = 52


class InvalidChoice(InvalidInput):
    """A name or a path that cannot be written into every file of a scaffold."""

    def __init__(self, what: str, text: str, why: str, option: str) -> None:
        super().__init__(f"{text!r} is not used as {what}", why=why, next=f"name another one: {option}")


@dataclass(frozen=True, slots=True)
class Choices:
    """What a scaffold is for: the Application's name, where the folder is, and the image that xplock runs in."""

    name: str = "production"
    repository: str = "https://git.example.org/acme/platform.git"
    path: str = "clusters/production"
    image: str = f"registry.example.org/xplock:{__version__}"


class Piece(NamedTuple):
    """A file: its template, and its path from the project or from the top of the repository."""

    template: str
    path: str
    at_top: bool = False


_PIECES = (
    Piece("provider", SAMPLE),
    Piece("application", "argocd/application.yaml"),
    Piece("argocd-cm", "argocd/argocd-cm.yaml"),
    Piece("cronjob", "argocd/cronjob.yaml"),
    Piece("kustomization", "argocd/kustomization.yaml"),
    Piece("plugin", "argocd/plugin.yaml"),
    Piece("repo-server", "argocd/repo-server.yaml"),
    Piece("pre-commit", ".pre-commit-config.yaml", at_top=True),
)
_CI = {
    "github": Piece("github", ".github/workflows/xplock.yaml", at_top=True),
    "gitlab": Piece("gitlab", ".gitlab-ci.yml", at_top=True),
}


@dataclass(frozen=True, slots=True)
class ScaffoldReport:
    """The files that were written, and those that stay as they are, with the reason."""

    written: tuple[Path, ...]
    left: Mapping[Path, str]


def check_choices(choices: Choices) -> None:
    """Refuse what would not work, or would mean something else, in one of the files."""
    if not _NAME.fullmatch(choices.name):
        why = "an Application has small letters, digits and dashes in its name, 63 at most"
        raise InvalidChoice("a name", choices.name, why, "--name NAME")
    parts = PurePosixPath(choices.path).parts
    if ".." in parts or not all(map(_PART.fullmatch, parts)):
        why = "it leads out of the repository, or has characters that a shell would replace"
        raise InvalidChoice("a path", choices.path, why, "--path PATH")
    check_url(choices.repository)
    parse_reference(choices.image)


def choose_pieces(ci: str | None, *, sample: bool) -> list[Piece]:
    """Return the files of a scaffold, with that of a CI server if one is named."""
    pieces = [*_PIECES, *([_CI[ci]] if ci else [])]
    return [piece for piece in pieces if sample or piece.path != SAMPLE]


def format_piece(template: str, choices: Choices) -> str:
    """Fill a template; every value becomes a whole YAML scalar, whatever it holds."""
    values = {
        "application": choices.name,
        "cronjob": f"xplock-{choices.name}"[:_LONGEST_CRONJOB].rstrip("-"),
        "repository": choices.repository,
        # Kubernetes replaces $(NAME) in commands.
        "clone": choices.repository.replace("$", "$$"),
        "path": choices.path,
        "files": "" if choices.path == "." else f"^{re.escape(choices.path)}/",
        "image": choices.image,
    }
    scalars = {key: format_document(value).rstrip("\n") for key, value in values.items()}
    return fill_template(f"init/{template}.yaml.j2", **scalars)


def place_files(pieces: Sequence[Piece], choices: Choices, project: Path, top: Path) -> dict[Path, bytes]:
    """Return the bytes of every file by where it goes; whatever leads there has to be a folder."""
    files = {}
    for piece in pieces:
        base = top if piece.at_top else project
        path = base / piece.path
        with _told(path):
            _refuse_detour(base, path)
        files[path] = format_piece(piece.template, choices).encode()
    return files


def write_scaffold(files: Mapping[Path, bytes], *, force: bool, dry_run: bool) -> ScaffoldReport:
    """Write the files that are not there; with force, also those that are different."""
    left = {path: why for path, data in files.items() if (why := _reason_to_leave(path, data, force=force))}
    written = tuple(path for path in files if path not in left)
    for path in () if dry_run else written:
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, files[path])
    return ScaffoldReport(written, left)


def _reason_to_leave(path: Path, data: bytes, *, force: bool) -> str:
    if not path.exists():
        return ""
    if not force:
        return "exists already"
    return "is the same" if read_plain(path, len(data)) == data else ""


def _refuse_detour(base: Path, path: Path) -> None:
    """Refuse a link: what it leads to is somebody else's."""
    for step in (base / part for part in path.relative_to(base).parents if part != Path()):
        if step.is_symlink() or (step.exists() and not step.is_dir()):
            raise InvalidFile(
                f"{path} is not written", why=f"{step} is not a folder", next="move it elsewhere"
            )
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidFile(f"{path} is not written", why="it is not a plain file", next="move it elsewhere")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RenderError(
            f"{path} cannot be written", why=os.strerror(error.errno or 0).lower(), next="check the folder"
        ) from None
