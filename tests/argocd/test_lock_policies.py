"""The lock policies of the plugin: what it does without a lock that is up to date, with real repositories."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from rig.argocd.plugin_calls import Fleet, committed, refused
from rig.builders.projects import World, text_of
from rig.git.repositories import clone, git, git_in_between, paths_in, save, text_at
from rig.registry.http_server import RecordingServer, answer
from rig.registry.layout_server import serve_layout

from render import __version__
from render.app.operator_settings import OperatorSettings
from render.argocd.commit_policy import commit_lock
from render.argocd.request import Declined
from render.cli.run import run
from render.git.trailers import parse_trailers
from render.system.deadline import Deadline, DeadlineExceeded
from render.system.files import LOCK_FILE

PATH = f"clusters/shop/{LOCK_FILE}"


def test_a_missing_lock_is_committed_to_the_branch_and_not_rendered(fleet: Fleet) -> None:
    before = fleet.tip

    done = fleet.generate()

    assert git(fleet.server, "rev-list", f"{before}..main").splitlines() == [fleet.tip]
    assert done == committed(fleet.tip)
    assert paths_in(fleet.server, "main") == [PATH]
    assert not (fleet.folder / LOCK_FILE).exists()


def test_what_is_committed_is_what_lock_would_have_written(fleet: Fleet) -> None:
    fleet.generate()

    assert run(["-q", "lock", str(fleet.folder)]) == 0
    assert text_at(fleet.server, "main", PATH) == text_of(fleet.folder)


def test_the_next_refresh_renders_what_was_committed(fleet: Fleet) -> None:
    fleet.generate()
    tip = fleet.tip
    fleet.pull()

    done = fleet.generate()

    assert (done.code, done.errors, fleet.tip) == (0, "", tip)
    assert "xpkg.example.org/acme/app:v1.0.0" in done.output


def test_a_folder_that_asks_for_nothing_any_more_gets_a_lock_in_which_everything_is_leaving(
    fleet: Fleet,
) -> None:
    fleet.generate()
    fleet.pull()
    fleet.ask()
    fleet.push("ask for nothing")

    done = fleet.generate()

    assert done == committed(fleet.tip)
    fleet.pull()
    rendered = fleet.generate()
    assert (rendered.code, rendered.errors) == (0, "")
    assert "xpkg.example.org/acme/app:v1.0.0" in rendered.output
    assert text_of(fleet.folder).count(b"state: orphaned") == 2


def test_the_commit_says_who_made_it_and_from_what(fleet: Fleet) -> None:
    fleet.generate()

    trailers = parse_trailers(git(fleet.server, "log", "-1", "--format=%B", "main"))

    assert git(fleet.server, "log", "-1", "--format=%an %ae", "main") == "Robin robin@example.org"
    assert trailers is not None
    assert (trailers.version, list(trailers.inputs)) == (__version__, [PATH])


def test_what_people_should_know_about_the_lock_is_in_its_commit(fleet: Fleet, tmp_path: Path) -> None:
    world = World(tmp_path / "other-world")
    world.publish("user v1.0.0", {"lib": ">=v1"})
    world.publish("lib v1.0.0", kind="Function")
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        written = world.project("template", "user:v1.0.0") / "xplock.yaml"
        (fleet.folder / "xplock.yaml").write_text(written.read_text())
        fleet.push()

        done = fleet.generate(XPLOCK_CACHE_DIR="/proc/nowhere", XPLOCK_PLAIN_HTTP=server.host)

    message = git(fleet.server, "log", "-1", "--format=%B", "main")
    user, lib = "xpkg.example.org/acme/user", "xpkg.example.org/acme/lib"
    assert done == committed(fleet.tip)
    assert f"\nNote     {user} declares {lib} as a Configuration, but it is a Function\n" in message
    # What is odd about the sidecar is nothing for a commit.
    assert "/proc/nowhere" not in message


def test_a_lock_that_is_out_of_date_is_brought_up_to_date(fleet: Fleet) -> None:
    run(["-q", "lock", str(fleet.folder)])
    fleet.push()
    fleet.ask("app:v2.0.0")
    fleet.push()

    done = fleet.generate()

    assert done == committed(fleet.tip)
    assert "acme/app:v2.0.0" not in done.output
    assert b"version: v2.0.0" in text_at(fleet.server, "main", PATH)


def test_a_lock_is_committed_at_the_root_of_a_repository(fleet: Fleet) -> None:
    (fleet.clone / "xplock.yaml").write_text((fleet.folder / "xplock.yaml").read_text())
    fleet.push()

    done = fleet.generate(ARGOCD_APP_SOURCE_PATH=".")

    assert done.code == 1
    assert paths_in(fleet.server, "main") == [LOCK_FILE]


@pytest.mark.parametrize("target", ["HEAD", ""])
def test_without_a_branch_the_default_branch_is_meant(fleet: Fleet, target: str) -> None:
    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION=target)

    assert done == committed(fleet.tip)


@pytest.mark.parametrize("branch", ["main", "1.x"])
def test_a_branch_may_be_named_in_full(fleet: Fleet, branch: str) -> None:
    git(fleet.server, "branch", "1.x", "main")

    done = fleet.generate(
        ARGOCD_APP_SOURCE_TARGET_REVISION=f"refs/heads/{branch}", XPLOCK_COMMIT_TO=f"{fleet.url}#{branch}"
    )

    assert done == committed(git(fleet.server, "rev-parse", branch))
    assert paths_in(fleet.server, branch) == [PATH]


def test_a_default_branch_that_is_not_listed_is_not_committed_to(fleet: Fleet) -> None:
    before = fleet.tip

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION="HEAD", XPLOCK_COMMIT_TO=f"{fleet.url}#release/*")

    assert fleet.tip == before
    assert done == refused(f"no lock is committed to {fleet.url}#main: XPLOCK_COMMIT_TO does not list it")


@pytest.mark.parametrize(
    "listed", ["", "https://git.example.org/acme/platform.git#main", "file://*#main", "*"]
)
def test_a_repository_that_is_not_listed_is_not_even_asked(fleet: Fleet, listed: str, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")

    done = fleet.generate(XPLOCK_COMMIT_TO=listed)

    assert done == refused(f"no lock is committed to {fleet.url}: XPLOCK_COMMIT_TO does not list it")


def test_patterns_stand_for_one_part_of_a_path(fleet: Fleet) -> None:
    git(fleet.server, "branch", "release/1/hot", "main")
    git(fleet.server, "branch", "release/1", "main", check=False)
    listed = f"file://{fleet.server.parent}/*.git#release/*"

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION="release/1/hot", XPLOCK_COMMIT_TO=listed)

    reason = f"no lock is committed to {fleet.url}#release/1/hot: XPLOCK_COMMIT_TO does not list it"
    assert done == refused(reason)


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ("listed/*", "listed/..%2fserver.git"),
        ("listed/*", "listed/%2e%2e%2fserver.git"),
        ("listed/*/server.git", "listed/../server.git"),
        ("listed/*/*", "listed/../server.git"),
        ("listed/.*/server.git", "listed/../server.git"),
        ("*/server.git", "./server.git"),
        ("*/server.git", "/server.git"),
        ("server.git/*", "server.git/"),
    ],
)
def test_a_pattern_leads_to_no_other_folder_of_the_server(fleet: Fleet, listed: str, asked: str) -> None:
    (fleet.server.parent / "listed").mkdir()
    top, before = f"file://{fleet.server.parent}", fleet.tip

    done = fleet.generate(
        ARGOCD_APP_SOURCE_REPO_URL=f"{top}/{asked}", XPLOCK_COMMIT_TO=f"{top}/{listed}#main"
    )

    assert fleet.tip == before
    assert done == refused(f"no lock is committed to {top}/{asked}: XPLOCK_COMMIT_TO does not list it")


def test_a_repository_is_listed_by_its_own_url_however_that_is_written(fleet: Fleet) -> None:
    url = fleet.url.replace("server.git", "%73erver.git")

    done = fleet.generate(ARGOCD_APP_SOURCE_REPO_URL=url, XPLOCK_COMMIT_TO=f"{url}#*")

    assert done == committed(fleet.tip)


def test_a_url_that_is_none_is_told_like_any_other(fleet: Fleet) -> None:
    done = fleet.generate(
        ARGOCD_APP_SOURCE_REPO_URL="https://[.example.org/shop",
        XPLOCK_COMMIT_TO="https://*.example.org/*#main",
    )

    assert done == refused("https://[.example.org/shop is not used; its host is invalid")


def test_a_tenant_cannot_list_a_repository(fleet: Fleet) -> None:
    parameters = json.dumps([{"name": "XPLOCK_COMMIT_TO", "string": f"{fleet.url}#main"}])
    tenant = {f"ARGOCD_ENV_{name}": f"{fleet.url}#main" for name in ("XPLOCK_COMMIT_TO", "COMMIT_TO")}
    before = fleet.tip

    done = fleet.generate(XPLOCK_COMMIT_TO="", ARGOCD_APP_PARAMETERS=parameters, **tenant)

    assert done.code != 0
    assert fleet.tip == before


@pytest.mark.parametrize(
    "target",
    [
        "v1.0.0",
        "feedfacefeedfacefeedfacefeedfacefeedface",
        ">=1.0",
        "1.x",
        "*",
        "nowhere",
        "refs/tags/v1.0.0",
        "refs/heads/refs/heads/main",
    ],
)
def test_tags_commits_and_ranges_are_never_committed_to(fleet: Fleet, target: str) -> None:
    git(fleet.server, "tag", "v1.0.0", "main")
    for branch in ("1.x", "feedfacefeedfacefeedfacefeedfacefeedface"):
        git(fleet.server, "update-ref", f"refs/heads/{branch}", "main")
    before = git(fleet.server, "for-each-ref")

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION=target, XPLOCK_COMMIT_TO=f"{fleet.url}#*")

    assert git(fleet.server, "for-each-ref") == before
    assert done == refused(f"no lock is committed for target revision '{target}', which is not a branch")


def test_a_branch_that_shares_its_name_with_a_tag_is_not_committed_to(fleet: Fleet) -> None:
    git(fleet.server, "tag", "stable", "main")
    git(fleet.server, "branch", "stable", "main")

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION="stable", XPLOCK_COMMIT_TO=f"{fleet.url}#*")

    assert done == refused("no lock is committed for target revision 'stable', which is not a branch")


@pytest.mark.parametrize("revision", ["streamed", "", "main", "abc1234"])
def test_files_that_are_in_no_commit_get_no_lock(fleet: Fleet, revision: str) -> None:
    before = fleet.tip

    done = fleet.generate(ARGOCD_APP_REVISION=revision)

    assert fleet.tip == before
    assert done == refused(f"no lock is committed for revision '{revision}', which is not a commit")


@pytest.mark.parametrize("path", ["/etc", "../..", "clusters/../../up"])
def test_a_path_outside_of_the_repository_gets_no_lock(fleet: Fleet, path: str) -> None:
    done = fleet.generate(ARGOCD_APP_SOURCE_PATH=path)

    assert done.code == 3
    assert f"no lock is committed for path '{path}', which is not in the repository" in done.errors


def test_an_old_commit_whose_folder_has_changed_since_gets_no_lock(fleet: Fleet) -> None:
    old = fleet.tip
    fleet.ask("tool:v1.0.0")
    before = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert fleet.tip == before
    assert done == refused("what is asked for is another thing at the tip of branch main")


def test_an_old_commit_with_the_same_folder_is_as_good_as_the_tip(fleet: Fleet) -> None:
    old = fleet.tip
    (fleet.clone / "README").write_text("read me again\n")
    newer = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert git(fleet.server, "rev-parse", "main^") == newer
    assert done == committed(fleet.tip)


def test_a_commit_that_is_not_on_the_branch_gets_no_lock(fleet: Fleet) -> None:
    (fleet.clone / "README").write_text("mine\n")
    mine = save(fleet.clone)
    git(fleet.clone, "push", "--quiet", "origin", "HEAD:side")
    before = fleet.tip

    done = fleet.generate()

    assert fleet.tip == before
    assert done == refused(
        f"{mine} is not among the last 100 commits of branch main (XPLOCK_LIMIT_BRANCH_COMMITS)"
    )


def test_a_folder_that_uses_another_one_which_has_changed_gets_no_lock(fleet: Fleet) -> None:
    platform = fleet.clone / "clusters/platform"
    platform.mkdir()
    template = fleet.world.project("template", "base:v1.1.0") / "xplock.yaml"
    (platform / "xplock.yaml").write_text(template.read_text())
    run(["-q", "lock", str(platform)])
    fleet.ask("app:v1.0.0", more="uses: [../platform]\n")
    old = fleet.push()
    (platform / "note.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n")
    before = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert fleet.tip == before
    assert done == refused("what is asked for is another thing at the tip of branch main")


def test_files_that_came_with_the_call_are_never_committed(fleet: Fleet) -> None:
    fleet.ask("tool:v1.0.0")

    fleet.generate()

    assert b"acme/app" in text_at(fleet.server, "main", PATH)
    assert b"acme/tool" not in text_at(fleet.server, "main", PATH)


def test_a_lock_that_was_committed_before_is_named_again_whatever_came_after(fleet: Fleet) -> None:
    first = fleet.generate()
    other = clone(fleet.server, fleet.server.parent / "other")
    (other / "README").write_text("read me again\n")
    save(other)
    git(other, "push", "--quiet", "origin", "HEAD:main")

    second = fleet.generate()

    assert second == first


def test_our_own_commit_for_the_same_inputs_is_not_repeated(fleet: Fleet) -> None:
    fleet.generate()
    fleet.pull()
    written = (fleet.folder / LOCK_FILE).read_text()
    message = git(fleet.clone, "log", "-1", "--format=%B").replace(__version__, "0.0.9")
    # As if another version had understood the inputs otherwise.
    (fleet.folder / LOCK_FILE).write_text(other_record(written))
    git(fleet.clone, "commit", "--quiet", "--all", "--amend", "--message", message)
    git(fleet.clone, "push", "--quiet", "--force", "origin", "HEAD:main")
    before = fleet.tip

    done = fleet.generate()

    assert fleet.tip == before
    assert (done.code, done.output) == (1, "")
    assert done.errors.splitlines()[0] == (
        f"error: {PATH}: written by xplock 0.0.9, read as stale by {__version__}"
    )
    assert fleet.generate() == done


def test_after_our_own_commit_a_change_of_the_inputs_is_answered(fleet: Fleet) -> None:
    fleet.generate()
    fleet.pull()
    fleet.ask("app:v2.0.0")
    before = fleet.push()

    done = fleet.generate()

    assert git(fleet.server, "rev-parse", "main^") == before
    assert done == committed(fleet.tip)


def test_a_lock_that_somebody_removed_is_not_made_anew(fleet: Fleet) -> None:
    fleet.generate()
    fleet.pull()
    (fleet.folder / LOCK_FILE).unlink()
    removed = fleet.push()

    done = fleet.generate()

    assert fleet.tip == removed
    assert done == refused(f"commit {removed} removed the lock, and with it the names of installed objects")


def test_without_an_identity_nothing_is_committed(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")

    done = fleet.generate()

    assert done == refused(
        f"git has no author for commits to {fleet.url}; its configuration has no user.name and user.email"
    )


def test_a_server_that_refuses_is_told_with_its_reason(fleet: Fleet) -> None:
    hook = fleet.server / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'this branch is protected' >&2\nexit 1\n")
    hook.chmod(0o755)

    done = fleet.generate()

    reasons = "[remote rejected] (pre-receive hook declined); this branch is protected"
    assert done == refused(f"{fleet.url} rejects the push to branch main; {reasons}")


def test_a_server_that_is_gone_is_told_and_the_text_is_the_same_twice(fleet: Fleet) -> None:
    fleet.server.rename(fleet.server.with_name("gone.git"))

    endings = [fleet.generate() for _ in range(2)]

    assert endings[0] == endings[1]
    assert endings[0][:2] == (3, "")
    assert f"git cannot work in {fleet.url}" in endings[0][2]


@pytest.mark.parametrize("path", ["clusters/my shop", "clusters/$(date)", "clusters/rob's"])
def test_what_to_run_can_be_pasted(fleet: Fleet, path: str) -> None:
    fleet.ask("app:v1.0.0", path=path)
    fleet.push()

    done = fleet.generate(path, XPLOCK_COMMIT_TO="")

    advice = done.errors.splitlines()[-1].split("`")[1]
    words = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {advice}"], capture_output=True, text=True, check=True
    )
    assert words.stdout.splitlines() == ["xplock", "lock", path]


# Whatever the reason is, it comes with what is wrong and what to run.


def test_no_place_for_temporary_files_is_told_beside_what_to_run(fleet: Fleet) -> None:
    done = fleet.generate(TMPDIR="/nowhere")

    assert done == refused("there is no place for git's files; no such file or directory")


def test_a_used_folder_that_is_not_there_is_told_beside_what_to_run(fleet: Fleet) -> None:
    fleet.ask("app:v1.0.0", more="uses: [../platform]\n")
    fleet.push()

    done = fleet.generate()

    why = "`uses` in xplock.yaml names it, and what it provides is not known without it"
    assert done == refused(f"../platform is used, and is not a folder; {why}")


def test_too_many_used_folders_are_told_beside_what_to_run(fleet: Fleet) -> None:
    fleet.ask("base:v1.0.0", path="clusters/platform")
    fleet.ask("base:v1.0.0", path="clusters/network")
    fleet.ask("app:v1.0.0", more="uses: [../platform, ../network]\n")
    fleet.push()

    done = fleet.generate(XPLOCK_LIMIT_USED_FOLDERS="1")

    start, _, end = refused("too many folders use each other; ").errors.partition("\n  next:")
    assert (done.code, done.output) == (3, "")
    assert done.errors.startswith(start) and done.errors.endswith(end)


def test_a_registry_that_is_not_there_is_told_beside_what_to_run(fleet: Fleet) -> None:
    (fleet.folder / "xplock.yaml").write_text("roots: [{package: '127.0.0.1:9/acme/app:v1.0.0'}]\n")
    fleet.push()

    done = fleet.generate(XPLOCK_LIMIT_ATTEMPTS="1")

    start, _, end = refused("127.0.0.1:9 ").errors.partition("\n  next:")
    assert (done.code, done.output) == (3, "")
    assert done.errors.startswith(start) and done.errors.endswith(end)


def test_versions_that_contradict_each_other_are_told_as_lock_tells_it(fleet: Fleet) -> None:
    fleet.ask("app:v2.0.0", "old:v1.0.0")
    before = fleet.push()

    done = fleet.generate()

    assert fleet.tip == before
    assert (done.code, done.output) == (4, "")
    assert "acme/base" in done.errors


@pytest.mark.parametrize("name", ["token", "circle"])
def test_a_token_that_cannot_be_read_is_told_without_its_path(
    fleet: Fleet, tmp_path: Path, name: str
) -> None:
    url = "https://git.example.org/platform.git"
    (tmp_path / "circle").symlink_to("circle")

    done = fleet.generate(ARGOCD_APP_SOURCE_REPO_URL=url, XPLOCK_GIT_TOKEN_FILE=str(tmp_path / name))

    assert done == refused("the file in XPLOCK_GIT_TOKEN_FILE contains no token")


def test_a_token_that_is_too_large_is_told_without_its_path(fleet: Fleet, tmp_path: Path) -> None:
    url = "https://git.example.org/platform.git"
    (tmp_path / "token").write_text("token")

    done = fleet.generate(
        ARGOCD_APP_SOURCE_REPO_URL=url,
        XPLOCK_GIT_TOKEN_FILE=str(tmp_path / "token"),
        XPLOCK_LIMIT_GIT_TOKEN_BYTES="4",
    )

    assert (done.code, done.output) == (3, "")
    assert "the file that XPLOCK_GIT_TOKEN_FILE names is too large" in done.errors
    assert "XPLOCK_LIMIT_GIT_TOKEN_BYTES" in done.errors


@pytest.mark.parametrize(
    ("limit", "trouble"), [("BRANCH_FILES", "has too many files"), ("BRANCH_BYTES", "is too large")]
)
def test_a_branch_that_is_too_large_is_not_written_anywhere(
    fleet: Fleet, tmp_path: Path, limit: str, trouble: str
) -> None:
    before = fleet.tip
    seen = f'case " $* " in *" checkout-index "*) touch {tmp_path}/seen;; esac'
    path = git_in_between(tmp_path / "bin", seen)

    done = fleet.generate(PATH=path, **{f"XPLOCK_LIMIT_{limit}": "3"})

    assert (fleet.tip, done.code, done.output) == (before, 3, "")
    assert f"branch main of {fleet.url} {trouble}" in done.errors
    assert f"XPLOCK_LIMIT_{limit}" in done.errors
    assert not (tmp_path / "seen").exists()


def other_record(text: str) -> str:
    """Return a lock's text as if one of its inputs had been another one."""
    start = text.index("inputs:")
    before, digest, rest = text[start:].partition("sha256:")
    return text[:start] + before + digest + ("0" if rest[0] != "0" else "1") + rest[1:]


