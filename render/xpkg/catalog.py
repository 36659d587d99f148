"""Packages by reference, in the form that the solver asks for: tags of a source, and the package of a reference."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from render.limits import Limits
from render.packages import Package, PackagedObject
from render.policy.model import Evidence
from render.references import Digest, Reference, Source
from render.registry.routes import Images, Rewritten
from render.xpkg.contents import Contents, parse_meta, read_contents, split_documents
from render.xpkg.definitions import Definitions, parse_definitions
from render.xpkg.evidence import evidence_of, read_claims
from render.xpkg.identity import identify
from render.xpkg.image import fetch_image, fetch_package_yaml
from render.xpkg.package_errors import naming_package

_FACTS = "package"
_DEFINITIONS = "definitions"
_CLAIMS = "claims"
# Raised whenever a package is read more strictly: facts that an older version kept are not used again.
_FORMAT = 3


class Facts(Protocol):
    """Storage for facts about a digest, kept between runs."""

    def get_facts(self, digest: Digest, kind: str) -> bytes | None: ...
    def put_facts(self, digest: Digest, kind: str, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Catalog:
    """Reads packages, each digest once: the facts about it are stored."""

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
        """Return the package that a reference names; every error about its content names the package."""
        digest = reference.digest or self.digest(reference)
        with naming_package(str(Reference(reference.source, reference.tag, digest)), reference.source):
            facts = self._facts(reference.source, digest)
            metadata = parse_meta(facts.meta.encode(), facts.line, self.limits)
        return Package(reference.source, digest, metadata, facts.objects, facts.definitions_digest)

    def definitions(self, reference: Reference) -> Definitions:
        """Return the definitions of the package that a reference names."""
        digest = reference.digest or self.digest(reference)
        with naming_package(str(Reference(reference.source, reference.tag, digest)), reference.source):
            if not self._facts(reference.source, digest).definitions_digest:
                return Definitions()
            stored = self.facts.get_facts(digest, _DEFINITIONS)
            found = parse_definitions(stored) if stored else None
            return found or self._read(reference.source, digest).definitions

    def documents(
        self, source: Source, digest: Digest, wanted: frozenset[PackagedObject]
    ) -> Iterator[tuple[PackagedObject, bytes]]:
        """Yield the text of some objects of a package, each as it is read, until all of them are."""
        missing = set(wanted)
        with naming_package(str(Reference(source, digest=digest)), source):
            image = fetch_image(self.images, Reference(source, digest=digest), self.limits)
            for document in split_documents(fetch_package_yaml(self.images, image, self.limits), self.limits):
                item = identify(document.data, self.limits)
                if item in missing:
                    missing.discard(item)
                    yield item, document.data
                if not missing:
                    return

    def evidence(self, package: Package) -> Evidence:
        """Return what a package says about itself that a policy asks for."""
        with naming_package(str(Reference(package.source, digest=package.digest)), package.source):
            return evidence_of(package.metadata, self._claims(package.source, package.digest))

    def place(self, package: Package) -> Source:
        """Return where a package is pulled from."""
        images = self.images
        return (
            images.place(package.source, package.digest) if isinstance(images, Rewritten) else package.source
        )

    def _claims(self, source: Source, digest: Digest) -> Mapping[str, str]:
        stored = self.facts.get_facts(digest, _CLAIMS)
        claims = _parse_claims(stored) if stored else None
        if claims is None:
            image = fetch_image(self.images, Reference(source, digest=digest), self.limits)
            claims = read_claims(self.images, image, self.limits)
            self.facts.put_facts(digest, _CLAIMS, json.dumps({"format": _FORMAT, **claims}).encode())
        return claims

    def _facts(self, source: Source, digest: Digest) -> "_Facts":
        stored = self.facts.get_facts(digest, _FACTS)
        facts = _parse_facts(stored) if stored else None
        if facts is None:
            facts = _Facts.of(self._read(source, digest))
        return facts

    def _read(self, source: Source, digest: Digest) -> Contents:
        """Read a package once, and store all facts about it."""
        # By digest, since a tag may move between two requests.
        image = fetch_image(self.images, Reference(source, digest=digest), self.limits)
        contents = read_contents(fetch_package_yaml(self.images, image, self.limits), self.limits)
        if contents.definitions.digest:
            self.facts.put_facts(digest, _DEFINITIONS, contents.definitions.format())
        self.facts.put_facts(digest, _FACTS, _Facts.of(contents).format())
        return contents


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is stored of a package.yaml. The metadata is text, so that a newer xplock parses it by newer rules."""

    meta: str
    line: int
    objects: tuple[PackagedObject, ...]
    definitions_digest: str

    @classmethod
    def of(cls, contents: Contents) -> "_Facts":
        return cls(contents.meta.text(), contents.meta.line, contents.objects, contents.definitions.digest)

    def format(self) -> bytes:
        facts = {
            "format": _FORMAT,
            "meta": self.meta,
            "line": self.line,
            "objects": [[item.api_version, item.kind, item.name] for item in self.objects],
            "definitionsDigest": self.definitions_digest,
        }
        return json.dumps(facts).encode()


def _parse_facts(data: bytes) -> _Facts | None:
    try:
        facts = json.loads(data)
        objects = tuple(PackagedObject(*(_text(text) for text in item)) for item in facts["objects"])
        found = _Facts(_text(facts["meta"]), int(facts["line"]), objects, _text(facts["definitionsDigest"]))
        return found if facts["format"] == _FORMAT else None
    except (ValueError, KeyError, TypeError, RecursionError):
        # Damaged, or written by a version that stored other facts.
        return None


def _parse_claims(data: bytes) -> Mapping[str, str] | None:
    try:
        claims = json.loads(data)
        current = claims.pop("format") == _FORMAT
        return {name: _text(text) for name, text in claims.items()} if current else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _text(item: Any) -> str:
    if not isinstance(item, str):
        raise TypeError
    return item
