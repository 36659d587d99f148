"""A lock is committed only together with what it was made from: otherwise the branch could not be rendered."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import World, small_world
from rig.git.repositories import (
    ASKS,
    ONE,
    SHOP,
    TWO,
    WORK_TREES,
    check_integrity,
    clone,
    git,
    lock_text,
    new_repository,
    paths_in,
    plant_canaries,
    project,
    save,
    set_author,
    shared_shop,
    shop,
    text_at,
)

from render.cli.run import run
from render.system.files import LOCK_FILE

MORE = ASKS + "detach: all\n"
CHANGED = lock_text("app v2.0.0", asks=MORE)
APP = """\
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: app
spec:
  package: xpkg.example.org/acme/app:VERSION
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository in which what `shop` asks for has changed, and the lock with it; neither is committed."""
    made = shop(tmp_path)
    (made / "shop/xplock.yaml").write_text(MORE)
    (made / SHOP).write_bytes(CHANGED)
    return made


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


def state(root: Path) -> tuple[str, str]:
    return git(root, "for-each-ref"), git(root, "status", "--porcelain", "--untracked-files=all")


def renders(root: Path, commit: str, folder: str, tmp_path: Path) -> int:
    """Return the exit code of `render` in a new clone of a commit, as Argo CD would make one."""
    there = tmp_path / f"clone-{commit[:8]}"
    git(root, "clone", "--quiet", "--no-checkout", str(root), str(there))
    git(there, "checkout", "--quiet", commit)
    return run(["render", str(there / folder)])


def asks(folder: Path, version: str, name: str = "app.yaml") -> None:
    """Ask for a version of app by a manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(APP.replace("VERSION", version))


def changed(root: Path) -> str:
    (root / "shop/xplock.yaml").write_text(MORE)
    return "shop/xplock.yaml has changes that are not committed"


def staged(root: Path) -> str:
    changed(root)
    git(root, "add", "shop/xplock.yaml")
    return "shop/xplock.yaml has changes that are not committed"


def untracked(root: Path) -> str:
    git(root, "rm", "--quiet", "--cached", "shop/xplock.yaml")
    git(root, "commit", "--quiet", "-m", "without inputs")
    changed(root)
    return "shop/xplock.yaml is not committed"


def added(root: Path) -> str:
    untracked(root)
    git(root, "add", "shop/xplock.yaml")
    return "shop/xplock.yaml is not committed"


def intended(root: Path) -> str:
    untracked(root)
    git(root, "add", "--intent-to-add", "shop/xplock.yaml")
    return "shop/xplock.yaml is not committed"


def ignored(root: Path) -> str:
    untracked(root)
    (root / ".git/info/exclude").write_text("xplock.yaml\n")
    return "shop/xplock.yaml is not committed, and git ignores it"


def hidden_from_git(root: Path) -> str:
    git(root, "update-index", "--assume-unchanged", "shop/xplock.yaml")
    return changed(root)


WAYS: list[Callable[[Path], str]] = [changed, staged, untracked, added, intended, ignored, hidden_from_git]


