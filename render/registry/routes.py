"""Which sources are answered from a folder, and which by their registry."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol

from render.errors import RenderError
from render.overrides import covers
from render.references import Digest, InvalidReference, Reference, Source, parse_reference, parse_source
from render.registry.oci import Content, Descriptor
from render.rewrites import InvalidRewrite, Rewrites


class Images(Protocol):
    """What a registry, a layout and a package file all answer."""

    def tags(self, source: Source) -> Sequence[str]: ...
    def content(self, reference: Reference) -> Content: ...
    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]: ...


class Offline(RenderError):
    """A source that no folder answers for, while registries are not to be asked."""

    def __init__(self, source: Source) -> None:
        super().__init__(
            f"{source} is not at hand",
            why="no layout answers for it, and registries are not asked",
            next="name a layout that holds it, or allow the network",
        )


@dataclass(frozen=True, slots=True)
class Routes:
    """Sends each question to the layout with the longest fitting prefix, else to the registry."""

    layouts: Sequence[tuple[str, Images]]
    registries: Images | None

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
        if fitting:
            return max(fitting, key=lambda item: len(item[0]))[1]
        if self.registries is None:
            raise Offline(source)
        return self.registries


_DIGEST = re.compile(rb"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Answers for each source from the place that the longest fitting prefix gives it."""

    images: Images
    rewrites: Rewrites
    # Where bytes were found or announced. A prefix with a tag fits a reference and not its source, nor its
    # digest, and still all of an image is in one place.
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
        """Return a blob of a source, from where its manifest was."""
        place = self._found.get((source, descriptor.digest)) or self._source(source)
        return self.images.blob(place, descriptor)

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
