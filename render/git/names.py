"""Names that people give to git: checked by grammar before they go anywhere near a command."""

import re

from render.errors import InvalidInput
from render.lean import dataclass
from render.texts import hides_something

_LONGEST = 200
# git-check-ref-format(1): what a name must not hold anywhere, and what none of its parts may begin or end with.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_PART = re.compile(r"(?!\.).+(?<!\.lock)(?<!\.)")
_AUTHOR = re.compile(r"([^<>]*[^<>\s])\s*<([^<>\s]+)>")


class InvalidBranch(InvalidInput):
    """A name that no branch can have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not the name of a branch",
            why="it is not written like one",
            next="name it like main or xplock/update",
        )


@dataclass(frozen=True, slots=True)
class Author:
    """Who a commit is from."""

    name: str
    mail: str


def check_branch(name: str) -> str:
    """Return a branch's name, if it can be one."""
    parts = name.split("/")
    odd = name in ("@", "HEAD") or name.startswith(("-", "refs/")) or len(name) > _LONGEST
    if odd or _FORBIDDEN.search(name) or hides_something(name) or not all(map(_PART.fullmatch, parts)):
        raise InvalidBranch(name)
    return name


def parse_author(text: str) -> Author:
    """Parse "Name <mail>"."""
    match = _AUTHOR.fullmatch(text.strip())
    if match is None or hides_something(text) or len(text) > _LONGEST:
        raise InvalidInput(
            f"{text!r} is not an author",
            why="it is not written like one",
            next='write it like "Robin <robin@example.org>"',
        )
    return Author(match[1].strip(), match[2])
