"""Images found where ImageConfigs say they are; whoever asks goes on using their original names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from render.errors import InvalidInput
from render.references import Digest, InvalidReference, Reference, Source, parse_reference, parse_source
from render.registry.manifests import Content, Descriptor
from render.registry.routes import Images

_DIGEST = re.compile(rb"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The beginning of a reference, what stands in its place, and where that was said."""

    prefix: str
    replacement: str
    place: str


class InvalidRewrite(InvalidInput):
    """A rewrite that makes something of a reference that is none."""

    def __init__(self, rewrite: Rewrite, text: str, error: InvalidReference) -> None:
        super().__init__(
            f"the rewrite of {rewrite.prefix} to {rewrite.replacement} does not fit {text}",
            why=[f"it comes from {rewrite.place}", error.what, *error.why],
            next=f"correct {rewrite.place}: both prefixes have to end at the same point of a reference",
        )


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Answers for each source from the place that the longest fitting prefix gives it."""

    images: Images
    rewrites: Sequence[Rewrite]
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
        rewrite = self._best(str(reference))
        if rewrite is None:
            return reference
        try:
            return parse_reference(_apply(rewrite, str(reference)))
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, str(reference), error) from None

    def _source(self, source: Source) -> Source:
        rewrite = self._best(str(source))
        if rewrite is None:
            return source
        try:
            return parse_source(_apply(rewrite, str(source)))
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, str(source), error) from None

    def _best(self, text: str) -> Rewrite | None:
        # Plain text, as Crossplane compares it: xpkg.io/acme fits xpkg.io/acme-corp/x too, and "" fits nothing.
        fitting = [rewrite for rewrite in self.rewrites if rewrite.prefix and text.startswith(rewrite.prefix)]
        return max(fitting, key=lambda rewrite: len(rewrite.prefix), default=None)


def _apply(rewrite: Rewrite, text: str) -> str:
    return rewrite.replacement + text.removeprefix(rewrite.prefix)


def _digests(data: bytes) -> list[Digest]:
    return [Digest(match.decode()) for match in _DIGEST.findall(data)]
