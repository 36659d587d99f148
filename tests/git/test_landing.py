"""Commits without a work tree: compare-and-swap locally and on a server, without losing commits."""

import os
import random
import resource
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from rig.git.repositories import (
    ASKS,
    ONE,
    REAL_GIT,
    SHOP,
    THREE,
    TWO,
    check_integrity,
    clone,
    git,
    git_in_between,
    new_repository,
    paths_in,
    rival,
    save,
    serve,
    shared_shop,
    shop,
    text_at,
    write_program,
)
from rig.registry.http_server import Certificate, RecordingServer, redirect

from render.errors import RenderError
from render.git.branches import find_branch
from render.git.changes import Change, CommitTarget, InputFiles
from render.git.credentials import Token
from render.git.failures import GitFailed
from render.git.landing import BranchDiffers, LostRace, commit_change, land, push_change
from render.git.names import Author
from render.git.objects import changed_paths
from render.git.remotes import Remote, fetch_tip, find_default_branch
from render.git.repository import Repository
from render.git.revisions import read_file
from render.git.temporary import InvalidUrl, check_url, open_server
from render.limits import LimitExceeded, Limits
from render.system.deadline import Deadline, DeadlineExceeded
from render.system.files import LOCK_FILE
from render.system.scratch import NoPlace

KIM = Author("Kim", "kim@example.org")


def change(text: bytes = TWO, path: str = SHOP) -> Change:
    """A lock that is to be committed, and the folder that it was made for."""
    folder = path.removesuffix(LOCK_FILE)
    return Change({path: text}, "lock\n\nXplock-Version: 1\n", KIM, made_from=InputFiles(frozenset({folder})))


def target(repository: Repository, branch: str = "main") -> CommitTarget:
    """A branch as it is now."""
    tip = find_branch(repository, branch)
    return CommitTarget(branch, tip, tip)


def subjects(root: Path, revision: str = "main") -> list[str]:
    return git(root, "log", "--format=%s", revision).splitlines()


def test_files_are_committed_to_a_bare_repository(tmp_path: Path) -> None:
    server, _ = shared_shop(tmp_path)
    repository = Repository(server)

    landed = land(repository, change(), target(repository))

    assert git(server, "rev-parse", "main") == landed.commit
    assert git(server, "rev-parse", "main^") == landed.parent
    assert paths_in(server, "main") == [SHOP]
    assert text_at(server, "main") == TWO
    assert not (server / "index").exists()
    check_integrity(server)


def test_unchanged_files_are_not_committed_again(tmp_path: Path) -> None:
    server, _ = shared_shop(tmp_path)
    repository = Repository(server)
    before = git(server, "rev-parse", "main")

    landed = land(repository, change(ONE), target(repository))

    assert (landed.new, landed.commit, git(server, "rev-parse", "main")) == (False, before, before)


def test_our_commit_may_be_the_first_of_a_bare_repository(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "bare.git", "--bare")

    landed = land(Repository(root), change(), CommitTarget("main", None, None))

    assert (landed.parent, git(root, "rev-list", "--count", "main")) == (None, "1")


# Races in one repository

WRITERS, EACH = 8, 3


def _write_many(root: Path, number: int) -> None:
    repository = Repository(root)
    path = f"{number}/{LOCK_FILE}"
    for count in range(EACH):
        text = b"%d of %d\n" % (count, number)
        commit_change(repository, change(text, path), target(repository))
    os._exit(0)


def test_concurrent_commits_are_all_kept(tmp_path: Path) -> None:
    root = shop(tmp_path)
    context = get_context("fork")
    writers = [context.Process(target=_write_many, args=(root, number)) for number in range(WRITERS)]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)

    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert git(root, "rev-list", "--count", "main") == str(WRITERS * EACH + 1)
    assert git(root, "rev-list", "--count", "--merges", "main") == "0"
    assert [text_at(root, "main", f"{number}/{LOCK_FILE}") for number in range(WRITERS)] == [
        b"%d of %d\n" % (EACH - 1, number) for number in range(WRITERS)
    ]
    check_integrity(root)


