"""xplock commit --push over https: the operator's token is for one server, and nobody else sees it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig.commands.run import Outcome, start_command
from rig.git.repositories import ONE, SHOP, TWO, git, serve, shared_shop, text_at, write_program
from rig.leaks import Watcher, watched
from rig.registry.http_server import Certificate, RecordingServer, make_certificate, redirect

NOT_LET_IN = "the server requires credentials"


@dataclass(frozen=True, slots=True)
class Gate:
    """A clone with a lock to commit, and the server that it came from, which wants to see a token."""

    folder: Path
    certificate: Certificate
    server: RecordingServer
    token: str

    @property
    def clone(self) -> Path:
        """The clone."""
        return self.folder / "clone"

    @property
    def url(self) -> str:
        """Where the server has the repository."""
        return f"{self.server.url}/server.git"

    @property
    def pushed(self) -> bytes:
        """The lock that the server has."""
        return text_at(self.folder / "server.git", "main")

    def commit(self, *options: str, **environ: str) -> Outcome:
        """Commit and push with the token that is mounted, or with other variables."""
        # Git's own variable counts more than ours.
        told = {} if "XPLOCK_CA_BUNDLE" in environ else {"GIT_SSL_CAINFO": str(self.certificate.file)}
        return start_command(
            "commit",
            "--push",
            str(self.clone / "shop"),
            *options,
            environ={
                **told,
                "XPLOCK_GIT_TOKEN_FILE": str(self.folder / "token"),
                **environ,
            },
        )


@pytest.fixture
def gate(tmp_path: Path, certificate: Certificate, canary: str) -> Iterator[Gate]:
    """A server that lets in who has the token."""
    _, clone = shared_shop(tmp_path)
    (clone / SHOP).write_bytes(TWO)
    with RecordingServer(serve(tmp_path, f"x-access-token:{canary}"), certificate=certificate) as server:
        yield lead_to(tmp_path, certificate, server, canary)


def lead_to(folder: Path, certificate: Certificate, server: RecordingServer, token: str) -> Gate:
    """Let a clone know a server, and mount the token for it."""
    made = Gate(folder, certificate, server, token)
    git(made.clone, "remote", "set-url", "origin", made.url)
    (folder / "token").write_text(f"{token}\n")
    return made


def test_the_operators_token_lets_a_push_in(gate: Gate) -> None:
    done = gate.commit()

    assert (done.code, gate.pushed) == (0, TWO), done.stderr
    assert {request.credentials for request in gate.server.requests} == {f"x-access-token:{gate.token}"}


def test_an_option_names_the_file_too(gate: Gate, tmp_path: Path) -> None:
    done = gate.commit("--git-token-file", str(tmp_path / "token"), XPLOCK_GIT_TOKEN_FILE="/nowhere")

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_another_branch_of_the_server_is_asked_for_with_it(gate: Gate) -> None:
    git(gate.folder / "server.git", "branch", "updates", "main")

    done = gate.commit("--branch", "updates")

    assert (done.code, text_at(gate.folder / "server.git", "updates")) == (0, TWO), done.stderr


@pytest.mark.parametrize("name", ["robin@", "robin:password@"])
def test_a_name_in_the_url_does_not_matter_to_the_token(gate: Gate, name: str) -> None:
    url = gate.url.replace("https://", f"https://{name}")
    git(gate.clone, "remote", "set-url", "--push", "origin", url)

    assert (gate.commit().code, gate.pushed) == (0, TWO)


def test_what_git_makes_of_a_url_is_what_counts(gate: Gate) -> None:
    git(gate.clone, "config", f"url.{gate.server.url}/.insteadOf", "platform:")
    git(gate.clone, "remote", "set-url", "origin", "platform:server.git")

    assert (gate.commit().code, gate.pushed) == (0, TWO)


# Where the token is not


def test_the_token_is_in_no_arguments_in_no_file_and_with_no_other_program_than_git(
    tmp_path: Path, certificate: Certificate, canary: str
) -> None:
    server, clone = shared_shop(tmp_path)
    (clone / SHOP).write_bytes(TWO)
    for name in ("temporary", "home"):
        (tmp_path / name).mkdir()
    watcher = Watcher(canary, [tmp_path / "temporary", tmp_path / "home", clone, server])
    handler = watched(watcher, serve(tmp_path, f"x-access-token:{canary}"))

    with RecordingServer(handler, certificate=certificate) as running:
        gate = lead_to(tmp_path, certificate, running, canary)
        done = gate.commit(
            TMPDIR=str(tmp_path / "temporary"),
            HOME=str(tmp_path / "home"),
            GIT_TRACE=str(tmp_path / "temporary/trace"),
            GIT_TRACE_CURL=str(tmp_path / "temporary/trace-curl"),
            GIT_TRACE_REDACT="0",
            GIT_CURL_VERBOSE="1",
        )
    watcher.look()

    assert (done.code, gate.pushed) == (0, TWO), done.stderr
    assert watcher.looks > 2
    assert (watcher.arguments, watcher.files) == (set(), set())
    assert {name.partition("-")[0] for name in watcher.environments} == {"git"}


def test_a_token_does_not_follow_to_another_server(
    tmp_path: Path, certificate: Certificate, canary: str
) -> None:
    _, clone = shared_shop(tmp_path)
    (clone / SHOP).write_bytes(TWO)

    with RecordingServer(serve(tmp_path), certificate=certificate) as other:
        there = f"{other.url}/server.git/info/refs?service=git-receive-pack"
        with RecordingServer(redirect(there, 302), certificate=certificate) as server:
            done = lead_to(tmp_path, certificate, server, canary).commit()

    done.assert_refused(1, "the token is not sent there")
    assert other.requests == ()


def test_a_remote_of_two_servers_gets_the_token_on_neither(gate: Gate, certificate: Certificate) -> None:
    with RecordingServer(serve(gate.folder), certificate=certificate) as other:
        git(gate.clone, "remote", "set-url", "--push", "origin", f"{other.url}/server.git")
        done = gate.commit()

    assert (done.code, gate.pushed) == (0, TWO), done.stderr
    assert not other.saw(gate.token)
    assert gate.server.requests == ()


@pytest.mark.parametrize("name", ["origin", "elsewhere"])
def test_another_remote_than_https_needs_none(gate: Gate, name: str) -> None:
    git(gate.clone, "remote", "remove", "origin")
    git(gate.clone, "remote", "add", name, f"file://{gate.folder}/server.git")

    done = gate.commit(XPLOCK_GIT_TOKEN_FILE="/nowhere/token")

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_programs_that_know_other_credentials_are_not_asked(gate: Gate, tmp_path: Path) -> None:
    helper = tmp_path / "helper"
    write_program(helper, f"#!/bin/sh\ntouch {tmp_path}/asked\necho username=x\necho password=y\n")
    git(gate.clone, "config", "credential.helper", str(helper))
    git(gate.clone, "config", "core.askPass", str(helper))
    (tmp_path / "token").write_text("wrong-secret")

    done = gate.commit(GIT_ASKPASS=str(helper), SSH_ASKPASS=str(helper))

    done.assert_refused(1, NOT_LET_IN)
    assert "wrong-secret" not in done.stderr
    assert (gate.pushed, (tmp_path / "asked").exists()) == (ONE, False)


def test_without_a_token_git_is_let_in_as_it_is_configured(gate: Gate, tmp_path: Path) -> None:
    credentials = f"echo username=x-access-token; echo password={gate.token}"
    write_program(tmp_path / "helper", f"#!/bin/sh\n{credentials}\n")
    git(gate.clone, "config", "credential.helper", str(tmp_path / "helper"))

    assert (gate.commit(XPLOCK_GIT_TOKEN_FILE="").code, gate.pushed) == (0, TWO)


def test_what_a_server_repeats_of_the_token_is_not_shown(gate: Gate) -> None:
    script = f"#!/bin/sh\necho 'never with {gate.token}' >&2\nexit 1\n"
    write_program(gate.folder / "server.git/hooks/pre-receive", script)

    done = gate.commit()

    done.assert_refused(1, "never with ***")
    assert gate.token not in done.stderr


@pytest.mark.parametrize("text", [None, "", "\n", "two\nlines", "\x1b[2J", "\udcff"])
def test_a_file_without_a_token_is_told_before_anything_is_done(
    gate: Gate, tmp_path: Path, text: str | None
) -> None:
    (tmp_path / "token").unlink()
    if text is not None:
        (tmp_path / "token").write_bytes(text.encode(errors="surrogateescape"))

    done = gate.commit()

    done.assert_refused(2, "the file in XPLOCK_GIT_TOKEN_FILE contains no token")
    assert (gate.server.requests, text_at(gate.clone, "HEAD")) == ((), ONE)


# Whom git trusts


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate that no server here has."""
    return make_certificate(tmp_path_factory.mktemp("stranger"))


