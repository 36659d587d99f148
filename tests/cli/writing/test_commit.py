"""xplock commit: the lock, and nothing else; what the user has done besides stays as it was."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rig.builders.projects import World, small_world
from rig.git.repositories import (
    ASKS,
    ONE,
    SHOP,
    THREE,
    TWO,
    git,
    git_in_between,
    lock_text,
    make_dirty,
    new_repository,
    paths_in,
    plant_canaries,
    project,
    record_of,
    save,
    shop,
    status,
    text_at,
    write_program,
)

from render import __version__
from render.cli.run import run
from render.git.trailers import digest_inputs, parse_trailers
from render.system.files import LOCK_FILE

RECORD = digest_inputs(record_of())
MESSAGE = f"""\
lock shop: 1 updated (1 major)

Updated  xpkg.example.org/acme/app v1.0.0 -> v2.0.0 (major; asked for)
shop/crossplane.lock.yaml: 1 package, 1 updated (1 major), 0 unchanged

Xplock-Version: {__version__}
Xplock-Inputs: {RECORD} {SHOP}"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a lock that is not committed yet."""
    made = shop(tmp_path)
    (made / SHOP).write_bytes(TWO)
    return made


def head(root: Path, revision: str = "HEAD") -> str:
    return git(root, "rev-parse", revision)


def test_the_lock_is_committed_and_nothing_else(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_dirty(root)
    before, parent, staged = status(root), head(root), git(root, "diff", "--cached")

    code = run(["commit", str(root / "shop")])

    assert code == 0
    assert paths_in(root) == [SHOP]
    assert text_at(root, "HEAD") == TWO
    assert head(root, "HEAD^") == parent
    assert (status(root), git(root, "diff", "--cached")) == (before, staged)
    assert git(root, "status", "--porcelain", SHOP) == ""
    assert capsys.readouterr().out == f"Committed {head(root)[:12]} to main: lock shop: 1 updated (1 major)\n"


def test_the_message_tells_what_changed_and_what_the_lock_was_made_from(root: Path) -> None:
    run(["commit", str(root / "shop")])

    assert git(root, "log", "-1", "--format=%B").rstrip() == MESSAGE
    assert (
        git(root, "log", "-1", "--format=%an <%ae> %cn <%ce>")
        == "Sam <sam@example.org> Sam <sam@example.org>"
    )
    assert git(root, "log", "-1", "--format=%(trailers:key=Xplock-Version,valueonly)").strip() == __version__


def test_what_the_user_has_staged_of_the_lock_stays_staged(root: Path) -> None:
    (root / SHOP).write_bytes(THREE)
    git(root, "add", SHOP)
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", str(root / "shop")])

    assert code == 0
    assert text_at(root, "HEAD") == TWO
    assert text_at(root, "") == THREE


def test_a_lock_that_the_user_has_staged_as_it_is_is_simply_committed(root: Path) -> None:
    git(root, "add", SHOP)

    run(["commit", str(root / "shop")])

    assert text_at(root, "HEAD") == TWO
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("born", [True, False])
def test_a_lock_that_is_only_to_be_added_some_day_is_simply_committed(root: Path, born: bool) -> None:
    git(root, "rm", "--quiet", "--cached", SHOP)
    git(root, "commit", "--quiet", "--message", "never locked")
    if not born:
        git(root, "checkout", "--quiet", "--orphan", "fresh")
    git(root, "add", "--intent-to-add", SHOP)

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert code == 0
    assert git(root, "status", "--porcelain", SHOP) == ""


def test_a_lock_that_has_not_changed_is_not_committed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / SHOP).write_bytes(ONE)
    before = head(root)

    code = run(["commit", str(root / "shop")])

    assert (code, head(root)) == (0, before)
    assert capsys.readouterr().out == "Nothing to commit to main: no lock has changed\n"


def test_line_ends_that_git_has_written_are_no_change(root: Path) -> None:
    (root / SHOP).write_bytes(ONE.replace(b"\n", b"\r\n"))
    before = head(root)

    code = run(["commit", str(root / "shop")])

    assert (code, head(root)) == (0, before)


