"""Routes: layouts that stand in for registries, and rewrites of sources, in front of the registry client."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol

from render.overrides import covers
from render.references import Digest, InvalidReference, Reference, Source, parse_reference, parse_source
from render.registry.oci import Content, Descriptor
from render.rewrites import InvalidRewrite, Rewrites


class Images(Protocol):
    """The questions that registries, layouts and package files all answer."""

    def tags(self, source: Source) -> Sequence[str]: ...
    def content(self, reference: Reference) -> Content: ...
    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]: ...


@dataclass(frozen=True, slots=True)
class Routes:
    """Asks the layout with the longest matching prefix, or registries if none matches."""

    layouts: Sequence[tuple[str, Images]]
    registries: Images

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        return self._for(source).tags(source)

    def content(self, reference: Reference) -> Content:
        """Return the manifest or index that a reference names."""
        return self._for(reference.source).content(reference)

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        """Return a blob of a source."""
        return self._for(source).blob(source, descriptor)

    def _for(self, source: Source) -> Images:
        fitting = [(prefix, answers) for prefix, answers in self.layouts if covers(prefix, source)]
        return max(fitting, key=lambda item: len(item[0]))[1] if fitting else self.registries


_DIGEST = re.compile(rb"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Asks for each source at the location that its longest matching rewrite gives."""

    images: Images
    rewrites: Rewrites
    # The location of every digest seen so far. A rewrite prefix with a tag matches a reference, but neither its
    # source nor its digest, and all parts of an image are in one repository.
    _found: dict[tuple[Source, Digest], Source] = field(default_factory=dict, init=False, repr=False)

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        return self.images.tags(self._source(source))

    def content(self, reference: Reference) -> Content:
        """Return the manifest or index that a reference names."""
        place = self._reference(reference)
        content = self.images.content(place)
        for digest in (content.digest, *_digests(content.data)):
            self._found[reference.source, digest] = place.source
        return content

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        """Return a blob of a source, from the location of its manifest."""
        return self.images.blob(self.place(source, descriptor.digest), descriptor)

    def place(self, source: Source, digest: Digest) -> Source:
        """Return where an image that was asked for is pulled from."""
        return self._found.get((source, digest)) or self._source(source)

    def _reference(self, reference: Reference) -> Reference:
        if reference.tag is None and reference.digest is not None:
            found = self._found.get((reference.source, reference.digest))
            if found is not None:
                return Reference(found, digest=reference.digest)
        rewrite = self.rewrites.find(str(reference))
        if rewrite is None:
            return reference
        try:
            return parse_reference(rewrite.apply(str(reference)))
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, str(reference), error) from None

    def _source(self, source: Source) -> Source:
        rewrite = self.rewrites.find(str(source))
        if rewrite is None:
            return source
        try:
            return parse_source(rewrite.apply(str(source)))
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, str(source), error) from None


def _digests(data: bytes) -> list[Digest]:
    return [Digest(match.decode()) for match in _DIGEST.findall(data)]