def in_between(
    monkeypatch: pytest.MonkeyPatch, folder: Path, script: str, command: str = "update-ref"
) -> None:
    """Let something happen right before a command of ours."""
    first = f'case " $* " in *" {command} "*) {{ {script}; }} >&2;; esac'
    monkeypatch.setenv("PATH", git_in_between(folder / "bin", first))


def faster(root: Path, path: str, text: str = "date +%N") -> str:
    """Return a script that commits a change of a file to main, as somebody else would."""
    run = f"{REAL_GIT} -C {root}"
    blob = f"$({text} | {run} hash-object -w --stdin)"
    index = f"GIT_INDEX_FILE={root.parent}/rivals-index"
    tree = f"$({index} {run} read-tree main; {index} {run} update-index --add --cacheinfo 100644,{blob},{path}; {index} {run} write-tree)"
    who = "-c user.name=Rival -c user.email=rival@example.org"
    return f"{run} update-ref refs/heads/main $({run} {who} commit-tree {tree} -p main -m rival)"


def test_after_a_lost_race_the_commit_is_on_top_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = shared_shop(tmp_path)
    repository = Repository(server)
    before = target(repository)
    script = f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; {faster(server, 'README')}; }}"
    in_between(monkeypatch, tmp_path, script)

    landed = commit_change(repository, change(), before)

    assert subjects(server) == ["lock", "rival", "a change"]
    assert git(server, "rev-parse", "main") == landed.commit


@pytest.mark.parametrize("path", [SHOP, "shop/provider.yaml"])
def test_a_concurrent_change_of_the_lock_or_its_inputs_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    server, _ = shared_shop(tmp_path)
    repository = Repository(server)
    before = target(repository)
    in_between(monkeypatch, tmp_path, faster(server, path))

    with pytest.raises(BranchDiffers, match=f"{path} differs there") as caught:
        commit_change(repository, change(), before)

    assert caught.value.exit_code == 3
    assert subjects(server) == ["rival", "a change"]


def test_the_same_lock_committed_by_another_run_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, root = shared_shop(tmp_path)
    repository = Repository(server)
    before = target(repository)
    (root / SHOP).write_bytes(TWO)
    (root / "shop" / "xplock.yaml").write_text(f"# the same in other words\n{ASKS}")
    save(root, "theirs")
    in_between(monkeypatch, tmp_path, f"env -u GIT_ALLOW_PROTOCOL {REAL_GIT} -C {root} push --quiet")

    landed = commit_change(repository, change(), before)

    assert (landed.new, subjects(server)) == (False, ["theirs", "a change"])


def test_switching_branches_meanwhile_leaves_the_index_unchanged(tmp_path: Path) -> None:
    root = shop(tmp_path)
    repository = Repository(root)
    before = replace(target(repository), git_folder=root / ".git")
    git(root, "checkout", "--quiet", "-b", "elsewhere")

    land(repository, change(), before)

    assert text_at(root, "main") == TWO
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("text", [TWO, THREE])
def test_the_index_keeps_a_lock_that_another_run_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    root = shop(tmp_path)
    repository = Repository(root)
    before = replace(target(repository), git_folder=root / ".git")
    (root / SHOP).write_bytes(text)
    in_between(monkeypatch, tmp_path, faster(root, SHOP, f"cat {root / SHOP}"))

    with suppress(BranchDiffers):
        commit_change(repository, change(), before)

    assert subjects(root) == ["rival", "a change"]
    assert git(root, "status", "--porcelain") == ""


def test_after_too_many_lost_races_it_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, _ = shared_shop(tmp_path)
    repository = Repository(server, Limits(commit_attempts=3))
    before = target(repository)
    in_between(monkeypatch, tmp_path, faster(server, "README"))

    with pytest.raises(LostRace, match="XPLOCK_LIMIT_COMMIT_ATTEMPTS"):
        commit_change(repository, change(), before)

    assert subjects(server) == ["rival", "rival", "rival", "a change"]