@pytest.mark.parametrize("way", WAYS)
def test_a_lock_whose_inputs_are_not_in_the_commit_is_refused(
    tmp_path: Path, way: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    line = way(root)
    (root / SHOP).write_bytes(CHANGED)
    before = state(root)

    code = run(["commit", str(root / "shop")])

    told = capsys.readouterr()
    assert (code, state(root), told.out) == (3, before, "")
    assert f"why:  {line}\n" in told.err
    assert ("--with-inputs" in told.err) == (way is not ignored)


def test_a_manifest_that_was_deleted_has_to_be_deleted_in_the_commit_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    asks(root / "shop", "v1.0.0", "more.yaml")
    save(root)
    (root / "shop/more.yaml").unlink()
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", str(root / "shop")])

    assert code == 3
    assert "why:  the deletion of shop/more.yaml is not committed\n" in capsys.readouterr().err


def test_the_printed_git_command_makes_the_next_run_work(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["commit", str(root / "shop")])
    [advice] = [line for line in capsys.readouterr().err.splitlines() if "git " in line]

    subprocess.run(["sh", "-ec", advice.partition(": ")[2]], check=True)

    assert paths_in(root) == ["shop/xplock.yaml"]
    assert run(["commit", str(root / "shop")]) == 0


def new_file(folder: Path) -> list[str]:
    asks(folder, "v2.0.0", "new one.yaml")
    (folder / "app.yaml").unlink()
    return ["app.yaml", "new one.yaml"]


def changed_file(folder: Path) -> list[str]:
    asks(folder, "v2.0.0")
    return ["app.yaml"]


def deleted_file(folder: Path) -> list[str]:
    (folder / "tool.yaml").unlink()
    return ["tool.yaml"]


def staged_deletion(folder: Path) -> list[str]:
    git(folder, "rm", "--quiet", "tool.yaml")
    return ["tool.yaml"]


def deletion_of_the_index_only(folder: Path) -> list[str]:
    git(folder, "rm", "--quiet", "--cached", "app.yaml")
    return changed_file(folder)


def renamed_file(folder: Path) -> list[str]:
    git(folder, "mv", "app.yaml", "better.yaml")
    asks(folder, "v2.0.0", "better.yaml")
    return ["app.yaml", "better.yaml"]


def several_changes(folder: Path) -> list[str]:
    return [*renamed_file(folder), *staged_deletion(folder)]


def odd_name(folder: Path) -> list[str]:
    git(folder, "mv", "app.yaml", "--", "-app.yaml")
    (folder / "-app.yaml").rename(folder / ":(top)*.yaml")
    asks(folder, "v2.0.0", ":(top)*.yaml")
    return [":(top)*.yaml", "app.yaml"]


EDITS: list[Callable[[Path], list[str]]] = [
    *(new_file, changed_file, deleted_file, staged_deletion, deletion_of_the_index_only),
    *(renamed_file, several_changes, odd_name),
]


@pytest.mark.parametrize(
    ("name", "edit"),
    [*(("my shop", edit) for edit in EDITS), ("-shop", several_changes), (".", several_changes)],
)
def test_the_printed_git_command_works_for_every_kind_of_change(
    world: World,
    edit: Callable[[Path], list[str]],
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = new_repository(world.folder / "fleet")
    folder = world.project(f"fleet/{name}")
    asks(folder, "v1.0.0")
    (folder / "tool.yaml").write_text(APP.replace("app", "tool").replace("VERSION", "v1.0.0"))
    monkeypatch.chdir(root)
    run(["-q", "lock", "--", name])
    save(root)
    files = edit(folder)

    refused = run(["lock", "--commit", "--", name])
    [advice] = [line for line in capsys.readouterr().err.splitlines() if "git " in line]
    subprocess.run(["sh", "-ec", advice.partition("lock: ")[2]], check=True, cwd=root)

    below = "" if name == "." else f"{name}/"
    assert (refused, paths_in(root)) == (3, sorted(f"{below}{file}" for file in files))
    assert run(["lock", "--commit", "--", name]) == 0


@pytest.mark.parametrize(
    "text", ["# a comment\n" + ASKS, ASKS.replace("\n", "\r\n"), ASKS + "waves: graph\n"]
)
def test_changes_that_the_lock_does_not_depend_on_do_not_matter(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / "shop/xplock.yaml").write_text(text)
    (root / "shop/secret.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata:\n  name: mine\n")
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", str(root / "shop")])

    assert (code, capsys.readouterr().err) == (0, "")
    assert paths_in(root) == [SHOP]


def test_a_lock_that_answers_the_commit_may_be_committed_whatever_is_being_edited(tmp_path: Path) -> None:
    root = shop(tmp_path)
    (root / "shop/xplock.yaml").write_text(MORE)
    (root / SHOP).write_bytes(TWO)

    assert run(["commit", str(root / "shop")]) == 0
    assert paths_in(root) == [SHOP]


def test_a_lock_that_answers_neither_is_out_of_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / "shop/xplock.yaml").write_text(MORE)
    (root / SHOP).write_bytes(lock_text("app v2.0.0", asks=ASKS + "pin: tag\n"))

    code = run(["commit", str(root / "shop")])

    told = capsys.readouterr().err
    assert code == 3
    assert f"error: {root / SHOP} is out of date" in told
    assert "setting pin was removed" in told


def test_every_folder_is_named_and_none_is_committed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(root, TWO, "eu")
    project(root, ONE, "us")
    git(root, "add", "us")
    git(root, "commit", "--quiet", "-m", "us")
    before = state(root)

    code = run(["commit", *(str(root / name) for name in ("eu", "shop", "us"))])

    told = capsys.readouterr().err
    assert (code, state(root)) == (3, before)
    assert "eu/xplock.yaml is not committed\n" in told
    assert "shop/xplock.yaml has changes that are not committed\n" in told
    assert "us/" not in told


def test_another_repository_is_not_committed_to_either(root: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = shop(tmp_path / "b")
    (other / SHOP).write_bytes(TWO)
    before = state(other)

    code = run(["commit", str(other / "shop"), str(root / "shop")])

    assert (code, state(other)) == (3, before)


@pytest.mark.parametrize("options", [["--branch", "update"], ["--dry-run"]])
def test_another_branch_and_a_dry_run_are_refused_as_well(root: Path, options: list[str]) -> None:
    before = state(root)

    assert run(["commit", *options, str(root / "shop")]) == 3
    assert state(root) == before


def test_a_branch_that_starts_elsewhere_is_compared_with_where_it_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / "shop/xplock.yaml").write_text(MORE)
    save(root, "ask for more")
    (root / SHOP).write_bytes(CHANGED)

    refused = run(["commit", "--branch", "old", "--from", "HEAD~1", str(root / "shop")])
    accepted = run(["commit", "--branch", "new", str(root / "shop")])

    told = capsys.readouterr().err
    assert (refused, accepted) == (3, 0)
    assert "error: HEAD~1, where branch old starts, has other inputs than the lock was made from" in told
    assert "shop/xplock.yaml differs there" in told
    assert "add: --with-inputs\n" in told
    assert run(["commit", "--branch", "old", "--from", "HEAD~1", "--with-inputs", str(root / "shop")]) == 0


def test_a_branch_of_others_is_what_has_other_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    git(root, "checkout", "--quiet", "-b", "theirs")
    (root / "shop/xplock.yaml").write_text(MORE)
    save(root, "their change")
    git(root, "checkout", "--quiet", "main")
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", "--branch", "theirs", str(root / "shop")])

    told = capsys.readouterr().err
    assert code == 3
    assert "error: branch theirs has other inputs than the lock was made from" in told
    assert "bring that branch up to date, or name a new one" in told


def test_nothing_is_pushed_of_a_lock_that_was_committed_without_its_inputs(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    (root / "shop/xplock.yaml").write_text(MORE)
    (root / SHOP).write_bytes(CHANGED)
    git(root, "commit", "--quiet", "-m", "only the lock", SHOP)
    before = git(server, "rev-parse", "main")

    code = run(["commit", "--push", str(root / "shop")])

    assert (code, git(server, "rev-parse", "main")) == (3, before)


def test_a_lock_that_is_refused_is_not_written_either(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_repository(world.project("shop", "app:v1.0.0"))
    run(["-q", "lock", str(folder)])
    save(folder)
    world.project("shop", "app:v2.0.0")
    before = (folder / LOCK_FILE).read_bytes()

    code = run(["lock", "--commit", str(folder)])

    assert (code, (folder / LOCK_FILE).read_bytes()) == (3, before)
    assert "xplock.yaml has changes that are not committed" in capsys.readouterr().err


@pytest.mark.parametrize("kind", WORK_TREES)
def test_every_kind_of_work_tree_is_looked_into(tmp_path: Path, kind: str) -> None:
    root = WORK_TREES[kind](tmp_path)
    (root / "shop/xplock.yaml").write_text(MORE)
    (root / SHOP).write_bytes(CHANGED)

    refused = run(["commit", str(root / "shop")])
    accepted = run(["commit", "--with-inputs", str(root / "shop")])

    assert (refused, accepted) == (3, 0)
    assert paths_in(root) == [SHOP, "shop/xplock.yaml"]
    check_integrity(root)


# Kustomizations


def kustomized(root: Path) -> Path:
    """Make a folder whose kustomization builds on a base beside it, and lock and commit it."""
    folder = root / "clusters/eu"
    asks(root / "base/crossplane", "v1.0.0")
    (root / "base/crossplane/kustomization.yaml").write_text("resources: [app.yaml]\n")
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("resources: [../../base/crossplane]\n")
    return folder


@pytest.fixture
def eu(world: World) -> Path:
    """A committed folder with a kustomization."""
    root = new_repository(world.folder / "fleet")
    world.project("fleet/clusters", more="")
    folder = kustomized(root)
    layouts = f"layouts:\n  - prefix: xpkg.example.org\n    folder: {world.layout}\n"
    (folder / "xplock.yaml").write_text(layouts)
    assert run(["-q", "lock", str(folder)]) == 0
    save(root)
    return folder


def test_a_base_of_a_kustomization_has_to_be_committed(eu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = eu.parents[1]
    asks(root / "base/crossplane", "v2.0.0")
    (root / "base/crossplane/notes.txt").write_text("nothing that is read\n")
    before = state(root)

    refused = run(["lock", "--commit", "--with-inputs", str(eu)])
    told = capsys.readouterr().err
    after = state(root)
    git(root, "commit", "--quiet", "-am", "ask")
    accepted = run(["lock", "--commit", str(eu)])

    assert (refused, accepted) == (3, 0)
    assert before == after
    assert "why:  base/crossplane/app.yaml has changes that are not committed\n" in told
    assert "notes.txt" not in told
    assert paths_in(root) == [f"clusters/eu/{LOCK_FILE}"]


def test_files_that_a_kustomization_names_are_committed_with_it(eu: Path, tmp_path: Path) -> None:
    root = eu.parents[1]
    (eu / "packages").mkdir()
    asks(eu / "packages", "v2.0.0", "mine.yaml")
    (eu / "packages/scratch.yaml").write_text("nobody: names this\n")
    (eu / "kustomization.yaml").write_text("resources: [packages/mine.yaml]\n")

    code = run(["lock", "--commit", "--with-inputs", str(eu)])

    assert code == 0
    assert paths_in(root) == [
        f"clusters/eu/{LOCK_FILE}",
        "clusters/eu/kustomization.yaml",
        "clusters/eu/packages/mine.yaml",
    ]
    assert renders(root, "HEAD", "clusters/eu", tmp_path) == 0


def test_a_base_in_a_submodule_counts_as_it_is_recorded(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    base = new_repository(world.folder / "base")
    asks(base, "v1.0.0")
    (base / "kustomization.yaml").write_text("resources: [app.yaml]\n")
    save(base)
    root = new_repository(world.folder / "fleet")
    git(root, "submodule", "--quiet", "add", f"file://{base}", "base")
    set_author(root / "base")
    folder = world.project("fleet/eu")
    (folder / "kustomization.yaml").write_text("resources: [../base]\n")
    save(root)
    first = run(["lock", "--commit", str(folder)])
    asks(root / "base", "v2.0.0")
    save(root / "base")
    capsys.readouterr()

    moved = run(["lock", "--commit", str(folder)])
    told = capsys.readouterr().err
    save(root)

    assert (first, moved) == (0, 3)
    assert "why:  base/app.yaml has changes that are not committed\n" in told
    assert run(["lock", "--commit", str(folder)]) == 0


def test_a_kustomization_that_is_reached_through_a_link_is_found(eu: Path) -> None:
    root = eu.parents[1]
    (root / "current").symlink_to("base/crossplane")
    (eu / "kustomization.yaml").write_text("resources: [../../current]\n")
    save(root)
    run(["-q", "lock", "--new", str(eu)])
    asks(root / "base/crossplane", "v2.0.0")
    git(root, "commit", "--quiet", "-am", "ask")

    assert run(["lock", "--commit", str(eu)]) == 0


# Folders that are used


@pytest.fixture
def fleet(world: World) -> Path:
    """A committed repository: shop uses platform, and both are locked."""
    root = new_repository(world.folder / "fleet")
    platform = world.project("fleet/platform", "base:v1.0.0")
    shop = world.project("fleet/shop", "app:v1.0.0", more="uses: [../platform]\n")
    assert run(["-q", "lock", str(platform), str(shop)]) == 0
    save(root)
    return root


def test_the_lock_of_a_used_folder_has_to_be_committed(
    world: World, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("fleet/platform", "base:v1.1.0")
    git(fleet, "commit", "--quiet", "-am", "ask")
    both = [str(fleet / "platform"), str(fleet / "shop")]
    assert run(["-q", "lock", *both]) == 0

    refused = run(["commit", str(fleet / "shop")])
    told = capsys.readouterr().err
    accepted = run(["commit", *both])

    assert (refused, accepted) == (3, 0)
    assert f"platform/{LOCK_FILE} has changes that are not committed\n" in told
    [command] = [line.partition(": ")[2] for line in told.splitlines() if "xplock commit" in line]
    assert shlex.split(command)[-2:] == both


# With inputs


def test_with_inputs_the_folders_own_files_are_committed_and_no_others(root: Path) -> None:
    (root / "README").write_text("changed\n")
    (root / "shop/notes.txt").write_text("mine\n")
    (root / "shop/sub").mkdir()
    (root / "shop/sub/other.yaml").write_text("{}\n")

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert code == 0
    assert paths_in(root) == [SHOP, "shop/xplock.yaml"]
    assert text_at(root, "HEAD", "shop/xplock.yaml") == MORE.encode()
    assert git(root, "status", "--porcelain", "--untracked-files=all").split("\n") == [
        " M README",
        "?? shop/notes.txt",
        "?? shop/sub/other.yaml",
    ]


def test_with_inputs_new_and_deleted_files_follow(world: World, tmp_path: Path) -> None:
    folder = new_repository(world.project("shop"))
    asks(folder, "v1.0.0")
    run(["-q", "lock", str(folder)])
    save(folder)
    (folder / "app.yaml").rename(folder / "better.yaml")
    asks(folder, "v2.0.0", "better.yaml")

    code = run(["lock", "--commit", "--with-inputs", str(folder)])

    assert code == 0
    assert paths_in(folder) == ["app.yaml", "better.yaml", LOCK_FILE]
    assert git(folder, "status", "--porcelain") == ""
    assert renders(folder, "HEAD", ".", tmp_path) == 0


def test_with_inputs_the_first_commit_can_be_made(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repository")
    project(root)

    refused = run(["commit", str(root / "shop")])
    accepted = run(["commit", "--with-inputs", str(root / "shop")])

    assert (refused, accepted) == (3, 0)
    assert paths_in(root) == [SHOP, "shop/xplock.yaml"]


def test_with_inputs_a_lock_that_was_committed_alone_gets_them(root: Path) -> None:
    git(root, "commit", "--quiet", "-m", "only the lock", SHOP)

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert code == 0
    assert paths_in(root) == ["shop/xplock.yaml"]


def test_with_inputs_another_branch_gets_them_and_the_work_tree_stays(root: Path) -> None:
    before = git(root, "status", "--porcelain")

    code = run(["commit", "--with-inputs", "--branch", "update", str(root / "shop")])

    assert (code, git(root, "status", "--porcelain")) == (0, before)
    assert paths_in(root, "update") == [SHOP, "shop/xplock.yaml"]


def test_with_inputs_they_are_pushed_on_top_of_others(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    other = clone(server, tmp_path / "other")
    (other / "README").write_text("theirs\n")
    save(other)
    git(other, "push", "--quiet")
    (root / "shop/xplock.yaml").write_text(MORE)
    (root / SHOP).write_bytes(CHANGED)

    code = run(["commit", "--with-inputs", "--push", str(root / "shop")])

    assert code == 0
    assert paths_in(server, "main") == [SHOP, "shop/xplock.yaml"]
    assert text_at(server, "main", "README") == b"theirs\n"


def test_with_inputs_somebody_elses_change_of_an_input_is_not_overwritten(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    other = clone(server, tmp_path / "other")
    (other / "shop/xplock.yaml").write_text(ASKS + "pin: tag\n")
    theirs = save(other)
    git(other, "push", "--quiet")
    (root / "shop/xplock.yaml").write_text(MORE)
    (root / SHOP).write_bytes(CHANGED)

    code = run(["commit", "--with-inputs", "--push", str(root / "shop")])

    assert (code, git(server, "rev-parse", "main")) == (3, theirs)


def test_with_inputs_what_git_ignores_is_never_committed(root: Path) -> None:
    (root / "shop/secret.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata:\n  name: mine\n")
    (root / ".git/info/exclude").write_text("secret.yaml\n")

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert code == 0
    assert paths_in(root) == [SHOP, "shop/xplock.yaml"]


def test_with_inputs_a_lock_that_needs_what_git_ignores_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    line = ignored(root)
    (root / SHOP).write_bytes(CHANGED)
    before = state(root)

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert (code, state(root)) == (3, before)
    assert line in capsys.readouterr().err


def test_with_inputs_a_file_that_git_would_change_by_a_program_is_left_to_git(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / ".gitattributes").write_text("xplock.yaml filter=crypt\n")
    before = state(root)

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert (code, state(root)) == (3, before)
    assert "shop/xplock.yaml has changes that are not committed" in capsys.readouterr().err


def test_with_inputs_line_ends_are_stored_as_git_would_store_them(root: Path) -> None:
    (root / ".gitattributes").write_text("*.yaml text eol=crlf\n")
    (root / "shop/xplock.yaml").write_bytes(MORE.replace("\n", "\r\n").encode())

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert code == 0
    assert text_at(root, "HEAD", "shop/xplock.yaml") == MORE.encode()


def test_with_inputs_no_program_of_the_repository_is_run(root: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    plant_canaries(root, canary)
    (root / ".git/info/attributes").unlink()

    code = run(["commit", "--with-inputs", str(root / "shop")])

    assert (code, canary.exists()) == (0, False)


def test_json_lists_the_files_of_the_commit(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["commit", "--with-inputs", "-o", "json", str(root / "shop")])

    [made] = json.loads(capsys.readouterr().out)
    assert made["files"] == [SHOP, "shop/xplock.yaml"]


def test_a_hostile_tree_cannot_write_outside_of_the_scratch_folder(tmp_path: Path) -> None:
    root = shop(tmp_path)
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=root, input=b"gotcha", capture_output=True, check=True
    ).stdout.strip()
    inner = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        cwd=root,
        input=b"100644 ../../../canary.yaml\0" + bytes.fromhex(blob.decode()),
        capture_output=True,
        check=True,
    ).stdout.strip()
    tree = (
        subprocess.run(
            ["git", "mktree"],
            cwd=root,
            input=b"040000 tree " + inner + b"\tshop\n",
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    hostile = git(root, "commit-tree", "-m", "hostile", "-p", "HEAD", tree)
    git(root, "update-ref", "refs/heads/main", hostile)
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", str(root / "shop")])

    assert code != 0
    assert list(tmp_path.rglob("canary.yaml")) == []


# Overlays: the lock does not depend on them, but without them nothing can be rendered


PATCH = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: more
"""
OVERLAYS = ("production", "overlays/production", "../overlays/production")


@pytest.fixture
def overlaid(world: World) -> Callable[[str], Path]:
    """Make a repository in which `clusters/eu` has an overlay; it is locked, and only its overlay is not committed."""

    def make(overlay: str) -> Path:
        root = new_repository(world.folder / "fleet")
        folder = world.project("fleet/clusters/eu", "app:v1.0.0", more=f"overlay: {overlay}\n")
        save(root)
        (folder / overlay).mkdir(parents=True)
        (folder / overlay / "more.yaml").write_text(PATCH)
        (folder / overlay / "kustomization.yaml").write_text("resources: [more.yaml]\n")
        return folder

    return make


@pytest.mark.parametrize("options", [[], ["--with-inputs"], ["--branch", "update"]])
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_lock_of_a_folder_with_an_overlay_is_committed(
    overlaid: Callable[[str], Path], overlay: str, options: list[str], tmp_path: Path
) -> None:
    folder = overlaid(overlay)
    save(folder.parents[1])

    code = run(["lock", "--commit", *options, str(folder)])

    assert code == 0
    commit = git(folder, "rev-parse", "update" if "update" in options else "HEAD")
    assert paths_in(folder.parents[1], commit) == [f"clusters/eu/{LOCK_FILE}"]
    assert renders(folder.parents[1], commit, "clusters/eu", tmp_path) == 0


def test_an_overlay_that_is_reached_through_a_link_is_found(overlaid: Callable[[str], Path]) -> None:
    folder = overlaid("../overlays/production")
    (folder / "current").symlink_to("../overlays/production")
    text = (folder / "xplock.yaml").read_text()
    (folder / "xplock.yaml").write_text(text.replace("../overlays/production", "current"))
    save(folder.parents[1])

    assert run(["lock", "--commit", str(folder)]) == 0


def test_a_kustomization_and_an_overlay_are_both_found(eu: Path) -> None:
    root = eu.parents[1]
    (root / "overlay").mkdir()
    (root / "overlay/kustomization.yaml").write_text("namePrefix: ''\n")
    with (eu / "xplock.yaml").open("a") as file:
        file.write("overlay: ../../overlay\n")
    asks(root / "base/crossplane", "v2.0.0")
    save(root)

    assert run(["lock", "--commit", str(eu)]) == 0


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("missing", ["", "kustomization.yaml", "more.yaml"])
def test_an_overlay_has_to_be_committed(
    overlaid: Callable[[str], Path], overlay: str, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = overlaid(overlay)
    if missing:
        git(folder, "add", overlay)
        git(folder, "rm", "--quiet", "--cached", f"{overlay}/{missing}")
        git(folder, "commit", "--quiet", "-m", "a part")
    before = state(folder)

    code = run(["lock", "--commit", str(folder)])

    told = capsys.readouterr().err
    place = overlay.removeprefix("../") if overlay.startswith("..") else f"eu/{overlay}"
    assert (code, state(folder)) == (3, before)
    assert f"clusters/{place}/{missing or 'more.yaml'} is not committed\n" in told
    assert "tree/" not in told


def test_an_overlay_outside_of_the_repository_is_no_part_of_any_clone(
    overlaid: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = overlaid("../../../outside")

    code = run(["lock", "--commit", str(folder)])

    told = capsys.readouterr().err
    assert code == 3
    assert f"the files in {folder} have one problem; xplock.yaml: overlay: '../../../outside'" in told
    assert "  next: a clone of the repository has to have all that the folder names" in told


def test_with_inputs_an_overlay_in_the_folder_is_committed(
    overlaid: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = overlaid("production")

    code = run(["lock", "--commit", "--with-inputs", str(folder)])

    assert code == 0
    files = ("crossplane.lock.yaml", "production/kustomization.yaml", "production/more.yaml")
    assert paths_in(folder) == [f"clusters/eu/{name}" for name in files]
    assert renders(folder.parents[1], "HEAD", "clusters/eu", tmp_path) == 0


def test_a_commit_that_cannot_be_read_is_described_by_the_users_own_paths(
    eu: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = eu.parent / "us"
    folder.mkdir()
    (folder / "xplock.yaml").write_text((eu / "xplock.yaml").read_text())
    asks(folder, "v1.0.0")
    save(eu.parents[1])
    run(["-q", "lock", str(folder)])
    for number in range(3):
        (folder / f"{number}.yaml").write_text(PATCH.replace("more", f"more-{number}"))
    save(eu.parents[1])
    for number in range(3):
        (folder / f"{number}.yaml").unlink()
    (folder / LOCK_FILE).write_bytes((folder / LOCK_FILE).read_bytes() + b"# changed\n")
    monkeypatch.setenv("XPLOCK_LIMIT_FILES", "3")

    code = run(["commit", str(folder)])

    told = capsys.readouterr().err
    assert code != 0
    assert f"{folder} has too many YAML files" in told
    assert "tree" not in told
