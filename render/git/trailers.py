"""What a commit of ours says about itself: who wrote its locks, and from which inputs."""

import re
from collections.abc import Mapping, Sequence

from render import __version__
from render.digests import digest_value
from render.lean import dataclass, field

_VERSION, _INPUTS = "Xplock-Version", "Xplock-Inputs"
_LINE = re.compile(r"([A-Za-z0-9-]+): (.*)")
_RECORD = re.compile(r"(sha256:[0-9a-f]{64}) (.+)")


@dataclass(frozen=True, slots=True)
class Trailers:
    """The xplock that made a commit, and what each lock in it was made from."""

    version: str = __version__
    # By the lock's path from the root, the digest of its record of inputs.
    inputs: Mapping[str, str] = field(default_factory=dict)


def digest_inputs(record: Mapping[str, str]) -> str:
    """Return one digest for a whole record of inputs."""
    return digest_value(dict(record))


def format_trailers(trailers: Trailers) -> list[str]:
    """Write the lines that end a commit's message."""
    records = [f"{_INPUTS}: {digest} {path}" for path, digest in sorted(trailers.inputs.items())]
    return [f"{_VERSION}: {trailers.version}", *records]


def parse_trailers(message: str) -> Trailers | None:
    """Read them back from a message, if it is one of ours."""
    lines = [_LINE.fullmatch(line) for line in message.rstrip().rpartition("\n\n")[2].splitlines()]
    pairs = [(line[1], line[2]) for line in lines if line]
    versions = _values(pairs, _VERSION)
    if len(versions) != 1 or len(pairs) != len(lines):
        return None
    records = map(_RECORD.fullmatch, _values(pairs, _INPUTS))
    return Trailers(versions[0], {record[2]: record[1] for record in records if record})


def find_trailers(message: str, path: str) -> Trailers | None:
    """Read them from the message of the last commit that touched a lock, if that is ours and was made for it."""
    trailers = parse_trailers(message)
    # Where a shallow history was cut off, a commit seems to have touched everything.
    return trailers if trailers and path in trailers.inputs else None


def _values(pairs: Sequence[tuple[str, str]], key: str) -> list[str]:
    return [value for name, value in pairs if name == key]
