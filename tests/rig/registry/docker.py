"""Debian's docker-registry on a loopback port: open, with a password, or with tokens."""

import base64
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs

from rig.processes import dying_with_us
from rig.registry.http_server import (
    WAIT_SECONDS,
    Answer,
    Certificate,
    RecordingServer,
    Request,
    answer,
    make_certificate,
)

Auth: TypeAlias = Literal["open", "htpasswd", "token"]

USERNAME = "robin"
PASSWORD = "made-up-password-of-robin"
IDENTITY_TOKEN = "made-up-identity-token-of-robin"

# docker-registry reads bcrypt only, which the standard library cannot make.
_HTPASSWD = f"{USERNAME}:$2y$04$RobinsMadeUpSaltForUs.Wa1ye0s5Y/eeFFsj6.fiKsNh2ual4vK"
_SERVICE = "xplock-test-registry"
_ISSUER = "xplock-test-issuer"
_TOKEN_SECONDS = 300
_STARTS = 5


@dataclass(frozen=True, slots=True)
class RunningRegistry:
    """A registry that answers, and who may use it."""

    host: str
    username: str
    password: str
    tokens: "TokenServer | None"

    @property
    def url(self) -> str:
        """The address with its scheme and no slash at the end."""
        return f"http://{self.host}"


