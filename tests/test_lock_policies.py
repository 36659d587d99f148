"""The lock policies of the plugin: what it does without a lock that is up to date, with real repositories."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rig.projects import World, small_world, text_of
from rig.repositories import clone, git, new_repository, paths_in, save, text_at

from render import __version__
from render.cli.run import run
from render.files import LOCK_FILE
from render.trailers import parse_trailers

SECONDS = 120
PATH = f"clusters/shop/{LOCK_FILE}"
MISSING = f"error: . has no {LOCK_FILE}\n  why:  nothing has been locked there yet\n        "
ADVICE = "\n  next: run `xplock lock clusters/shop` in a clone, and commit what it writes\n"


@dataclass(frozen=True, slots=True)
class Fleet:
    """A server with a repository, and the folder that Argo CD would have of it."""

    world: World
    server: Path
    clone: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.clone / "clusters/shop"

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"file://{self.server}"

    @property
    def tip(self) -> str:
        """The commit that the server's branch is at."""
        return git(self.server, "rev-parse", "main")

    def generate(self, **environ: str) -> subprocess.CompletedProcess[str]:
        """Call the plugin as Argo CD does, with variables that are given instead of the usual ones."""
        usual = {
            "ARGOCD_APP_SOURCE_REPO_URL": self.url,
            "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
            "ARGOCD_APP_SOURCE_PATH": "clusters/shop",
            "ARGOCD_APP_REVISION": git(self.clone, "rev-parse", "HEAD"),
            "XPLOCK_COMMIT_TO": f"https://git.example.org/*#main, {self.url}#main",
        }
        command = [sys.executable, "-m", "render", "plugin", "generate", "--lock-policy", "commit"]
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **usual, **self.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def push(self, message: str = "a change") -> str:
        """Commit everything in the clone, and let the server have it."""
        commit = save(self.clone, message)
        git(self.clone, "push", "--quiet", "origin", "HEAD:main")
        return commit

    def pull(self) -> None:
        """Have what the server has."""
        git(self.clone, "pull", "--quiet", "--ff-only", "origin", "main")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """A project that asks for app and has never been locked."""
    world = small_world(tmp_path)
    made = new_repository(tmp_path / "made")
    ask(world, made, "app:v1.0.0")
    (made / "README").write_text("read me\n")
    save(made, "begin")
    git(tmp_path, "clone", "--quiet", "--bare", str(made), "server.git")
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")
    environ = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    return Fleet(world, tmp_path / "server.git", clone(tmp_path / "server.git", tmp_path / "clone"), environ)


def ask(world: World, root: Path, *roots: str, more: str = "") -> None:
    """Write what the project in a repository asks for."""
    written = world.project("template", *roots, more=more) / "xplock.yaml"
    (root / "clusters/shop").mkdir(parents=True, exist_ok=True)
    (root / "clusters/shop/xplock.yaml").write_text(written.read_text())


def refused(reason: str) -> tuple[int, str, str]:
    """Return how the plugin ends without a lock, and without having committed one."""
    return (3, "", f"{MISSING}{reason}{ADVICE}")


