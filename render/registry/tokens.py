"""Challenge → Authorization header: Basic, Bearer and anonymous tokens, each for one registry only."""

import base64
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode

from render.errors import Unavailable
from render.references import Source
from render.registry.access import RegistrySettings
from render.registry.credentials import Credentials, CredentialStore
from render.registry.http.addresses import RequestRefused, api_address, host_of, is_private, split_url
from render.registry.http.messages import HttpRequest
from render.registry.http.transport import Transport

# RFC 9110, 11.6.1: schemes and their parameters in one list. The pattern never backtracks, since the list comes from
# outside and may have megabytes.
_CHALLENGE_PART = re.compile(
    r'(?P<name>[a-z0-9_-]++)\s*+=\s*+(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<bare>[^\s,"]*+))|(?P<scheme>[a-z0-9_-]++)',
    re.IGNORECASE,
)
_QUOTED_PAIR = re.compile(r"\\(.)")
_TOKEN = re.compile(r"[\x21-\x7e]+")
# Distribution spec, "Token authentication": a token without a lifetime is valid for a minute.
_DEFAULT_LIFETIME = 60
_SPARE_SECONDS = 5
_LONGEST_LIFETIME = 3_600


class AccessDenied(Unavailable):
    """A registry that denies access."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The authentication that a registry requires."""

    scheme: str
    realm: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True)
class _Header:
    text: str
    valid_until: float


