"""The command in hostile and broken Git repositories.

Details are in tests/cli/writing/test_commit.py, test_commit_odd.py and test_commit_push.py; the same for the plugin is
in tests/argocd/test_lock_policies.py and tests/argocd/test_commit_policy_*.py.
"""

import os
import random
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
from rig.argocd.plugin_calls import Ending, Fleet, committed, new_fleet, refused
from rig.builders.projects import World
from rig.git.repositories import (
    AS_IN_A_SIDECAR,
    SHOP,
    SIDECAR_USER,
    THREE,
    TWO,
    check_integrity,
    clone,
    fill,
    git,
    git_in_between,
    give,
    lock_text,
    make_dirty,
    paths_in,
    plant_canaries,
    project,
    public_folder,
    rival,
    save,
    serve,
    shared_shop,
    shop,
    small_disk,
    status,
    text_at,
    write_program,
)
from rig.properties import tries
from rig.registry.http_server import Certificate, RecordingServer

from render.cli.run import run
from render.system.files import LOCK_FILE

SECONDS = 120


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository in which the lock of `shop` has changed and is not committed."""
    made = shop(tmp_path)
    (made / SHOP).write_bytes(TWO)
    return made


def xplock(
    *arguments: str,
    folder: Path,
    before: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Ending:
    """Run the command in a folder, directly or through another program."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "render", *arguments],
        cwd=folder,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Ending(done.returncode, done.stdout, done.stderr)


# Argument injection


@pytest.mark.parametrize(
    "options",
    [
        ["--branch=--output=x"],
        ["--push", "--remote=ext::sh -c touch% x"],
        ["--push", "--remote=--receive-pack=touch x"],
        ["--branch=b", "--from=--output=x"],
        ["--author=--output=x"],
    ],
    ids=lambda options: options[-1],
)
def test_text_that_looks_like_an_option_or_a_program_is_refused(root: Path, options: list[str]) -> None:
    git(root, "remote", "add", "origin", "file:///nowhere")
    refs = git(root, "for-each-ref")

    done = xplock("commit", *options, folder=root / "shop")

    assert (done.code, done.output) == (2, "")
    assert git(root, "for-each-ref") == refs
    assert not list(root.rglob("x"))


def test_paths_and_messages_that_look_like_options_are_harmless(root: Path) -> None:
    folder = project(root, TWO, "-x")
    save(root)
    (folder / LOCK_FILE).write_bytes(THREE)

    done = xplock("commit", "--message=--output=x", "./-x", folder=root)

    assert done.code == 0
    assert paths_in(root) == [f"-x/{LOCK_FILE}"]
    assert git(root, "log", "-1", "--format=%s") == "--output=x"
    assert not list(root.rglob("x"))


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% {x}", "--upload-pack=touch {x}", "-oProxyCommand=touch:{x}", "fd::17"]
)
def test_an_application_cannot_name_a_program_in_the_place_of_a_server(
    fleet: Fleet, tmp_path: Path, url: str
) -> None:
    address = url.format(x=tmp_path / "x")

    done = fleet.generate(ARGOCD_APP_SOURCE_REPO_URL=address, XPLOCK_COMMIT_TO=f"{address}#main")

    assert (done.code, done.output) == (3, "")
    assert "is not used" in done.errors
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("target", ["--output=x", "-x", "a b", "main:refs/heads/x", "main\nx", "$(touch x)"])
def test_an_application_cannot_name_an_option_in_the_place_of_a_branch(fleet: Fleet, target: str) -> None:
    refs = git(fleet.server, "for-each-ref")

    done = fleet.generate(ARGOCD_APP_SOURCE_TARGET_REVISION=target, XPLOCK_COMMIT_TO=f"{fleet.url}#*")

    assert (done.code, done.output) == (3, "")
    assert "which is not a branch" in done.errors
    assert git(fleet.server, "for-each-ref") == refs
    assert not list(fleet.clone.rglob("x"))


# Programs named by the repository