def test_a_lock_that_somebody_made_executable_stays_so(root: Path) -> None:
    git(root, "update-index", "--chmod=+x", SHOP)
    git(root, "commit", "--quiet", "-m", "executable")
    git(root, "config", "core.fileMode", "false")
    (root / SHOP).write_bytes(THREE)

    run(["commit", str(root / "shop")])

    assert text_at(root, "HEAD") == THREE
    assert git(root, "ls-tree", "HEAD", SHOP).startswith("100755 ")
    assert git(root, "status", "--porcelain") == ""


def test_locks_of_one_repository_become_one_commit(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eu, us = project(root, TWO, "eu"), project(root, lock_text("app v1.0.0", "net v1.0.0"), "us")
    same = project(root, ONE, "same")
    git(root, "add", "same")
    git(root, "commit", "--quiet", "-m", "same")
    (root / SHOP).write_bytes(ONE)
    git(root, "add", "eu/xplock.yaml", "us/xplock.yaml")
    git(root, "commit", "--quiet", "-m", "inputs")
    before = head(root)

    code = run(["commit", str(eu), str(us), str(root / "shop"), str(same), str(eu)])

    told = capsys.readouterr()
    assert code == 0
    assert head(root, "HEAD^") == before
    assert paths_in(root) == [f"eu/{LOCK_FILE}", f"us/{LOCK_FILE}"]
    assert told.out == f"Committed {head(root)[:12]} to main: lock eu and us: 3 added\n"
    assert told.err == ""
    assert git(root, "log", "-1", "--format=%(trailers:key=Xplock-Inputs,valueonly)").split() == [
        *(RECORD, f"eu/{LOCK_FILE}"),
        *(RECORD, f"us/{LOCK_FILE}"),
    ]


def test_each_repository_gets_a_commit_of_its_own(root: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = shop(tmp_path / "b")
    (other / SHOP).write_bytes(THREE)

    code = run(["commit", str(root / "shop"), str(other / "shop")])

    assert code == 0
    assert (text_at(root, "HEAD"), text_at(other, "HEAD")) == (TWO, THREE)


def test_what_was_committed_is_told_even_if_another_repository_fails(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b").mkdir()
    other = shop(tmp_path / "b")
    (other / SHOP).write_bytes(THREE)
    (other / ".git" / "HEAD.lock").touch()

    code = run(["commit", str(root / "shop"), str(other / "shop")])

    told = capsys.readouterr()
    assert code == 1
    assert f"Committed {head(root)[:12]} to main" in told.err
    assert str(other / ".git" / "HEAD.lock") in told.err


def test_a_project_in_the_root_has_no_folder_in_its_message(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repository")
    project(root, name=".")
    git(root, "add", "xplock.yaml")
    git(root, "commit", "--quiet", "-m", "inputs")

    code = run(["commit", str(root)])

    assert code == 0
    assert git(root, "log", "-1", "--format=%s") == "lock: 1 added"
    assert paths_in(root) == [LOCK_FILE]


def test_a_folder_without_a_lock_or_with_a_broken_one_is_not_committed(root: Path) -> None:
    before = head(root)
    (root / SHOP).write_bytes(ONE + b"<<<<<<< HEAD\n")
    broken = run(["commit", str(root / "shop")])
    (root / SHOP).unlink()

    missing = run(["commit", str(root / "shop")])

    assert (broken, missing, head(root)) == (2, 3, before)


def test_a_link_in_the_place_of_the_lock_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(THREE)
    (root / SHOP).unlink()
    (root / SHOP).symlink_to(tmp_path / "secret")
    before = head(root)

    code = run(["commit", str(root / "shop")])

    assert (code, head(root)) == (1, before)


# Branches


def test_a_new_branch_starts_at_head_and_a_pull_request_is_ready(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, changes = head(root), git(root, "status", "--porcelain")

    code = run(["commit", "--branch", "xplock/update", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert (head(root), git(root, "symbolic-ref", "HEAD")) == (before, "refs/heads/main")
    assert git(root, "status", "--porcelain") == changes
    assert head(root, "xplock/update^") == before
    assert text_at(root, "xplock/update") == TWO
    assert told.out.startswith("# lock shop: 1 updated (1 major)\n\n| | package | from | to | more |\n")
    assert "| updated, **major** | `xpkg.example.org/acme/app` | `v1.0.0` | `v2.0.0` |" in told.out
    assert (
        told.err
        == f"Committed {head(root, 'xplock/update')[:12]} to xplock/update: lock shop: 1 updated (1 major)\n"
    )


def test_a_new_branch_may_start_elsewhere(root: Path) -> None:
    first = head(root)
    (root / "README").write_text("more\n")
    git(root, "commit", "--quiet", "-m", "more", "README")

    code = run(["commit", "--branch", "update", "--from", "HEAD~1", str(root / "shop")])

    assert code == 0
    assert head(root, "update^") == first


def test_an_existing_branch_without_commits_of_its_own_starts_at_head(root: Path) -> None:
    git(root, "branch", "update")
    (root / "README").write_text("more\n")
    git(root, "commit", "--quiet", "-m", "more", "README")
    before = head(root)

    code = run(["commit", "--branch", "update", str(root / "shop")])

    assert code == 0
    assert head(root, "update^") == before == head(root, "main")


def test_a_branch_on_which_something_else_is_asked_for_is_refused(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "branch", "update")
    (root / "shop" / "xplock.yaml").write_text(ASKS + "detach: all\n")
    git(root, "commit", "--quiet", "-m", "inputs", "shop/xplock.yaml")
    start = head(root, "update")

    (root / SHOP).write_bytes(lock_text("app v2.0.0", asks=ASKS + "detach: all\n"))

    existing = run(["commit", "--branch", "update", "--from", "update", str(root / "shop")])
    new = run(["commit", "--branch", "other", "--from", "update", str(root / "shop")])

    assert (existing, new, head(root, "update")) == (3, 3, start)
    assert "shop/xplock.yaml differs there" in capsys.readouterr().err
    assert git(root, "branch", "--list", "other") == ""


def test_the_current_branch_cannot_start_elsewhere(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(root, "branch", "update")

    code = run(["commit", "--branch", "main", "--from", "update", str(root / "shop")])

    assert code == 2
    assert "branch main is the current one" in capsys.readouterr().err


def test_a_branch_that_another_work_tree_is_on_is_left_alone(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "worktree", "add", "--quiet", "-b", "linked", str(tmp_path / "tree"))
    before = head(root, "linked")

    code = run(["commit", "--branch", "linked", str(root / "shop")])

    assert (code, head(root, "linked")) == (2, before)
    assert str(tmp_path / "tree") in capsys.readouterr().err


def test_the_current_branch_by_its_name_is_the_current_branch(root: Path) -> None:
    code = run(["commit", "--branch", "main", str(root / "shop")])

    assert code == 0
    assert text_at(root, "main") == TWO
    assert git(root, "status", "--porcelain") == ""


def test_without_a_branch_the_hint_is_to_name_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(root, "checkout", "--quiet", "--detach")
    start = head(root)

    refused = run(["commit", str(root / "shop")])
    told = capsys.readouterr().err
    accepted = run(["commit", "--branch", "update", str(root / "shop")])

    assert (refused, accepted, head(root)) == (2, 0, start)
    assert "--branch NAME" in told
    assert head(root, "update^") == start


def test_in_the_middle_of_a_merge_only_another_branch_is_committed_to(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "checkout", "--quiet", "-b", "other")
    git(root, "commit", "--quiet", "-m", "other", "--allow-empty")
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--no-commit", "--no-ff", "other", check=False)
    before = head(root)

    refused = run(["commit", str(root / "shop")])

    assert (refused, head(root)) == (2, before)
    assert "in the middle of a merge" in capsys.readouterr().err
    assert run(["commit", "--branch", "update", str(root / "shop")]) == 0


@pytest.mark.parametrize("way", ["--merge", "--apply"])
def test_in_the_middle_of_a_rebase_its_branch_is_left_alone(
    root: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "checkout", "--quiet", SHOP)
    for branch in ("topic", "other"):
        git(root, "checkout", "--quiet", "-b", branch, "main")
        (root / "README").write_text(branch)
        git(root, "commit", "--quiet", "--all", "-m", branch)
    git(root, "rebase", way, "topic", check=False)
    before = head(root, "other")
    (root / SHOP).write_bytes(TWO)

    refused = run(["commit", "--branch", "other", str(root / "shop")])

    assert (refused, head(root, "other")) == (2, before)
    assert "in the middle of a rebase" in capsys.readouterr().err
    assert run(["commit", "--branch", "update", str(root / "shop")]) == 0


def test_a_branch_without_a_first_commit_gets_one(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repository")
    project(root)
    git(root, "add", "shop/xplock.yaml")

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert code == 0
    assert git(root, "rev-list", "--count", "HEAD") == "1"
    assert paths_in(root) == [SHOP, "shop/xplock.yaml"]
    assert git(root, "status", "--porcelain") == ""


# What comes out


def test_programs_get_everything_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parent = head(root)

    run(["commit", "-o", "json", "--branch", "update", str(root / "shop")])

    (made,) = json.loads(capsys.readouterr().out)
    request = made.pop("pullRequest")
    assert made == {
        "folders": ["shop"],
        "files": [SHOP],
        "branch": "update",
        "commit": head(root, "update"),
        "parent": parent,
        "pushed": False,
        "remote": None,
        "remoteBranch": None,
        "behind": False,
        "message": f"{MESSAGE}\nXplock-Base: {parent}\n",
    }
    assert request["title"] == "lock shop: 1 updated (1 major)"
    assert request["body"].startswith("| | package |")


def test_nothing_to_commit_is_no_commit_as_json_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / SHOP).write_bytes(ONE)

    run(["commit", "-o", "json", str(root / "shop")])

    (made,) = json.loads(capsys.readouterr().out)
    assert (made["commit"], made["folders"], made["pullRequest"], made["pushed"]) == (None, [], None, False)


@pytest.mark.parametrize("branch", [[], ["--branch", "update"]], ids=["here", "branch"])
def test_a_dry_run_writes_nothing_at_all(
    root: Path, branch: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = git(root, "count-objects", "-v"), git(root, "for-each-ref"), git(root, "status", "--porcelain")

    code = run(["commit", "--dry-run", *branch, str(root / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert before == (
        git(root, "count-objects", "-v"),
        git(root, "for-each-ref"),
        git(root, "status", "--porcelain"),
    )
    assert told.out.startswith("# lock shop: 1 updated (1 major)\n" if branch else MESSAGE)
    assert told.err == f"Would commit to {branch[1] if branch else 'main'}: lock shop: 1 updated (1 major)\n"


def test_quiet_is_quiet(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["-q", "commit", str(root / "shop")])

    assert code == 0
    assert capsys.readouterr() == ("", "")


# Who commits


def test_without_a_name_nothing_is_committed(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "config", "--unset", "user.email")
    # What git would make up otherwise.
    monkeypatch.setenv("EMAIL", "root@localhost.example")
    before = head(root)

    code = run(["commit", str(root / "shop")])

    assert (code, head(root)) == (2, before)
    assert "--author" in capsys.readouterr().err


def test_a_given_author_is_enough(root: Path) -> None:
    git(root, "config", "--unset", "user.email")

    code = run(["commit", "--author", " Kim Lee <kim@example.org>", str(root / "shop")])

    assert code == 0
    assert git(root, "log", "-1", "--format=%an <%ae> %cn <%ce>") == (
        "Kim Lee <kim@example.org> Kim Lee <kim@example.org>"
    )


def test_who_is_named_in_the_environment_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "config", "--unset", "user.email")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", f"Robot {role}")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "robot@example.org")

    code = run(["commit", str(root / "shop")])

    assert code == 0
    assert git(root, "log", "-1", "--format=%an, %cn") == "Robot AUTHOR, Robot COMMITTER"


def test_a_message_of_ones_own_is_the_first_line(root: Path) -> None:
    code = run(["commit", "-m", "--chore(deps): packages", str(root / "shop")])

    assert code == 0
    assert git(root, "log", "-1", "--format=%s") == "--chore(deps): packages"
    assert git(root, "log", "-1", "--format=%B").rstrip() == MESSAGE.replace(
        "lock shop: 1 updated (1 major)", "--chore(deps): packages"
    )


def test_a_message_is_utf_8_whatever_the_users_own_are_in(root: Path) -> None:
    git(root, "config", "i18n.commitEncoding", "ISO-8859-1")

    code = run(["commit", "--message", "für alle", str(root / "shop")])

    written = git(root, "cat-file", "commit", "HEAD")
    assert (code, "\nencoding " in written) == (0, False)
    assert written.partition("\n\n")[2].startswith("für alle\n")


@pytest.fixture
def signer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own git configuration, with a program that signs."""
    program, configuration = tmp_path / "signer", tmp_path / "gitconfig"
    write_program(program, "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho signature\n")
    configuration.write_text(f"[gpg]\n\tprogram = {program}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    return configuration


def is_signed(root: Path) -> bool:
    return "gpgsig signature" in git(root, "cat-file", "commit", "HEAD")


@pytest.mark.parametrize(
    ("configured", "options", "signed"),
    [
        ("", ["--sign"], True),
        ("", [], False),
        ("true", [], True),
        ("1", [], True),
        ("false", [], False),
        ("true", ["--no-sign"], False),
    ],
)
@pytest.mark.parametrize("where", ["--local", "--global"])
def test_a_commit_is_signed_by_option_or_by_configuration(
    root: Path, signer: Path, where: str, configured: str, options: list[str], signed: bool
) -> None:
    if configured:
        git(root, "config", where, "commit.gpgSign", configured)

    code = run(["commit", *options, str(root / "shop")])

    assert (code, is_signed(root)) == (0, signed)
    assert signer.exists()


@pytest.mark.parametrize(
    ("key", "form"),
    [
        ("gpg.program", "openpgp"),
        ("gpg.openpgp.program", "openpgp"),
        ("gpg.x509.program", "x509"),
        ("gpg.ssh.program", "ssh"),
        ("gpg.ssh.defaultKeyCommand", "ssh"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--sign"]])
def test_no_program_of_the_repository_signs(
    root: Path, tmp_path: Path, key: str, form: str, options: list[str]
) -> None:
    write_program(tmp_path / "bad", f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    (tmp_path / "key").write_text("no key")
    for name, value in ((key, tmp_path / "bad"), ("gpg.format", form), ("commit.gpgSign", "true")):
        git(root, "config", name, str(value))
    if form == "ssh" and key == "gpg.ssh.program":
        git(root, "config", "user.signingKey", str(tmp_path / "key"))

    code = run(["commit", *options, str(root / "shop")])

    assert (code, (tmp_path / "canary").exists()) == (1, False)


def test_the_users_program_signs_where_the_repository_names_another(
    root: Path, signer: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "bad", f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    git(root, "config", "gpg.program", str(tmp_path / "bad"))

    code = run(["commit", "--sign", str(root / "shop")])

    assert (code, is_signed(root), (tmp_path / "canary").exists()) == (0, True, False)
    assert signer.exists()


def test_a_commit_that_cannot_be_signed_is_an_error_with_advice(
    root: Path, signer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(tmp_path / "signer", "#!/bin/sh\necho 'no secret key' >&2\nexit 2\n")
    before = git(root, "rev-parse", "HEAD")

    code = run(["commit", "--sign", str(root / "shop")])

    error = capsys.readouterr().err
    assert (code, git(root, "rev-parse", "HEAD")) == (1, before)
    assert "the commit cannot be signed" in error
    assert "--no-sign" in error
    assert signer.exists()


@pytest.mark.parametrize(
    ("options", "name"),
    [([], "Sam <sam@example.org>"), (["--author", "Kim <kim@example.org>"], "Kim <kim@example.org>")],
)
def test_signoff_adds_the_committer_to_the_trailers(root: Path, options: list[str], name: str) -> None:
    code = run(["commit", "--signoff", *options, str(root / "shop")])

    message = git(root, "log", "-1", "--format=%B")
    assert code == 0
    assert message.rstrip().splitlines()[-1] == f"Signed-off-by: {name}"
    assert parse_trailers(message) is not None
    assert git(root, "log", "-1", "--format=%(trailers:key=Signed-off-by,valueonly)").strip() == name


@pytest.mark.parametrize(("existing", "branch"), [("xplock", "xplock/update"), ("xplock/update", "xplock")])
def test_a_branch_beside_one_whose_name_is_its_folder_is_an_error_in_our_words(
    root: Path, existing: str, branch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "branch", existing)

    code = run(["commit", "--branch", branch, str(root / "shop")])

    error = capsys.readouterr().err
    assert code == 1
    assert f"branch {branch} cannot be created beside branch {existing}" in error
    assert "cannot lock ref" not in error


def test_a_branch_that_a_rebase_in_another_work_tree_moves_is_refused(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    git(root, "stash", "--quiet")
    git(root, "worktree", "add", "--quiet", "-b", "topic", str(other))
    (root / "README").write_text("ours\n")
    save(root)
    (other / "README").write_text("theirs\n")
    save(other)
    git(other, "rebase", "main", check=False)
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", "--branch", "topic", str(root / "shop")])

    assert code == 2
    assert f"{other} is in the middle of a rebase" in capsys.readouterr().err


# Injection


@pytest.mark.parametrize(
    "branch",
    ["--output=x", "-x", "a b", "a..b", "a~1", "a:b", "a^", "*", "", "/a", "a/", "a//b", "a.lock", ".a", "a/.b", "a.",
     "@", "HEAD", "a@{1}", "refs/heads/main", "a\nb", "a\\b", "\u202ea", "x" * 300],
)  # fmt: skip
def test_what_is_not_the_name_of_a_branch_never_reaches_git(
    root: Path, branch: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root / "shop")
    refs = git(root, "for-each-ref")

    code = run(["commit", f"--branch={branch}"])

    assert code == 2
    assert git(root, "for-each-ref") == refs
    assert not list(root.rglob("x"))
    assert "\n\n" not in capsys.readouterr().err


@pytest.mark.parametrize("remote", ["--output=x", "ext::sh -c touch% x", "-x", "/tmp", "https://example.org/x", "file:///x", "a\nb", "nobody"])  # fmt: skip
def test_a_remote_is_a_configured_name_and_nothing_else(
    root: Path, remote: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root / "shop")
    git(root, "remote", "add", "origin", "/nowhere")
    before = head(root)

    code = run(["commit", "--push", f"--remote={remote}"])

    assert (code, head(root)) == (2, before)
    assert "the remotes are origin" in capsys.readouterr().err
    assert not list(root.rglob("x"))


@pytest.mark.parametrize("author", ["x", "<a@b>", "x <>", "x <a b>", "x <a@b> y", "a\nb <a@b>", "x\x1b <a@b>", "a" * 300 + " <a@b>"])  # fmt: skip
def test_what_is_not_an_author_is_refused(root: Path, author: str) -> None:
    before = head(root)

    code = run(["commit", f"--author={author}", str(root / "shop")])

    assert (code, head(root)) == (2, before)


@pytest.mark.parametrize("message", ["", "  ", "a\nXplock-Version: 9", "a\x1b[2J", "a\x00b"])
def test_a_message_is_one_line_that_everybody_can_see(root: Path, message: str) -> None:
    before = head(root)

    code = run(["commit", f"--message={message}", str(root / "shop")])

    assert (code, head(root)) == (2, before)


@pytest.mark.parametrize(
    "name", ["-x", "--output=x", ":(top)x", ":!x", "*", "a b", "[x]", "'", '"', "ü", "--", "$(x)"]
)
def test_a_folder_may_be_called_anything_that_people_can_see(root: Path, name: str) -> None:
    folder = project(root, TWO, name)
    save(root)
    (folder / LOCK_FILE).write_bytes(THREE)

    code = run(["commit", str(folder)])

    assert code == 0
    assert git(root, "-c", "core.quotePath=false", "show", "-z", "--format=", "--name-only").strip("\0") == (
        f"{name}/{LOCK_FILE}"
    )
    assert git(root, "status", "--porcelain") == ""
    assert not list(root.glob("**/x"))


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb", "\u202ea", "a\udcffb"])
def test_a_folder_with_a_name_that_hides_something_is_refused(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project(root, TWO, name)
    before = head(root)

    code = run(["commit", str(folder)])

    assert (code, head(root)) == (2, before)
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--from", "HEAD"], ["--remote", "origin"], ["--pre-push"]], ids=lambda options: options[0]
)
def test_an_option_that_needs_another_one_says_so(
    root: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["commit", *options, str(root / "shop")])

    assert code == 2
    assert f"{options[0]} says nothing without --" in capsys.readouterr().err


# Programs that the repository names


def test_no_program_that_the_repository_names_is_run(root: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    plant_canaries(root, canary)
    canary.unlink(missing_ok=True)

    here = run(["commit", str(root / "shop")])
    (root / SHOP).write_bytes(THREE)
    there = run(["commit", "--branch", "other", str(root / "shop")])

    assert (here, there) == (0, 0)
    assert not canary.exists()
    # They are there all the same: git itself runs some of them.
    git(root, "status")
    assert canary.exists()


def test_what_a_hook_or_a_shell_sets_does_not_lead_elsewhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b").mkdir()
    other = shop(tmp_path / "b")
    refs = git(other, "for-each-ref")
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_NAMESPACE": "x",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(tmp_path),
        "GIT_TERMINAL_PROMPT": "1",
    }.items():
        monkeypatch.setenv(name, value)

    code = run(["commit", str(root / "shop")])

    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_NAMESPACE",
        "GIT_TRACE",
    ):
        monkeypatch.delenv(name)
    assert code == 0
    assert text_at(root, "HEAD") == TWO
    assert git(other, "for-each-ref") == refs
    assert not (tmp_path / "trace").exists()


def test_git_asks_no_questions_and_talks_to_no_server(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    script = (
        f'echo "$GIT_TERMINAL_PROMPT <$GIT_ALLOW_PROTOCOL> $GIT_NO_LAZY_FETCH $LC_ALL" >> {tmp_path}/seen'
    )
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", script))

    run(["commit", str(root / "shop")])

    assert set((tmp_path / "seen").read_text().splitlines()[-10:]) == {"0 <> 1 C"}


# Locking and committing in one go


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


@pytest.fixture
def locked(world: World) -> Path:
    """A repository whose root is a project that was locked and committed."""
    folder = new_repository(world.project("shop", "app:v1.0.0"))
    assert run(["-q", "lock", str(folder)]) == 0
    save(folder)
    return folder


def test_what_is_locked_is_committed_in_one_go(
    world: World, locked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v2.0.0")
    git(locked, "commit", "--quiet", "-m", "ask", "xplock.yaml")

    code = run(["lock", "--commit", str(locked)])

    told = capsys.readouterr()
    assert code == 0
    assert paths_in(locked) == [LOCK_FILE]
    assert git(locked, "status", "--porcelain") == ""
    assert told.out.splitlines()[-1] == f"Committed {head(locked)[:12]} to main: lock: 2 updated (2 major)"
    assert "Updated  xpkg.example.org/acme/app v1.0.0 -> v2.0.0 (major; asked for)" in told.out
    assert told.err == ""


def test_a_lock_that_stays_is_not_committed_again(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = head(locked)

    code = run(["lock", "--commit", str(locked)])

    assert (code, head(locked)) == (0, before)
    assert capsys.readouterr().out.splitlines()[-1] == "Nothing to commit to main: no lock has changed"


def test_a_lock_that_an_earlier_run_has_written_is_committed_too(world: World, locked: Path) -> None:
    world.project("shop", "app:v2.0.0")
    git(locked, "commit", "--quiet", "-m", "ask", "xplock.yaml")
    run(["-q", "lock", str(locked)])

    code = run(["lock", "--commit", str(locked)])

    assert code == 0
    assert paths_in(locked) == [LOCK_FILE]


def test_folders_that_are_locked_together_are_committed_together(world: World) -> None:
    root = new_repository(world.folder / "fleet")
    eu, us = world.project("fleet/eu", "app:v1.0.0"), world.project("fleet/us", "tool:v1.0.0")
    save(root)

    code = run(["lock", "--commit", str(eu), str(us)])

    assert code == 0
    assert paths_in(root) == [f"eu/{LOCK_FILE}", f"us/{LOCK_FILE}"]
    assert git(root, "log", "-1", "--format=%s") == "lock eu and us: 4 added"


def test_with_a_branch_only_the_pull_request_is_on_stdout(
    world: World, locked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v2.0.0")
    git(locked, "commit", "--quiet", "-m", "ask", "xplock.yaml")

    code = run(["lock", "--commit", "--branch", "update", str(locked)])

    told = capsys.readouterr()
    assert code == 0
    assert told.out.startswith("# lock: 2 updated (2 major)\n\n| | package |")
    assert "Updated  xpkg.example.org/acme/app v1.0.0 -> v2.0.0 (major; asked for)" in told.err
    assert paths_in(locked, "update") == [LOCK_FILE]


def test_json_has_locks_and_commits(world: World, locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.project("shop", "app:v2.0.0")
    git(locked, "commit", "--quiet", "-m", "ask", "xplock.yaml")

    run(["lock", "--commit", "-o", "json", str(locked)])

    made = json.loads(capsys.readouterr().out)
    assert [one["source"] for one in made["locks"][0]["updated"]] == [
        "xpkg.example.org/acme/app",
        "xpkg.example.org/acme/base",
    ]
    assert [one["commit"] for one in made["commits"]] == [head(locked)]


def test_a_dry_run_of_both_writes_nothing(
    world: World, locked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v2.0.0")
    git(locked, "commit", "--quiet", "-m", "ask", "xplock.yaml")
    before = (locked / LOCK_FILE).read_bytes(), git(locked, "for-each-ref")

    code = run(["lock", "--commit", "--dry-run", str(locked)])

    assert code == 0
    assert before == ((locked / LOCK_FILE).read_bytes(), git(locked, "for-each-ref"))
    assert capsys.readouterr().out.splitlines()[-1] == "Would commit to main: lock: 2 updated (2 major)"


def test_what_cannot_be_committed_is_not_even_locked(world: World, locked: Path) -> None:
    world.project("shop", "app:v2.0.0")
    git(locked, "checkout", "--quiet", "--detach")
    before = (locked / LOCK_FILE).read_bytes()

    code = run(["lock", "--commit", str(locked)])

    assert code == 2
    assert (locked / LOCK_FILE).read_bytes() == before


@pytest.mark.parametrize(
    "options", [["--push"], ["--branch", "x"], ["--author", "a <b@c>"], ["--commit", "--check"]]
)
def test_options_that_do_not_go_together_are_refused(locked: Path, options: list[str]) -> None:
    assert run(["lock", *options, str(locked)]) == 2


@pytest.mark.parametrize("command", ["lock", "render"])
def test_git_is_imported_only_to_commit(locked: Path, command: str) -> None:
    script = (
        "import sys\nfrom render.cli.run import run\nassert run(sys.argv[1:]) == 0\n"
        "assert not {'git', 'jinja2'} & sys.modules.keys()"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, command, str(locked)], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
