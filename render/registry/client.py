"""Tags, manifests and blobs over HTTP; every byte is checked against its digest before it is used."""

import json
import re
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import IO, Generic, TypeVar

from render.errors import RenderError
from render.limits import LimitExceeded
from render.references import Reference, Source, is_tag
from render.registry.cache import Cache
from render.registry.http.addresses import RequestRefused, api_address, follow_url, host_of, split_url
from render.registry.http.messages import HttpRequest, HttpResponse
from render.registry.http.transport import Transport
from render.registry.http.troubles import PushFailed, RegistryUnreachable
from render.registry.oci import (
    IMAGE_TYPES,
    INDEX_TYPES,
    Content,
    Descriptor,
    MissingBlob,
    NotFound,
    TamperedContent,
)
from render.registry.offline import SeenTags, cached_content, keep_content
from render.registry.tokens import Authenticator, without_secrets
from render.texts import visible

# Without them, a registry answers with schema 1 or not at all.
ACCEPT = ", ".join(sorted(IMAGE_TYPES | INDEX_TYPES, reverse=True))
# RFC 8288, 3: targets with their parameters. The pattern never backtracks, however long the header is.
_LINK = re.compile(
    r'<(?P<target>[^<>]*+)>(?P<parameters>(?:\s*+;\s*+[^\s;,="]*+(?:\s*+=\s*+(?:"[^"]*+"|[^\s;,"]*+))?+)*+)'
)
_RELATION = re.compile(r';\s*+rel\s*+=\s*+"?+([^;,"]*+)', re.IGNORECASE)
_PAGE_SIZE = 1000
# The first 401 asks for a token, the second one comes when it has expired.
_REFUSALS = 3
_FOUND = frozenset({200})

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class RegistryClient:
    """Reads from any registry; each question is asked once in a run."""

    def __init__(self, transport: Transport, authenticator: Authenticator, cache: Cache) -> None:
        self._transport = transport
        self._authenticator = authenticator
        self._cache = cache
        self._seen = SeenTags(cache)
        self._limits = transport.limits
        self._tags: _Once[Source, tuple[str, ...]] = _Once(self._fetch_tags)
        self._contents: _Once[Reference, Content] = _Once(self._fetch_content)

    def tags(self, source: Source) -> tuple[str, ...]:
        """Return all tags of a repository, sorted."""
        return self._tags.get(source)

    def content(self, reference: Reference) -> Content:
        """Return the manifest or index of a reference; with tag and digest, the digest decides."""
        by_digest = reference.digest is not None
        return self._contents.get(replace(reference, tag=None) if by_digest else reference)

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        """Return a blob as an open file; exactly the bytes of the descriptor, or an error."""
        if descriptor.size > self._limits.layer_bytes:
            raise LimitExceeded(
                f"a layer of {source} is too large",
                "layer_bytes",
                self._limits,
                found=f"{descriptor.size:,} bytes",
            )
        cached = self._cache.get_blob(descriptor.digest, descriptor.size)
        if cached is not None:
            return cached
        answer = self._fetch_checked(source, f"blobs/{descriptor.digest}", descriptor)
        self._cache.add_blob(descriptor.digest, answer.body)
        answer.body.seek(0)
        return answer.body

    def _fetch_checked(self, source: Source, path: str, descriptor: Descriptor) -> HttpResponse:
        for last in (False, True):
            answer = self._get(source, path, limit="layer_bytes", size=descriptor.size)
            if answer.digest == descriptor.digest:
                return answer
            answer.body.close()
            # Once may be a broken proxy, which deserves a second request. Twice is tampering.
            if last:
                raise TamperedContent(source, descriptor.digest, answer.digest)
        raise AssertionError("unreachable")

    def _fetch_content(self, reference: Reference) -> Content:
        asked = reference.digest
        if asked is not None and (known := cached_content(self._cache, asked)):
            return known
        answer = self._get(
            reference.source, f"manifests/{asked or reference.tag}", headers={"Accept": ACCEPT}
        )
        media_type, data = answer.headers.get("content-type", ""), answer.read()
        if asked is not None and answer.digest != asked:
            raise TamperedContent(reference.source, asked, answer.digest)
        content = Content(data, media_type, answer.digest)
        keep_content(self._cache, content)
        if asked is None:
            self._seen.put_digest(reference, content.digest)
        return content

    def _fetch_tags(self, source: Source) -> tuple[str, ...]:
        path, seen, tags = f"tags/list?n={_PAGE_SIZE}", set[str](), set[str]()
        while path:
            if path in seen or len(seen) >= self._limits.tag_pages:
                raise _endless(source, len(seen), self._limits.tag_pages)
            seen.add(path)
            answer = self._get(source, path, limit="tag_page_bytes")
            page = _parse_tags(source, answer.read())
            following = next_page(answer.headers.get("link", ""))
            if following and page <= tags:
                raise _endless(source, len(seen), self._limits.tag_pages)
            tags |= page
            if len(tags) > self._limits.tags:
                raise LimitExceeded(f"{source} has too many tags", "tags", self._limits)
            path = self.page_path(source, path, following) if following else ""
        self._seen.put_tags(source, sorted(tags))
        return tuple(sorted(tags))

    def page_path(self, source: Source, path: str, link: str) -> str:
        """Return the next page's path below the repository; raise if it is on another host or path."""
        base = self._url(source, "")
        target = follow_url(self._url(source, path), link)
        here = split_url(base)
        same_host = (target.scheme, host_of(target)) == (here.scheme, host_of(here))
        if not same_host or not target.path.startswith(here.path) or ".." in target.path.split("/"):
            raise RequestRefused(host_of(target), f"the tag list of {source} continues elsewhere")
        return target.geturl().removeprefix(f"{target.scheme}://{target.netloc}").removeprefix(here.path)

    def ask(
        self,
        source: Source,
        request: HttpRequest,
        *,
        wanted: Container[int] = _FOUND,
        mounted: Source | None = None,
    ) -> HttpResponse:
        """Send a request to a path below a repository, with credentials; raise for a status that is not wanted.

        `mounted` is another repository of the registry that the request reads from.
        """
        for tries in count(1):
            sent = self._authenticator.header(source, api_address(source)[0], mounted)
            answer = self._transport.send(self._complete(source, request, sent))
            if answer.status in wanted:
                return answer
            self._require_another_try(_Refusal(source, request, answer, sent, mounted), tries)
        raise AssertionError("unreachable")

    @contextmanager
    def stream(self, source: Source, request: HttpRequest) -> Iterator[Iterator[bytes]]:
        """Send a request as `ask` does, and yield the body piece by piece; its digest is not checked."""
        for tries in count(1):
            sent = self._authenticator.header(source, api_address(source)[0])
            with self._transport.stream(self._complete(source, request, sent)) as answer:
                if answer.other is None:
                    yield answer.chunks
                    return
            self._require_another_try(_Refusal(source, request, answer.other, sent), tries)

    def _complete(self, source: Source, request: HttpRequest, sent: str | None) -> HttpRequest:
        authorization = {"Authorization": sent} if sent else {}
        headers = {**request.headers, **authorization}
        return replace(request, url=self._url(source, request.url), headers=headers)

    def _require_another_try(self, refusal: "_Refusal", tries: int) -> None:
        """Raise unless a 401 can be answered with other credentials."""
        source, answer, sent = refusal.source, refusal.answer, refusal.sent
        # Read first, since the steps below may fail.
        message = visible(without_secrets(_error_message(answer.read()), sent))
        host, _ = api_address(source)
        if answer.status == 401 and tries < _REFUSALS:
            wanted = answer.headers.get("www-authenticate", "")
            if self._authenticator.take_challenge(source, host, wanted, sent, refusal.mounted):
                return
        raise self._failure(source, refusal.request, answer.status, message)

    def _get(
        self,
        source: Source,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        limit: str = "manifest_bytes",
        size: int | None = None,
    ) -> HttpResponse:
        return self.ask(source, HttpRequest(path, headers or {}, limit=limit, size=size))

    def _failure(self, source: Source, request: HttpRequest, status: int, message: str) -> RenderError:
        host, _ = api_address(source)
        if status in (401, 403):
            return self._authenticator.denied(source, host, status, message)
        if request.method not in ("GET", "HEAD"):
            return PushFailed(
                f"{host} rejected an upload to {source}",
                why=f"it answered with status {status}" + (f": {message}" if message else ""),
                next="check the name and that your credentials may push there",
            )
        if status == 404:
            kind, _, name = request.url.partition("?")[0].partition("/")
            what = f"{source} does not exist" if kind == "tags" else f"{source} has no {_KINDS[kind]} {name}"
            return (MissingBlob if kind == "blobs" else NotFound)(
                what,
                why=f"{host} answered with status 404" + (f": {message}" if message else ""),
                next="check the spelling; some registries also answer 404 without permission to read",
            )
        return RegistryUnreachable(
            f"{host} gave no usable answer for {source}",
            why=f"it answered with status {status}" + (f": {message}" if message else ""),
            next="try again later, or ask the operators of the registry",
        )

    def _url(self, source: Source, path: str) -> str:
        host, repository = api_address(source)
        return f"{self._transport.scheme(host)}://{host}/v2/{repository}/{path}"


