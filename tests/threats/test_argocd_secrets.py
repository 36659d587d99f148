"""Secrets of the operator, and the many ways to fail: Argo CD shows its users none of them."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rig.commands.run import Outcome
from rig.registry.http_server import (
    Answer,
    RecordingServer,
    Request,
    Route,
    answer,
    redirect,
    reset,
    short_body,
    silence,
)
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package

SECONDS = 60
CLOSED_PORT = "127.0.0.1:1"


@dataclass
class Place:
    """A sidecar with the same secret everywhere, and a project that asks a registry."""

    folder: Path
    secret: str
    host: str
    environ: dict[str, str] = field(default_factory=dict)
    policy: str = "resolve"

    @property
    def project(self) -> Path:
        """The folder that is rendered."""
        return self.folder / "project"

    def write_config(self, text: str) -> None:
        """Write the docker configuration."""
        (self.folder / "docker/config.json").touch(0o600)
        (self.folder / "docker/config.json").write_text(text)

    def write_helper(self, script: str) -> None:
        """Let a credential helper do something instead of reading the configuration."""
        self.write_config(json.dumps({"credsStore": "leaky"}))
        helper = self.folder / "bin/docker-credential-leaky"
        helper.write_text(f"#!/bin/sh\n{script}\n")
        helper.chmod(0o755)


def new_place(folder: Path, secret: str, host: str) -> Place:
    """Make a sidecar in which everything works."""
    for name in ("project", "docker", "bin", "home"):
        (folder / name).mkdir(parents=True)
    (folder / "project/xplock.yaml").write_text(f"roots:\n  - package: {host}/some/name:v1.0.0\n")
    (folder / "token").write_text(secret)
    environ = {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "DOCKER_CONFIG": str(folder / "docker"),
        "HTTPS_PROXY": f"http://robin:{secret}@{CLOSED_PORT}",
        "SOME_TOKEN": secret,
        "ARGOCD_GIT_AUTH_HEADER": f"Authorization: Basic {secret}",
        "XPLOCK_PLAIN_HTTP": host,
        "XPLOCK_GIT_TOKEN_FILE": str(folder / "token"),
        "XPLOCK_COMMIT_TO": "https://*/*/*#main",
        "XPLOCK_LIMIT_ATTEMPTS": "2",
        "XPLOCK_CACHE_DIR": "",
        "ARGOCD_APP_SOURCE_REPO_URL": f"https://robin:{secret}@{CLOSED_PORT}/acme/platform.git",
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
        "ARGOCD_APP_REVISION": "0" * 40,
    }
    place = Place(folder, secret, host, environ)
    encoded = base64.b64encode(f"robin:{secret}".encode()).decode()
    place.write_config(json.dumps({"auths": {host: {"auth": encoded}}}))
    return place


def generate(place: Place) -> Outcome:
    """Call the plugin there."""
    command = [sys.executable, "-m", "render", "plugin", "generate", "--lock-policy", place.policy]
    done = subprocess.run(
        command,
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


# How a registry fails


def _echo(request: Request) -> Answer:
    """Refuse, and repeat everything that was asked."""
    said = f"who is {request.headers.get('Authorization', '')}, {request.credentials}?"
    body = json.dumps({"errors": [{"code": "DENIED", "message": said, "detail": said}]})
    headers = {"WWW-Authenticate": 'Basic realm="x"'} if not request.credentials else {}
    return answer(401 if headers else 403, body.encode(), headers)


def _challenge(text: str, status: int = 401) -> Answer:
    return answer(status, b"{}", {"WWW-Authenticate": text})


def _moved(request: Request) -> Answer:
    secret = request.credentials.partition(":")[2] or "none"
    if not request.credentials:
        return _challenge('Basic realm="x"')
    return redirect(f"http://robin:{secret}@{CLOSED_PORT}/v2/?token={secret}")


REGISTRIES: dict[str, Route] = {
    "wrong password": _challenge('Basic realm="x"'),
    "an untrusted token server": _challenge(f'Bearer realm="http://{CLOSED_PORT}/token",service="x"'),
    "an unknown way to log in": _challenge('Digest realm="x"'),
    "forbidden": answer(403, b'{"errors": [{"code": "DENIED"}]}'),
    "not found": answer(404),
    "broken": answer(500, b"out of order"),
    "busy": answer(429, b"", {"Retry-After": "3600"}),
    "a redirect with the secret in it": _moved,
    "repeats the request": _echo,
    "resets": reset(),
    "stops in the middle": short_body(b"{", 100),
    "is no registry": answer(200, b"<html>", {"Content-Type": "text/html"}),
    "never answers": silence(),
}


# What else can be wrong


def _proxy(place: Place) -> None:
    place.environ["XPLOCK_PLAIN_HTTP"] = ""


def _plain_proxy(place: Place) -> None:
    place.environ["HTTP_PROXY"] = f"http://robin:{place.secret}@{CLOSED_PORT}"


def _odd_proxy(place: Place) -> None:
    place.environ["HTTP_PROXY"] = f"socks5://robin:{place.secret}@{CLOSED_PORT}"


def _helper_fails(place: Place) -> None:
    place.write_helper(f"echo {place.secret}; echo {place.secret} >&2; exit 1")


def _helper_chatters(place: Place) -> None:
    place.write_helper(f"echo '{{\"Secret\": {place.secret}'")


def _helper_hangs(place: Place) -> None:
    place.write_helper(f"echo {place.secret} >&2; exec sleep 600")
    place.environ["XPLOCK_LIMIT_HELPER_SECONDS"] = "1"


def _no_helper(place: Place) -> None:
    place.write_config(json.dumps({"credsStore": "absent", "secret": place.secret}))


def _broken_config(place: Place) -> None:
    place.write_config(f'{{"auths": {{"{place.host}": {{"auth": "{place.secret}"')


def _odd_config(place: Place) -> None:
    place.write_config(json.dumps({"auths": {place.host: {"auth": place.secret}}}))


def _odd_variable(place: Place) -> None:
    place.environ["DOCKER_AUTH_CONFIG"] = f'{{"auths": "{place.secret}"}}'


def _odd_bundle(place: Place) -> None:
    place.environ["XPLOCK_CA_BUNDLE"] = place.environ["XPLOCK_GIT_TOKEN_FILE"]
    place.environ["XPLOCK_PLAIN_HTTP"] = ""


def _url_with_password(place: Place) -> None:
    place.policy = "commit"


def _git_server_gone(place: Place) -> None:
    place.policy = "commit"
    place.environ["ARGOCD_APP_SOURCE_REPO_URL"] = f"https://{CLOSED_PORT}/acme/platform.git"
    (place.folder / "home/.gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")


def _git_server_listed_nowhere(place: Place) -> None:
    place.policy = "commit"
    place.environ["XPLOCK_COMMIT_TO"] = ""


def _token_of_many_lines(place: Place) -> None:
    place.policy = "commit"
    Path(place.environ["XPLOCK_GIT_TOKEN_FILE"]).write_text(f"{place.secret}\x1b\n{place.secret}\n")


def _broken_kustomization(place: Place) -> None:
    (place.project / "kustomization.yaml").write_text("resources: [nowhere.yaml]\n")


AROUND: tuple[Callable[[Place], None], ...] = (
    *(_proxy, _plain_proxy, _odd_proxy, _helper_fails, _helper_chatters, _helper_hangs, _no_helper),
    *(
        _broken_config,
        _odd_config,
        _odd_variable,
        _odd_bundle,
        _url_with_password,
        _git_server_gone,
        _git_server_listed_nowhere,
    ),
    *(_token_of_many_lines, _broken_kustomization),
)


@contextmanager
def challenging_registry() -> Iterator[str]:
    """A registry that asks for a password, so that xplock looks for one."""
    with RecordingServer(_challenge('Basic realm="x"')) as server:
        yield server.host


def assert_silent(outcome: Outcome, secret: str) -> None:
    """Check that it failed, and that the secret is nowhere, in none of its usual spellings."""
    spellings = [secret, *_base64_parts(secret)]
    shown = outcome.stdout + outcome.stderr
    assert outcome.code != 0
    assert outcome.stdout == ""
    assert outcome.stderr != ""
    assert [spelling for spelling in spellings if spelling in shown] == []
    assert "Traceback" not in outcome.stderr


def _base64_parts(secret: str) -> list[str]:
    """Return how a text looks inside of base64, wherever it starts in there."""
    shifted = [base64.b64encode(b"x" * shift + secret.encode()).decode() for shift in range(3)]
    return [text[4:-4] for text in shifted]


def test_there_are_more_than_twenty_ways_to_fail() -> None:
    assert len(REGISTRIES) + len(AROUND) > 20


@pytest.mark.parametrize("name", REGISTRIES)
def test_no_failure_of_a_registry_shows_a_secret(name: str, canary: str, tmp_path: Path) -> None:
    with RecordingServer(REGISTRIES[name]) as server:
        place = new_place(tmp_path, canary, server.host)
        place.environ["XPLOCK_DEADLINE"] = "3" if name == "never answers" else "20"

        outcome = generate(place)

    assert_silent(outcome, canary)


@pytest.mark.parametrize("spoil", AROUND, ids=lambda spoil: spoil.__name__.strip("_"))
def test_no_other_failure_shows_a_secret(spoil: Callable[[Place], None], canary: str, tmp_path: Path) -> None:
    with challenging_registry() as host:
        place = new_place(tmp_path, canary, host)
        spoil(place)

        outcome = generate(place)

    assert_silent(outcome, canary)


def test_the_secret_of_these_tests_is_one_that_works(canary: str, tmp_path: Path) -> None:
    # Otherwise nothing that could leak would ever be read.
    with MiniRegistry() as mini:
        add_package(mini)

        def serve(request: Request) -> Answer:
            right = request.credentials == f"robin:{canary}"
            return mini.serve(request) if right else _challenge('Basic realm="x"')

        with RecordingServer(serve) as server:
            outcome = generate(new_place(tmp_path, canary, server.host))

    assert (outcome.code, outcome.stderr) == (0, "")
    assert canary not in outcome.stdout
