"""A registry as the destination. Every blob is asked for, then mounted from a repository that has it, then streamed."""

import threading
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlencode

from render.errors import RenderError
from render.limits import MIB
from render.references import Digest, Reference, Source, is_digest
from render.registry.client import ACCEPT, RegistryClient
from render.registry.copying.attached import fallback_tag, is_index, parse_referrers, subject_of
from render.registry.copying.model import Reader, Way
from render.registry.copying.origins import list_referrers
from render.registry.http.addresses import api_address, check_upload_target, follow_url, host_of, split_url
from render.registry.http.messages import HttpRequest, HttpResponse
from render.registry.http.transport import Transport
from render.registry.http.troubles import PushFailed, Transient
from render.registry.oci import Content, Descriptor, TamperedContent, digest_of
from render.registry.tokens import AccessDenied, Authenticator

_UPLOADS = "blobs/uploads/"
_OCTETS = "application/octet-stream"
# A registry that redirects to its storage has the blob, and the address there may be good for other methods only.
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DIGEST = "docker-content-digest"


class ReferrerRejected(RenderError):
    """A registry that takes no manifest with a subject, as old ones do."""

    def __init__(self, source: Source, digest: Digest, subject: Digest) -> None:
        super().__init__(
            f"{api_address(source)[0]} rejected {Reference(source, digest=digest)}",
            why=f"it answered with status 405 to a manifest that refers to {subject}",
            next=[
                "ask the operators of the registry to allow such manifests (OCI 1.1)",
                "copy without signatures and whatever else is attached: --no-attached",
            ],
        )


class ManifestPusher(Protocol):
    """Pushes the manifests of one repository."""

    def push_manifest(self, content: Content, tag: str | None = None) -> bool: ...


