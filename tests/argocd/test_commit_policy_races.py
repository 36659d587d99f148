"""The plugin committing while others do: the same folder, other folders, other versions of xplock."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from rig.argocd.plugin_calls import Ending, Fleet, committed, refused
from rig.git.repositories import check_integrity, clone, git, git_in_between, paths_in, rival, text_at

import render
from render import __version__
from render.app.operator_settings import OperatorSettings
from render.argocd.commit_policy import commit_lock
from render.system.deadline import Deadline, DeadlineExceeded
from render.system.files import LOCK_FILE

PATH = f"clusters/shop/{LOCK_FILE}"
OTHER_VERSION = "9.9.9"


@pytest.fixture(scope="module")
def other_xplock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of another version, which reads one more thing out of every folder."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(
        Path(render.__file__).parent, folder / "render", ignore=shutil.ignore_patterns("__pycache__")
    )
    edit(folder / "render/__init__.py", f'"{__version__}"', f'"{OTHER_VERSION}"')
    edit(
        folder / "render/inputs/record.py",
        "entries: dict[str, object] = {",
        'entries: dict[str, object] = {"setting mood": "good", **{',
    )
    edit(folder / "render/inputs/record.py", "for root in roots}\n", "for root in roots}}\n")
    return {"PYTHONPATH": str(folder)}


def edit(path: Path, old: str, new: str) -> None:
    """Put a text in the place of another one, which is there once."""
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def at_once(calls: Sequence[Callable[[], Ending]], most: int) -> list[Ending]:
    """Make calls at the same time, so many at most."""
    with ThreadPoolExecutor(most) as pool:
        return list(pool.map(lambda call: call(), calls))


def test_ten_calls_at_once_make_one_commit_and_say_the_same(fleet: Fleet) -> None:
    before = fleet.tip

    endings = at_once([fleet.generate] * 10, 10)

    assert fleet.commits_since(before) == 1
    assert endings == [committed(fleet.tip)] * 10


def test_twenty_folders_at_once_get_twenty_commits_in_one_round(fleet: Fleet) -> None:
    folders = [f"clusters/c{number:02}" for number in range(20)]
    for folder in folders:
        fleet.ask("app:v1.0.0", path=folder)
    before = fleet.push()

    # What takes a quarter of a minute by itself may take long beside other programs.
    calls = [partial(fleet.generate, folder, XPLOCK_DEADLINE="110") for folder in folders]
    endings = at_once(calls, 8)

    made = git(fleet.server, "rev-list", f"{before}..main").splitlines()
    touching = {paths_in(fleet.server, commit)[0]: commit for commit in made}
    assert endings == [committed(touching[f"{folder}/{LOCK_FILE}"]) for folder in folders]
    assert [len(paths_in(fleet.server, commit)) for commit in made] == [1] * 20
    assert git(fleet.server, "rev-list", "--count", "--merges", "main") == "0"
    check_integrity(fleet.server)


def test_a_race_that_is_always_lost_ends_with_the_deadline(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = rival(fleet.server, tmp_path / "rival", "elsewhere/file")
    always = f'case " $* " in *" push "*) {{ {script}; }} > /dev/null 2>&1;; esac'
    path = git_in_between(tmp_path / "bin", always)
    variables = fleet.variables(PATH=path, XPLOCK_LIMIT_PUSH_ATTEMPTS="1")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(fleet.folder)
    # The time is up after two lost races, however long they take.
    deadline = Deadline(45, now=lambda: 1_000.0 if rival_commits(fleet) >= 2 else 0.0)

    with pytest.raises(DeadlineExceeded, match="out of time after 45 seconds, waiting for git\n"):
        commit_lock(OperatorSettings.from_environment(variables), deadline)

    assert rival_commits(fleet) == 2
    subjects = git(fleet.server, "log", "--format=%s", "main").splitlines()
    assert set(subjects) == {"rival", "begin", "ask for app"}


def rival_commits(fleet: Fleet) -> int:
    """Return how many commits the rival has on the server."""
    return git(fleet.server, "log", "--format=%s", "main").splitlines().count("rival")


def test_somebody_who_locks_the_folder_meanwhile_is_not_overwritten(fleet: Fleet, tmp_path: Path) -> None:
    script = rival(fleet.server, tmp_path / "rival", PATH, text="mine")
    once = f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; {script}; }} >&2"
    path = git_in_between(tmp_path / "bin", f'case " $* " in *" push "*) {once};; esac')

    done = fleet.generate(PATH=path)

    assert done == refused(f"branch main has other inputs than the lock was made from; {PATH} differs there")
    assert text_at(fleet.server, "main", PATH) == b"mine\n"


def test_two_versions_that_disagree_make_one_commit_and_then_a_clear_error(
    fleet: Fleet, other_xplock: dict[str, str]
) -> None:
    before = fleet.tip
    first = fleet.generate()
    fleet.pull()

    second = [fleet.generate(**other_xplock) for _ in range(2)]

    assert (fleet.commits_since(before), first) == (1, committed(fleet.tip))
    assert second[0] == second[1]
    assert (second[0].code, second[0].output) == (1, "")
    assert second[0].errors.splitlines()[0] == (
        f"error: {PATH}: written by xplock {__version__}, read as stale by {OTHER_VERSION}"
    )
    assert fleet.generate().code == 0


def test_the_other_version_gets_the_same_error_the_other_way_round(
    fleet: Fleet, other_xplock: dict[str, str]
) -> None:
    before = fleet.tip
    fleet.generate(**other_xplock)
    fleet.pull()

    done = fleet.generate()

    assert fleet.commits_since(before) == 1
    assert done.errors.splitlines()[0] == (
        f"error: {PATH}: written by xplock {OTHER_VERSION}, read as stale by {__version__}"
    )


def test_two_versions_at_once_make_one_commit(fleet: Fleet, other_xplock: dict[str, str]) -> None:
    before = fleet.tip
    theirs = [lambda: fleet.generate(**other_xplock)] * 3

    endings = at_once([*theirs, *[fleet.generate] * 3], 6)

    assert fleet.commits_since(before) == 1
    winners = [ending for ending in endings if ending == committed(fleet.tip)]
    reasons = (
        "has other inputs than the lock was made from",
        "the lock is another one at the tip of branch main",
    )
    losers = [
        ending
        for ending in endings
        if ending.code == 3 and any(reason in ending.errors for reason in reasons)
    ]
    assert (len(winners), len(losers)) == (3, 3)


def test_versions_that_disagree_do_not_answer_each_other_when_something_else_changes(
    fleet: Fleet, other_xplock: dict[str, str], tmp_path: Path
) -> None:
    fleet.generate()
    other = clone(fleet.server, tmp_path / "other-clone")
    (other / "README").write_text("read me again\n")
    git(other, "commit", "--quiet", "--all", "--message", "a change elsewhere")
    git(other, "push", "--quiet", "origin", "HEAD:main")
    fleet.pull()
    before = fleet.tip

    done = fleet.generate(**other_xplock)

    assert fleet.tip == before
    assert f"read as stale by {OTHER_VERSION}" in done.errors
