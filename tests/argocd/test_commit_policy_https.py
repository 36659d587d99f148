"""The plugin committing over https: a token that one server sees and nobody else, and authorities of the operator's."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig.argocd.plugin_calls import Ending, Fleet, committed, new_fleet, refused
from rig.builders.projects import World
from rig.git.repositories import git, paths_in, serve, write_program
from rig.leaks import Watcher, watched
from rig.registry.http_server import (
    Answer,
    Certificate,
    RecordingServer,
    Request,
    answer,
    make_certificate,
    redirect,
)

from render.system.files import LOCK_FILE

PATH = f"clusters/shop/{LOCK_FILE}"
NOT_LET_IN = "the server requires credentials, and rejected those that were sent, if any"


@dataclass(frozen=True, slots=True)
class Gate:
    """A project's repository behind a server that wants to see a token."""

    fleet: Fleet
    certificate: Certificate
    token: str
    folder: Path
    server: RecordingServer
    url: str

    def generate(self, *, without: tuple[str, ...] = (), **environ: str) -> Ending:
        """Call the plugin with the operator's token and authorities, or with other variables."""
        (self.folder / "token").write_text(f"{self.token}\n")
        usual = {
            "ARGOCD_APP_SOURCE_REPO_URL": self.url,
            "XPLOCK_COMMIT_TO": f"{self.url}#main",
            "XPLOCK_GIT_TOKEN_FILE": str(self.folder / "token"),
            "XPLOCK_CA_BUNDLE": str(self.certificate.file),
        }
        return self.fleet.generate(without=without, **{**usual, **environ})

    def configure(self, text: str) -> None:
        """Add to the git configuration that is mounted."""
        with (self.folder / "gitconfig").open("a") as file:
            file.write(text)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Another one, of which the servers have no key."""
    return make_certificate(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def gate(tmp_path: Path, world: World, certificate: Certificate, canary: str) -> Iterator[Gate]:
    """A server that lets in who has the token."""
    fleet = new_fleet(tmp_path, world)
    handler = serve(fleet.server.parent, f"x-access-token:{canary}")
    with RecordingServer(handler, certificate=certificate) as server:
        yield open_gate(fleet, certificate, canary, server)


def open_gate(fleet: Fleet, certificate: Certificate, token: str, server: RecordingServer) -> Gate:
    """Put a server before a project's repository."""
    return Gate(fleet, certificate, token, fleet.server.parent, server, f"{server.url}/server.git")


def told(gate: Gate, why: str) -> Ending:
    """Return how the plugin ends where git fails for one reason."""
    return refused(f"git cannot work in {gate.url}; {why}")


def test_a_lock_is_committed_with_the_operators_token_and_authorities(gate: Gate) -> None:
    before = gate.fleet.tip

    done = gate.generate()

    assert (gate.fleet.commits_since(before), done) == (1, committed(gate.fleet.tip))
    assert paths_in(gate.fleet.server, "main") == [PATH]
    assert {request.credentials for request in gate.server.requests} == {f"x-access-token:{gate.token}"}


def test_a_name_in_the_url_does_not_matter_to_the_token(gate: Gate) -> None:
    url = gate.url.replace("https://", "https://robin@")

    done = gate.generate(ARGOCD_APP_SOURCE_REPO_URL=url, XPLOCK_COMMIT_TO=f"{url}#main")

    assert done == committed(gate.fleet.tip)


def test_the_token_is_mounted_as_kubernetes_does_it(gate: Gate) -> None:
    (gate.folder / "..2026").mkdir()
    (gate.folder / "..2026/token").write_text(gate.token)
    (gate.folder / "..data").symlink_to("..2026")
    (gate.folder / "mounted").symlink_to("..data/token")

    done = gate.generate(XPLOCK_GIT_TOKEN_FILE=str(gate.folder / "mounted"))

    assert done == committed(gate.fleet.tip)


# Where the token is not


