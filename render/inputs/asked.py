"""A package as the user writes it: a source with a tag, a digest, both or neither, and perhaps a range beside it."""

from render.constraints import parse_constraint
from render.errors import InvalidInput
from render.references import DOCKER_HUB, InvalidReference, Reference, parse_reference, parse_source
from render.roots import Request

OBJECT_NAME = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
OBJECT_NAME_MEANING = "a DNS label: at most 63 lower-case letters, digits and '-'"


class TwoRequests(InvalidInput):
    """A range beside a tag or a digest."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(
            f"a range of versions excludes a tag and a digest, and the package is {reference}",
            next=f"leave out the range, or write {reference.source}",
        )


def parse_package(text: str) -> Reference:
    """Parse a package with its registry; unlike Crossplane we take one without tag and digest, and choose."""
    if "@" in text or ":" in text.rpartition("/")[2]:
        return parse_reference(text)
    source = parse_source(text)
    if source.registry in DOCKER_HUB and "/" not in source.repository:
        raise InvalidReference(
            text, f"on Docker Hub its full name is {source.registry}/library/{source.repository}"
        )
    return Reference(source)


def parse_request(reference: Reference, versions: str | None) -> Request:
    """Return what is asked for: what the reference says, or else a range."""
    if versions is None:
        return Request(tag=reference.tag, digest=reference.digest)
    if reference.tag or reference.digest:
        raise TwoRequests(reference)
    return Request.of(parse_constraint(versions))