def test_pauses_between_attempts_end_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, _ = shared_shop(tmp_path)
    waits: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += 5

    repository = Repository(server, deadline=Deadline(11, lambda: now[0], sleep))
    before = target(repository)
    in_between(monkeypatch, tmp_path, faster(server, "README"))

    with pytest.raises(DeadlineExceeded):
        commit_change(repository, change(), before)

    assert len(waits) == 3
    assert all(0 <= wait <= 2 for wait in waits)


# A server, without a clone


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A bare repository that stands for a server."""
    return shared_shop(tmp_path)[0]


@pytest.fixture
def reached(server: Path) -> Iterator[tuple[Repository, Remote]]:
    """The server's main branch, by way of a temporary repository."""
    with open_server(f"file://{server}", "main", limits=Limits()) as found:
        yield found


def test_files_are_committed_to_a_servers_branch_without_a_clone(
    server: Path, reached: tuple[Repository, Remote]
) -> None:
    repository, remote = reached
    tip = fetch_tip(repository, remote, depth=1)
    assert tip is not None

    there = read_file(repository, tip, SHOP)
    landed = push_change(repository, change(), remote, tip)

    assert there == ONE
    assert landed.pushed
    assert git(server, "rev-parse", "main") == landed.commit
    assert git(server, "rev-parse", "main^") == tip
    assert paths_in(server, "main") == [SHOP]
    check_integrity(server)


def test_the_temporary_repository_is_gone_afterwards(server: Path) -> None:
    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        fetch_tip(repository, remote, depth=1)
        assert (repository.root / "objects").is_dir()

    assert not repository.root.exists()


def test_the_temporary_repository_works_where_bare_repositories_are_distrusted(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "configuration").write_text("[safe]\n\tbareRepository = explicit\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "configuration"))

    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        landed = push_change(repository, change(), remote, fetch_tip(repository, remote, depth=1))

    assert landed.pushed


def test_a_server_with_sha256_hashes_works(tmp_path: Path) -> None:
    made = shop(tmp_path, "--object-format=sha256")
    git(tmp_path, "clone", "--quiet", "--bare", str(made), "long.git")

    with open_server(f"file://{tmp_path}/long.git", "main", limits=Limits()) as (repository, remote):
        tip = fetch_tip(repository, remote, depth=1)
        landed = push_change(repository, change(), remote, tip)

    assert len(landed.commit) == 64
    assert text_at(tmp_path / "long.git", "main") == TWO


def test_a_branch_that_the_server_does_not_have_is_created(server: Path) -> None:
    with open_server(f"file://{server}", "update", limits=Limits()) as (repository, remote):
        none = fetch_tip(repository, remote)
        start = fetch_tip(repository, remote._replace(branch="main"))
        landed = push_change(repository, change(), remote, start)

    assert none is None
    assert git(server, "rev-parse", "update") == landed.commit


def test_the_default_branch_of_a_server_is_found(reached: tuple[Repository, Remote]) -> None:
    assert find_default_branch(reached[0], reached[1].name) == "main"


def test_the_changes_between_two_commits_of_a_server_are_found(
    server: Path, reached: tuple[Repository, Remote], tmp_path: Path
) -> None:
    repository, remote = reached
    old = fetch_tip(repository, remote, depth=1)
    other = clone(server, tmp_path / "other")
    (other / "README").write_text("theirs\n")
    save(other)
    git(other, "push", "--quiet")

    new = fetch_tip(repository, remote)

    assert new
    assert changed_paths(repository, old, new) == {"README"}
    assert changed_paths(repository, None, new) == {"README", SHOP, "shop/xplock.yaml"}


def test_a_second_fetch_does_not_transfer_known_objects_again(tmp_path: Path, server: Path) -> None:
    other = clone(server, tmp_path / "other")
    # Of a hundred objects and more git keeps what it was sent, whether it has some of them or not.
    for i in range(150):
        (other / f"{i}.bin").write_bytes(random.Random(i).randbytes(10_000))
    save(other)
    git(other, "push", "--quiet")
    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        old = fetch_tip(repository, remote, depth=100)
        before = size_of(repository.root)
        (other / "README").write_text("theirs\n")
        save(other)
        git(other, "push", "--quiet")

        new = fetch_tip(repository, remote, known=old)

        assert new not in (None, old)
        assert size_of(repository.root) - before < 100_000


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_push_that_came_first_is_kept_below_ours(
    server: Path, reached: tuple[Repository, Remote], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, remote = reached
    tip = fetch_tip(repository, remote, depth=1)
    script = rival(server, tmp_path / "rival", "README")
    in_between(
        monkeypatch, tmp_path, f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; {script}; }}", "push"
    )

    landed = push_change(repository, change(), remote, tip)

    assert subjects(server) == ["lock", "rival", "a change"]
    assert git(server, "rev-parse", "main") == landed.commit


