"""Registries in the shape the solver asks for: tags of a source, and the package behind a reference."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from render.limits import Limits
from render.packages import Package, PackagedObject
from render.references import Digest, Reference, Source
from render.registry.routes import Images
from render.xpkg.contents import Contents, parse_meta, read_contents
from render.xpkg.image import fetch_image, fetch_package_yaml

_FACTS = "package"


class Facts(Protocol):
    """Where facts about a digest are kept between runs."""

    def get_facts(self, digest: Digest, kind: str) -> bytes | None: ...
    def put_facts(self, digest: Digest, kind: str, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Catalog:
    """Reads packages; what was read of a digest once is remembered."""

    images: Images
    facts: Facts
    limits: Limits

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        return self.images.tags(source)

    def digest(self, reference: Reference) -> Digest:
        """Return the digest that a reference names now."""
        return self.images.content(reference).digest

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        digest = reference.digest or self.digest(reference)
        known = self.facts.get_facts(digest, _FACTS)
        contents = _parse_facts(known) if known else None
        if contents is None:
            # From here on by digest: a tag may move between two questions.
            image = fetch_image(self.images, Reference(reference.source, digest=digest), self.limits)
            contents = _Facts.of(
                read_contents(fetch_package_yaml(self.images, image, self.limits), self.limits)
            )
            self.facts.put_facts(digest, _FACTS, contents.format())
        metadata = parse_meta(contents.meta.encode(), contents.line, self.limits)
        return Package(reference.source, digest, metadata, contents.objects, contents.unreadable)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is kept of a package.yaml; the metadata as text, so that a newer xplock reads it with newer eyes."""

    meta: str
    line: int
    objects: tuple[PackagedObject, ...]
    unreadable: tuple[str, ...]

    @classmethod
    def of(cls, contents: Contents) -> "_Facts":
        return cls(contents.meta.text(), contents.meta.line, contents.objects, contents.unreadable)

    def format(self) -> bytes:
        facts = {
            "meta": self.meta,
            "line": self.line,
            "objects": [[item.api_version, item.kind, item.name] for item in self.objects],
            "unreadable": self.unreadable,
        }
        return json.dumps(facts).encode()


def _parse_facts(data: bytes) -> _Facts | None:
    try:
        facts = json.loads(data)
        objects = tuple(PackagedObject(*_texts(item)) for item in facts["objects"])
        return _Facts(_text(facts["meta"]), int(facts["line"]), objects, _texts(facts["unreadable"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        # Written by a version that kept other facts.
        return None


def _texts(items: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in items)


def _text(item: Any) -> str:
    if not isinstance(item, str):
        raise TypeError
    return item
