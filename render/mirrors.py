"""Mirrors: a registry, or a path in one, that has copies of packages."""

import re

from render.errors import InvalidInput
from render.lean import TYPE_CHECKING, dataclass
from render.references import Source, parse_source
from render.texts import first_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

FULL, BARE = "full", "bare"
_SHOWN = 20
_LONGEST = 255


class SharedPath(InvalidInput):
    """Sources that would have one path in a mirror."""

    def __init__(self, pairs: "list[tuple[Source, Source]]") -> None:
        super().__init__(
            "two sources would have one path in the mirror",
            why=first_lines([f"{one} and {other}" for one, other in pairs], _SHOWN),
            next="keep their hosts in the path: paths: full, or --paths full",
        )


class NoPath(InvalidInput):
    """A source whose path in a mirror would be too long."""

    def __init__(self, source: Source, path: str) -> None:
        super().__init__(
            f"{source} has no place in the mirror",
            why=f"{path} is longer than {_LONGEST} characters",
            next="use a mirror with a shorter path, or --paths bare",
        )


@dataclass(frozen=True, slots=True)
class Mirror:
    """Where copies are, and how their paths are made."""

    # A registry, or a path in one, without a slash at its end.
    to: str
    paths: str = FULL
    # The secret that Crossplane pulls with.
    pull_secret: str | None = None

    def place(self, source: Source) -> Source:
        """Return the repository that has the copies of a source."""
        _, replacement = self.rewrite(source.registry)
        place = f"{replacement}{source.repository}"
        if len(place.partition("/")[2]) > _LONGEST:
            raise NoPath(source, place.partition("/")[2])
        return parse_source(place)

    def rewrite(self, registry: str) -> tuple[str, str]:
        """Return the beginning of the references of a registry, and that of their copies; both end with a slash."""
        # A prefix knows no borders of a path: without the slash, it would match longer names of hosts, too.
        prefix = str(Source(registry, "x")).removesuffix("x")
        host = f"{_as_path(registry)}/" if self.paths == FULL else ""
        return prefix, f"{self.to}/{host}"

    def holds(self, reference: str) -> bool:
        """Return whether a reference, or the beginning of one, is in the mirror."""
        return f"{reference}/".startswith(f"{self.to}/")


def check_paths(mirror: Mirror, sources: "Iterable[Source]") -> None:
    """Raise if two sources would have one path."""
    found: dict[Source, Source] = {}
    pairs = []
    for source in sorted(set(sources)):
        first = found.setdefault(mirror.place(source), source)
        if first != source:
            pairs.append((first, source))
    if pairs:
        raise SharedPath(pairs)


def _as_path(registry: str) -> str:
    """Return the name of a registry as a part of a path, which has no colon and no brackets."""
    return re.sub(r"[^a-z0-9.]+", "-", registry).strip("-")