def test_a_lock_pushed_by_another_run_is_not_overwritten(
    server: Path, reached: tuple[Repository, Remote], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, remote = reached
    tip = fetch_tip(repository, remote, depth=1)
    in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", SHOP), "push")

    with pytest.raises(BranchDiffers):
        push_change(repository, change(), remote, tip)

    assert subjects(server) == ["rival", "a change"]


def test_eight_concurrent_pushes_of_the_same_lock_make_one_commit(server: Path) -> None:
    context = get_context("fork")
    writers = [context.Process(target=_push_one, args=(server,)) for _ in range(WRITERS)]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)

    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert subjects(server) == ["lock", "a change"]
    check_integrity(server)


def _push_one(server: Path) -> None:
    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        push_change(repository, change(), remote, fetch_tip(repository, remote, depth=1))
    os._exit(0)


# Credentials


def open_gate(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everybody who is let in push, and trust the server's certificate."""
    git(server, "config", "http.receivepack", "true")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def test_a_token_is_sent_to_its_server_only(
    server: Path, certificate: Certificate, canary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_gate(server, monkeypatch)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate.file))
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", f'echo "$@" >> {tmp_path}/arguments'))
    credentials = f"x-access-token:{canary}"

    with RecordingServer(serve(server.parent, credentials), certificate=certificate) as gate:
        url = f"{gate.url}/server.git"
        with open_server(url, "main", limits=Limits(), token=Token(canary)) as (repository, remote):
            tip = fetch_tip(repository, remote, depth=1)
            landed = push_change(repository, change(), remote, tip)
            kept = [
                path
                for path in repository.root.rglob("*")
                if path.is_file() and canary in path.read_text("latin-1")
            ]

    assert git(server, "rev-parse", "main") == landed.commit
    assert {request.credentials for request in gate.requests} == {credentials}
    assert kept == []
    arguments = (tmp_path / "arguments").read_text()
    assert "push" in arguments
    assert canary not in arguments
    assert "Basic" not in arguments


def test_the_error_does_not_show_a_rejected_token(
    server: Path, certificate: Certificate, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_gate(server, monkeypatch)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate.file))

    with (
        RecordingServer(serve(server.parent, "somebody:else"), certificate=certificate) as gate,
        pytest.raises(GitFailed, match=f"git cannot work in {gate.url}/server.git") as caught,
        open_server(f"{gate.url}/server.git", "main", limits=Limits(), token=Token(canary)),
    ):
        pass

    assert canary not in str(caught.value)


def test_a_token_is_not_sent_to_a_redirect_target(
    server: Path, certificate: Certificate, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_gate(server, monkeypatch)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate.file))

    with RecordingServer(serve(server.parent), certificate=certificate) as other:
        there = f"{other.url}/server.git/info/refs?service=git-upload-pack"
        with (
            RecordingServer(redirect(there, 302), certificate=certificate) as gate,
            pytest.raises(RenderError),
            open_server(f"{gate.url}/server.git", "main", limits=Limits(), token=Token(canary)) as (
                repository,
                remote,
            ),
        ):
            fetch_tip(repository, remote)

    assert gate.saw(canary)
    assert other.requests == ()