def test_no_hook_and_no_other_program_of_the_repository_is_run(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    canary = tmp_path / "canary"
    plant_canaries(root, canary)
    canary.unlink(missing_ok=True)

    done = xplock("commit", "--push", folder=root / "shop")

    assert (done.code, text_at(server, "main"), canary.exists()) == (0, TWO, False)
    # They are there all the same: git itself runs some of them.
    git(root, "status")
    assert canary.exists()


# How the configuration of a repository can name a program that git runs to fetch an object. Every one of them makes a
# remote the promisor of missing objects, and {program} would touch the canary.
_PROMISORS = {
    "core.sshCommand": {"remote.far.url": "ssh://far.example/repository", "core.sshCommand": "{program}"},
    "remote.uploadpack": {"remote.far.url": "file://{root}", "remote.far.uploadpack": "{program}"},
    "remote.vcs": {"remote.far.url": "far", "remote.far.vcs": "ext", "protocol.ext.allow": "always"},
    "url ext::": {"remote.far.url": "ext::{program}", "protocol.ext.allow": "always"},
    "core.gitProxy": {"remote.far.url": "git://far.example/x", "core.gitProxy": "{program}"},
    "url.insteadOf": {
        "remote.far.url": "https://far.example/x",
        "url.ext::{program} .insteadOf": "https://far.example/",
        "protocol.ext.allow": "always",
    },
}


@pytest.fixture
def promised(root: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A repository without the committed lock, whose configuration names a program that would fetch it."""
    program = tmp_path / "program"
    write_program(program, f"#!/bin/sh\ntouch {tmp_path}/canary\n")
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "far",
        "remote.far.promisor": "true",
    }
    named = getattr(request, "param", "core.sshCommand")
    for key, value in {**settings, **_PROMISORS[named]}.items():
        git(root, "config", key.format(program=program), value.format(program=program, root=root))
    blob = git(root, "rev-parse", f"HEAD:{SHOP}")
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    return root


@pytest.mark.parametrize(
    "command",
    [
        ["diff"],
        ["diff", "HEAD", "HEAD"],
        ["commit", "--dry-run"],
        ["commit"],
        ["commit", "--branch", "b"],
        ["lock", "--offline", "--commit", "--dry-run"],
        ["lock", "--offline"],
        ["check"],
    ],
    ids=" ".join,
)
def test_no_command_fetches_missing_objects(promised: Path, tmp_path: Path, command: list[str]) -> None:
    if command[0] == "lock":
        # Without a lock, `lock` looks at the last commit.
        (promised / SHOP).unlink()

    done = xplock(*command, folder=promised / "shop")

    assert not (tmp_path / "canary").exists()
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("promised", _PROMISORS, indirect=True)
def test_no_program_of_a_promisor_remote_is_run(promised: Path, tmp_path: Path) -> None:
    done = xplock("diff", folder=promised / "shop")

    assert not (tmp_path / "canary").exists()
    assert (done.code, done.output) == (1, "")


def test_the_error_about_a_partial_clone_has_a_command_that_completes_it(tmp_path: Path) -> None:
    server, _ = shared_shop(tmp_path)
    git(server, "config", "uploadpack.allowFilter", "true")
    partial = clone(server, tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    project(partial, TWO)

    lacking = xplock("diff", folder=partial / "shop")
    git(partial, *advised_git(lacking.errors))
    complete = xplock("diff", folder=partial / "shop")

    assert lacking.code == 1
    assert "it is a partial clone, and lacks objects that are needed" in lacking.errors
    assert (complete.code, "v1.0.0" in complete.output) == (0, True)


def advised_git(errors: str) -> list[str]:
    """Return the arguments of the git command that an error advises."""
    found = re.search(r"next: .*?`git ([^`]*)`", errors)
    assert found, errors
    return shlex.split(found[1])


# The user's work


def test_staged_unstaged_and_untracked_work_stays_as_it_was(root: Path) -> None:
    make_dirty(root)
    before = status(root)

    done = xplock("commit", folder=root / "shop")

    assert done.code == 0
    assert before != ""
    assert (status(root), paths_in(root)) == (before, [SHOP])


@pytest.mark.parametrize("there", ["store", f"store/{LOCK_FILE}/file"])
def test_what_is_in_the_place_of_a_lock_is_not_taken_away_with_it(root: Path, there: str) -> None:
    (root / there).parent.mkdir(parents=True, exist_ok=True)
    (root / there).write_text("something else\n")
    before = save(root)
    git(root, "rm", "-r", "--quiet", "store")
    project(root, name="store")

    done = xplock("commit", "--with-inputs", folder=root / "store")

    assert (done.code, git(root, "rev-parse", "HEAD")) == (1, before)
    assert (
        f"  why:  the commit has a folder at store/{LOCK_FILE}, or a file at one of the folders above it\n  next:"
        in done.errors
    )


# Races

WRITERS, EACH = 8, 3


def test_eight_processes_that_commit_at_once_lose_no_commit(tmp_path: Path) -> None:
    root = shop(tmp_path)
    folders = [project(root, name=f"f{number}") for number in range(WRITERS)]
    save(root)

    codes = _in_parallel([partial(_commit_often, folder) for folder in folders])

    assert codes == [0] * WRITERS
    assert git(root, "rev-list", "--count", "main") == str(WRITERS * EACH + 2)
    assert git(root, "rev-list", "--count", "--merges", "main") == "0"
    assert [text_at(root, "main", f"{folder.name}/{LOCK_FILE}") for folder in folders] == [
        lock_text(f"app v9.{EACH - 1}.0")
    ] * WRITERS
    assert git(root, "status", "--porcelain") == ""
    check_integrity(root)


def _commit_often(folder: Path) -> int:
    for number in range(EACH):
        (folder / LOCK_FILE).write_bytes(lock_text(f"app v9.{number}.0"))
        code = run(["-q", "commit", str(folder)])
        if code != 0:
            return code
    return 0


def _in_parallel(acts: Sequence[Callable[[], int]]) -> list[int | None]:
    """Do things at the same time, each in a process of its own, and return how they ended."""
    processes = [get_context("fork").Process(target=_leave_with, args=(act,)) for act in acts]
    for process in processes:
        process.start()
    for process in processes:
        process.join(5 * SECONDS)
    return [process.exitcode for process in processes]


def _leave_with(act: Callable[[], int]) -> None:
    sys.exit(act())


def test_a_faster_push_stays_below_our_commit(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    script = rival(server, tmp_path / "rival", "elsewhere/file")
    once = f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; {script}; }} >&2"
    path = git_in_between(tmp_path / "bin", f'case " $* " in *" push "*) {once};; esac')

    done = xplock("commit", "--push", folder=root / "shop", environ={"PATH": path})

    assert done.code == 0
    assert git(server, "log", "--format=%s", "main").splitlines() == [
        *("lock shop: 1 updated (1 major)", "rival", "a change")
    ]


def test_after_five_lost_races_a_push_is_given_up_and_nothing_has_changed(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    refs, before = git(root, "for-each-ref"), git(root, "status", "--porcelain")
    script = rival(server, tmp_path / "rival", "elsewhere/file")
    path = git_in_between(tmp_path / "bin", f'case " $* " in *" push "*) {{ {script}; }} >&2;; esac')

    done = xplock("commit", "--push", folder=root / "shop", environ={"PATH": path})

    assert (done.code, done.output) == (1, "")
    assert git(server, "log", "--format=%s", "main").splitlines() == ["rival"] * 5 + ["a change"]
    assert (git(root, "for-each-ref"), git(root, "status", "--porcelain")) == (refs, before)


# Odd repositories, for a user that is not root


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that other users may look into."""
    with public_folder() as folder:
        yield folder


def as_other_user(folder: Path, temporary: Path) -> Ending:
    """Commit as a user that is not root and has no home."""
    temporary.mkdir(exist_ok=True)
    give(SIDECAR_USER, temporary)
    nothing = {"HOME": "/nonexistent", "TMPDIR": str(temporary)}
    return xplock("commit", folder=folder, before=AS_IN_A_SIDECAR, environ=nothing)


def one_reason(done: Ending) -> str:
    """Return the reason of an error, which has to be one line."""
    (line,) = [line for line in done.errors.splitlines() if line.startswith("  why:  ")]
    assert done.errors.count("\n") == 3
    return line.removeprefix("  why:  ")


def test_a_user_who_is_not_root_commits_to_their_own_repository(elsewhere: Path) -> None:
    root = shop(elsewhere)
    (root / SHOP).write_bytes(TWO)
    give(SIDECAR_USER, root)

    done = as_other_user(root / "shop", elsewhere / "temporary")

    give(0, root)
    assert done.code == 0
    assert text_at(root, "HEAD") == TWO
    assert list((elsewhere / "temporary").iterdir()) == []


def test_a_repository_of_another_owner_is_refused_in_one_line(elsewhere: Path) -> None:
    root = shop(elsewhere)
    (root / SHOP).write_bytes(TWO)
    before = git(root, "rev-parse", "main")

    done = as_other_user(root / "shop", elsewhere / "temporary")

    assert (done.code, git(root, "rev-parse", "main")) == (1, before)
    assert one_reason(done) == "the repository belongs to another user"
    assert f"safe.directory {root}" in done.errors


def test_a_repository_without_write_permission_is_reported_in_one_line(elsewhere: Path) -> None:
    root = shop(elsewhere)
    (root / SHOP).write_bytes(TWO)
    before = git(root, "rev-parse", "main")
    # Git looks at the owner of these two folders alone; the files in them keep theirs.
    os.chown(root, SIDECAR_USER, SIDECAR_USER)
    os.chown(root / ".git", SIDECAR_USER, SIDECAR_USER)

    done = as_other_user(root / "shop", elsewhere / "temporary")

    give(0, root)
    assert (done.code, git(root, "rev-parse", "main")) == (1, before)
    assert "ermission" in one_reason(done)
    check_integrity(root)


def test_a_read_only_disk_is_reported_in_one_line(elsewhere: Path) -> None:
    with small_disk(elsewhere / "disk", "8m") as disk:
        root = shop(disk)
        (root / SHOP).write_bytes(TWO)
        before = git(root, "rev-parse", "main")
        give(SIDECAR_USER, root)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        done = as_other_user(root / "shop", elsewhere / "temporary")

        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        give(0, root)
        assert (done.code, git(root, "rev-parse", "main")) == (1, before)
        assert "read-only file system" in one_reason(done).lower()
        check_integrity(root)


def test_a_disk_that_is_full_leaves_nothing_half_written(elsewhere: Path) -> None:
    with small_disk(elsewhere / "disk", "2m") as disk:
        root = shop(disk)
        (root / SHOP).write_bytes(TWO)
        before = git(root, "rev-parse", "main"), git(root, "status", "--porcelain")
        give(SIDECAR_USER, root)
        fill(disk)

        full = as_other_user(root / "shop", elsewhere / "temporary")
        (disk / "filler").unlink()
        after = as_other_user(root / "shop", elsewhere / "temporary")

        give(0, root)
        assert (full.code, full.output, after.code) == (1, "", 0)
        assert "no space left" in one_reason(full).lower()
        assert git(root, "rev-parse", "main^") == before[0]
        check_integrity(root)


def test_a_disk_that_is_too_small_for_the_plugin_is_reported_in_one_line(
    elsewhere: Path, world: World
) -> None:
    fleet = new_fleet(elsewhere, world)
    (fleet.clone / "large").write_bytes(random.Random(7).randbytes(2 << 20))
    before = fleet.push()
    with small_disk(elsewhere / "disk", "1m") as disk:
        (disk / "temporary").mkdir()
        give(SIDECAR_USER, disk / "temporary", fleet.server)

        endings = [
            fleet.generate(
                before=AS_IN_A_SIDECAR, without=["XDG_CONFIG_HOME"], TMPDIR=str(disk / "temporary")
            )
            for _ in range(2)
        ]

        left = list((disk / "temporary").iterdir())
    give(0, fleet.server)
    assert (fleet.tip, left) == (before, [])
    assert endings[0] == endings[1]
    assert endings[0].errors.startswith(
        refused(f"git cannot work in {fleet.url}; ").errors.partition("\n  next:")[0]
    )
    assert re.search("(?i)no space left|out of diskspace", endings[0].errors)
    check_integrity(fleet.server)


# Credentials in output


@pytest.mark.parametrize(
    "url", ["https://user:{canary}@127.0.0.1:1/x.git", "https://127.0.0.1:1/x.git?token={canary}"]
)
def test_a_secret_in_the_url_of_a_remote_is_nowhere(root: Path, url: str, canary: str) -> None:
    git(root, "remote", "add", "origin", url.format(canary=canary))

    done = xplock("-v", "commit", "--push", folder=root / "shop")

    assert done.code == 1
    assert done.errors.startswith("error: git cannot work in ")
    assert canary not in done.output + done.errors


@pytest.mark.parametrize(
    "url",
    [
        "https://user:{canary}@127.0.0.1:1/x.git",
        "https://{canary}@127.0.0.1:1/x.git",
        "https://127.0.0.1:1/x.git?token={canary}",
    ],
)
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "unlisted"])
def test_a_secret_in_the_url_of_an_application_is_nowhere(
    fleet: Fleet, url: str, canary: str, *, listed: bool
) -> None:
    address = url.format(canary=canary)

    done = fleet.generate(
        ARGOCD_APP_SOURCE_REPO_URL=address, XPLOCK_COMMIT_TO=f"{address}#main" if listed else ""
    )

    assert (done.code, done.output) == (3, "")
    assert "127.0.0.1:1/x.git" in done.errors
    assert canary not in done.errors


