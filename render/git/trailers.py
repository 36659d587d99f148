"""Trailers of our commits: the version of xplock, and the digest of each lock's inputs."""

import re
from collections.abc import Mapping, Sequence

from render import __version__
from render.digests import digest_value
from render.git.names import Author
from render.lean import dataclass, field

_VERSION, _INPUTS, _BASE = "Xplock-Version", "Xplock-Inputs", "Xplock-Base"
_ORIGIN = "Xplock-Promoted-From"
_LINE = re.compile(r"([A-Za-z0-9-]+): (.*)")
_RECORD = re.compile(r"(sha256:[0-9a-f]{64}) (.+)")


@dataclass(frozen=True, slots=True)
class Trailers:
    """The version of xplock that made a commit, and the inputs of each lock in it."""

    version: str = __version__
    # The digest of each lock's record of inputs, by the lock's path from the root.
    inputs: Mapping[str, str] = field(default_factory=dict)
    # The commit that a branch for updates started from; it is the parent.
    base: str = ""
    # The folder and the commit that the versions were promoted from.
    origin: str = ""


def digest_inputs(record: Mapping[str, str]) -> str:
    """Return one digest for a whole record of inputs."""
    return digest_value(dict(record))


def format_trailers(trailers: Trailers) -> list[str]:
    """Return the last lines of a commit message."""
    records = [f"{_INPUTS}: {digest} {path}" for path, digest in sorted(trailers.inputs.items())]
    base = [f"{_BASE}: {trailers.base}"] if trailers.base else []
    origin = [f"{_ORIGIN}: {trailers.origin}"] if trailers.origin else []
    return [f"{_VERSION}: {trailers.version}", *records, *base, *origin]


def add_signoff(message: str, author: Author) -> str:
    """Return a message whose trailers end with a Signed-off-by."""
    return f"{message.rstrip()}\nSigned-off-by: {author.name} <{author.mail}>\n"


def parse_trailers(message: str) -> Trailers | None:
    """Return the trailers of a commit message, or None if it is not one of ours."""
    lines = [_LINE.fullmatch(line) for line in message.rstrip().rpartition("\n\n")[2].splitlines()]
    pairs = [(line[1], line[2]) for line in lines if line]
    versions = _values(pairs, _VERSION)
    if len(versions) != 1 or len(pairs) != len(lines):
        return None
    records = map(_RECORD.fullmatch, _values(pairs, _INPUTS))
    inputs = {record[2]: record[1] for record in records if record}
    base, origin = ("".join(_values(pairs, key)[:1]) for key in (_BASE, _ORIGIN))
    return Trailers(versions[0], inputs, base, origin)


def find_trailers(message: str, path: str) -> Trailers | None:
    """Return the trailers of a message if it is one of ours and names this lock."""
    trailers = parse_trailers(message)
    # The oldest commit of a shallow clone seems to have changed every file, so the lock's path is required.
    return trailers if trailers and path in trailers.inputs else None


def _values(pairs: Sequence[tuple[str, str]], key: str) -> list[str]:
    return [value for name, value in pairs if name == key]
