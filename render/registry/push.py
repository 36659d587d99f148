"""Pushing: oras uploads blobs and manifests, with its requests replaced by ours. The one door to oras."""

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any
from urllib.parse import SplitResult
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # missing in its stubs

import oras.container
import oras.provider
import requests
import urllib3
from requests.adapters import HTTPAdapter

from render.references import Digest, Source
from render.registry.access import RegistrySettings
from render.registry.http.addresses import (
    RequestRefused,
    api_address,
    check_upload_target,
    follow_url,
    host_of,
    split_url,
)
from render.registry.http.connections import read_proxies, tls_context
from render.registry.http.transport import Transport
from render.registry.http.troubles import PushFailed, find_retry_after, is_overload
from render.registry.oci import Content, Descriptor
from render.registry.tokens import Authenticator
from render.texts import redact, visible

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_TRIES = 4
_SHOWN_BYTES = 2_000


class Pusher:
    """Pushes to one repository. Every repository has its own client, since oras keeps one token per client."""

    def __init__(
        self, source: Source, transport: Transport, settings: RegistrySettings, authenticator: Authenticator
    ) -> None:
        host, repository = api_address(source)
        self._client = _Client(source, transport, settings, authenticator)
        self._base = f"{transport.scheme(host)}://{host}/v2/{repository}"
        # For a registry name without a dot, oras would use Docker Hub.
        self._container = oras.container.Container(repository)
        self._container.registry, self._container.namespace = host, ""
        self._container.repository = repository
        self._there: set[Digest] = set()

    def push_blob(self, descriptor: Descriptor, file: IO[bytes]) -> None:
        """Upload a blob unless the registry has it, which is asked once."""
        if descriptor.digest in self._there:
            return
        # oras takes blobs by path.
        with tempfile.NamedTemporaryFile() as copy:
            while chunk := file.read(1 << 20):
                copy.write(chunk)
            copy.flush()
            layer = {"digest": descriptor.digest, "size": descriptor.size, "mediaType": descriptor.media_type}
            response = self._client.upload_blob(copy.name, self._container, layer)
        self._check(response, f"the blob {descriptor.digest}")
        self._there.add(descriptor.digest)

    def push_content(self, content: Content, tag: str | None = None) -> None:
        """Upload exactly these bytes of a manifest or index, under a tag or its digest."""
        self.push_manifest(content, tag)

    def push_manifest(self, content: Content, tag: str | None = None) -> bool:
        """Upload likewise, and return whether the registry itself lists the manifest as a referrer of its subject."""
        response = self._client.do_request(
            f"{self._base}/manifests/{tag or content.digest}",
            "PUT",
            data=content.data,
            headers={"Content-Type": content.media_type},
        )
        self._check(response, f"the manifest {tag or content.digest}")
        stored = response.headers.get("Docker-Content-Digest", content.digest)
        if stored != content.digest:
            raise PushFailed(
                f"{host_of(split_url(self._base))} changed the pushed manifest",
                why=[f"pushed {content.digest}", f"stored {stored}"],
                next="ask the operators of the registry; a package must be stored byte for byte",
            )
        # Distribution spec, "Pushing manifests with subject".
        return "OCI-Subject" in response.headers

    def _check(self, response: requests.Response, what: str) -> None:
        if response.status_code not in (200, 201, 202):
            raise _refusal(host_of(split_url(self._base)), what, response)


