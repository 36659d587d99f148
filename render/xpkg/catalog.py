"""Registries in the shape the solver asks for: tags of a source, and the package behind a reference."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from render.limits import Limits
from render.packages import Package, PackagedObject
from render.references import Digest, Reference, Source
from render.registry.routes import Images
from render.xpkg.contents import Contents, read_contents
from render.xpkg.image import fetch_image, fetch_package_yaml
from render.xpkg.metadata import parse_metadata

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

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        digest = reference.digest or self.images.content(reference).digest
        known = self.facts.get_facts(digest, _FACTS)
        contents = _parse_facts(known) if known else None
        if contents is None:
            # From here on by digest: a tag may move between two questions.
            image = fetch_image(self.images, Reference(reference.source, digest=digest), self.limits)
            contents = _Facts.of(
                read_contents(fetch_package_yaml(self.images, image, self.limits), self.limits)
            )
            self.facts.put_facts(digest, _FACTS, contents.format())
        metadata = parse_metadata(contents.meta.encode(), self.limits)
        return Package(reference.source, digest, metadata, contents.objects, contents.unreadable)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is kept of a package.yaml; the metadata as text, so that a newer xplock reads it with newer eyes."""

    meta: str
    objects: tuple[PackagedObject, ...]
    unreadable: tuple[str, ...]

    @classmethod
    def of(cls, contents: Contents) -> "_Facts":
        return cls(contents.meta.text(), contents.objects, contents.unreadable)

    def format(self) -> bytes:
        objects = [[item.api_version, item.kind, item.name] for item in self.objects]
        return json.dumps({"meta": self.meta, "objects": objects, "unreadable": self.unreadable}).encode()


def _parse_facts(data: bytes) -> _Facts | None:
    try:
        facts = json.loads(data)
        objects = tuple(PackagedObject(*item) for item in facts["objects"])
        return _Facts(facts["meta"], objects, tuple(facts["unreadable"]))
    except (ValueError, KeyError, TypeError):
        # Written by a version that kept other facts.
        return None