class Authenticator:
    """Makes Authorization headers; credentials of one registry are never sent to another."""

    def __init__(
        self,
        transport: Transport,
        settings: RegistrySettings,
        credentials: CredentialStore,
        *,
        actions: str = "pull",
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._credentials = credentials
        self._actions = actions
        self._challenges: dict[str, Challenge] = {}
        # By repository, and by another one that requests read from.
        self._headers: dict[tuple[Source, Source | None], _Header] = {}
        self._locks: dict[Source, threading.Lock] = {}

    def header(self, source: Source, host: str, mounted: Source | None = None) -> str | None:
        """Return the Authorization header for a repository, or None before its registry sent a challenge.

        `mounted` is another repository of the registry that the request reads from.
        """
        challenge = self._challenges.get(host)
        if challenge is None:
            return None
        # One thread fetches the token, the others wait for it.
        with self._locks.setdefault(source, threading.Lock()):
            known = self._headers.get((source, mounted))
            if known is None or known.valid_until <= self._transport.deadline.now():
                known = self._headers[source, mounted] = self._make_header(source, host, challenge, mounted)
            return known.text or None

    def take_challenge(
        self, source: Source, host: str, wanted: str, sent: str | None, mounted: Source | None = None
    ) -> bool:
        """Record the WWW-Authenticate header of a 401; return whether a second request can succeed."""
        challenge = parse_challenge(wanted)
        if challenge is None:
            return False
        self._challenges[host] = challenge
        known = self._headers.get((source, mounted))
        if known is not None and known.text == (sent or ""):
            # The header was rejected: an expired token can be renewed, a password cannot.
            del self._headers[source, mounted]
            return challenge.scheme == "bearer" and sent is not None
        return (
            challenge.scheme == "bearer"
            or self._credentials.find(source.registry, source.repository) is not None
        )

    def denied(self, source: Source, host: str, status: int, message: str) -> AccessDenied:
        """Return the error for a registry that denies access."""
        found = self._credentials.find(source.registry, source.repository) is not None
        looked = "; ".join(self._credentials.looked_at())
        return AccessDenied(
            f"{host} denies access to {'write' if 'push' in self._actions else 'read'} {source}",
            why=[
                f"it answered with status {status}" + (f": {message}" if message else ""),
                "the credentials found for it were sent" if found else f"no credentials for it in: {looked}",
            ],
            next=f"check the name, or log in: docker login {source.registry}",
        )

    def _make_header(
        self, source: Source, host: str, challenge: Challenge, mounted: Source | None
    ) -> _Header:
        credentials = self._credentials.find(source.registry, source.repository)
        if challenge.scheme == "basic":
            return _Header(credentials.basic if credentials and credentials.username else "", float("inf"))
        if credentials and credentials.registry_token:
            return _Header(f"Bearer {credentials.registry_token}", float("inf"))
        scopes = [f"repository:{api_address(source)[1]}:{self._actions}"]
        if mounted:
            scopes.append(f"repository:{api_address(mounted)[1]}:pull")
        return self._fetch_token(source, host, challenge, credentials, scopes)

    def _fetch_token(
        self,
        source: Source,
        host: str,
        challenge: Challenge,
        credentials: Credentials | None,
        scopes: Sequence[str],
    ) -> _Header:
        realm = split_url(challenge.realm)
        if not self._may_see_credentials(host, realm):
            credentials = None
        request = _token_request(realm, challenge.service, scopes, credentials)
        answer = self._transport.send(request)
        data = answer.read()
        if answer.status != 200:
            message = f"its token server {host_of(realm)} answered with status {answer.status}"
            raise self.denied(source, host, answer.status, message)
        return self._read_token(data, host_of(realm))

    def _may_see_credentials(self, host: str, realm: SplitResult) -> bool:
        scheme = self._transport.scheme(host)
        if realm.scheme == "http" and scheme == "https":
            raise RequestRefused(host_of(realm), f"{host} names it as its token server without TLS")
        same = (realm.scheme, host_of(realm)) == (scheme, host)
        if same or host_of(realm) in self._settings.trusted_realms.get(host, frozenset()):
            return True
        if is_private(realm):
            raise RequestRefused(
                host_of(realm),
                f"{host} names it as its token server, which is an address inside a network",
                next=f"if you trust it, set XPLOCK_TRUSTED_REALMS={host}={host_of(realm)}",
            )
        return False

    def _read_token(self, data: bytes, realm: str) -> _Header:
        try:
            body = json.loads(data)
            token = body.get("token") or body.get("access_token")
            lifetime = body.get("expires_in") or _DEFAULT_LIFETIME
            if not isinstance(token, str) or not isinstance(lifetime, int | float):
                raise ValueError
            # Only these characters are safe in a header.
            if not _TOKEN.fullmatch(token):
                raise ValueError
        except (ValueError, AttributeError, RecursionError):
            raise AccessDenied(
                f"the token server {realm} sent no token",
                why="its response is not a JSON object with a token",
                next="ask the operators of the registry",
            ) from None
        seconds = min(max(lifetime - _SPARE_SECONDS, _SPARE_SECONDS), _LONGEST_LIFETIME)
        return _Header(f"Bearer {token}", self._transport.deadline.now() + seconds)


def parse_challenge(header: str) -> Challenge | None:
    """Parse a WWW-Authenticate header; of several challenges a bearer one is preferred."""
    found: list[tuple[str, dict[str, str]]] = []
    for part in _CHALLENGE_PART.finditer(header):
        if part["scheme"]:
            found.append((part["scheme"].lower(), {}))
        elif found:
            quoted = part["quoted"]
            text = part["bare"] if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
            found[-1][1][part["name"].lower()] = text
    challenges = [Challenge(scheme, p.get("realm", ""), p.get("service", "")) for scheme, p in found]
    usable = [c for c in challenges if c.scheme == "basic" or (c.scheme == "bearer" and c.realm)]
    return max(usable, key=lambda challenge: challenge.scheme == "bearer", default=None)


def without_secrets(text: str, sent: str | None) -> str:
    """Return a registry's error text without our credentials: some registries repeat the rejected header."""
    scheme, _, value = (sent or "").partition(" ")
    secrets = [value]
    if scheme == "Basic":
        user_and_password = base64.b64decode(value).decode()
        secrets += [user_and_password, user_and_password.partition(":")[2]]
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text


def _token_request(
    realm: SplitResult, service: str, scopes: Sequence[str], credentials: Credentials | None
) -> HttpRequest:
    named = {"service": service} if service else {}
    if credentials and credentials.identity_token:
        form = {
            **named,
            "scope": " ".join(scopes),
            "grant_type": "refresh_token",
            "client_id": "xplock",
            "refresh_token": credentials.identity_token,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return HttpRequest(
            realm.geturl(), headers, method="POST", body=urlencode(form).encode(), limit="token_bytes"
        )
    headers = {"Authorization": credentials.basic} if credentials and credentials.username else {}
    # Distribution spec, "Token authentication": one parameter for each scope.
    given = urlencode([*named.items(), *(("scope", scope) for scope in scopes)])
    query = "&".join(part for part in (realm.query, given) if part)
    return HttpRequest(realm._replace(query=query, fragment="").geturl(), headers, limit="token_bytes")
