"""The sources of a catalog file as the command line names them; a pattern names those that a layout or a lock lists."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from render.errors import InvalidInput, RenderError, in_one_line
from render.inputs.roots import parse_package
from render.references import Source
from render.versions.constraints import ANY, Constraint, parse_constraint

_PATTERN = re.compile(r"[^*]*/[^*/]*\*")


class InvalidSources(InvalidInput):
    """Arguments that name no source whose definitions could be read."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            "the catalog is not built",
            why=problems,
            next="write SOURCE, SOURCE:TAG or SOURCE=RANGE, or a SOURCE that ends with * and is listed somewhere",
        )


@dataclass(frozen=True, slots=True)
class WantedSource:
    """A source, and the versions of it to read."""

    source: Source
    constraint: Constraint = ANY


def parse_sources(texts: Sequence[str], listed: Collection[Source]) -> list[WantedSource]:
    """Parse all arguments; a pattern stands for the sources of a list that begin like it."""
    problems: list[str] = []
    found: dict[WantedSource, None] = {}
    for text in texts:
        try:
            found.update(dict.fromkeys(_parse(text, listed)))
        except RenderError as error:
            problems.append(in_one_line(error, advice=False))
    if problems:
        raise InvalidSources(problems)
    return list(found)


def _parse(text: str, listed: Collection[Source]) -> Iterator[WantedSource]:
    name, equals, versions = text.partition("=")
    if "*" in name:
        constraint = parse_constraint(versions) if equals else ANY
        yield from (WantedSource(source, constraint) for source in _matching(name, listed))
        return
    reference = parse_package(name)
    if reference.digest or (reference.tag and equals):
        raise InvalidInput(
            f"{text} names exact bytes, or a tag and a range",
            why="a row of a catalog holds for a range of versions",
        )
    written = f"={reference.tag}" if reference.tag else versions
    yield WantedSource(reference.source, parse_constraint(written) if written or equals else ANY)


def _matching(pattern: str, listed: Collection[Source]) -> list[Source]:
    if not _PATTERN.fullmatch(pattern):
        raise InvalidInput(f"{pattern} is no pattern", why="a * stands for the end of the name, once")
    found = sorted(source for source in listed if _begins(source, pattern.removesuffix("*")))
    if not found:
        raise InvalidInput(
            f"nothing lists a source like {pattern}",
            why="a registry cannot list its repositories; a layout and the lock of the folder can",
        )
    return found


def _begins(source: Source, start: str) -> bool:
    text = str(source)
    return text.startswith(start) and "/" not in text.removeprefix(start)
