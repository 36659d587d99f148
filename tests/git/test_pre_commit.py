"""Our hooks in the real pre-commit: when they run, what they see, and what they refuse."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rig.builders.packages import PROVIDER, build_file
from rig.builders.projects import World, locked, small_world, text_of
from rig.commands.run import run_command
from rig.deploy.kustomize import TOP, parsed
from rig.git.pre_commit import (
    CONFIG,
    REV,
    Attempt,
    Hooks,
    attempt,
    commit,
    configure,
    install_hooks,
    pre_commit,
)
from rig.git.repositories import check_integrity, git, new_repository, save
from rig.registry.docker import RunningRegistry

from render.app.scaffold.choices import Choices
from render.app.scaffold.pieces import format_piece
from render.cli.run import run
from render.system.files import LOCK_FILE

SHOP = "clusters/shop"
MANIFEST = TOP / ".pre-commit-hooks.yaml"
CHECK = {"id": "xplock-check", "args": [SHOP]}
LOCK = {"id": "xplock-lock", "args": [SHOP]}
LOCKING = ("run", "xplock-lock", "--hook-stage", "manual", "--all-files")
PASSED = re.compile(r"^xplock check\.+Passed$", re.MULTILINE)
SKIPPED = re.compile(r"^xplock check\.+\(no files to check\)Skipped$", re.MULTILINE)
# Python imports a module of this name before anything else.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise ConnectionRefusedError(event)

sys.addaudithook(refuse)
"""


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    """What pre-commit installed out of this checkout, once for all tests."""
    return install_hooks(tmp_path_factory.mktemp("hooks"))


@pytest.fixture(autouse=True)
def home(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pre-commit find what is installed."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(hooks.home))


@pytest.fixture
def root(tmp_path: Path, hooks: Hooks) -> Path:
    """A repository with both hooks, and a project that is locked and committed."""
    root = new_repository(tmp_path / "repository")
    small_world(tmp_path)
    ask(root, "app:v1.0.0")
    assert run(["-q", "lock", str(root / SHOP)]) == 0
    configure(root, hooks, CHECK, LOCK)
    save(root)
    assert pre_commit(root, "install", "-t", "pre-commit", "-t", "pre-merge-commit").code == 0
    return root


def ask(root: Path, *packages: str, folder: str = SHOP) -> Path:
    """Let a folder of a repository ask for packages."""
    return World(root.parent).project(f"{root.name}/{folder}", *packages)


def stage(root: Path, *paths: str) -> None:
    git(root, "add", "--", *(paths or (".",)))


def reconfigure(root: Path, hooks: Hooks, *used: Mapping[str, object]) -> None:
    """Use other hooks from now on; pre-commit wants that staged."""
    configure(root, hooks, *used)
    stage(root, CONFIG)


def is_refused(done: Attempt, rule: str = "lock-stale", folder: str = SHOP) -> bool:
    """Tell whether the check failed for this reason."""
    lines = done.output.splitlines()
    return (
        done.code == 1
        and any(re.fullmatch(r"xplock check\.+Failed", line) for line in lines)
        and any(line.startswith(f"{folder}: {rule}: ") for line in lines)
    )


def hook_of(manifest: Any, name: str) -> dict[str, Any]:
    [hook] = [hook for hook in manifest if hook["id"] == name]
    return dict(hook)


@pytest.fixture(scope="module")
def manifest() -> Any:
    """The hooks that this repository offers."""
    [hooks] = parsed(MANIFEST.read_bytes())
    return hooks


def test_pre_commit_accepts_the_manifest() -> None:
    done = pre_commit(TOP, "validate-manifest", str(MANIFEST))

    assert done == (0, "")


def test_the_check_hook_runs_on_every_commit_and_the_lock_hook_by_hand(manifest: Any) -> None:
    assert [(hook["id"], hook["entry"], hook["stages"]) for hook in manifest] == [
        ("xplock-check", "xplock check", ["pre-commit", "pre-merge-commit", "pre-push"]),
        ("xplock-lock", "xplock lock", ["manual"]),
    ]
    assert [hook["pass_filenames"] for hook in manifest] == [False, False]
    assert [hook["language"] for hook in manifest] == ["python", "python"]


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        (f"{SHOP}/{LOCK_FILE}", True),
        (f"{SHOP}/xplock.yaml", True),
        ("provider.yml", True),
        ("crossplane.yaml", True),
        ("Kustomization", True),
        (f"{SHOP}/Kustomization", True),
        ("README.md", False),
        ("docs/yaml/index.html", False),
        ("xplock.yaml.orig", False),
        ("Kustomization.md", False),
        ("render/yaml/writer.py", False),
    ],
)
def test_only_relevant_files_start_a_check(manifest: Any, path: str, concerns: bool) -> None:
    # As pre-commit looks for it.
    assert bool(re.search(hook_of(manifest, "xplock-check")["files"], path)) is concerns


