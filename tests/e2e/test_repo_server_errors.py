"""What Argo CD shows when nothing comes out: the same text every time, and nobody's secrets in it."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pytest
from rig.argocd.cmp_server import sidecar_environment
from rig.argocd.repo_server import Application
from rig.argocd.stack import ArgoCd, Origin, argocd, new_origin
from rig.builders.projects import at
from rig.git.repositories import serve, write_program
from rig.registry.http_server import (
    Answer,
    Certificate,
    RecordingServer,
    Request,
    answer,
    make_certificate,
    silence,
)

from render.system.files import LOCK_FILE

Start: TypeAlias = Callable[..., ArgoCd]
Told: TypeAlias = Callable[..., str]

# What stands before our own words.
ARGO_CD = (
    'CMP processing failed for application "shop": error generating manifests in cmp: '
    "rpc error: code = Unknown desc = error generating manifests: "
)
NOWHERE = "127.0.0.1:9"


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    """A server's repository with the project `shop`, which is locked."""
    made = new_origin(tmp_path)
    made.lock()
    made.push()
    return made


@pytest.fixture
def shop(origin: Origin) -> Application:
    """The Application of `shop`."""
    return Application(origin.url)


@pytest.fixture
def secrets_everywhere(tmp_path: Path, canary: str) -> dict[str, str]:
    """An environment in which everything that may hold a secret does."""
    (tmp_path / "docker").mkdir()
    (tmp_path / "token").write_text(canary)
    return {
        "DOCKER_CONFIG": str(tmp_path / "docker"),
        "XPLOCK_GIT_TOKEN_FILE": str(tmp_path / "token"),
        "HTTPS_PROXY": f"http://robin:{canary}@{NOWHERE}",
        "HTTP_PROXY": f"http://robin:{canary}@{NOWHERE}",
        "NO_PROXY": "127.0.0.1",
        "PASSWORD": canary,
    }


def log_in(tmp_path: Path, canary: str, *hosts: str) -> None:
    """Let the docker configuration hold a password for registries."""
    encoded = base64.b64encode(f"robin:{canary}".encode()).decode()
    (tmp_path / "docker/config.json").write_text(
        json.dumps({"auths": {host: {"auth": encoded} for host in hosts}})
    )


