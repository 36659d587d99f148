"""Prefixes of sources: a registry, a path in one, or a whole source; they end where a part of the path ends."""

from itertools import accumulate

from render.errors import InvalidInput
from render.references import InvalidReference, Source, parse_source


class InvalidPrefix(InvalidInput):
    """A text that no source begins with."""

    def __init__(self, text: str) -> None:
        # What stands in front of an @ may be a password.
        shown = "***" + text[text.rindex("@") :] if "@" in text else text
        super().__init__(
            f"{shown!r} is neither a source nor the beginning of one",
            next="write a registry, or a path in one without tag and digest: xpkg.example.org/acme",
        )


def parse_prefix(text: str) -> str:
    """Parse a prefix and spell it as sources are spelled, or it would never fit; a slash at its end may go."""
    path = text.removesuffix("/")
    try:
        return str(parse_source(path)) if "/" in path else str(parse_source(f"{path}/x")).removesuffix("/x")
    except InvalidReference:
        raise InvalidPrefix(text) from None


def prefixes_of(source: Source) -> list[str]:
    """Return every prefix that a source is at or below, the shortest first."""
    return list(accumulate(str(source).split("/"), "{}/{}".format))


def covers(prefix: str, source: Source) -> bool:
    """Tell whether a source is at or below a prefix; "" covers all."""
    return not prefix or prefix.removesuffix("/") in prefixes_of(source)