def test_a_token_in_a_servers_error_is_masked(
    server: Path, certificate: Certificate, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_gate(server, monkeypatch)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate.file))
    write_program(server / "hooks" / "pre-receive", f"#!/bin/sh\necho 'not with {canary}' >&2\nexit 1\n")

    with (
        RecordingServer(serve(server.parent), certificate=certificate) as gate,
        open_server(f"{gate.url}/server.git", "main", limits=Limits(), token=Token(canary)) as (
            repository,
            remote,
        ),
        pytest.raises(RenderError, match="not with") as caught,
    ):
        push_change(repository, change(), remote, fetch_tip(repository, remote, depth=1))

    assert canary not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["", "x", "/tmp", "../x", "-x", "--upload-pack=x", "ext::sh -c x", "http://git.example.org/x", "git://git.example.org/x",
     "https://git.example.org/x?token=y", "https://user:secret@git.example.org/x", "ssh://user:secret@git.example.org/x",
     "https://git.example.org/a b", "https://git.example.org/\x1b[2J", "fd::17", "-oProxyCommand=x:y", "file://",
     "https://[git.example.org/x", "https://user:secret@[::1/x", "ssh://git.example.org\u2100/x"],
)  # fmt: skip
def test_urls_with_secrets_or_other_protocols_are_refused(url: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        check_url(url)

    assert caught.value.exit_code == 2
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/team/platform.git",
        "https://git.example.org:8443/team/platform",
        "ssh://git@git.example.org/team/platform.git",
        "git@git.example.org:team/platform.git",
        "file:///srv/git/platform.git",
    ],
)
def test_https_ssh_and_file_urls_are_accepted(url: str) -> None:
    check_url(url)


def test_a_token_is_for_https_only(server: Path, canary: str) -> None:
    with pytest.raises(InvalidUrl, match="over https only") as caught:
        open_server(f"file://{server}", "main", limits=Limits(), token=Token(canary)).__enter__()

    assert canary not in str(caught.value)
    assert canary not in repr(Token(canary))


def test_a_slow_server_is_an_error_at_the_deadline(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_between(monkeypatch, tmp_path, "exec sleep 600", "ls-remote")

    with (
        pytest.raises(DeadlineExceeded),
        open_server(f"file://{server}", "main", limits=Limits(), deadline=Deadline(1)),
    ):
        pass


def trusting(server: Path, **limits: int) -> None:
    """Meet a server with authorities besides the usual ones."""
    with open_server(f"file://{server}", "main", limits=Limits(**limits), authorities=b"ours"):
        pass


def test_unreadable_system_authorities_are_an_error(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = SimpleNamespace(cafile=str(tmp_path), capath=None)
    monkeypatch.setattr("ssl.get_default_verify_paths", lambda: usual)

    with pytest.raises(
        GitFailed, match="the system's certificate authorities cannot be read: it is not a plain"
    ):
        trusting(server)


def test_too_large_system_authorities_are_an_error(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "usual").write_text("usual")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "usual"))

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_AUTHORITIES_BYTES"):
        trusting(server, authorities_bytes=4)


def test_a_full_disk_for_authorities_is_an_error(server: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, hard))

    try:
        with pytest.raises(NoPlace, match="there is no place for git's files"):
            trusting(server)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_inputs_of_a_project_in_the_root_do_not_include_subfolders() -> None:
    made = Change({LOCK_FILE: TWO}, "", made_from=InputFiles(frozenset({""})))

    assert [
        path for path in ("xplock.yaml", LOCK_FILE, "src/main.py", f"eu/{LOCK_FILE}") if made.depends_on(path)
    ] == ["xplock.yaml"]


def test_with_a_kustomization_every_file_but_locks_is_an_input() -> None:
    made = Change({SHOP: TWO}, "", made_from=InputFiles(frozenset({"shop/"}), everything=True))

    paths = ("base/provider.yaml", "shop/x.yaml", SHOP, f"eu/{LOCK_FILE}")
    assert [path for path in paths if made.depends_on(path)] == ["base/provider.yaml", "shop/x.yaml"]
