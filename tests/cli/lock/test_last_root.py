"""A folder that asks for nothing any more: its packages leave as any other does, and an empty set is never rendered."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from rig.builders.projects import at, locked, small_world, text_of
from rig.git.repositories import git, new_repository, save

from render.cli.run import run
from render.limits import Limits
from render.lock.model import State
from render.lock.text.file import read_lock
from render.system.files import LOCK_FILE

MANIFEST = (
    "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {{name: app}}\nspec: {{package: {}}}\n"
)
META = (
    "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {{name: here}}\nspec:\n"
    "  dependsOn: [{{configuration: {}, version: v1.0.0}}]\n"
)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder that asked for app, which needs base, and does not any more."""
    folder = small_world(tmp_path).project("shop", "app:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    return empty(folder)


def empty(folder: Path) -> Path:
    """Take all roots out of the settings of a folder."""
    settings = folder / "xplock.yaml"
    settings.write_text(settings.read_text().replace(f"roots:\n  - package: {at('app')}:v1.0.0\n", ""))
    return folder


def done(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, what it printed, and what it said."""
    capsys.readouterr()
    code = run(list(words))
    output = capsys.readouterr()
    return code, output.out, output.err


def kinds(text: str) -> list[str]:
    return [value["kind"] for value in yaml.safe_load_all(text)]


def release(folder: Path) -> None:
    """Lock a folder that asks for nothing, and take the guards of its packages off."""
    assert run(["-q", "lock", str(folder)]) == 0
    assert run(["-q", "retire", at("app"), at("base"), "-C", str(folder)]) == 0


def retire_everything(folder: Path) -> None:
    release(folder)
    for left in (["app", "base"], ["base"]):
        assert run(["-q", "retire", *map(at, left), "-C", str(folder), "--synced"]) == 0


def test_a_folder_without_roots_orphans_what_it_had(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, _ = done(capsys, "lock", str(shop))

    assert (code, locked(shop)) == (0, {"app": "v1.0.0", "base": "v1.1.0"})
    assert "2 packages, 2 leaving, 0 unchanged" in output
    lock = read_lock(shop, Limits())
    assert lock and {package.state for package in lock.packages.values()} == {State.ORPHANED}


@pytest.mark.parametrize("command", ["render", "check", "tree", "outdated", "verify"])
def test_every_command_works_on_a_folder_whose_packages_are_leaving(
    shop: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["-q", "lock", str(shop)]) == 0

    code, output, errors = done(capsys, command, str(shop))

    assert code == 0 and "error" not in errors
    assert command not in ("render", "tree") or at("app") in output


@pytest.mark.parametrize("command", [["lock", "--check"], ["lock", "--dry-run"], ["render", "--resolve"]])
def test_what_writes_nothing_works_too(
    shop: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(shop)

    code, _, _ = done(capsys, *command, str(shop))

    assert code == (3 if "--check" in command else 0)
    assert text_of(shop) == before


@pytest.mark.parametrize("command", ["render", "check"])
def test_a_lock_that_still_has_the_root_is_out_of_date(
    shop: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output, errors = done(capsys, command, str(shop))

    assert code == 3
    assert f"root {at('app')} was removed" in output + errors


def test_the_last_packages_are_retired_in_two_steps(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    retire_everything(shop)

    assert locked(shop) == {}
    for command in (["lock"], ["lock", "--check"], ["tree"], ["outdated"], ["verify"]):
        code, _, errors = done(capsys, *command, str(shop))
        assert (command, code) == (command, 0) and "error" not in errors


def test_check_reports_a_folder_with_nothing_left_before_argo_cd_does(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retire_everything(shop)

    code, output, _ = done(capsys, "check", str(shop))

    assert code == 2
    assert f"not-renderable: {shop} has nothing to render" in output


def test_the_step_that_drops_the_last_package_says_what_is_next(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release(shop)
    assert run(["-q", "retire", at("app"), at("base"), "-C", str(shop), "--synced"]) == 0

    code, _, errors = done(capsys, "retire", at("base"), "-C", str(shop), "--synced")

    assert code == 0
    assert f"In {shop} no package is left" in errors
    assert "delete its Application" in errors


@pytest.mark.parametrize("form", [[], ["--resolve"], ["--out", "rendered"], ["-o", "json"]])
def test_a_folder_with_nothing_left_never_renders_an_empty_set(
    shop: Path,
    form: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    retire_everything(shop)
    monkeypatch.chdir(tmp_path)

    code, output, errors = done(capsys, "render", str(shop), *form)

    assert code == 2
    assert json.loads(output).keys() == {"error"} if "json" in form else output == ""
    assert f"error: {shop} has nothing to render\n" in errors
    assert "delete its Application" in errors
    assert not (tmp_path / "rendered").exists()


def test_other_objects_of_a_folder_with_nothing_left_are_rendered(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retire_everything(shop)
    (shop / "notes.yaml").write_text(CONFIG_MAP)

    code, output, _ = done(capsys, "render", str(shop))

    assert (code, kinds(output)) == (0, ["ConfigMap"])


def test_an_empty_folder_starts_again_with_a_new_root(shop: Path) -> None:
    retire_everything(shop)
    (shop / "tool.yaml").write_text(MANIFEST.format(at("tool")))

    assert run(["-q", "lock", str(shop)]) == 0

    assert locked(shop) == {"tool": "v1.0.0", "base": "v2.0.0"}


def test_a_root_that_returns_has_its_name_and_version_again(shop: Path) -> None:
    assert run(["-q", "lock", str(shop)]) == 0
    (shop / "app.yaml").write_text(MANIFEST.format(at("app")).replace("name: app", "name: acme-app"))

    assert run(["-q", "lock", str(shop)]) == 0

    assert locked(shop) == {"app": "v1.0.0", "base": "v1.1.0"}


def _manifest(folder: Path) -> Path:
    (folder / "app.yaml").write_text(MANIFEST.format(at("app:v1.0.0")))
    return folder / "app.yaml"


def _package_on_disk(folder: Path) -> Path:
    (folder / "crossplane.yaml").write_text(META.format(at("app")))
    return folder / "crossplane.yaml"


def _kustomization(folder: Path) -> Path:
    (folder / "kustomization.yaml").write_text("resources: [sub/app.yaml]\n")
    (folder / "sub").mkdir()
    _manifest(folder / "sub")
    return folder / "sub" / "app.yaml"


def _empty_kustomization(folder: Path) -> Path:
    """The kustomization builds, and yields no package any more."""
    path = _kustomization(folder)
    (folder / "kustomization.yaml").write_text("resources: [sub/notes.yaml, sub/app.yaml]\n")
    (folder / "sub" / "notes.yaml").write_text(CONFIG_MAP)
    return path


@pytest.mark.parametrize("write", [_manifest, _package_on_disk, _empty_kustomization])
def test_it_does_not_matter_where_the_root_was(
    tmp_path: Path, write: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_world(tmp_path).project("shop")
    path = write(folder)
    assert run(["-q", "lock", str(folder)]) == 0
    path.unlink()
    listing = folder / "kustomization.yaml"
    if listing.exists():
        listing.write_text("resources: [sub/notes.yaml]\n")

    assert run(["-q", "lock", str(folder)]) == 0

    code, output, _ = done(capsys, "render", str(folder))
    assert (code, kinds(output).count("Configuration")) == (0, 2)


def test_a_folder_that_is_left_with_only_uses_is_no_error(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    platform = world.project("platform", "base:v1.1.0")
    folder = world.project("shop", "app:v1.0.0", more="uses: [../platform]\n")
    assert run(["-q", "lock", str(platform), str(folder)]) == 0

    assert run(["-q", "lock", str(platform), str(empty(folder))]) == 0

    assert locked(folder) == {"app": "v1.0.0"}
    assert run(["-q", "check", str(platform), str(folder)]) == 0


def test_without_a_guard_everything_goes_at_once_and_is_still_never_rendered_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_world(tmp_path).project("shop", "app:v1.0.0", more="guard: false\n")
    assert run(["-q", "lock", str(folder)]) == 0

    code, output, errors = done(capsys, "lock", str(empty(folder)))

    assert (code, locked(folder)) == (0, {})
    assert "0 packages, 2 removed, 0 unchanged" in output
    assert "warning: no package is left" in errors
    assert done(capsys, "render", str(folder))[:2] == (2, "")


def test_the_difference_is_shown(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "old").mkdir()
    shutil.copy(shop / LOCK_FILE, shop / "old")
    retire_everything(shop)

    code, output, _ = done(capsys, "diff", str(shop / "old"), str(shop), "-o", "json")

    assert code == 0
    assert len(json.loads(output)["removed"]) == 2


# A folder that was never locked


@pytest.mark.parametrize("command", ["lock", "render", "tree", "outdated", "verify"])
def test_a_folder_that_was_never_locked_asks_for_nothing(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    code, output, errors = done(capsys, command, str(tmp_path / "empty"))

    assert (code, output) == (2, "")
    assert f"error: {tmp_path / 'empty'} asks for no package\n" in errors
    assert list((tmp_path / "empty").iterdir()) == []


def test_check_gives_one_advice_for_it_and_not_a_command_that_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    code, output, _ = done(capsys, "check", str(tmp_path / "empty"), "-o", "json")

    assert code == 2
    assert [finding["rule"] for finding in json.loads(output)] == ["inputs-invalid"]
    assert "xplock lock" not in output


def test_starting_over_needs_something_to_start_with(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text_of(shop)

    code, _, errors = done(capsys, "lock", "--new", str(shop))

    assert (code, text_of(shop)) == (2, before)
    assert "asks for no package" in errors


def test_a_folder_whose_lock_was_removed_too_is_told_to_bring_it_back(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = new_repository(shop.parent / "repository")
    folder = shutil.copytree(shop, repository / "shop")
    save(repository, "everything")
    git(repository, "rm", "--quiet", "-r", "shop")
    folder.mkdir()

    code, _, errors = done(capsys, "lock", str(folder))

    assert code == 2
    assert "is gone, and the last commit has one" in errors
    assert f"git -C {folder} checkout HEAD -- {LOCK_FILE}" in errors