@dataclass(slots=True)
class RegistryDestination:
    """Writes to one registry.

    oras pushes the manifests. Blobs are ours: oras reads each from a file into memory, and cannot mount.
    """

    client: RegistryClient
    transport: Transport
    authenticator: Authenticator
    pusher: Callable[[Source], ManifestPusher]
    _pushers: dict[Source, ManifestPusher] = field(default_factory=dict)
    # The repositories that were seen to have a blob; each question is asked once in a run.
    _places: dict[Digest, list[Source]] = field(default_factory=dict)
    _locks: dict[Digest, threading.Lock] = field(default_factory=dict)

    def find(self, source: Source, name: str) -> Digest | None:
        """Return the digest that the registry has under a tag or a digest."""
        request = HttpRequest(f"manifests/{name}", {"Accept": ACCEPT}, method="HEAD")
        answer = self._ask(source, request, {200, 404})
        if answer.status == 404:
            return None
        said = answer.headers.get(_DIGEST, "")
        if not is_digest(said):
            content = self.content(source, name)
            return content.digest if content else None
        if is_digest(name) and said != name:
            raise TamperedContent(source, Digest(name), Digest(said))
        return Digest(said)

    def content(self, source: Source, name: str) -> Content | None:
        """Return the manifest or index under a tag or a digest, if there is one."""
        answer = self.client.ask(
            source, HttpRequest(f"manifests/{name}", {"Accept": ACCEPT}), wanted={200, 404}
        )
        data, media_type = answer.read(), answer.headers.get("content-type", "")
        if answer.status == 404:
            return None
        if is_digest(name) and answer.digest != name:
            raise TamperedContent(source, Digest(name), answer.digest)
        return Content(data, media_type, digest_of(data))

    def referrers(self, source: Source, digest: Digest) -> Sequence[Digest]:
        """Return the digests in the registry's own list of referrers, or in the one under the tag for it."""
        listed = list_referrers(self.client, source, digest, self.transport.limits)
        if listed is not None:
            return listed
        content = self.content(source, fallback_tag(digest))
        if content is None or content.digest == digest or not is_index(content.data):
            return ()
        return parse_referrers(source, digest, content.data)

    def has_blob(self, source: Source, descriptor: Descriptor, *, deep: bool) -> bool:  # noqa: ARG002 - for files
        """Return whether the repository has a blob."""
        if source in self._places.get(descriptor.digest, ()):
            return True
        request = HttpRequest(
            f"blobs/{descriptor.digest}", method="HEAD", limit="copied_bytes", followed=frozenset()
        )
        answer = self._ask(source, request, {200, 404, *_REDIRECTS})
        if answer.status == 404:
            return False
        self._places.setdefault(descriptor.digest, []).append(source)
        return True

    def put_blob(self, source: Source, descriptor: Descriptor, read: Reader) -> Way:
        """Put a blob into a repository, unless it is there; two threads never copy the same one."""
        with self._locks.setdefault(descriptor.digest, threading.Lock()):
            if self.has_blob(source, descriptor, deep=False):
                return Way.THERE
            host, _ = api_address(source)
            way = self.transport.retry(host, lambda: self._upload(source, descriptor, read))
            self._places.setdefault(descriptor.digest, []).append(source)
            return way

    def put_manifest(self, source: Source, content: Content, tag: str | None) -> bool:
        """Put a manifest there, and return whether the registry lists it as a referrer by itself."""
        if source not in self._pushers:
            self._pushers[source] = self.pusher(source)
        try:
            return self._pushers[source].push_manifest(content, tag)
        except PushFailed as error:
            subject = subject_of(content)
            if error.status == 405 and subject:
                raise ReferrerRejected(source, content.digest, subject) from None
            raise

    def _ask(
        self, source: Source, request: HttpRequest, wanted: Container[int], mounted: Source | None = None
    ) -> HttpResponse:
        """Send a request whose answer is in its status and headers."""
        answer = self.client.ask(source, request, wanted=wanted, mounted=mounted)
        answer.body.close()
        return answer

    def _upload(self, source: Source, descriptor: Descriptor, read: Reader) -> Way:
        """Copy a blob in one attempt. One that broke starts again from zero: few registries resume well."""
        start = self._start(source, descriptor)
        if start.status == 201:
            return Way.MOUNTED
        url = self._upload_url(source, descriptor, start)
        host, _ = api_address(source)
        sent = None
        if host_of(split_url(url)) == host:
            sent = self.authenticator.header(source, host)
        # The source is opened first, since it may need a slot of the same host.
        with read() as chunks:
            headers = {
                "Content-Type": _OCTETS,
                "Content-Length": str(descriptor.size),
                **({"Authorization": sent} if sent else {}),
            }
            seconds = descriptor.size / MIB
            request = HttpRequest(url, headers, "PUT", chunks, "error_bytes", seconds=seconds)
            answer = self.transport.send_once(request)
        answer.body.close()
        self._check(source, descriptor, answer, sent)
        return Way.COPIED

    def _start(self, source: Source, descriptor: Descriptor) -> HttpResponse:
        # Quay rejects a mount that does not say where from, and so there is none without a place.
        for other in self._places.get(descriptor.digest, [])[:1]:
            asked = urlencode({"mount": descriptor.digest, "from": api_address(other)[1]})
            request = HttpRequest(
                f"{_UPLOADS}?{asked}", {"Content-Type": _OCTETS}, "POST", b"", "error_bytes"
            )
            # 202 means that the blob was not mounted, and that it can be uploaded.
            with suppress(AccessDenied):
                return self._ask(source, request, {201, 202}, other)
        request = HttpRequest(_UPLOADS, {"Content-Type": _OCTETS}, "POST", b"", "error_bytes")
        return self._ask(source, request, {202})

    def _upload_url(self, source: Source, descriptor: Descriptor, start: HttpResponse) -> str:
        host, repository = api_address(source)
        location = start.headers.get("location", "")
        if not location:
            raise PushFailed(
                f"{host} sent no location to upload {descriptor.digest}",
                why="its response has no Location header",
                next="check the name, and that the host is a container registry",
            )
        here = f"{self.transport.scheme(host)}://{host}/v2/{repository}/blobs/uploads/"
        target = follow_url(here, location)
        check_upload_target(split_url(here), target)
        query = "&".join(part for part in (target.query, urlencode({"digest": descriptor.digest})) if part)
        return target._replace(query=query).geturl()

    def _check(self, source: Source, descriptor: Descriptor, answer: HttpResponse, sent: str | None) -> None:
        host, _ = api_address(source)
        stored = answer.headers.get(_DIGEST, descriptor.digest)
        if answer.status in (200, 201, 204) and stored == descriptor.digest:
            return
        challenge = answer.headers.get("www-authenticate", "")
        if answer.status == 401 and self.authenticator.take_challenge(source, host, challenge, sent):
            raise Transient("its token expired", answered=True)
        if answer.status == 404:
            raise Transient("it has forgotten an upload", answered=True)
        said = f"it stored {stored}" if answer.status < 300 else f"it answered with status {answer.status}"
        raise PushFailed(
            f"{host} rejected the blob {Reference(source, digest=descriptor.digest)}",
            why=said,
            next="check that your credentials may push there, and how much space the registry has",
        )