class TokenServer:
    """Signs tokens for exactly what was asked, for one user or, if allowed, for anyone."""

    def __init__(self, certificate: Certificate, *, anonymous: bool) -> None:
        self.certificate = certificate
        self.anonymous = anonymous
        self.server = RecordingServer({"/token": self._answer})

    @property
    def realm(self) -> str:
        """Where the registry sends its clients for a token."""
        return f"{self.server.url}/token"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Everything asked so far, in order."""
        return self.server.requests

    def token(self, scopes: Sequence[str]) -> str:
        """Return a signed token for scopes such as repository:some/name:pull,push."""
        now = int(time.time())
        claims = {
            "iss": _ISSUER,
            "sub": USERNAME,
            "aud": _SERVICE,
            "iat": now,
            "nbf": now,
            "exp": now + _TOKEN_SECONDS,
            "jti": uuid.uuid4().hex,
            "access": [_access(scope) for scope in scopes],
        }
        header = {"typ": "JWT", "alg": "RS256", "x5c": [_der(self.certificate.file)]}
        signed = f"{_encoded(header)}.{_encoded(claims)}"
        return f"{signed}.{_base64url(_signature(signed.encode(), self.certificate.key))}"

    def _answer(self, request: Request) -> Answer:
        asked = parse_qs(request.body.decode() if request.method == "POST" else request.query)
        if not self._may(request, asked):
            return _json({"errors": [{"code": "UNAUTHORIZED", "message": "who are you?"}]}, 401)
        # GET repeats the parameter for each scope; the OAuth form puts all of them in one.
        scopes = " ".join(asked.get("scope", [])).split()
        token = self.token(scopes)
        if request.method == "POST":
            return _json({"access_token": token, "expires_in": _TOKEN_SECONDS, "scope": " ".join(scopes)})
        return _json({"token": token, "access_token": token, "expires_in": _TOKEN_SECONDS})

    def _may(self, request: Request, asked: Mapping[str, Sequence[str]]) -> bool:
        if request.method == "POST":
            form = (asked.get("grant_type"), asked.get("refresh_token"))
            return form == (["refresh_token"], [IDENTITY_TOKEN])
        if "Authorization" in request.headers:
            return request.credentials == f"{USERNAME}:{PASSWORD}"
        return self.anonymous


@contextmanager
def docker_registry(folder: Path, auth: Auth, *, anonymous: bool = False) -> Iterator[RunningRegistry]:
    """Run a registry with its data in a folder; several with different auth can share the folder."""
    with ExitStack() as stack:
        tokens = None
        if auth == "token":
            # A folder of its own: another registry here must not replace the key of this one.
            keys = Path(tempfile.mkdtemp(prefix="token-", dir=folder))
            tokens = TokenServer(make_certificate(keys), anonymous=anonymous)
            stack.enter_context(tokens.server)
        host = stack.enter_context(_running(folder, auth, tokens))
        yield RunningRegistry(host, USERNAME, PASSWORD, tokens)


def collect_garbage(folder: Path) -> None:
    """Remove every manifest without a tag from the data of a registry, and every blob that no other manifest names."""
    settings = str(min(folder.glob("*.yml")))
    command = [_program(), "garbage-collect", "--delete-untagged", settings]
    subprocess.run(command, env={}, check=True, capture_output=True, timeout=WAIT_SECONDS)


@contextmanager
def _running(folder: Path, auth: Auth, tokens: TokenServer | None) -> Iterator[str]:
    for _ in range(_STARTS):
        # Another program may take the port before the registry does; then the registry ends by itself.
        host = f"127.0.0.1:{_free_port()}"
        settings = _write_settings(folder, host, auth, tokens)
        with _process(settings) as process:
            if _answers(process, host):
                yield host
                return
    log = settings.with_suffix(".log").read_text()
    raise AssertionError(f"docker-registry did not start {_STARTS} times:\n{log}")


@contextmanager
def _process(settings: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = dying_with_us([_program(), "serve", settings])
    # An empty environment: REGISTRY_* variables would change the settings.
    with (
        settings.with_suffix(".log").open("wb") as log,
        subprocess.Popen(command, env={}, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _program() -> str:
    program = shutil.which("docker-registry")
    assert program, "no docker-registry on PATH; it comes with Debian's package docker-registry"
    return program


def _answers(process: subprocess.Popen[bytes], host: str) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if _is_registry(host):
            return process.poll() is None
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        return False
    raise AssertionError(f"docker-registry on {host} did not answer within {WAIT_SECONDS:.0f} s")


def _is_registry(host: str) -> bool:
    connection = http.client.HTTPConnection(host, timeout=WAIT_SECONDS)
    try:
        connection.request("GET", "/v2/")
        return "Docker-Distribution-Api-Version" in connection.getresponse().headers
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _write_settings(folder: Path, host: str, auth: Auth, tokens: TokenServer | None) -> Path:
    settings: dict[str, object] = {
        "version": "0.1",
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(folder / "storage")},
            "delete": {"enabled": True},
        },
        "http": {"addr": host, "secret": "made-up-secret-of-all-registries-here"},
    }
    if auth == "htpasswd":
        passwords = folder / "htpasswd"
        passwords.write_text(f"{_HTPASSWD}\n")
        settings["auth"] = {"htpasswd": {"realm": "xplock test", "path": str(passwords)}}
    if tokens is not None:
        settings["auth"] = {"token": _token_settings(tokens)}
    file = folder / f"{auth}-{host.rpartition(':')[2]}.yml"
    # Every JSON document is a YAML document too.
    file.write_text(json.dumps(settings, indent=2))
    return file


def _token_settings(tokens: TokenServer) -> dict[str, str]:
    return {
        "realm": tokens.realm,
        "service": _SERVICE,
        "issuer": _ISSUER,
        "rootcertbundle": str(tokens.certificate.file),
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _access(scope: str) -> dict[str, object]:
    kind, _, rest = scope.partition(":")
    name, _, actions = rest.rpartition(":")
    return {"type": kind, "name": name, "actions": actions.split(",")}


def _der(certificate: Path) -> str:
    return "".join(line for line in certificate.read_text().splitlines() if not line.startswith("-----"))


def _signature(content: bytes, key: Path) -> bytes:
    command = ["openssl", "dgst", "-sha256", "-sign", str(key)]
    done = subprocess.run(command, input=content, check=True, capture_output=True, timeout=WAIT_SECONDS)
    return done.stdout


def _encoded(document: object) -> str:
    return _base64url(json.dumps(document).encode())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _json(document: object, status: int = 200) -> Answer:
    return answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"})
