"""A small registry in memory that does everything right, except where a test overrides it."""

import hashlib
import json
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypedDict
from urllib.parse import parse_qs, quote, unquote

from rig.registry.http_server import Answer, Certificate, RecordingServer, Request, Route, answer, late

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class Descriptor(TypedDict):
    """How a manifest names a blob."""

    mediaType: str
    digest: str
    size: int


class MiniRegistry:
    """Manifests, blobs and tags over HTTP; blobs are in every repository."""

    def __init__(
        self,
        *,
        page_size: int | None = None,
        latency: float = 0.0,
        address: str = "127.0.0.1",
        certificate: Certificate | None = None,
    ) -> None:
        self.page_size = page_size
        self.latency = latency
        self.server = RecordingServer(self._delayed, address=address, certificate=certificate)
        self._overrides: dict[str, Route] = {}
        self._blobs: dict[str, bytes] = {}
        self._manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self._tags: dict[str, dict[str, str]] = {}

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.stop()

    @property
    def host(self) -> str:
        """The address and port, as a reference spells them."""
        return self.server.host

    @property
    def url(self) -> str:
        """The address with its scheme and no slash at the end."""
        return self.server.url

    @property
    def requests(self) -> tuple[Request, ...]:
        """Everything asked so far, in order."""
        return self.server.requests

    def add_blob(self, content: bytes, media_type: str = "application/octet-stream") -> Descriptor:
        """Keep a blob and describe it."""
        digest = _digest(content)
        self._blobs[digest] = content
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def add_manifest(
        self, repository: str, tag: str | None, content: bytes, media_type: str = MANIFEST
    ) -> str:
        """Keep a manifest, under a tag if one is given, and return its digest; a tag may move."""
        digest = _digest(content)
        self._manifests[repository, digest] = (media_type, content)
        tags = self._tags.setdefault(repository, {})
        if tag is not None:
            tags[tag] = digest
        return digest

    def override(self, path: str, route: Route) -> None:
        """Let one path, with or without a query, answer in another way."""
        self._overrides[path] = route

    def serve(self, request: Request) -> Answer:
        """Answer properly; a part of an override that should end well."""
        if request.method not in ("GET", "HEAD"):
            return _refusal(405, "UNSUPPORTED")
        if request.path == "/v2/":
            return _json({})
        match unquote(request.path).removeprefix("/v2/").rsplit("/", 2):
            case [repository, "manifests", reference]:
                return self._manifest(repository, reference)
            case [_, "blobs", digest]:
                return self._blob(digest)
            case [repository, "tags", "list"]:
                return self._tag_page(repository, request)
        return _refusal(404, "NAME_UNKNOWN")

    def _delayed(self, request: Request) -> Answer | None:
        route = self._overrides.get(request.target) or self._overrides.get(request.path) or self.serve
        return late(route, self.latency)(request)

    def _manifest(self, repository: str, reference: str) -> Answer:
        digest = self._tags.get(repository, {}).get(reference, reference)
        if (repository, digest) not in self._manifests:
            return _refusal(404, "MANIFEST_UNKNOWN")
        media_type, content = self._manifests[repository, digest]
        return answer(200, content, {"Content-Type": media_type, "Docker-Content-Digest": digest})

    def _blob(self, digest: str) -> Answer:
        if digest not in self._blobs:
            return _refusal(404, "BLOB_UNKNOWN")
        headers = {"Content-Type": "application/octet-stream", "Docker-Content-Digest": digest}
        return answer(200, self._blobs[digest], headers)

    def _tag_page(self, repository: str, request: Request) -> Answer:
        if repository not in self._tags:
            return _refusal(404, "NAME_UNKNOWN")
        asked = parse_qs(request.query)
        last = asked.get("last", [""])[0]
        rest = sorted(tag for tag in self._tags[repository] if tag > last)
        size = self._size_of_page([int(number) for number in asked.get("n", [])], len(rest))
        page = rest[:size]
        headers = {}
        if page and len(page) < len(rest):
            # Distribution spec, "Listing Tags": the next page is in the Link header.
            following = f"/v2/{repository}/tags/list?n={size}&last={quote(page[-1])}"
            headers = {"Link": f'<{following}>; rel="next"'}
        return _json({"name": repository, "tags": page}, headers=headers)

    def _size_of_page(self, asked: Sequence[int], all_of_them: int) -> int:
        own = [] if self.page_size is None else [self.page_size]
        return min([all_of_them, *asked, *own])


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(document: object, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    body = json.dumps(document).encode()
    return answer(status, body, {"Content-Type": "application/json", **(headers or {})})


def _refusal(status: int, code: str) -> Answer:
    return _json({"errors": [{"code": code, "message": code.replace("_", " ").lower()}]}, status)
