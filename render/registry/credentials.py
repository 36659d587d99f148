"""Credentials for registries, from docker and podman configuration files and the helpers they name."""

import base64
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.references import DOCKER_HUB
from render.texts import is_encodable

_HUB = "index.docker.io"
_HUB_HOSTS = DOCKER_HUB | {"registry-1.docker.io"}
# Docker's configuration still uses the address of the old API for its own registry.
_HUB_SERVER = "https://index.docker.io/v1/"

_ENVIRONMENT = "DOCKER_AUTH_CONFIG"
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_SUFFIX = re.compile(r"[A-Za-z0-9._-]+")
_HEADER_TEXT = re.compile(r"[\x21-\x7e]*")

# Short enough for the buffer of a pipe, so that writing to a helper never blocks.
_LONGEST_SERVER = 1_000
_IDENTITY_TOKEN_USER = "<token>"  # noqa: S105 - the helper protocol's mark, not a secret


class InvalidCredentialFile(InvalidInput):
    """A docker configuration that cannot be read or understood."""

    def __init__(self, origin: str, why: str | list[str]) -> None:
        super().__init__(
            f"{origin} cannot be used as a docker configuration",
            why=why,
            next="correct it, write it again with docker login, or set DOCKER_CONFIG to another folder",
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials for one registry; they are never part of a text."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """The value of an Authorization header with user name and password; empty without them."""
        if not self.username and not self.password:
            return ""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class CredentialStore:
    """Finds credentials where docker, podman and go-containerregistry look for them."""

    def __init__(self, environ: Mapping[str, str], limits: Limits, warn: Callable[[str], None]) -> None:
        self._environ = environ
        self._limits = limits
        self._warn = warn
        self._lock = threading.Lock()
        self._outcomes: dict[object, Any] = {}

    def find(self, registry: str, repository: str) -> Credentials | None:
        """Return the credentials for a repository; the entry with the longest matching name wins."""
        with self._lock:
            configs = self._once("configs", self._read_configs)
            for name in _names(registry, repository):
                for config in configs:
                    found = self._ask_helper(config, name) or config.credentials(name)
                    if found:
                        return found
        return None

    def looked_at(self) -> tuple[str, ...]:
        """Return the variables, files and helpers that were searched, for an error text."""
        with self._lock, suppress(RenderError):
            configs = self._once("configs", self._read_configs)
            helpers = {helper for config in configs for helper in config.programs()}
            return (*_describe_paths(self._environ), *sorted(helpers))
        return tuple(_describe_paths(self._environ))

    def _once(self, key: object, call: Callable[[], Any]) -> Any:
        # Failures are remembered, too: a helper that hangs costs its time limit once, not once per package.
        if key not in self._outcomes:
            try:
                self._outcomes[key] = call()
            except RenderError as error:
                self._outcomes[key] = error
        outcome = self._outcomes[key]
        if isinstance(outcome, RenderError):
            raise outcome.with_traceback(None)
        return outcome

    def _read_configs(self) -> "list[_Config]":
        configs = []
        if self._environ.get(_ENVIRONMENT):
            configs.append(_parse_config(self._environ[_ENVIRONMENT].encode(errors="replace"), _ENVIRONMENT))
        path = next((place.path for place in _config_paths(self._environ) if place.is_file()), None)
        if path is not None:
            configs.append(_read_config(path, self._limits, self._warn))
        return configs

    def _ask_helper(self, config: "_Config", name: str) -> Credentials | None:
        suffix = config.helper(name)
        if not suffix:
            return None
        # Imported late: most configurations have no helper.
        from render.registry.credential_helpers import Helper

        helper = Helper(f"docker-credential-{suffix}", config.origin, self._environ, self._limits)
        for server in config.servers(name):
            if len(server) > _LONGEST_SERVER:
                continue
            found: tuple[str, str] | None = self._once((suffix, server), partial(helper.ask, server))
            if found and any(found):
                return _from_helper(*found)
        return None


class _ConfigPath(NamedTuple):
    """A possible path of a configuration file, and the variable it comes from."""

    variable: str
    path: Path | None

    def is_file(self) -> bool:
        try:
            return self.path is not None and not stat.S_ISDIR(self.path.stat().st_mode)
        except (OSError, ValueError):
            return False


def _config_paths(environ: Mapping[str, str]) -> list[_ConfigPath]:
    # DOCKER_CONFIG replaces the file in the home folder. An empty variable counts as unset: it would otherwise name
    # the current folder, which may be a foreign repository.
    docker = ("DOCKER_CONFIG", "config.json")
    podman = ("XDG_CONFIG_HOME", "containers/auth.json")
    below = [
        docker if environ.get("DOCKER_CONFIG") else ("HOME", ".docker/config.json"),
        ("REGISTRY_AUTH_FILE", ""),
        ("XDG_RUNTIME_DIR", "containers/auth.json"),
        podman if environ.get("XDG_CONFIG_HOME") else ("HOME", ".config/containers/auth.json"),
    ]
    return [
        _ConfigPath(name, Path(environ[name], rest) if environ.get(name) else None) for name, rest in below
    ]


def _describe_paths(environ: Mapping[str, str]) -> list[str]:
    texts = [_ENVIRONMENT] if environ.get(_ENVIRONMENT) else []
    for place in _config_paths(environ):
        if place.path is None:
            texts.append(f"{place.variable} (not set)")
        elif place.is_file():
            # Only the first file that exists is read.
            return [*texts, f"{place.path} (from {place.variable})"]
        else:
            texts.append(f"{place.path} (from {place.variable}, absent)")
    return texts


def _from_helper(user: str, secret: str) -> Credentials | None:
    if user != _IDENTITY_TOKEN_USER:
        return Credentials(user, secret)
    return Credentials(identity_token=secret) if secret else None


def _name(key: str) -> str:
    """Return a key of a configuration as host[:port][/path], one spelling for each."""
    host, _, path = _SCHEME.sub("", key.strip(), count=1).partition("/")
    host = host.rpartition("@")[2].lower().removesuffix(":443")
    host = _HUB if host in _HUB_HOSTS else host
    path = path.strip("/")
    # Versions of the registry API, which older versions of docker login wrote after the host.
    return host if path in ("", "v1", "v2") else f"{host}/{path}"


def _names(registry: str, repository: str) -> list[str]:
    host = _name(registry)
    parts = [part for part in repository.split("/") if part]
    return ["/".join([host, *parts[:length]]) for length in range(len(parts), -1, -1)]


@dataclass(frozen=True, slots=True)
class _Config:
    """One configuration; names are canonical, keys are as written."""

    origin: str
    entries: Mapping[str, Mapping[str, Credentials]] = field(repr=False)
    helpers: Mapping[str, str]
    store: str

    def helper(self, name: str) -> str:
        if name in self.helpers:
            return self.helpers[name]
        # The store applies to every name, but asking it for every repository would start too many processes.
        return self.store if name in self.entries or "/" not in name else ""

    def servers(self, name: str) -> list[str]:
        """Return the spellings of a name that a helper may know, the usual one first."""
        usual = _HUB_SERVER if name == _HUB else name
        return list(dict.fromkeys([usual, *self.entries.get(name, ())]))

    def credentials(self, name: str) -> Credentials | None:
        entries = self.entries.get(name, {})
        found = (entries.get(server, Credentials()) for server in self.servers(name))
        return next((entry for entry in found if entry != Credentials()), None)

    def has_secrets(self) -> bool:
        return any(self.credentials(name) for name in self.entries)

    def programs(self) -> list[str]:
        keys = dict.fromkeys(self.helpers.values(), "credHelpers") | {self.store: "credsStore"}
        return [
            f"docker-credential-{suffix} ({key} in {self.origin})" for suffix, key in keys.items() if suffix
        ]


def _read_config(path: Path, limits: Limits, warn: Callable[[str], None]) -> _Config:
    try:
        # O_NONBLOCK: a named pipe instead of a file must not block.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(limits.manifest_bytes + 1) if stat.S_ISREG(mode) else None
    except OSError as error:
        raise InvalidCredentialFile(str(path), f"it cannot be read: {error.strerror}") from None
    if data is None:
        raise InvalidCredentialFile(str(path), "it is not a regular file")
    if len(data) > limits.manifest_bytes:
        raise LimitExceeded(f"{path} is too large", "manifest_bytes", limits)
    config = _parse_config(data, str(path))
    if mode & stat.S_IROTH and config.has_secrets():
        warn(f"{path} contains credentials and is readable by every user; run chmod o-r on it")
    return config


def _parse_config(data: bytes, origin: str) -> _Config:
    problems: list[str] = []
    document = _mapping(_parse_json(data, origin), "the document", problems)
    entries: dict[str, dict[str, Credentials]] = {}
    for key, entry in _mapping(document.get("auths"), "auths", problems).items():
        entries.setdefault(_name(key), {})[key] = _parse_entry(entry, f"auths[{_name(key)}]", problems)
    helpers = _mapping(document.get("credHelpers"), "credHelpers", problems)
    config = _Config(
        origin,
        entries,
        {_name(key): _suffix(helpers, key, f"credHelpers[{_name(key)}]", problems) for key in helpers},
        _suffix(document, "credsStore", "credsStore", problems),
    )
    if problems:
        raise InvalidCredentialFile(origin, problems)
    return config


def _parse_json(data: bytes, origin: str) -> Any:
    # Docker accepts an empty file.
    if not data.strip():
        return {}
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        place = "its text"
    # Raised outside of the handlers, so that no exception keeps the text.
    raise InvalidCredentialFile(origin, f"it is not JSON: see {place}")


def _parse_entry(entry: Any, place: str, problems: list[str]) -> Credentials:
    fields = _mapping(entry, place, problems)
    names = ("username", "password", "identitytoken", "registrytoken", "auth")
    user, password, identity, registry, auth = (
        _text(fields, name, f"{place}.{name}", problems) for name in names
    )
    if auth:
        user, password = _decode_auth(auth, f"{place}.auth", problems)
    if not _HEADER_TEXT.fullmatch(registry):
        problems.append(f"{place}.registrytoken: it has invalid characters")
    return Credentials(user, password, identity, registry)


def _decode_auth(auth: str, place: str, problems: list[str]) -> tuple[str, str]:
    text = auth.strip()
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        decoded = ""
    user, _, password = decoded.partition(":")
    if not user or ":" not in decoded:
        problems.append(f"{place}: it is not user:password in base64")
    return user, password.strip("\0")


def _suffix(mapping: Mapping[str, Any], key: str, place: str, problems: list[str]) -> str:
    suffix = _text(mapping, key, place, problems)
    if suffix and not _SUFFIX.fullmatch(suffix):
        problems.append(f"{place}: the name of a helper has letters, digits, '.', '_' and '-' only")
    return suffix


def _mapping(value: Any, place: str, problems: list[str]) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, dict):
        problems.append(f"{place}: expected an object")
    return value if isinstance(value, dict) else {}


def _text(mapping: Mapping[str, Any], key: str, place: str, problems: list[str]) -> str:
    value = mapping.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or not is_encodable(value):
        problems.append(f"{place}: expected text")
        return ""
    return value