# Interrupted

KILLS, AT_ONCE = tries(200), 4


def test_after_a_kill_the_next_run_succeeds_or_names_the_file_in_its_way(tmp_path: Path) -> None:
    """A bounded number of kills at random moments; each takes all processes."""
    folders = [tmp_path / str(number) for number in range(AT_ONCE)]

    codes = _in_parallel([partial(_kill_often, folder, KILLS // AT_ONCE) for folder in folders])

    assert codes == [0] * AT_ONCE


def _kill_often(folder: Path, kills: int) -> int:
    """Kill commits of one repository again and again; each is finished by the next run."""
    folder.mkdir()
    root = shop(folder)
    # A killed process leaves its own index behind, and only that.
    (folder / "temporary").mkdir()
    os.environ["TMPDIR"] = str(folder / "temporary")
    make_dirty(root)
    before = status(root)
    # Modules imported here are not imported again by each killed process.
    assert run(["-q", "commit", str(root / "shop")]) == 0
    chance = random.Random(folder.name)
    for number in range(1, kills + 1):
        text = lock_text(f"app v1.{number}.0")
        (root / SHOP).write_bytes(text)
        _kill_after(root, chance.uniform(0.0, 0.12))
        check_integrity(root)
        _finish(root)
        assert (text_at(root, "HEAD"), text_at(root, "")) == (text, text)
    assert status(root) == before
    assert int(git(root, "rev-list", "--count", "HEAD")) == kills + 1
    return 0


def _kill_after(root: Path, seconds: float) -> None:
    process = get_context("fork").Process(target=_commit_alone, args=(root,))
    process.start()
    process.join(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join(SECONDS)


def _commit_alone(root: Path) -> None:
    os.setsid()
    os._exit(run(["-q", "commit", str(root / "shop")]))


def _finish(root: Path) -> None:
    """Run it once more; remove the file that its error names, as a person would."""
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        # The stderr that pytest installed does not reach the pipe.
        sys.stderr = os.fdopen(said, "w", buffering=1)
        os._exit(run(["-q", "commit", str(root / "shop")]))
    os.close(said)
    with os.fdopen(heard) as stream:
        errors = stream.read()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        return
    stale = errors.partition("why:  ")[2].partition(" exists:")[0]
    assert stale.startswith(str(root / ".git")), errors
    Path(stale).unlink()
    _finish(root)


PLUGIN_KILLS = 8


def test_after_a_kill_of_the_plugin_the_next_call_finds_or_makes_one_commit(
    fleet: Fleet, certificate: Certificate, tmp_path: Path
) -> None:
    chance = random.Random(7)
    git(fleet.server, "config", "http.receivepack", "true")
    (tmp_path / "temporary").mkdir()

    # A server of its own, which goes on when its client is killed.
    with RecordingServer(serve(fleet.server.parent), certificate=certificate) as server:
        url = f"{server.url}/server.git"
        environ = {
            "ARGOCD_APP_SOURCE_REPO_URL": url,
            "XPLOCK_COMMIT_TO": f"{url}#main",
            "XPLOCK_CA_BUNDLE": str(certificate.file),
            "TMPDIR": str(tmp_path / "temporary"),
        }
        for number in range(PLUGIN_KILLS):
            fleet.ask(f"app:v{2 - number % 2}.0.0")
            before = fleet.push(f"change {number}")
            fleet.kill_after(chance.uniform(0.2, 1.0), **environ)
            check_integrity(fleet.server)
            done = fleet.generate(**environ)
            assert (fleet.commits_since(before), done) == (1, committed(fleet.tip))
            fleet.pull()