def test_the_scaffold_has_the_same_hooks_for_the_installed_command(manifest: Any) -> None:
    [config] = parsed(format_piece("pre-commit", Choices(path=".")).encode())

    # In a repository of its own a hook has no environment, no description and no other users.
    ours = (
        "additional_dependencies",
        "args",
        "description",
        "language",
        "minimum_pre_commit_version",
        "require_serial",
    )
    assert [_without(hook, ours) for hook in config["repos"][0]["hooks"]] == [
        _without(hook, ours) for hook in manifest
    ]


def _without(hook: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in hook.items() if key not in names}


def test_a_lock_that_is_up_to_date_is_committed(root: Path) -> None:
    ask(root, "app:v2.0.0")
    run(["-q", "lock", str(root / SHOP)])
    stage(root)

    done = commit(root)

    assert done.code == 0
    assert PASSED.search(done.output)
    # Nobody asked for it.
    assert "xplock lock" not in done.output


def test_a_lock_that_is_out_of_date_is_refused_with_the_reason(root: Path) -> None:
    before = git(root, "rev-parse", "HEAD")
    ask(root, "app:v2.0.0")
    stage(root)

    done = commit(root)

    assert is_refused(done)
    assert "- exit code: 3\n" in done.output
    assert f"{SHOP}/{LOCK_FILE} is out of date" in done.output
    assert "xpkg.example.org/acme/app" in done.output
    assert git(root, "rev-parse", "HEAD") == before


def test_a_commit_without_yaml_is_not_checked(root: Path) -> None:
    ask(root, "app:v2.0.0")
    stage(root)
    git(root, "commit", "--no-verify", "--message", "a lock that would be refused")
    (root / "README.md").write_text("read me\n")
    stage(root)

    done = commit(root)

    assert done.code == 0
    assert SKIPPED.search(done.output)


def test_a_link_alone_is_checked(root: Path) -> None:
    deeper = root / SHOP / "deeper/tool.yaml"
    deeper.parent.mkdir()
    deeper.write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: tool}\n"
        "spec: {package: 'xpkg.example.org/acme/tool:v1.0.0'}\n"
    )
    stage(root)
    assert PASSED.search(commit(root).output)
    (root / SHOP / "tool.yaml").symlink_to("deeper/tool.yaml")
    stage(root)

    assert is_refused(commit(root))


def test_a_commit_that_only_deletes_is_checked_if_the_hook_always_runs(root: Path, hooks: Hooks) -> None:
    git(root, "rm", "--quiet", f"{SHOP}/{LOCK_FILE}")

    # pre-commit names no file that is gone.
    overlooked = pre_commit(root, "run")
    reconfigure(root, hooks, {**CHECK, "always_run": True})
    done = commit(root)

    assert overlooked.code == 0
    assert SKIPPED.search(overlooked.output)
    assert is_refused(done, "lock-missing")


def test_staged_content_is_checked_and_unstaged_content_is_restored(root: Path) -> None:
    before = text_of(root / SHOP)
    settings = root / SHOP / "xplock.yaml"
    ask(root, "app:v2.0.0")
    stage(root)
    run(["-q", "lock", str(root / SHOP)])
    fresh = text_of(root / SHOP)

    # The work tree agrees with itself; what would be committed does not.
    stale = commit(root)
    kept = text_of(root / SHOP)
    stage(root)
    ask(root, "old:v1.0.0")
    asked = settings.read_bytes()
    good = commit(root)

    assert is_refused(stale)
    assert before != fresh == kept
    assert good.code == 0
    assert PASSED.search(good.output)
    assert settings.read_bytes() == asked


