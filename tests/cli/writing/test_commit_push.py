"""xplock commit --push: never by force, on top of others, all or nothing."""

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.locks import lock, package, provided
from rig.git.repositories import (
    ONE,
    REAL_GIT,
    SHOP,
    TWO,
    clone,
    git,
    git_in_between,
    make_dirty,
    new_repository,
    paths_in,
    plant_canaries,
    project,
    record_of,
    rival,
    save,
    shared_shop,
    status,
    text_at,
    write_program,
)
from rig.registry.http_server import Answer, RecordingServer, Request, answer, make_certificate

from render.cli.run import run
from render.lock.text.format import format_lock
from render.system.files import LOCK_FILE


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A bare repository that stands for a server."""
    return shared_shop(tmp_path)[0]


@pytest.fixture
def root(server: Path) -> Path:
    """A clone with a lock that is not committed yet."""
    made = server.parent / "clone"
    (made / SHOP).write_bytes(TWO)
    return made


def head(root: Path, revision: str = "HEAD") -> str:
    return git(root, "rev-parse", revision)


def subjects(root: Path, revision: str = "main") -> list[str]:
    """Return the first lines of all commits, the newest first."""
    return git(root, "log", "--format=%s", revision).splitlines()


def let_in_between(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str, *, once: bool = True) -> Path:
    """Let somebody be faster than our push, once or every time; return the file that counts our pushes."""
    count = folder / "pushes"
    stop = f"[ $(wc -l < {count}) -gt 1 ] ||" if once else ""
    first = f'case " $* " in *" push "*) echo >> {count}; {stop} {{ {script}; }} >&2;; esac'
    monkeypatch.setenv("PATH", git_in_between(folder / "bin", first))
    return count


def pushes(count: Path) -> int:
    return len(count.read_text().splitlines())


def test_what_is_committed_is_pushed(server: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert head(server, "main") == head(root) == head(root, "origin/main")
    assert paths_in(server, "main") == [SHOP]
    assert git(root, "status", "--porcelain") == ""
    assert (
        told.out
        == f"Committed {head(root)[:12]} to main and pushed to origin: lock shop: 1 updated (1 major)\n"
    )
    assert told.err == ""


def test_json_tells_whether_it_was_pushed_and_where(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["commit", "--push", "-o", "json", str(root / "shop")])

    (made,) = json.loads(capsys.readouterr().out)
    assert (made["pushed"], made["remote"], made["remoteBranch"], made["behind"]) == (
        True,
        "origin",
        "main",
        False,
    )
    assert made["commit"] == head(root)


def test_the_users_work_stays_as_it_was(server: Path, root: Path) -> None:
    make_dirty(root)
    before = status(root)

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    assert status(root) == before
    assert paths_in(server, "main") == [SHOP]


def test_earlier_commits_that_go_along_are_told(
    server: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "README").write_text("mine\n")
    git(root, "commit", "--quiet", "-m", "mine", "README")

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    assert subjects(server) == ["lock shop: 1 updated (1 major)", "mine", "a change"]
    assert "pushed along: 1 earlier commit of main\n" in capsys.readouterr().err


def test_a_lock_that_is_committed_and_not_pushed_is_pushed(
    server: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["-q", "commit", str(root / "shop")])

    first = run(["commit", "--push", str(root / "shop")])
    second = run(["commit", "--push", str(root / "shop")])

    assert (first, second) == (0, 0)
    assert head(server, "main") == head(root)
    assert capsys.readouterr().out.splitlines() == [
        "Pushed main to origin",
        "Nothing to commit to main: no lock has changed",
    ]


def test_a_dry_run_asks_no_server(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refuse = 'case " $* " in *" push "*|*" fetch "*|*" ls-remote "*) exit 99;; esac'
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", refuse))

    here = run(["commit", "--push", "--dry-run", str(root / "shop")])
    there = run(["commit", "--push", "--dry-run", "--branch", "update", str(root / "shop")])

    assert (here, there) == (0, 0)


# Others


def test_whoever_was_faster_stays_below_ours(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_dirty(root)
    before, mine = status(root), head(root)
    count = let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", "elsewhere/file"))

    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert pushes(count) == 2
    assert subjects(server) == ["lock shop: 1 updated (1 major)", "rival", "a change"]
    assert paths_in(server, "main") == [SHOP]
    assert text_at(server, "main") == TWO
    # Theirs is not in the work tree, so the branch here stays; that is told.
    assert (head(root), status(root)) == (mine, before)
    here = f"git -C {root / 'shop'}"
    advised = f"run {here} add :/shop/crossplane.lock.yaml && {here} pull"
    assert f"origin has more than main here: {advised}" in told.err


def advice(told: str) -> str:
    """Return the command that is told to bring a branch up to date."""
    return told.partition(" here: run ")[2].partition("\n")[0]


@pytest.mark.parametrize("known", [True, False])
def test_afterwards_what_is_told_to_be_run_brings_everything(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: bool,
) -> None:
    if not known:
        git(root, "rm", "--quiet", "--cached", SHOP)
        git(root, "commit", "--quiet", "--message", "never locked")
        git(root, "push", "--quiet")
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", "elsewhere/file"))
    run(["commit", "--push", str(root / "shop")])

    subprocess.run(["sh", "-c", advice(capsys.readouterr().err)], cwd=tmp_path, check=True)

    assert head(root) == head(server, "main")
    assert git(root, "status", "--porcelain") == ""


def test_a_branch_that_nobody_is_on_is_brought_up_to_date_without_a_pull(
    server: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "branch", "update")
    other = clone(server, tmp_path / "other")
    (other / "README").write_text("theirs\n")
    save(other, "theirs")
    git(other, "push", "--quiet", "origin", "HEAD:update")

    run(["commit", "--push", "--branch", "update", str(root / "shop")])
    subprocess.run(["sh", "-c", advice(capsys.readouterr().err)], cwd=root, check=True)

    assert head(root, "update") == head(server, "update")
    assert git(root, "status", "--porcelain") == f" M {SHOP}"


def test_somebody_elses_lock_is_not_overwritten(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine, before = head(root), git(root, "status", "--porcelain")
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", SHOP))

    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 3
    assert subjects(server) == ["rival", "a change"]
    assert (head(root), git(root, "status", "--porcelain")) == (mine, before)
    assert f"{SHOP} differs there" in told.err
    assert re.search(r"lock again: git -C (\S+) pull && xplock lock \1\n", told.err)
    assert told.out == ""


def test_a_lock_for_something_else_than_is_asked_for_now_is_not_pushed(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", "shop/more.yaml", "{}"))

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 3
    assert subjects(server) == ["rival", "a change"]
    assert "shop/more.yaml differs there" in capsys.readouterr().err


def test_a_kustomization_may_have_been_built_from_anything(
    server: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "elsewhere").mkdir()
    (root / "elsewhere/map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (root / "elsewhere/kustomization.yaml").write_text("resources: [map.yaml]\n")
    (root / "shop/kustomization.yaml").write_text("resources: [../elsewhere]\n")
    git(root, "add", "shop/kustomization.yaml", "elsewhere")
    git(root, "commit", "--quiet", "-m", "kustomize", "shop/kustomization.yaml", "elsewhere")
    git(root, "push", "--quiet")
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", "elsewhere/file"))

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 3
    assert subjects(server)[0] == "rival"


def test_the_same_lock_by_somebody_else_is_as_good(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = clone(server, tmp_path / "other")
    (other / SHOP).write_bytes(TWO)
    save(other, "theirs")
    count = let_in_between(monkeypatch, tmp_path, f"{REAL_GIT} -C {other} push --quiet")

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, pushes(count)) == (0, 1)
    assert subjects(server) == ["theirs", "a change"]
    assert "origin has more than main here" in capsys.readouterr().err


def test_whoever_always_loses_gives_up_and_has_changed_nothing(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_dirty(root)
    before, mine = git(root, "status", "--porcelain"), git(root, "for-each-ref")
    script = rival(server, tmp_path / "rival", "elsewhere/file")
    count = let_in_between(monkeypatch, tmp_path, script, once=False)

    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 1
    assert pushes(count) == 5
    assert set(subjects(server)) == {"rival", "a change"}
    assert (git(root, "status", "--porcelain"), git(root, "for-each-ref")) == (before, mine)
    assert not (root / ".git" / "FETCH_HEAD").exists()
    assert "XPLOCK_LIMIT_PUSH_ATTEMPTS" in told.err
    assert told.out == ""


def test_a_server_that_says_no_is_not_asked_again(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_program(
        server / "hooks" / "pre-receive", "#!/bin/sh\necho 'reviewed changes only \x1b[2J' >&2\nexit 1\n"
    )
    count = let_in_between(monkeypatch, tmp_path, "true")
    mine = head(root)

    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr().err
    assert (code, head(root), pushes(count)) == (1, mine, 1)
    assert "pre-receive hook declined" in told
    assert "reviewed changes only" in told
    assert "\x1b" not in told


def test_a_remote_of_two_servers_has_to_be_taken_by_both(
    server: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(server), "second.git")
    write_program(tmp_path / "second.git/hooks/pre-receive", "#!/bin/sh\nexit 1\n")
    for url in (server, tmp_path / "second.git"):
        git(root, "remote", "set-url", "--add", "--push", "origin", f"file://{url}")

    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert "one of its URLs accepted the push, another one rejected it" in told.err
    assert "pre-receive hook declined" in told.err
    assert text_at(tmp_path / "second.git", "main") == ONE


def test_a_server_that_is_busy_is_asked_again(
    server: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = server / "refs" / "heads" / "main.lock"
    busy.touch()
    script = f"[ $(wc -l < {tmp_path}/pushes) -eq 1 ] || rm -f {busy}"
    count = let_in_between(monkeypatch, tmp_path, script, once=False)

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, pushes(count)) == (0, 2)
    assert head(server, "main") == head(root)


def test_a_server_that_stays_busy_is_told_as_such(
    server: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (server / "refs" / "heads" / "main.lock").touch()
    count = let_in_between(monkeypatch, tmp_path, "true")
    mine = head(root)

    code = run(["commit", "--push", str(root / "shop")])

    told = capsys.readouterr().err
    assert (code, pushes(count), head(root)) == (1, 5, mine)
    assert told.startswith("error: origin rejects the push to branch main\n")
    assert "main.lock" in told


def test_an_index_that_cannot_follow_stops_a_push_before_it_starts(
    server: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / ".git" / "index.lock").touch()
    before = head(server, "main")

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, head(server, "main")) == (1, before)
    assert str(root / ".git" / "index.lock") in capsys.readouterr().err


def test_a_push_stands_even_if_the_branch_here_cannot_follow(
    server: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = head(root), git(root, "status", "--porcelain")
    (root / ".git" / "HEAD.lock").touch()

    code = run(["commit", "--push", str(root / "shop")])

    (root / ".git" / "HEAD.lock").unlink()
    assert code == 0
    assert text_at(server, "main") == TWO
    assert (head(root), git(root, "status", "--porcelain")) == before
    assert f"&& git -C {root / 'shop'} pull" in capsys.readouterr().err


def test_a_clone_that_is_behind_pushes_on_top_of_what_is_there(
    server: Path, root: Path, tmp_path: Path
) -> None:
    other = clone(server, tmp_path / "other")
    (other / "README").write_text("theirs\n")
    save(other, "theirs")
    git(other, "push", "--quiet")

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    assert subjects(server) == ["lock shop: 1 updated (1 major)", "theirs", "a change"]


def test_commits_of_ones_own_are_not_lost_when_others_were_faster(
    server: Path, root: Path, tmp_path: Path
) -> None:
    (root / "README").write_text("mine\n")
    git(root, "commit", "--quiet", "-m", "mine", "README")
    mine = head(root)
    other = clone(server, tmp_path / "other")
    (other / "more").write_text("theirs\n")
    save(other, "theirs")
    git(other, "push", "--quiet")

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    # Only ours is on top of theirs: nobody merged what is not pushed.
    assert subjects(server) == ["lock shop: 1 updated (1 major)", "theirs", "a change"]
    assert head(root) == mine


def test_a_work_tree_without_a_first_commit_does_not_skip_what_the_server_has(
    server: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "rm", "-r", "--quiet", "--cached", "shop")
    git(root, "commit", "--quiet", "--message", "without a shop")
    git(root, "push", "--quiet")
    mine = new_repository(tmp_path / "mine")
    git(mine, "remote", "add", "origin", f"file://{server}")
    project(mine, TWO)

    code = run(["commit", "--with-inputs", "--push", str(mine / "shop")])

    assert code == 0
    assert subjects(server) == ["lock shop: 1 added", "without a shop", "a change"]
    # As it was: nothing is staged, least of all that the server's files go.
    assert git(mine, "status", "--porcelain") == "?? shop/"
    assert "origin has more than main here" in capsys.readouterr().err


def test_what_is_fetched_starts_no_clean_up_of_the_users_repository(
    server: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With these, a fetch packs everything again as soon as there is a second pack.
    for key, value in {"gc.autoPackLimit": "1", "gc.autoDetach": "false", "fetch.unpackLimit": "1"}.items():
        git(root, "config", key, value)
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", "elsewhere/file"))
    before = set((root / ".git/objects/pack").glob("*.pack"))

    code = run(["commit", "--push", str(root / "shop")])

    after = set((root / ".git/objects/pack").glob("*.pack"))
    assert (code, before < after) == (0, True)


def test_nothing_is_ever_forced_or_pushed_besides(server: Path, root: Path) -> None:
    for key, value in {
        "push.followTags": "true",
        "push.default": "matching",
        "remote.origin.push": "+refs/heads/*:refs/heads/*",
        "push.recurseSubmodules": "on-demand",
    }.items():
        git(root, "config", key, value)
    git(root, "tag", "-a", "-m", "a tag", "v1")
    git(root, "branch", "private")

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    assert git(server, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


# Branches and remotes


def test_a_new_branch_is_pushed_with_a_pull_request_ready(
    server: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["commit", "--push", "--branch", "xplock/update", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert head(server, "xplock/update") == head(root, "xplock/update")
    assert head(server, "main") == head(root)
    assert told.out.startswith("# lock shop: 1 updated (1 major)\n")
    assert "to xplock/update and pushed to origin" in told.err


def test_a_branch_goes_where_it_comes_from(server: Path, root: Path) -> None:
    git(server, "branch", "trunk", "main")
    git(root, "fetch", "--quiet")
    git(root, "branch", "--quiet", "--set-upstream-to=origin/trunk")

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    assert head(server, "trunk") == head(root)
    assert head(server, "main") == head(root, "HEAD^")


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"branch.main.pushRemote": "fork"}, []),
        ({"remote.pushDefault": "fork"}, []),
        ({"branch.main.remote": "fork"}, []),
        ({}, ["--remote", "fork"]),
        ({"branch.main.remote": "."}, ["--remote", "fork"]),
    ],
)
def test_the_remote_is_the_named_one_or_that_of_the_branch(
    server: Path, root: Path, tmp_path: Path, settings: dict[str, str], options: list[str]
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(server), "fork.git")
    git(root, "remote", "add", "fork", str(tmp_path / "fork.git"))
    for key, value in settings.items():
        git(root, "config", key, value)

    code = run(["commit", "--push", *options, str(root / "shop")])

    assert code == 0
    assert head(tmp_path / "fork.git", "main") == head(root)
    assert head(server, "main") != head(root)


def test_without_a_remote_nothing_is_committed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(root, "remote", "remove", "origin")
    before = head(root)

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, head(root)) == (2, before)
    assert "git remote add" in capsys.readouterr().err


# Hooks


def test_no_hook_is_run_unless_it_is_asked_for(server: Path, root: Path, tmp_path: Path) -> None:
    write_program(root / ".git" / "hooks" / "pre-push", f"#!/bin/sh\ntouch {tmp_path}/asked\nexit 1\n")
    mine = head(root)

    refused = run(["commit", "--push", "--pre-push", str(root / "shop")])
    asked = (tmp_path / "asked").exists()
    (tmp_path / "asked").unlink()
    accepted = run(["commit", "--push", str(root / "shop")])

    assert (refused, asked, accepted) == (1, True, 0)
    assert not (tmp_path / "asked").exists()
    assert head(server, "main^") == mine


def test_a_branch_that_a_branch_of_the_server_rules_out_is_an_error_in_our_words(
    server: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(server, "branch", "xplock", "main")

    code = run(["commit", "--push", "--branch", "xplock/update", str(root / "shop")])

    error = capsys.readouterr().err
    assert code == 1
    assert "branch xplock/update cannot be created beside branch xplock" in error
    assert "failed to update ref" not in error


def test_no_program_that_the_repository_names_is_run_for_a_push(
    server: Path, root: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    plant_canaries(root, canary)
    canary.unlink(missing_ok=True)

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 0
    assert head(server, "main") == head(root)
    assert not canary.exists()


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% {canary}", "http://127.0.0.1:1/x", "git://127.0.0.1:1/x", "fd::17"]
)
def test_protocols_that_run_programs_or_hide_nothing_are_not_spoken(
    root: Path, tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = tmp_path / "canary"
    git(root, "config", "remote.origin.url", url.format(canary=canary))
    git(root, "config", "protocol.allow", "always")
    mine = head(root)

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, head(root), canary.exists()) == (1, mine, False)
    assert "not allowed" in capsys.readouterr().err


# Secrets


@pytest.mark.parametrize(
    "url",
    [
        "https://user:{canary}@127.0.0.1:1/team/platform.git",
        "https://{canary}@127.0.0.1:1/team/platform.git",
        "https://127.0.0.1:1/team/platform.git?token={canary}",
        "https://127.0.0.1:1/team/platform.git?private_token={canary}&x={canary}",
        "ssh://user:{canary}@127.0.0.1:1/team/platform.git",
        "file:///nowhere/?token={canary}",
    ],
)
@pytest.mark.parametrize("options", [[], ["--branch", "update"]], ids=["push", "fetch"])
def test_a_secret_in_a_url_is_never_shown(
    root: Path, url: str, options: list[str], canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "config", "remote.origin.url", url.format(canary=canary))
    mine = head(root)

    code = run(["-v", "commit", "--push", *options, "-o", "json", str(root / "shop")])

    told = capsys.readouterr()
    assert (code, head(root)) == (1, mine)
    assert json.loads(told.out)["error"]["exitCode"] == 1
    assert canary not in told.out + told.err
    assert told.err.startswith("error: git cannot work in ")


def repeat(request: Request) -> Answer:
    """Ask for credentials, then refuse, and repeat everything that came with the question."""
    given = [(name, value) for name, value in request.headers.items() if name.startswith(("X-", "Auth"))]
    if not given:
        return answer(401, headers={"WWW-Authenticate": 'Basic realm="git"'})
    told = [*(f"{name}: {value}" for name, value in given), *(value for _, value in given)]
    return answer(403, "\n".join([request.credentials, *told]).encode(), {"Content-Type": "text/plain"})


@pytest.fixture
def echo(tmp_path: Path, root: Path) -> Iterator[RecordingServer]:
    """A server that repeats what it is sent, and is the remote of the clone."""
    certificate = make_certificate(tmp_path / "certificate")
    with RecordingServer(repeat, certificate=certificate) as server:
        git(root, "config", "http.sslCAInfo", str(certificate.file))
        git(root, "config", "remote.origin.url", f"{server.url}/team/platform.git")
        yield server


def basic(user: str, password: str) -> str:
    """Return user and password as a header holds them."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "headers",
    [
        ["X-First: {canary}", "X-Second: another-secret"],
        ["X-Both: {canary} another-secret"],
        ["Authorization: Bearer {canary}"],
        ["Authorization: Basic {basic}"],
    ],
)
@pytest.mark.parametrize("options", [[], ["--branch", "update"]], ids=["push", "fetch"])
def test_no_header_that_git_is_told_to_send_is_shown_when_a_server_repeats_it(
    root: Path,
    echo: RecordingServer,
    headers: list[str],
    options: list[str],
    canary: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for header in headers:
        text = header.format(canary=canary, basic=basic("robin", canary))
        git(root, "config", "--add", "http.extraHeader", text)

    code = run(["-v", "commit", "--push", *options, str(root / "shop")])

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert echo.saw(canary)
    assert "***" in told.err
    assert not any(secret in told.err for secret in (canary, basic("robin", canary), "another-secret"))


@pytest.mark.parametrize("user", ["robin:{canary}", "{canary}:"])
def test_what_is_in_a_url_is_not_shown_when_a_server_repeats_it_in_its_own_form(
    root: Path, echo: RecordingServer, user: str, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = echo.url.replace("https://", f"https://{user.format(canary=canary)}@")
    git(root, "config", "remote.origin.url", f"{place}/team/platform.git")

    code = run(["-v", "commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert echo.saw(canary)
    assert "***" in told.err
    assert not any(secret in told.err for secret in (canary, basic("robin", canary), basic(canary, "")))


def test_what_a_credential_helper_gave_to_git_is_not_shown_where_a_server_repeats_it_as_a_header(
    root: Path, tmp_path: Path, echo: RecordingServer, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(tmp_path / "helper", f"#!/bin/sh\necho username=robin\necho password={canary}\n")
    git(root, "config", "credential.helper", str(tmp_path / "helper"))

    def repeat_header(request: Request) -> Answer:
        header = request.headers.get("Authorization")
        told = f"Authorization: {header}\n{header} is wrong".encode()
        return answer(403, told, {"Content-Type": "text/plain"}) if header else repeat(request)

    echo.routes["/team/platform.git/info/refs"] = repeat_header

    code = run(["-v", "commit", "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert echo.saw(canary)
    assert "Basic *** is wrong" in told.err
    assert basic("robin", canary) not in told.err


def test_a_server_that_never_answers_is_given_up(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = 'case " $* " in *" push "*) sleep 60 & exec sleep 60;; esac'
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", script))
    monkeypatch.setenv("XPLOCK_LIMIT_GIT_SECONDS", "1")
    mine = head(root)

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, head(root)) == (1, mine)
    assert "XPLOCK_LIMIT_GIT_SECONDS" in capsys.readouterr().err


def test_the_whole_run_has_a_deadline(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = 'case " $* " in *" push "*) exec sleep 60;; esac'
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", script))
    monkeypatch.setenv("XPLOCK_DEADLINE", "2")

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 1
    assert "XPLOCK_DEADLINE" in capsys.readouterr().err


def test_folders_that_are_used_count_as_inputs(
    server: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(root, ONE, "platform")
    (root / SHOP).write_bytes(ONE)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "platform")
    git(root, "push", "--quiet")
    using = lock([package("app v2.0.0", "base *")], record_of(), provided=[provided("base v1.0.0")])
    (root / SHOP).write_text(format_lock(using))
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", f"platform/{LOCK_FILE}"))

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 3
    assert subjects(server)[0] == "rival"


def test_where_a_link_leads_to_a_used_folder_everything_counts_as_an_input(
    server: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(root, ONE, "platforms/old")
    (root / "platform").symlink_to("platforms/old")
    (root / SHOP).write_bytes(ONE)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "platform")
    git(root, "push", "--quiet")
    using = lock([package("app v2.0.0", "base *")], record_of(), provided=[provided("base v1.0.0")])
    (root / SHOP).write_text(format_lock(using))
    # Such as the link itself, which then leads elsewhere.
    let_in_between(monkeypatch, tmp_path, rival(server, tmp_path / "rival", "elsewhere/file"))

    code = run(["commit", "--push", str(root / "shop")])

    assert code == 3
    assert subjects(server)[0] == "rival"