class _Client(oras.provider.Registry):  # type: ignore[misc]  # it has no types
    """The client of oras with other requests: with time limits, without redirects, with credentials for one host."""

    def __init__(
        self, source: Source, transport: Transport, settings: RegistrySettings, authenticator: Authenticator
    ) -> None:
        host, _ = api_address(source)
        super().__init__(hostname=host, insecure=transport.scheme(host) == "http")
        self._source, self._host = source, host
        self._transport, self._settings, self._authenticator = transport, settings, authenticator
        # Otherwise .netrc would replace our Authorization header.
        self.session.trust_env = False
        self._proxies = read_proxies(settings.environ)
        self.session.mount("https://", _TrustingAdapter(settings))

    def do_request(
        self,
        url: str,
        method: str = "GET",
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,  # noqa: ARG002 - part of the signature; our manifests are bytes
        stream: bool = False,  # noqa: ARG002 - likewise
    ) -> requests.Response:
        """Send one request of an upload, with retries."""
        refused = False
        for attempt in range(_TRIES):
            sent = self._authorization(url)
            last = attempt == _TRIES - 1
            response = self._send(method, url, data, {**(headers or {}), **sent}, last=last)
            if response is None or response.status_code in _RETRIED:
                if not last:
                    self._wait(attempt, response)
                continue
            wanted = response.headers.get("WWW-Authenticate", "")
            known = sent.get("Authorization")
            # A challenge of another host is never answered.
            if response.status_code != 401 or refused or host_of(split_url(url)) != self._host:
                return response
            refused = known is not None
            if not self._authenticator.take_challenge(self._source, self._host, wanted, known):
                raise self._authenticator.denied(self._source, self._host, 401, _message(response))
        raise PushFailed(f"{self._host} keeps failing", why=_problem(response), next="try again later")

    def _wait(self, attempt: int, response: requests.Response | None) -> None:
        seconds = 0.0
        if response is not None:
            asked = find_retry_after({name.lower(): text for name, text in response.headers.items()})
            seconds = min(asked, self._transport.limits.retry_after_seconds)
            if is_overload(response.status_code, asked):
                self._transport.host(self._host).note_overload(seconds)
        wait = max(0.25 * 2**attempt, seconds)
        self._transport.deadline.wait(wait, self._host)

    def put_upload(self, blob: str, container: Any, layer: Any) -> requests.Response:
        """Upload a blob; translate the error that oras raises if the registry sends no upload location."""
        try:
            response: requests.Response = super().put_upload(blob, container, layer)
        except ValueError:
            raise PushFailed(
                f"{self._host} sent no location to upload {layer['digest']}",
                why="its response has no Location header",
                next="check the name, and that the host is a container registry",
            ) from None
        return response

    def _get_location(self, r: requests.Response, container: Any) -> str:
        if r.status_code not in (201, 202):
            raise _refusal(self._host, f"an upload to {container.api_prefix}", r)
        location = r.headers.get("Location", "")
        # Distribution spec, "Pushing blobs": the location may be relative.
        return follow_url(r.url, location).geturl() if location else ""

    def _authorization(self, url: str) -> dict[str, str]:
        parts = split_url(url)
        self._check_target(parts)
        header = (
            self._authenticator.header(self._source, self._host) if host_of(parts) == self._host else None
        )
        return {"Authorization": header} if header else {}

    def _check_target(self, parts: SplitResult) -> None:
        """Raise for an upload location that breaks the rules for redirects on the read path."""
        target, allowed = host_of(parts), self._settings.allowed
        if allowed is not None and target not in allowed:
            raise RequestRefused(
                target,
                "it is not in XPLOCK_ALLOWED_REGISTRIES, the only hosts that may be asked",
                next=f"add {target} to XPLOCK_ALLOWED_REGISTRIES, or push to an allowed host",
            )
        check_upload_target(split_url(f"{self.prefix}://{self._host}"), parts)

    def _send(
        self, method: str, url: str, data: Any, headers: Mapping[str, str], *, last: bool
    ) -> requests.Response | None:
        limits = self._transport.limits
        self._transport.deadline.check(self._host)
        session: requests.Session = self.session
        try:
            with (
                self._transport.slots(self._host),
                session.request(
                    method,
                    url,
                    data=data,
                    headers=dict(headers),
                    timeout=(limits.connect_seconds, limits.request_seconds),
                    allow_redirects=False,
                    proxies=self._proxies_for(url),
                    stream=True,
                ) as response,
            ):
                # The body is only used for errors; the beginning of an endless one is enough.
                response._content = response.raw.read(limits.error_bytes)
            self._transport.trace(f"{method} {redact(url)}: {response.status_code}")
            return response
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            if last or isinstance(error, requests.exceptions.SSLError):
                raise PushFailed(
                    f"{self._host} cannot be reached",
                    why=redact(str(error)),
                    next="check the name and the network",
                ) from None
            return None

    def _proxies_for(self, url: str) -> dict[str, str]:
        host = split_url(url).netloc
        return {} if proxy_bypass_environment(host, self._proxies) else self._proxies


class _TrustingAdapter(HTTPAdapter):
    """Trusts the same certificate authorities as the read path."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._context = tls_context(settings)
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        return super().proxy_manager_for(*args, ssl_context=self._context, **kwargs)

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Leave our context as it is; requests would add its own authorities."""


def _refusal(host: str, what: str, response: requests.Response) -> PushFailed:
    refusal = PushFailed(
        f"{host} rejected {what}",
        why=f"it answered with status {response.status_code}: {_message(response)}",
        next="check the name and that your credentials may push there",
    )
    refusal.status = response.status_code
    return refusal


def _message(response: requests.Response) -> str:
    with suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
        return visible(str(response.json()["errors"][0]["message"]))
    return visible(response.text[:_SHOWN_BYTES])


def _problem(response: requests.Response | None) -> str:
    return "no answer" if response is None else f"it answered with status {response.status_code}"