def test_the_token_is_in_no_arguments_in_no_file_and_with_no_other_program_than_git(
    tmp_path: Path, world: World, certificate: Certificate, canary: str
) -> None:
    fleet = new_fleet(tmp_path, world)
    (tmp_path / "temporary").mkdir()
    (tmp_path / "home").mkdir()
    watcher = Watcher(canary, [tmp_path / "temporary", tmp_path / "home", fleet.clone, fleet.server])
    handler = serve(fleet.server.parent, f"x-access-token:{canary}")

    with RecordingServer(watched(watcher, handler), certificate=certificate) as server:
        gate = open_gate(fleet, certificate, canary, server)
        done = gate.generate(
            TMPDIR=str(tmp_path / "temporary"),
            HOME=str(tmp_path / "home"),
            GIT_TRACE=str(tmp_path / "temporary/trace"),
            GIT_TRACE_CURL=str(tmp_path / "temporary/trace-curl"),
            GIT_TRACE_PACKET=str(tmp_path / "temporary/trace-packet"),
            GIT_TRACE2_EVENT=str(tmp_path / "temporary/trace2"),
            GIT_TRACE_REDACT="0",
            GIT_CURL_VERBOSE="1",
        )
    watcher.look()

    assert done == committed(fleet.tip)
    assert watcher.looks > 3
    # Whatever a process has in its arguments everybody can read; its environment, only its owner.
    assert watcher.arguments == set()
    assert watcher.files == set()
    assert {name.partition("-")[0] for name in watcher.environments} == {"git"}
    assert list((tmp_path / "temporary").glob("xplock-*")) == []


def test_programs_that_know_other_credentials_are_not_asked(gate: Gate, tmp_path: Path) -> None:
    write_program(
        tmp_path / "helper", f"#!/bin/sh\ntouch {tmp_path}/asked\necho username=x\necho password=y\n"
    )
    gate.configure(f"[credential]\n\thelper = {tmp_path}/helper\n[core]\n\taskPass = {tmp_path}/helper\n")
    (tmp_path / "wrong").write_text("wrong")

    done = gate.generate(
        XPLOCK_GIT_TOKEN_FILE=str(tmp_path / "wrong"),
        GIT_ASKPASS=str(tmp_path / "helper"),
        SSH_ASKPASS=str(tmp_path / "helper"),
    )

    assert done == told(gate, NOT_LET_IN)
    assert not (tmp_path / "asked").exists()


def test_without_a_token_the_mounted_configuration_lets_us_in(gate: Gate, tmp_path: Path) -> None:
    credentials = f"echo username=x-access-token; echo password={gate.token}"
    write_program(tmp_path / "helper", f"#!/bin/sh\n{credentials}\n")
    gate.configure(f"[credential]\n\thelper = {tmp_path}/helper\n")

    done = gate.generate(without=("XPLOCK_GIT_TOKEN_FILE",))

    assert done == committed(gate.fleet.tip)


# Not let in


