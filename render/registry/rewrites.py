"""Images found where ImageConfigs say they are; whoever asks goes on using their original names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from render.references import Digest, InvalidReference, Reference, Source, parse_reference, parse_source
from render.registry.manifests import Content, Descriptor
from render.registry.routes import Images
from render.rewrites import InvalidRewrite, Rewrites

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