def test_git_and_the_registries_have_one_deadline_and_the_callers_settings(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fleet.environ.items():
        monkeypatch.setenv(name, value)
    with RecordingServer(answer(503)) as server:
        (fleet.folder / "xplock.yaml").write_text(f"roots:\n  - package: {server.host}/acme/app:v1.0.0\n")
        fleet.push()
        # The time is up once the registry has been asked, which comes after everything that git does.
        deadline = Deadline(45, now=lambda: 1_000.0 if server.requests else 0.0)

        with pytest.raises(DeadlineExceeded, match=f"after 45 seconds, waiting for {server.host}: "):
            variables = fleet.variables(XPLOCK_PLAIN_HTTP=server.host)
            commit_lock(OperatorSettings.from_environment(variables), deadline)

    assert len(server.requests) == 1


def test_committing_a_lock_never_changes_the_current_folder(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in fleet.environ.items():
        monkeypatch.setenv(name, value)
    (fleet.folder / "xplock.yaml").write_text("roots: broken\n")
    fleet.push()
    monkeypatch.chdir(tmp_path)
    entered: list[object] = []
    monkeypatch.setattr(os, "chdir", entered.append)

    with pytest.raises(Declined) as declined:
        commit_lock(OperatorSettings.from_environment(fleet.variables()), Deadline(45))

    assert entered == []
    # The folder is checked out below another path every time, and none of them is shown.
    assert declined.value.what == (
        "the folder cannot be read at the tip of branch main: the files in . have one problem; "
        "xplock.yaml: roots: expected a list, found text"
    )