def test_an_untracked_manifest_counts(root: Path) -> None:
    (root / SHOP / "config.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    stage(root)
    (root / SHOP / "tool.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: tool}\n"
        "spec: {package: 'xpkg.example.org/acme/tool:v1.0.0'}\n"
    )

    assert is_refused(commit(root))


def _linked(root: Path) -> Path:
    git(root, "worktree", "add", "--quiet", "-b", "linked", str(root.parent / "linked"))
    return root.parent / "linked"


def _submodule(root: Path) -> Path:
    above = new_repository(root.parent / "above")
    git(above, "submodule", "--quiet", "add", f"file://{root}", "inner")
    for key in ("user.name", "user.email"):
        git(above / "inner", "config", key, git(root, "config", key))
    assert pre_commit(above / "inner", "install").code == 0
    return above / "inner"


# Git gives hooks another index or another repository's folder in each of these.
WAYS: Mapping[str, tuple[Callable[[Path], Path], str, list[str]]] = {
    "all that changed": (lambda root: root, ".", ["--all"]),
    "paths, whatever is staged": (lambda root: root, ".", ["--", SHOP]),
    "from below": (lambda root: root, SHOP, ["--all"]),
    "in a linked work tree": (_linked, ".", ["--all"]),
    "in a submodule": (_submodule, SHOP, ["--all"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_however_a_commit_is_made_the_hook_sees_it(root: Path, way: str) -> None:
    place, below, options = WAYS[way]
    tree = place(root)
    settings, lock = tree / SHOP / "xplock.yaml", tree / SHOP / LOCK_FILE
    settings.write_text(settings.read_text().replace("app:v1.0.0", "app:v2.0.0"))

    stale = commit(tree / below, *options)
    run(["-q", "lock", str(tree / SHOP)])
    good = commit(tree / below, *options)

    assert is_refused(stale)
    assert (good.code, bool(PASSED.search(good.output))) == (0, True)
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "show", f"HEAD:{SHOP}/{LOCK_FILE}") == lock.read_text().rstrip("\n")


def test_a_merge_is_checked_before_it_is_committed(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "side")
    ask(root, "app:v2.0.0")
    stage(root)
    git(root, "commit", "--no-verify", "--message", "a lock that would be refused")
    git(root, "checkout", "--quiet", "main")

    done = attempt(root, "git", "merge", "--no-ff", "--no-edit", "side")

    assert is_refused(done)


def test_locking_fails_once_because_it_has_changed_a_file(root: Path) -> None:
    ask(root, "app:v2.0.0")

    first = pre_commit(root, *LOCKING)
    written = text_of(root / SHOP)
    second = pre_commit(root, *LOCKING)

    assert first.code == 1
    assert "- files were modified by this hook\n" in first.output
    assert "Updated  xpkg.example.org/acme/app v1.0.0 -> v2.0.0 (major; asked for)\n" in first.output
    assert locked(root / SHOP) == {"app": "v2.0.0", "base": "v2.0.0"}
    # Told although nothing is wrong.
    assert second.code == 0
    assert f"{SHOP}/{LOCK_FILE}: 2 packages, 2 unchanged\n" in second.output
    assert text_of(root / SHOP) == written


def test_the_lock_hook_runs_without_staged_files(root: Path) -> None:
    settings = ask(root, "app:v2.0.0") / "xplock.yaml"
    asked = settings.read_bytes()

    done = pre_commit(root, "run", "xplock-lock", "--hook-stage", "manual")

    assert done.code == 0
    assert f"{SHOP}/{LOCK_FILE}: 2 packages, 2 unchanged\n" in done.output
    assert locked(root / SHOP) == {"app": "v1.0.0", "base": "v1.1.0"}
    assert settings.read_bytes() == asked


def test_the_lock_hook_asks_registries_and_the_check_hook_does_not(
    root: Path, hooks: Hooks, open_registry: RunningRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, folder = open_registry.host, "clusters/online"
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", host)
    file = build_file(tmp_path / "provider.xpkg", {"crossplane.yaml": PROVIDER})
    assert run_command("package", "push", str(file), f"{host}/hooks/provider:v1.0.0").code == 0
    (root / folder).mkdir()
    (root / folder / "xplock.yaml").write_text(f"roots:\n  - package: {host}/hooks/provider\n")
    reconfigure(root, hooks, {**CHECK, "args": [folder]}, {**LOCK, "args": [folder]})
    (tmp_path / "offline").mkdir()
    (tmp_path / "offline/sitecustomize.py").write_text(NO_NETWORK)
    offline = {"PYTHONPATH": str(tmp_path / "offline")}

    cut_off = pre_commit(root, *LOCKING, environ=offline)
    online = pre_commit(root, *LOCKING)
    stage(root)
    checked = commit(root, environ=offline)

    assert "- exit code: 1\n" in cut_off.output
    assert online.code == 0
    assert f"Added    {host}/hooks/provider v1.0.0 (asked for)\n" in online.output
    assert checked.code == 0
    assert PASSED.search(checked.output)


def test_the_lock_hook_finds_its_repository(root: Path, hooks: Hooks) -> None:
    reconfigure(root, hooks, {**LOCK, "stages": ["pre-commit"]})
    assert commit(root).code == 0
    tree = _linked(root)
    git(tree, "rm", "--quiet", f"{SHOP}/{LOCK_FILE}")

    done = commit(tree)

    # Only HEAD of this work tree knows that there was a lock.
    assert done.code == 1
    assert "--new" in done.output
    assert not (tree / SHOP / LOCK_FILE).exists()


def test_committing_a_lock_within_a_commit_is_refused_and_breaks_nothing(root: Path, hooks: Hooks) -> None:
    reconfigure(root, hooks, {**LOCK, "args": ["--commit", SHOP], "stages": ["pre-commit"]})
    before = git(root, "rev-parse", "HEAD")
    ask(root, "app:v2.0.0")

    done = commit(root, "--all")

    assert done.code == 1
    assert f"{SHOP}/xplock.yaml has changes that are not committed" in done.output
    assert git(root, "rev-parse", "HEAD") == before
    check_integrity(root)


def test_without_folders_the_top_of_the_repository_is_checked(root: Path, hooks: Hooks) -> None:
    reconfigure(root, hooks, {"id": "xplock-check"})
    shutil.copytree(root / SHOP, root, dirs_exist_ok=True)
    stage(root)
    at_top = commit(root)
    for name in ("xplock.yaml", LOCK_FILE):
        (root / name).unlink()
    (root / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    stage(root)

    elsewhere = commit(root)

    assert PASSED.search(at_top.output)
    # Whoever forgets to name the folders is told.
    assert is_refused(elsewhere, "inputs-invalid", ".")


@pytest.mark.parametrize(
    "several",
    [
        {"args": [SHOP, "clusters/other"]},
        # A hook's arguments are no patterns; a shell's are.
        {"entry": "sh -c 'xplock check clusters/*'"},
    ],
    ids=["by name", "by pattern"],
)
def test_several_folders_are_checked_together(root: Path, hooks: Hooks, several: dict[str, object]) -> None:
    reconfigure(root, hooks, {"id": "xplock-check", **several})
    ask(root, "tool:v1.0.0", folder="clusters/other")
    run(["-q", "lock", str(root / "clusters/other")])
    stage(root)
    good = commit(root)
    ask(root, "old:v1.0.0", folder="clusters/other")
    stage(root)

    stale = commit(root)

    assert PASSED.search(good.output)
    assert is_refused(stale, folder="clusters/other")
    assert not re.search(rf"^{SHOP}: ", stale.output, re.MULTILINE)


def test_the_hooks_of_init_work_with_the_installed_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    root = new_repository(tmp_path / "repository")
    small_world(tmp_path)
    ask(root, "app:v1.0.0")
    monkeypatch.chdir(root)
    assert run(["-q", "init", SHOP]) == 0

    installed = pre_commit(root, "install")
    stage(root)
    missing = commit(root)
    pre_commit(root, *LOCKING)
    stage(root)
    good = commit(root)

    assert installed.output == "".join(
        f"pre-commit installed at .git/hooks/{name}\n" for name in ("pre-commit", "pre-merge-commit")
    )
    assert is_refused(missing, "lock-missing")
    assert good.code == 0
    assert PASSED.search(good.output)
    assert "warn" not in (missing.output + good.output).lower()


def test_the_hooks_of_the_page_for_ci_work(hooks: Hooks, tmp_path: Path) -> None:
    page = (TOP / "docs/ci.md").read_text()
    section = page.partition("\n## Check before every commit\n")[2].partition("\n## ")[0]
    [block] = re.findall(r"^```yaml\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    install, check, lock = (
        shlex.split(text) for text in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    )
    [config] = parsed(block.encode())
    [repository] = config["repos"]
    root = new_repository(tmp_path / "repository")
    small_world(tmp_path)
    (root / CONFIG).write_text(block.replace(repository["repo"], str(hooks.source)))
    for folder in repository["hooks"][0]["args"]:
        ask(root, "app:v1.0.0", folder=folder)
    stage(root)

    installed = pre_commit(root, *install[1:])
    missing = [pre_commit(root, *check[1:]), commit(root)]
    locking = pre_commit(root, *lock[1:])
    stage(root)
    good = [pre_commit(root, *check[1:]), commit(root)]

    assert repository["rev"] == REV
    assert {program for program, *_ in (install, check, lock)} == {"pre-commit"}
    assert installed.code == 0
    first, *others = repository["hooks"][0]["args"]
    assert [is_refused(done, "lock-missing", first) for done in missing] == [True, True]
    assert [f"\n  also in {', '.join(others)}\n" in done.output for done in missing] == [True, True]
    # What git did not know before has not changed.
    assert locking.code == 0
    assert [(done.code, bool(PASSED.search(done.output))) for done in good] == [(0, True), (0, True)]
    assert git(root, "status", "--porcelain") == ""
