"""The repository around a folder, which most values of a scaffold come from."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from render.app.scaffold.choices import Choices
from render.git.failures import GitMissing, NotARepository
from render.git.repository import Repository, locate_folder
from render.git.temporary import InvalidUrl, check_url
from render.limits import Limits
from render.names import dns_label
from render.system.files import is_folder


class Surroundings(NamedTuple):
    """The repository that a folder is in: its top, the folder's path from there and name, and the remote's URL."""

    top: Path
    path: str
    name: str | None
    url: str | None


def look_around(folder: Path, limits: Limits) -> Surroundings:
    """Find the repository of a folder, which need not exist yet."""
    here = Path(os.path.realpath(folder))
    existing = next(path for path in (here, *here.parents) if is_folder(path))
    name = dns_label(here.name.lower()) or None
    try:
        repository = locate_folder(existing, limits).repository
    except (NotARepository, GitMissing):
        return Surroundings(folder, ".", name, None)
    path = here.relative_to(repository.root).as_posix()
    return Surroundings(Path(os.path.relpath(repository.root)), path, name, _find_url(repository))


def choose(around: Surroundings, given: Mapping[str, str | None]) -> Choices:
    """Return the values that were given, else found, else those of the example."""
    found = {"name": around.name, "repository": around.url, "path": around.path}
    known = [*found.items(), *given.items()]
    values: dict[str, Any] = {key: value for key, value in known if value is not None}
    choices = replace(Choices(), **values)
    return replace(choices, path=PurePosixPath(choices.path).as_posix())


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
