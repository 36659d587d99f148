"""Signatures and attestations of an image, read from its repository; both generations of cosign."""

from collections.abc import Iterator, Sequence
from typing import IO, Protocol

from render.errors import UnusableContent
from render.limits import LimitExceeded, Limits
from render.references import Digest, Reference, Source
from render.registry.copying.attached import attached_prefix, fallback_tag, subject_of
from render.registry.oci import Content, Descriptor, Manifest, NotFound, parse_content
from render.signatures.found import Attached, Form, Found

_BUNDLE = "application/vnd.dev.sigstore.bundle"
_TAGGED = ((Form.SIGNATURE, "sig"), (Form.ATTESTATION, "att"))


class Published(Protocol):
    """The parts of a registry that are asked for signatures."""

    def content(self, reference: Reference) -> Content: ...
    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]: ...
    def referrers(self, source: Source, digest: Digest, tags: Sequence[str]) -> Sequence[Digest]: ...


def read_signatures(published: Published, source: Source, digest: Digest, limits: Limits) -> Found:
    """Return all that a repository has for an image; what is missing is not there, what is unreadable is told."""
    return _Reader(published, source, digest, limits).read()


class _Reader:
    """Reads one image's attachments, within one budget."""

    def __init__(self, published: Published, source: Source, digest: Digest, limits: Limits) -> None:
        self.published = published
        self.source = source
        self.digest = digest
        self.limits = limits
        self.left = limits.signature_bytes
        self.problems: list[str] = []

    def read(self) -> Found:
        attached = [one for form, suffix in _TAGGED for one in self._tagged(form, suffix)]
        attached += self._bundles()
        return Found(tuple(attached), tuple(self.problems))

    def _tagged(self, form: Form, suffix: str) -> Iterator[Attached]:
        tag = f"{attached_prefix(self.digest)}{suffix}"
        try:
            manifest = self._manifest(self.published.content(Reference(self.source, tag)))
        except NotFound:
            return
        except UnusableContent as error:
            self.problems.append(f"{tag}: {'; '.join([error.what, *error.why])}")
            return
        for layer in manifest.layers if manifest else ():
            yield Attached(form, self._blob(layer), layer.annotations)
        if manifest is None:
            self.problems.append(f"{tag} is an index, and no list of signatures")

    def _bundles(self) -> Iterator[Attached]:
        for digest in self._referrers():
            content = self.published.content(Reference(self.source, digest=digest))
            # Lists of referrers are wrong about types, and some name what does not refer to the image.
            if subject_of(content) != self.digest:
                continue
            manifest = self._manifest(content)
            layers = manifest.layers if manifest else ()
            if len(layers) == 1 and layers[0].media_type.startswith(_BUNDLE):
                yield Attached(Form.BUNDLE, self._blob(layers[0]))

    def _referrers(self) -> Sequence[Digest]:
        try:
            # The tag of the list is asked for where a registry keeps none itself.
            return self.published.referrers(self.source, self.digest, [fallback_tag(self.digest)])
        except NotFound:
            return ()

    def _manifest(self, content: Content) -> Manifest | None:
        parsed = parse_content(content, self.limits)
        return parsed if isinstance(parsed, Manifest) else None

    def _blob(self, layer: Descriptor) -> bytes:
        self.left -= layer.size
        if self.left < 0:
            what = f"the signatures of {self.source}@{self.digest} are too large"
            raise LimitExceeded(what, "signature_bytes", self.limits)
        with self.published.blob(self.source, layer) as file:
            return file.read()