def test_the_operators_authorities_vouch_for_the_server_of_a_push(gate: Gate) -> None:
    done = gate.commit(XPLOCK_CA_BUNDLE=str(gate.certificate.file))

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_an_option_names_the_authorities_too(gate: Gate, stranger: Certificate) -> None:
    done = gate.commit("--ca-bundle", str(gate.certificate.file), XPLOCK_CA_BUNDLE=str(stranger.file))

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_they_come_on_top_of_the_usual_ones(gate: Gate, stranger: Certificate) -> None:
    done = gate.commit(XPLOCK_CA_BUNDLE=str(stranger.file), SSL_CERT_FILE=str(gate.certificate.file))

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_whom_git_is_told_to_trust_counts_more(gate: Gate, stranger: Certificate) -> None:
    git(gate.clone, "config", "http.sslCAInfo", str(gate.certificate.file))

    done = gate.commit(XPLOCK_CA_BUNDLE=str(stranger.file))

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_a_strangers_authority_is_not_enough_for_a_push(gate: Gate, stranger: Certificate) -> None:
    done = gate.commit(XPLOCK_CA_BUNDLE=str(stranger.file))

    assert (done.code, gate.server.requests) == (1, ())
    assert "certificate" in done.stderr


def test_a_file_without_certificates_is_told_before_anybody_is_asked(gate: Gate, tmp_path: Path) -> None:
    done = gate.commit(XPLOCK_CA_BUNDLE=str(tmp_path / "token"))

    assert (done.code, gate.server.requests) == (2, ())
    assert "the file in XPLOCK_CA_BUNDLE contains no certificates" in done.stderr
    assert "next: " in done.stderr


def test_what_is_not_reached_over_https_needs_no_authorities(gate: Gate) -> None:
    git(gate.clone, "remote", "set-url", "origin", str(gate.folder / "server.git"))

    done = gate.commit(XPLOCK_CA_BUNDLE="/nowhere")

    assert (done.code, gate.pushed) == (0, TWO), done.stderr


def test_nothing_is_left_of_the_authorities(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()

    done = gate.commit(XPLOCK_CA_BUNDLE=str(gate.certificate.file), TMPDIR=str(tmp_path / "scratch"))

    assert (done.code, list((tmp_path / "scratch").iterdir())) == (0, []), done.stderr
