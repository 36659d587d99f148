"""Git is read by plumbing commands in every kind of repository, and runs no program of the repository."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from rig.time_limits import growing, written

from render.errors import RenderError
from render.git.failures import GitFailed, NotARepository, describe_failure
from render.git.repository import Repository
from render.git.revisions import UnknownRevision, has_at_head, read_at
from render.limits import LimitExceeded, Limits

NAME = "crossplane.lock.yaml"
HOOKS = ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"]


def git(folder: Path, *command: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    run = subprocess.run(
        ["git", *identity, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return run.stdout.decode().strip()


def commit(folder: Path, text: str, name: str = NAME) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def read(folder: Path, revision: str = "HEAD", name: str = NAME) -> bytes | None:
    return read_at(folder, revision, name)


def test_a_file_is_read_at_a_revision(repository: Path) -> None:
    first = commit(repository, "one\n\n")
    commit(repository, "two")
    git(repository, "tag", "v2")
    (repository / NAME).write_text("three")

    assert read(repository) == b"two"
    assert read(repository, "HEAD~1") == read(repository, first) == read(repository, first[:10]) == b"one\n\n"
    assert read(repository, "v2") == read(repository, "main") == read(repository, "refs/heads/main") == b"two"
    assert has_at_head(repository, NAME)


def test_files_of_a_subfolder_are_read_from_there(repository: Path) -> None:
    commit(repository, "above")
    commit(repository, "below", f"shop/eu/{NAME}")

    assert read(repository / "shop" / "eu") == b"below"
    assert read(repository / "shop") is None
    assert not has_at_head(repository / "shop", NAME)


def test_a_missing_file_is_none(repository: Path) -> None:
    first = commit(repository, "x", "other.yaml")
    commit(repository, "one")
    (repository / NAME).unlink()

    assert read(repository, first) is None
    assert has_at_head(repository, NAME)


def test_a_branch_without_commits_has_no_files(repository: Path) -> None:
    assert read(repository) is None
    assert not has_at_head(repository, NAME)


@pytest.mark.parametrize("revision", ["v9", "0" * 40, "refs/heads/none", "HEAD~7"])
def test_the_error_names_an_unknown_revision(repository: Path, revision: str) -> None:
    commit(repository, "one")

    with pytest.raises(UnknownRevision, match=f"^{revision} is not a revision") as caught:
        read(repository, revision)

    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "revision", ["", "--output=x", "-x", "a b", "a\nb", "a:b", "HEAD:x", "\x00", "a" * 300, "*", "a\\b"]
)
def test_an_invalid_revision_never_reaches_git(repository: Path, revision: str) -> None:
    commit(repository, "one")

    with pytest.raises(UnknownRevision, match="characters that no revision has"):
        read(repository, revision)

    assert not (repository / "x").exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "/etc/passwd", "..", ""])
def test_only_files_of_the_folder_itself_are_found(repository: Path, name: str) -> None:
    commit(repository, "one", "a/b")

    assert read(repository, name=name) is None


def test_a_name_that_looks_like_an_option_is_a_name(repository: Path) -> None:
    commit(repository, "one", "--output=x")

    assert read(repository, name="--output=x") == b"one"


def test_a_symbolic_link_is_not_read(repository: Path) -> None:
    (repository / NAME).symlink_to("other")
    commit(repository, "x", "other")

    assert read(repository) is None
    assert not has_at_head(repository, NAME)


def test_outside_of_a_repository_nothing_is_at_head(tmp_path: Path) -> None:
    assert not has_at_head(tmp_path, NAME)

    with pytest.raises(NotARepository, match="not in a Git repository"):
        read(tmp_path)


def test_a_missing_folder_is_an_error(repository: Path) -> None:
    commit(repository, "one")

    with pytest.raises(GitFailed, match="cannot change to"):
        read(repository / "missing")


def test_a_missing_git_is_an_error(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repository, "one")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitFailed, match="git is not installed"):
        has_at_head(repository, NAME)

    assert not has_at_head(tmp_path, NAME)


def test_variables_of_a_hook_do_not_point_git_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repository, "here")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, "elsewhere")
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path),
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": "true",
    }.items():
        monkeypatch.setenv(name, value)

    assert read(repository) == b"here"
    assert os.environ["GIT_DIR"] == str(other / ".git")
    assert not (tmp_path / "trace").exists()


def test_programs_that_the_repository_names_are_not_run(repository: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {canary}\nexec cat\n")
    script.chmod(0o755)
    (repository / ".gitattributes").write_text("*.yaml filter=bad diff=bad\n")
    commit(repository, "one")
    for hook in HOOKS:
        path = repository / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(script.read_text())
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "filter.bad.smudge",
        "diff.bad.textconv",
        "core.sshCommand",
    ):
        git(repository, "config", key, str(script))

    assert read(repository) == b"one"
    assert not canary.exists()


@pytest.mark.parametrize("kind", ["detached", "sha256", "index-v4", "shallow", "worktree"])
def test_odd_repositories_are_read_like_any_other(repository: Path, tmp_path: Path, kind: str) -> None:
    folder = repository
    if kind == "sha256":
        folder = tmp_path / "sha256"
        folder.mkdir()
        git(folder, "init", "-q", "--object-format=sha256")
    commit(folder, "one")
    commit(folder, "two")
    if kind == "detached":
        git(folder, "checkout", "-q", "--detach")
    if kind == "index-v4":
        git(folder, "update-index", "--index-version", "4")
    if kind == "shallow":
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "clone")
        folder = tmp_path / "clone"
    if kind == "worktree":
        git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
        folder = tmp_path / "tree"

    assert read(folder) == b"two"
    assert has_at_head(folder, NAME)


def test_a_file_that_is_too_large_names_the_limit(repository: Path) -> None:
    commit(repository, "x" * 1_000)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LOCK_BYTES"):
        read_at(repository, "HEAD", NAME, limits=Limits(lock_bytes=999))


def test_git_is_stopped_at_its_time_limit(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")

    with pytest.raises(GitFailed, match="XPLOCK_LIMIT_GIT_SECONDS"):
        read_at(repository, "HEAD", NAME, limits=Limits(git_seconds=1))


def test_the_error_for_a_broken_repository_quotes_git(repository: Path) -> None:
    commit(repository, "one")
    (repository / ".git" / "config").write_text("[core\n")

    with pytest.raises(RenderError, match="bad config"):
        read(repository)


def test_more_arguments_than_a_program_can_have_are_an_error_and_no_crash(repository: Path) -> None:
    commit(repository, "one")

    with pytest.raises(GitFailed, match="git cannot be started"):
        Repository(repository).run("ls-tree", "HEAD", "--", *["x" * 100_000] * 100)


def test_git_is_killed_if_it_ignores_the_first_signal(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn, pid = tmp_path / "bin" / "git", tmp_path / "pid"
    stubborn.parent.mkdir()
    stubborn.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {pid}\nwhile :; do sleep 1; done\n")
    stubborn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stubborn.parent}:{os.environ['PATH']}")

    for seconds in growing(1, until=written(pid)):
        with pytest.raises(GitFailed, match="XPLOCK_LIMIT_GIT_SECONDS"):
            read_at(repository, "HEAD", NAME, limits=Limits(git_seconds=int(seconds)))

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_errors_do_not_contain_timings() -> None:
    said = "fatal: Failed to connect to there port 1 after {} ms: Couldn't connect\n"

    told = {describe_failure("there", said.format(number)).why for number in (0, 17)}

    assert told == {("Failed to connect to there port 1: Couldn't connect",)}


def test_hints_of_git_and_of_servers_are_left_out() -> None:
    said = "remote: error: cannot lock ref\nremote: hint: run 'git gc'\nhint: fetch first\nremote: \t hint: or not\n"

    assert describe_failure("there", said).why == ("error: cannot lock ref",)
