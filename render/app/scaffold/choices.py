"""The values in the files of a scaffold, and the rules for them."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from render import __version__
from render.errors import InvalidInput
from render.git.names import check_branch
from render.git.temporary import check_url
from render.names import is_dns_label
from render.references import parse_reference

# In XPLOCK_COMMIT_TO these separate entries, match anything, and begin the branch.
_UNLISTABLE = re.compile(r"[,*#]")
# Shells, CI servers and Kubernetes all have characters that they replace; a path that needs none of them is safe in each.
_PART = re.compile(r"(?!-)[\w.@+=,~-]+(?: [\w.@+=,~-]+)*")


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
    # The folder whose versions are promoted to this one.
    origin: str = "clusters/staging"
    # The environments below a folder with many projects, in their order, and how far below the projects are.
    environments: tuple[str, ...] = ("staging", "production")
    depth: int = 1
    # In how many parts these are locked; 0 for one call.
    shards: int = 0


def check_choices(choices: Choices) -> None:
    """Raise for values that would not work, or would mean something else, in one of the files."""
    if not is_dns_label(choices.name):
        why = "an Application has small letters, digits and dashes in its name, 63 at most"
        raise InvalidChoice("a name", choices.name, why, "--name NAME")
    _check_path(choices.path, "a path", "--path PATH")
    _check_path(choices.origin, "a folder to promote from", "--promote-from DIR")
    for name in choices.environments:
        _check_path(name, "an environment", "correct `environments` in xplock.yaml")
    check_url(choices.repository)
    parse_reference(choices.image)
    if choices.commit_to is not None:
        _check_listable(choices.repository, choices.commit_to)


def _check_path(path: str, what: str, option: str) -> None:
    parts = PurePosixPath(path).parts
    if ".." in parts or not all(map(_PART.fullmatch, parts)):
        why = "it leads out of the repository, or has characters that a shell would replace"
        raise InvalidChoice(what, path, why, option)


def _check_listable(repository: str, branch: str) -> None:
    check_branch(branch)
    listed = _UNLISTABLE.search(repository + branch)
    if listed:
        why = f"{listed[0]!r} has a meaning of its own in XPLOCK_COMMIT_TO"
        raise InvalidChoice("a branch to commit to", branch, why, "--commit-to BRANCH")