_KINDS = {"manifests": "version", "blobs": "layer"}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer that was not wanted, with what was sent."""

    source: Source
    request: HttpRequest
    answer: HttpResponse
    sent: str | None
    mounted: Source | None = None


class _Once(Generic[_Key, _Value]):
    """Fetches the value of each key once: the first thread fetches, the others wait."""

    def __init__(self, fetch: Callable[[_Key], _Value]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self._values: dict[_Key, _Value] = {}

    def get(self, key: _Key) -> _Value:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = self._fetch(key)
            return self._values[key]


def _parse_tags(source: Source, data: bytes) -> set[str]:
    try:
        tags = json.loads(data)["tags"] or []
        texts = [tag for tag in tags if isinstance(tag, str)]
        if not isinstance(tags, list) or len(texts) < len(tags):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RegistryUnreachable(
            f"the tag list of {source} cannot be read",
            why="the answer is not a JSON object with a list of tags",
            next="check that the host is a container registry",
        ) from None
    # A name that is not a valid tag could not be requested.
    return {tag for tag in texts if is_tag(tag)}


def next_page(link: str) -> str:
    """Return the address of the next page in a Link header; empty at the end."""
    for found in _LINK.finditer(link):
        relation = _RELATION.search(found["parameters"])
        if relation and "next" in relation[1].lower().split():
            return found["target"]
    return ""


def _endless(source: Source, pages: int, limit: int) -> RenderError:
    why = f"it has more than {limit:,} pages" if pages >= limit else f"after {pages} pages it repeats itself"
    return RegistryUnreachable(
        f"the tag list of {source} does not end",
        why=why,
        next="ask the operators of the registry; XPLOCK_LIMIT_TAG_PAGES sets how many pages are read",
    )


def _error_message(body: bytes) -> str:
    """Return the error text of a response in one line."""
    try:
        first = json.loads(body)["errors"][0]
        return str(first.get("message") or first.get("code") or "")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return " ".join(body.decode(errors="replace").split())
