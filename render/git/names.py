"""Branch names and authors, checked by grammar before they become arguments of git."""

import re

from render.errors import InvalidInput
from render.lean import dataclass
from render.texts import hides_something

_LONGEST = 200
# git-check-ref-format(1): forbidden characters, and how a part must not begin or end.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_PART = re.compile(r"(?!\.).+(?<!\.lock)(?<!\.)")
_AUTHOR = re.compile(r"([^<>]*[^<>\s])\s*<([^<>\s]+)>")


class InvalidBranch(InvalidInput):
    """A text that is not a valid branch name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not a valid branch name",
            why="it breaks the rules of git check-ref-format",
            next="use a name such as main or xplock/update",
        )


@dataclass(frozen=True, slots=True)
class Author:
    """The author and committer of a commit."""

    name: str
    mail: str


def check_branch(name: str) -> str:
    """Return a valid branch name unchanged; raise for an invalid one."""
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
            f"{text!r} is not a valid author",
            why="it is not a name with an address in angle brackets",
            next='write it like "Robin <robin@example.org>"',
        )
    return Author(match[1].strip(), match[2])
