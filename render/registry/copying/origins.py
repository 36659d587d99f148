"""Where images come from: registries, and OCI layouts and archives."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from render.limits import LimitExceeded, Limits
from render.overrides import covers
from render.references import Digest, Reference, Source
from render.registry.client import RegistryClient, next_page
from render.registry.copying.attached import fallback_tag, is_index, parse_referrers, unreadable
from render.registry.copying.model import Origin
from render.registry.http.addresses import api_address
from render.registry.http.messages import HttpRequest
from render.registry.http.troubles import Transient
from render.registry.layout import Layout, TamperedLayout
from render.registry.oci import OCI_INDEX, Content, Descriptor, NotFound, TamperedContent

# The answers of registries without a list of referrers: some do not know it, and ghcr.io redirects to a web page.
_NO_LIST = frozenset({301, 302, 303, 400, 404, 405, 501})
_FOLLOWED = frozenset({307, 308})
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class RegistryOrigin:
    """Reads from registries."""

    client: RegistryClient
    limits: Limits
    # The repositories whose registry keeps no list of referrers: each is asked once.
    _without: set[Source] = field(default_factory=set, init=False)

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a repository."""
        return self.client.tags(source)

    def content(self, reference: Reference) -> Content:
        """Return a manifest or index."""
        return self.client.content(reference)

    def referrers(self, source: Source, digest: Digest, tags: Sequence[str]) -> Sequence[Digest]:
        """Return the digests of everything that refers to a digest, from the registry's list or the tag for it."""
        if source not in self._without:
            listed = list_referrers(self.client, source, digest, self.limits)
            if listed is not None:
                return listed
            self._without.add(source)
        tag = fallback_tag(digest)
        if tag not in tags:
            return ()
        content = self.client.content(Reference(source, tag))
        if content.digest == digest or not is_index(content.data):
            return ()
        return parse_referrers(source, digest, content.data)

    @contextmanager
    def stream(self, source: Source, descriptor: Descriptor) -> Iterator[Iterator[bytes]]:
        """Open a blob; it is not checked against its digest."""
        if descriptor.size > self.limits.copied_bytes:
            raise LimitExceeded(
                f"a blob of {source} is too large",
                "copied_bytes",
                self.limits,
                found=f"{descriptor.size:,} bytes",
            )
        request = HttpRequest(f"blobs/{descriptor.digest}", limit="copied_bytes", size=descriptor.size)
        with self.client.stream(source, request) as chunks:
            yield _blaming(api_address(source)[0], chunks)


def _blaming(host: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a body; name its host in a failure, which would count as the destination's."""
    try:
        yield from chunks
    except Transient as trouble:
        trouble.host = trouble.host or host
        raise


def list_referrers(
    client: RegistryClient, source: Source, digest: Digest, limits: Limits
) -> list[Digest] | None:
    """Return the digests in a registry's own list of referrers, or None if it keeps none."""
    found: list[Digest] = []
    path = f"referrers/{digest}"
    for _ in range(limits.tag_pages):
        # Some registries limit these lists more than anything else.
        request = HttpRequest(path, {"Accept": OCI_INDEX}, followed=_FOLLOWED, apart="referrers")
        answer = client.ask(source, request, wanted={200, *_NO_LIST})
        data, media_type = answer.read(), answer.headers.get("content-type", "")
        # Anything but an index is the page of a website, unless it says that it is one.
        promised = found or media_type.startswith(OCI_INDEX)
        if answer.status != 200 or not (promised or is_index(data)):
            return None
        found += parse_referrers(source, digest, data)
        if len(found) > limits.attached:
            raise LimitExceeded(f"too much refers to {source}@{digest}", "attached", limits)
        link = next_page(answer.headers.get("link", ""))
        if not link:
            return found
        path = client.page_path(source, path, link)
    raise unreadable(source, digest, f"it has more than {limits.tag_pages:,} pages")


@dataclass(frozen=True, slots=True)
class LayoutOrigin:
    """Reads from an OCI layout or an archive of one."""

    layout: Layout

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source; one whose images have digests only has none."""
        try:
            return self.layout.tags(source)
        except NotFound:
            return ()

    def content(self, reference: Reference) -> Content:
        """Return a manifest or index."""
        return self.layout.content(reference)

    def referrers(self, source: Source, digest: Digest, tags: Sequence[str]) -> Sequence[Digest]:
        """Return the digests in the list of referrers that the tag for it names."""
        tag = fallback_tag(digest)
        if tag not in tags:
            return ()
        content = self.layout.content(Reference(source, tag))
        return parse_referrers(source, digest, content.data) if is_index(content.data) else ()

    @contextmanager
    def stream(self, source: Source, descriptor: Descriptor) -> Iterator[Iterator[bytes]]:  # noqa: ARG002 - shared
        """Open a blob; it is not checked against its digest."""
        with self.layout.open_blob(descriptor.digest) as file:
            size = self.layout.blob_size(descriptor.digest) or 0
            damaged = TamperedLayout(self.layout.folder, descriptor.digest, size, descriptor.size)
            if size != descriptor.size:
                raise damaged
            try:
                yield iter(lambda: file.read(_BLOCK), b"")
            except TamperedContent:
                # Raised by the reader, who checks the bytes and knows no files.
                raise damaged from None


@dataclass(frozen=True, slots=True)
class Origins:
    """Asks the layout with the longest matching prefix, or registries if none matches."""

    layouts: Sequence[tuple[str, LayoutOrigin]]
    registries: Origin

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        return self._for(source).tags(source)

    def content(self, reference: Reference) -> Content:
        """Return a manifest or index."""
        return self._for(reference.source).content(reference)

    def referrers(self, source: Source, digest: Digest, tags: Sequence[str]) -> Sequence[Digest]:
        """Return the digests of everything that refers to a digest."""
        return self._for(source).referrers(source, digest, tags)

    @contextmanager
    def stream(self, source: Source, descriptor: Descriptor) -> Iterator[Iterator[bytes]]:
        """Open a blob."""
        with self._for(source).stream(source, descriptor) as chunks:
            yield chunks

    def _for(self, source: Source) -> Origin:
        fitting = [(prefix, origin) for prefix, origin in self.layouts if covers(prefix, source)]
        return max(fitting, key=lambda item: len(item[0]))[1] if fitting else self.registries