@pytest.fixture
def start(
    secrets_everywhere: Mapping[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Start both servers, with secrets everywhere in the sidecar."""
    with ExitStack() as stack:

        def start_them(*, policy: str = "commit", **environ: str) -> ArgoCd:
            usual = sidecar_environment(tmp_path / "sidecar")
            folder = tmp_path_factory.mktemp("cd")
            servers = argocd(folder, {**usual, **secrets_everywhere, **environ}, policy=policy)
            return stack.enter_context(servers)

        yield start_them


@pytest.fixture
def told(canary: str) -> Told:
    """Have something fail twice: the text is the same, and holds no secret, however it is written."""

    def fail_twice(servers: ArgoCd, wanted: Application, revision: str = "") -> str:
        # One after the other: what time changes shows, too.
        first, second = (servers.failure(wanted, revision) for _ in range(2))
        encoded = base64.b64encode(f"robin:{canary}".encode()).decode()
        assert first == second
        assert canary not in first and encoded not in first
        assert servers.cmp.left_behind() == []
        return first

    return fail_twice


def write(name: str, text: str | bytes) -> Callable[[Path], None]:
    """Return what writes a file of the project."""

    def change(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    return change


def add(text: str) -> Callable[[Path], None]:
    """Return what adds settings to the project."""

    def change(folder: Path) -> None:
        with (folder / "xplock.yaml").open("a") as file:
            file.write(text)

    return change


def _nothing_wrong(folder: Path) -> None:
    (folder / "note.txt").write_text("all is well\n")


def _no_lock(folder: Path) -> None:
    (folder / LOCK_FILE).unlink()


def _markers(folder: Path) -> None:
    text = (folder / LOCK_FILE).read_text()
    (folder / LOCK_FILE).write_text(f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n")


def _cut_off(folder: Path) -> None:
    text = (folder / LOCK_FILE).read_text()
    (folder / LOCK_FILE).write_text(text[: len(text) // 2])


def _nothing_asked(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    (folder / "README").write_text("nothing\n")


def _contradiction(folder: Path) -> None:
    path = folder / "xplock.yaml"
    old = f"  - package: {at('old')}:v1.0.0\n"
    path.write_text(path.read_text().replace("app:v1.0.0\n", f"app:v2.0.0\n{old}"))


def _patch_of_nothing(folder: Path) -> None:
    (folder / "patch.txt").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: nobody\n")
    (folder / "kustomization.yaml").write_text("patches: [{path: patch.txt}]\n")


def _bad_overlay(folder: Path) -> None:
    patch = {"op": "replace", "path": "/spec/package", "value": f"{at('app')}:v9.9.9"}
    target = {"kind": "Configuration", "name": "acme-app"}
    overlay = {"patches": [{"target": target, "patch": json.dumps([patch])}]}
    write("overlay/kustomization.yaml", json.dumps(overlay))(folder)
    add("overlay: overlay\n")(folder)


def _overlay_of_nothing(folder: Path) -> None:
    (folder / "overlay").mkdir()
    _patch_of_nothing(folder / "overlay")
    add("overlay: overlay\n")(folder)


def _patch_of_nothing_in_a_base(folder: Path) -> None:
    """Two folders above the project: as far away as the root of the repository is from most of them."""
    (folder.parent.parent / "base").mkdir()
    _patch_of_nothing(folder.parent.parent / "base")
    (folder / "kustomization.yaml").write_text("resources: [../../base]\n")


def _broken_link(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("gone.yaml")


def _links_in_a_circle(folder: Path) -> None:
    (folder / "one.yaml").symlink_to("two.yaml")
    (folder / "two.yaml").symlink_to("one.yaml")


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that is wrong in a project, or about its Application, and what has to be said about it."""

    code: int
    says: str
    change: Callable[[Path], None] = _nothing_wrong
    policy: str = "commit"
    parameters: Mapping[str, str] = field(default_factory=dict)
    path: str = "shop"


FAILURES = {
    "no lock": Failure(3, f". has no {LOCK_FILE}", _no_lock, "frozen"),
    "stale lock": Failure(3, "why:  setting pin was added", add("pin: tag\n"), "frozen"),
    "not listed": Failure(3, "server.git: XPLOCK_COMMIT_TO does not list it", add("pin: tag\n")),
    "damaged lock": Failure(2, f"{LOCK_FILE} is not a valid lock", write(LOCK_FILE, "kind: Lock\n")),
    "half a lock": Failure(2, f"{LOCK_FILE} is not a valid lock", _cut_off),
    "conflict markers": Failure(2, f"{LOCK_FILE} holds a merge conflict", _markers),
    "unknown setting": Failure(2, "xplock.yaml: wave: unknown key", add("wave: graph\n")),
    "invalid manifest": Failure(2, "odd.yaml: line 2: ", write("odd.yaml", "a: [")),
    "not UTF-8": Failure(2, "odd.yaml: line 1: byte 0xff is not UTF-8", write("odd.yaml", b"kind: \xff\n")),
    "nothing asked": Failure(2, ". asks for no package", _nothing_asked),
    "bad value": Failure(2, "expected flat or graph, found 'tidal'", parameters={"waves": "tidal"}),
    "bad parameter": Failure(2, "'policy' is not a parameter", parameters={"policy": "resolve"}),
    "kustomize fails": Failure(2, "the kustomization in . does not build", _patch_of_nothing),
    "kustomize fails further up": Failure(
        2, "from '../../base': '../../base' ", _patch_of_nothing_in_a_base, path="clusters/shop"
    ),
    "overlay fails": Failure(2, "the kustomization in overlay does not build", _overlay_of_nothing),
    "overlay changes a package": Failure(
        2, "overlay in overlay changes locked packages or pins", _bad_overlay
    ),
    "overlay outside": Failure(2, "'../..' is outside of the repository", add("overlay: ../..\n")),
    "broken link": Failure(2, "link.yaml: it cannot be read", _broken_link),
    "links in a circle": Failure(2, "one.yaml: it cannot be read", _links_in_a_circle),
    "no version suits": Failure(4, f"no version of {at('base')} suits", _contradiction, "resolve"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_is_wrong_is_told_in_the_same_words_every_time(
    origin: Origin, shop: Application, start: Start, told: Told, name: str
) -> None:
    failure = FAILURES[name]
    folder = origin.clone / failure.path
    folder.parent.mkdir(exist_ok=True)
    (origin.clone / "shop").rename(folder)
    failure.change(folder)
    origin.push()

    wanted = replace(shop, parameters=failure.parameters, path=failure.path)
    text = told(start(policy=failure.policy), wanted)

    called = (
        f"`xplock plugin generate --lock-policy {failure.policy}` failed exit status {failure.code}: error: "
    )
    assert text.startswith(ARGO_CD + called)
    assert failure.says in text
    assert text.count(called) == 1 and "Traceback" not in text and "_cmp_server" not in text


def test_a_link_that_leads_out_of_the_repository_is_refused_by_argo_cd_itself(
    origin: Origin, shop: Application, start: Start, told: Told
) -> None:
    (origin.clone / "shop/link.yaml").symlink_to("../../secret.yaml")
    origin.push()

    text = told(start(), shop)

    assert text == "repository contains out-of-bounds symlinks. file: shop/link.yaml"


def asking(origin: Origin, host: str) -> None:
    """Let the project ask a registry for its only package, without a lock."""
    (origin.clone / "shop/xplock.yaml").write_text(f"roots:\n  - package: {host}/acme/app:v1.0.0\n")
    (origin.clone / "shop" / LOCK_FILE).unlink()
    origin.push()


def test_a_registry_that_is_not_there_is_named(
    origin: Origin, shop: Application, start: Start, told: Told
) -> None:
    asking(origin, NOWHERE)

    text = told(start(policy="resolve"), shop)

    assert f"failed exit status 1: error: {NOWHERE} " in text


def test_a_proxy_that_is_not_there_is_named_without_its_password(
    origin: Origin, shop: Application, start: Start, told: Told
) -> None:
    asking(origin, "registry.example.org")

    text = told(start(policy="resolve"), shop)

    assert "failed exit status 1: error: registry.example.org " in text


def test_a_registry_that_hangs_is_named_when_the_time_is_up(
    origin: Origin, shop: Application, start: Start, told: Told
) -> None:
    with RecordingServer(silence()) as registry:
        asking(origin, registry.host)
        servers = start(policy="resolve", XPLOCK_DEADLINE="10", XPLOCK_PLAIN_HTTP=registry.host)

        text = told(servers, shop)

        assert f"error: out of time after 5 seconds, waiting for {registry.host}" in text


def _refuse(request: Request) -> Answer:
    """Refuse a password, and repeat it."""
    error = {"code": "UNAUTHORIZED", "message": f"{request.credentials} is wrong"}
    return answer(401, json.dumps({"errors": [error]}).encode(), {"WWW-Authenticate": 'Basic realm="us"'})


def test_a_registry_that_refuses_a_password_is_named_and_the_password_is_not(
    origin: Origin, shop: Application, start: Start, told: Told, canary: str, tmp_path: Path
) -> None:
    with RecordingServer(_refuse) as registry:
        asking(origin, registry.host)
        log_in(tmp_path, canary, registry.host)

        text = told(start(policy="resolve", XPLOCK_PLAIN_HTTP=registry.host), shop)

        assert registry.saw(canary)
        assert f"failed exit status 1: error: {registry.host} denies access to read " in text


def test_what_a_credential_helper_says_is_not_told(
    origin: Origin, shop: Application, start: Start, told: Told, canary: str, tmp_path: Path
) -> None:
    with RecordingServer(_refuse) as registry:
        asking(origin, registry.host)
        servers = start(policy="resolve", XPLOCK_PLAIN_HTTP=registry.host)
        (tmp_path / "docker/config.json").write_text(json.dumps({"credHelpers": {registry.host: "robins"}}))
        helper = f"#!/bin/sh\necho {canary}\necho {canary} >&2\nexit 1\n"
        write_program(tmp_path / "sidecar/bin/docker-credential-robins", helper)

        text = told(servers, shop)

    assert "failed exit status 1: error: docker-credential-robins " in text


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    """The certificate of a Git server."""
    (tmp_path / "tls").mkdir()
    return make_certificate(tmp_path / "tls")


READER = ("reader", "password-of-argo-cd")


def served(origin: Origin, certificate: Certificate, *allowed: str) -> RecordingServer:
    """Return a server that lets Argo CD read the repository, and others do everything."""

    def handle(request: Request) -> Answer | None:
        known = request.credentials in (":".join(READER), *allowed)
        return serve(origin.server.parent, "" if known else "nobody:")(request)

    return RecordingServer(handle, certificate=certificate)


def over_https(server: RecordingServer, certificate: Certificate) -> tuple[Application, dict[str, str]]:
    """Return the Application of what a server has, and what lets a sidecar commit to it."""
    environ = {"XPLOCK_COMMIT_TO": f"{server.url}/*#main", "GIT_SSL_CAINFO": str(certificate.file)}
    return Application(f"{server.url}/server.git", credentials=READER), environ


def test_a_token_that_is_good_commits_a_lock(
    origin: Origin, start: Start, certificate: Certificate, canary: str
) -> None:
    """The others below tell something only because this works."""
    origin.ask("app:v2.0.0")
    origin.push()
    with served(origin, certificate, f"x-access-token:{canary}") as server:
        shop, environ = over_https(server, certificate)

        text = start(**environ).failure(shop)

    assert text.endswith(f"error: lock committed as {origin.tip}; the next refresh renders it")
    assert canary not in text


def test_a_token_that_is_refused_is_not_told(
    origin: Origin, start: Start, told: Told, certificate: Certificate, canary: str
) -> None:
    origin.ask("app:v2.0.0")
    origin.push()
    with served(origin, certificate) as server:
        shop, environ = over_https(server, certificate)

        text = told(start(**environ), shop)

        assert server.saw(canary)
    assert f"git cannot work in {shop.url}" in text


def test_a_git_server_that_went_down_is_named(
    origin: Origin, start: Start, told: Told, certificate: Certificate
) -> None:
    origin.ask("app:v2.0.0")
    commit = origin.push()
    with served(origin, certificate) as server:
        shop, environ = over_https(server, certificate)
        servers = start(**environ)
        servers.failure(shop)

    # Argo CD still has the commit.
    text = told(servers, shop, commit)

    assert f"git cannot work in {shop.url}" in text
    # How long a connection took to fail is another number every time.
    assert " ms" not in text


@pytest.mark.parametrize("listed", ["", "https://*/*#main"])
def test_a_password_in_the_url_of_a_repository_is_not_told(
    origin: Origin, start: Start, told: Told, certificate: Certificate, canary: str, listed: str
) -> None:
    origin.ask("app:v2.0.0")
    origin.push()
    with served(origin, certificate, f"robin:{canary}") as server:
        url = f"https://robin:{canary}@{server.host}/server.git"

        text = told(start(XPLOCK_COMMIT_TO=listed), Application(url))

        assert f"https://***@{server.host}/server.git" in text


def test_our_own_deadline_is_over_before_that_of_argo_cd(
    origin: Origin, shop: Application, start: Start, tmp_path: Path
) -> None:
    """The slow one: as long as Argo CD's own 60 seconds, nearly, and nothing set by anybody."""
    other = origin.ask("app:v1.0.0", path="other")
    (other / "kustomization.yaml").write_text("resources: []\n")
    with RecordingServer(silence()) as registry:
        asking(origin, registry.host)
        environ = {"XPLOCK_PLAIN_HTTP": registry.host, "XPLOCK_LIMIT_KUSTOMIZE_SECONDS": "600"}
        servers = start(policy="resolve", **environ)
        write_program(tmp_path / "sidecar/bin/kustomize", "#!/bin/sh\nexec /bin/sleep 600\n")

        with ThreadPoolExecutor(2) as pool:
            wanted = [shop, replace(shop, path="other", name="other")]
            texts = list(pool.map(servers.failure, wanted))

        assert f"error: out of time after 45 seconds, waiting for {registry.host}" in texts[0]
        assert "error: no manifests after 50 seconds" in texts[1]
        assert servers.cmp.left_behind() == []