def ending(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Return how the plugin ended."""
    return (done.returncode, done.stdout, done.stderr)


def test_a_missing_lock_is_committed_to_the_branch_and_not_rendered(fleet: Fleet) -> None:
    before = fleet.tip

    done = fleet.generate()

    assert git(fleet.server, "rev-list", f"{before}..main").splitlines() == [fleet.tip]
    assert ending(done) == (1, "", f"error: lock committed as {fleet.tip}; the next refresh renders it\n")
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

    assert (done.returncode, done.stderr, fleet.tip) == (0, "", tip)
    assert "xpkg.example.org/acme/app:v1.0.0" in done.stdout


def test_the_commit_says_who_made_it_and_from_what(fleet: Fleet) -> None:
    fleet.generate()

    trailers = parse_trailers(git(fleet.server, "log", "-1", "--format=%B", "main"))

    assert git(fleet.server, "log", "-1", "--format=%an %ae", "main") == "Robin robin@example.org"
    assert trailers is not None
    assert (trailers.version, list(trailers.inputs)) == (__version__, [PATH])


def test_a_lock_that_is_out_of_date_is_brought_up_to_date(fleet: Fleet) -> None:
    run(["-q", "lock", str(fleet.folder)])
    fleet.push()
    ask(fleet.world, fleet.clone, "app:v2.0.0")
    fleet.push()

    done = fleet.generate()

    assert done.stderr == f"error: lock committed as {fleet.tip}; the next refresh renders it\n"
    assert "acme/app:v2.0.0" not in done.stdout
    assert b"version: v2.0.0" in text_at(fleet.server, "main", PATH)


def test_a_lock_is_committed_at_the_root_of_a_repository(fleet: Fleet) -> None:
    (fleet.clone / "xplock.yaml").write_text((fleet.folder / "xplock.yaml").read_text())
    fleet.push()

    done = fleet.generate(ARGOCD_APP_SOURCE_PATH=".")

    assert done.returncode == 1
    assert paths_in(fleet.server, "main") == [LOCK_FILE]


@pytest.mark.parametrize("target", ["HEAD", ""])
def test_without_a_branch_the_default_branch_is_meant(fleet: Fleet, target: str) -> None:
    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION=target)

    assert done.stderr == f"error: lock committed as {fleet.tip}; the next refresh renders it\n"


def test_a_default_branch_that_is_not_listed_is_not_committed_to(fleet: Fleet) -> None:
    before = fleet.tip

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION="HEAD", XPLOCK_COMMIT_TO=f"{fleet.url}#release/*")

    assert fleet.tip == before
    assert ending(done) == refused(
        f"no lock is committed to {fleet.url}#main: XPLOCK_COMMIT_TO does not list it"
    )


@pytest.mark.parametrize(
    "listed", ["", "https://git.example.org/acme/platform.git#main", "file://*#main", "*"]
)
def test_a_repository_that_is_not_listed_is_not_even_asked(fleet: Fleet, listed: str, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")

    done = fleet.generate(XPLOCK_COMMIT_TO=listed)

    assert ending(done) == refused(f"no lock is committed to {fleet.url}: XPLOCK_COMMIT_TO does not list it")


def test_patterns_stand_for_one_part_of_a_path(fleet: Fleet) -> None:
    git(fleet.server, "branch", "release/1/hot", "main")
    git(fleet.server, "branch", "release/1", "main", check=False)
    listed = f"file://{fleet.server.parent}/*.git#release/*"

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION="release/1/hot", XPLOCK_COMMIT_TO=listed)

    reason = f"no lock is committed to {fleet.url}#release/1/hot: XPLOCK_COMMIT_TO does not list it"
    assert ending(done) == refused(reason)


def test_a_tenant_cannot_list_a_repository(fleet: Fleet) -> None:
    parameters = json.dumps([{"name": "XPLOCK_COMMIT_TO", "string": f"{fleet.url}#main"}])
    tenant = {f"ARGOCD_ENV_{name}": f"{fleet.url}#main" for name in ("XPLOCK_COMMIT_TO", "COMMIT_TO")}
    before = fleet.tip

    done = fleet.generate(XPLOCK_COMMIT_TO="", ARGOCD_APP_PARAMETERS=parameters, **tenant)

    assert done.returncode != 0
    assert fleet.tip == before


@pytest.mark.parametrize(
    "target",
    ["v1.0.0", "feedfacefeedfacefeedfacefeedfacefeedface", ">=1.0", "1.x", "*", "nowhere", "refs/heads/main"],
)
def test_tags_commits_and_ranges_are_never_committed_to(fleet: Fleet, target: str) -> None:
    git(fleet.server, "tag", "v1.0.0", "main")
    git(fleet.server, "branch", "1.x", "main")
    before = git(fleet.server, "for-each-ref")

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION=target, XPLOCK_COMMIT_TO=f"{fleet.url}#*")

    assert git(fleet.server, "for-each-ref") == before
    assert ending(done) == refused(
        f"no lock is committed for target revision '{target}', which is not a branch"
    )


def test_a_branch_that_shares_its_name_with_a_tag_is_not_committed_to(fleet: Fleet) -> None:
    git(fleet.server, "tag", "stable", "main")
    git(fleet.server, "branch", "stable", "main")

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION="stable", XPLOCK_COMMIT_TO=f"{fleet.url}#*")

    assert ending(done) == refused("no lock is committed for target revision 'stable', which is not a branch")


@pytest.mark.parametrize("revision", ["streamed", "", "main", "abc1234"])
def test_files_that_are_in_no_commit_get_no_lock(fleet: Fleet, revision: str) -> None:
    before = fleet.tip

    done = fleet.generate(ARGOCD_APP_REVISION=revision)

    assert fleet.tip == before
    assert ending(done) == refused(f"no lock is committed for revision '{revision}', which is not a commit")


@pytest.mark.parametrize("path", ["/etc", "../..", "clusters/../../up"])
def test_a_path_outside_of_the_repository_gets_no_lock(fleet: Fleet, path: str) -> None:
    done = fleet.generate(ARGOCD_APP_SOURCE_PATH=path)

    assert done.returncode == 3
    assert f"no lock is committed for path '{path}', which is not in the repository" in done.stderr


def test_an_old_commit_whose_folder_has_changed_since_gets_no_lock(fleet: Fleet) -> None:
    old = fleet.tip
    ask(fleet.world, fleet.clone, "tool:v1.0.0")
    before = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert fleet.tip == before
    assert ending(done) == refused("what is asked for is another thing at the tip of branch main")


def test_an_old_commit_with_the_same_folder_is_as_good_as_the_tip(fleet: Fleet) -> None:
    old = fleet.tip
    (fleet.clone / "README").write_text("read me again\n")
    newer = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert git(fleet.server, "rev-parse", "main^") == newer
    assert done.stderr == f"error: lock committed as {fleet.tip}; the next refresh renders it\n"


def test_a_commit_that_is_not_on_the_branch_gets_no_lock(fleet: Fleet) -> None:
    (fleet.clone / "README").write_text("mine\n")
    mine = save(fleet.clone)
    git(fleet.clone, "push", "--quiet", "origin", "HEAD:side")
    before = fleet.tip

    done = fleet.generate()

    assert fleet.tip == before
    assert ending(done) == refused(f"{mine} is not among the last 100 commits of branch main")


def test_a_folder_that_uses_another_one_which_has_changed_gets_no_lock(fleet: Fleet) -> None:
    platform = fleet.clone / "clusters/platform"
    platform.mkdir()
    template = fleet.world.project("template", "base:v1.1.0") / "xplock.yaml"
    (platform / "xplock.yaml").write_text(template.read_text())
    run(["-q", "lock", str(platform)])
    ask(fleet.world, fleet.clone, "app:v1.0.0", more="uses: [../platform]\n")
    old = fleet.push()
    (platform / "note.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n")
    before = fleet.push()
    git(fleet.clone, "checkout", "--quiet", old)

    done = fleet.generate()

    assert fleet.tip == before
    assert ending(done) == refused("what is asked for is another thing at the tip of branch main")


def test_files_that_came_with_the_call_are_never_committed(fleet: Fleet) -> None:
    ask(fleet.world, fleet.clone, "tool:v1.0.0")

    fleet.generate()

    assert b"acme/app" in text_at(fleet.server, "main", PATH)
    assert b"acme/tool" not in text_at(fleet.server, "main", PATH)


def test_ten_calls_at_once_make_one_commit_and_say_the_same(fleet: Fleet) -> None:
    before = fleet.tip

    with ThreadPoolExecutor(10) as pool:
        endings = list(pool.map(lambda _: ending(fleet.generate()), range(10)))

    assert git(fleet.server, "rev-list", "--count", f"{before}..main") == "1"
    expected = (1, "", f"error: lock committed as {fleet.tip}; the next refresh renders it\n")
    assert endings == [expected] * 10


def test_a_lock_that_was_committed_before_is_named_again_whatever_came_after(fleet: Fleet) -> None:
    first = fleet.generate()
    other = clone(fleet.server, fleet.server.parent / "other")
    (other / "README").write_text("read me again\n")
    save(other)
    git(other, "push", "--quiet", "origin", "HEAD:main")

    second = fleet.generate()

    assert ending(second) == ending(first)


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
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == (
        f"error: {PATH}: written by xplock 0.0.9, read as stale by {__version__}"
    )
    assert ending(fleet.generate()) == ending(done)


def test_after_our_own_commit_a_change_of_the_inputs_is_answered(fleet: Fleet) -> None:
    fleet.generate()
    fleet.pull()
    ask(fleet.world, fleet.clone, "app:v2.0.0")
    before = fleet.push()

    done = fleet.generate()

    assert git(fleet.server, "rev-parse", "main^") == before
    assert done.stderr == f"error: lock committed as {fleet.tip}; the next refresh renders it\n"


def test_a_lock_that_somebody_removed_is_not_made_anew(fleet: Fleet) -> None:
    fleet.generate()
    fleet.pull()
    (fleet.folder / LOCK_FILE).unlink()
    removed = fleet.push()

    done = fleet.generate()

    assert fleet.tip == removed
    assert ending(done) == refused(
        f"commit {removed} removed the lock, and with it the names of installed objects"
    )


def test_without_an_identity_nothing_is_committed(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")

    done = fleet.generate()

    assert ending(done) == refused(
        f"git does not know who commits to {fleet.url}; its configuration has no user.name and user.email"
    )


def test_a_server_that_refuses_is_told_with_its_reason(fleet: Fleet) -> None:
    hook = fleet.server / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'this branch is protected' >&2\nexit 1\n")
    hook.chmod(0o755)

    done = fleet.generate()

    assert (done.returncode, done.stdout) == (3, "")
    assert "this branch is protected" in done.stderr


def test_a_server_that_is_gone_is_told_and_the_text_is_the_same_twice(fleet: Fleet) -> None:
    fleet.server.rename(fleet.server.with_name("gone.git"))

    endings = [ending(fleet.generate()) for _ in range(2)]

    assert endings[0] == endings[1]
    assert endings[0][:2] == (3, "")
    assert f"git cannot work in {fleet.url}" in endings[0][2]


def test_versions_that_contradict_each_other_are_told_as_lock_tells_it(fleet: Fleet) -> None:
    ask(fleet.world, fleet.clone, "app:v2.0.0", "old:v1.0.0")
    before = fleet.push()

    done = fleet.generate()

    assert fleet.tip == before
    assert (done.returncode, done.stdout) == (4, "")
    assert "acme/base" in done.stderr


def test_a_token_that_cannot_be_read_is_told_without_its_path(fleet: Fleet, tmp_path: Path) -> None:
    url = "https://git.example.org/platform.git"

    done = fleet.generate(ARGOCD_APP_SOURCE_REPO_URL=url, XPLOCK_GIT_TOKEN_FILE=str(tmp_path / "token"))

    assert ending(done) == refused("the file that XPLOCK_GIT_TOKEN_FILE names holds no token")


def other_record(text: str) -> str:
    """Return a lock's text as if one of its inputs had been another one."""
    start = text.index("inputs:")
    before, digest, rest = text[start:].partition("sha256:")
    return text[:start] + before + digest + ("0" if rest[0] != "0" else "1") + rest[1:]
