"""Filters: the programs that git runs on files between a commit and a work tree, all of them switched off."""

import re
from typing import NamedTuple

from render.git.repository import Repository, read_configuration

_FILTER = re.compile(r"filter\.(.+)\.[a-z]+")
_KEYS = ("clean", "smudge", "process", "required")
_NOTHING = "XPLOCK_NOTHING"


class FiltersOff(NamedTuple):
    """What a command of git needs in order to run no filter."""

    options: tuple[str, ...]
    environment: dict[str, str]


def filters_off(repository: Repository) -> FiltersOff:
    """Return how a command leaves out every filter that git is configured with."""
    names = [found[1] for found in map(_FILTER.fullmatch, read_configuration(repository)) if found]
    keys = [f"filter.{name}.{key}" for name in dict.fromkeys(names) for key in _KEYS]
    # Unlike with -c, a name may hold an equals sign here.
    return FiltersOff(tuple(f"--config-env={key}={_NOTHING}" for key in keys), {_NOTHING: ""})