def test_a_wrong_token_is_told_and_not_shown(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("wrong-secret")
    before = gate.fleet.tip

    done = gate.generate(XPLOCK_GIT_TOKEN_FILE=str(tmp_path / "wrong"))

    assert (gate.fleet.tip, done) == (before, told(gate, NOT_LET_IN))
    assert "wrong-secret" not in done.errors


def test_without_any_credentials_nothing_is_committed(gate: Gate) -> None:
    before = gate.fleet.tip

    done = gate.generate(without=("XPLOCK_GIT_TOKEN_FILE",))

    assert (gate.fleet.tip, done) == (before, told(gate, NOT_LET_IN))


def test_a_token_that_may_only_read_is_told(tmp_path: Path, world: World, certificate: Certificate) -> None:
    fleet = new_fleet(tmp_path, world)
    reading = serve(fleet.server.parent)

    def handle(request: Request) -> Answer | None:
        return answer(403) if "git-receive-pack" in request.target else reading(request)

    with RecordingServer(handle, certificate=certificate) as server:
        gate = open_gate(fleet, certificate, "any", server)
        before = fleet.tip
        done = gate.generate()

    assert (fleet.tip, done.code, done.output) == (before, 3, "")
    assert "The requested URL returned error: 403" in done.errors


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_token_does_not_follow_to_another_server(
    tmp_path: Path, world: World, certificate: Certificate, canary: str, status: int
) -> None:
    fleet = new_fleet(tmp_path, world)

    with RecordingServer(serve(fleet.server.parent), certificate=certificate) as other:
        there = f"{other.url}/server.git/info/refs?service=git-upload-pack"
        with RecordingServer(redirect(there, status), certificate=certificate) as server:
            gate = open_gate(fleet, certificate, canary, server)
            done = gate.generate()

    assert done == told(gate, "the server redirects to another address, and the token is not sent there")
    assert other.requests == ()


@pytest.mark.parametrize("scheme", ["Bearer", "Basic", "Negotiate", "Digest"])
def test_a_server_that_names_another_one_to_ask_for_credentials_gets_nothing_for_it(
    tmp_path: Path, world: World, certificate: Certificate, canary: str, scheme: str
) -> None:
    fleet = new_fleet(tmp_path, world)

    with RecordingServer(answer(200), certificate=certificate) as other:
        wanted = answer(401, headers={"WWW-Authenticate": f'{scheme} realm="{other.url}/token"'})
        with RecordingServer(wanted, certificate=certificate) as server:
            gate = open_gate(fleet, certificate, canary, server)
            done = gate.generate()

    assert done == told(gate, NOT_LET_IN)
    assert other.requests == ()


def test_what_a_server_repeats_of_the_token_is_not_shown(gate: Gate) -> None:
    write_program(
        gate.fleet.server / "hooks/pre-receive", f"#!/bin/sh\necho 'never with {gate.token}' >&2\nexit 1\n"
    )

    done = gate.generate()

    assert "never with ***" in done.errors
    assert gate.token not in done.errors


def test_what_a_server_repeats_of_the_mounted_headers_is_not_shown(
    tmp_path: Path, world: World, certificate: Certificate, canary: str
) -> None:
    fleet = new_fleet(tmp_path, world)

    def repeat(request: Request) -> Answer:
        told = [request.headers.get(name, "") for name in ("X-First", "X-Second")]
        return answer(403, "\n".join(told).encode(), {"Content-Type": "text/plain"})

    with RecordingServer(repeat, certificate=certificate) as server:
        gate = open_gate(fleet, certificate, canary, server)
        gate.configure(
            f"[http]\n\textraHeader = X-First: {canary}\n\textraHeader = X-Second: second-secret\n"
        )
        done = gate.generate(without=("XPLOCK_GIT_TOKEN_FILE",))

    assert server.saw(canary) and server.saw("second-secret")
    assert done.code == 3
    assert "***" in done.errors
    assert canary not in done.errors and "second-secret" not in done.errors


# Whom git trusts


def test_a_server_that_nobody_vouches_for_is_not_told_the_token(gate: Gate) -> None:
    done = gate.generate(without=("XPLOCK_CA_BUNDLE",))

    assert (done.code, done.output, gate.server.requests) == (3, "", ())
    assert "certificate" in done.errors


def test_a_strangers_authority_is_not_enough(gate: Gate, stranger: Certificate) -> None:
    done = gate.generate(XPLOCK_CA_BUNDLE=str(stranger.file))

    assert (done.code, done.output, gate.server.requests) == (3, "", ())


def test_the_operators_authorities_come_on_top_of_the_usual_ones(gate: Gate, stranger: Certificate) -> None:
    done = gate.generate(XPLOCK_CA_BUNDLE=str(stranger.file), SSL_CERT_FILE=str(gate.certificate.file))

    assert done == committed(gate.fleet.tip)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "GIT_SSL_CAINFO"])
def test_other_ways_to_name_authorities_count_too(gate: Gate, variable: str) -> None:
    done = gate.generate(without=("XPLOCK_CA_BUNDLE",), **{variable: str(gate.certificate.file)})

    assert done == committed(gate.fleet.tip)


def test_whom_gits_own_configuration_trusts_is_trusted(gate: Gate, stranger: Certificate) -> None:
    gate.configure(f"[http]\n\tsslCAInfo = {gate.certificate.file}\n")

    done = gate.generate(XPLOCK_CA_BUNDLE=str(stranger.file))

    assert done == committed(gate.fleet.tip)


@pytest.mark.parametrize("name", ["missing", "token", "."])
def test_authorities_that_cannot_be_read_are_told_without_their_path(gate: Gate, name: str) -> None:
    done = gate.generate(XPLOCK_CA_BUNDLE=str(gate.folder / name))

    assert done == refused("the file in XPLOCK_CA_BUNDLE contains no certificates")
    assert gate.server.requests == ()


def test_a_tenant_cannot_choose_whom_git_trusts_or_what_it_says(gate: Gate) -> None:
    tenant = {"XPLOCK_CA_BUNDLE": str(gate.certificate.file), "GIT_SSL_NO_VERIFY": "true"}

    done = gate.generate(
        without=("XPLOCK_CA_BUNDLE",), **{f"ARGOCD_ENV_{key}": value for key, value in tenant.items()}
    )

    assert (done.code, gate.server.requests) == (3, ())


def test_a_repository_with_many_commits_is_not_fetched_whole(gate: Gate) -> None:
    clone = gate.fleet.clone
    for number in range(120):
        git(clone, "commit", "--quiet", "--allow-empty", "--message", f"number {number}")
    git(clone, "push", "--quiet", "origin", "HEAD:main")

    done = gate.generate()

    assert done == committed(gate.fleet.tip)
    assert any(b"deepen 100" in request.body for request in gate.server.requests)
