"""An error about a folder that asks for nothing names the project folders near it."""

from pathlib import Path

import pytest
from rig.commands.run import run_command

from render.inputs.projects import NothingAsked, read_inputs
from render.limits import Limits
from render.settings import SETTINGS_FILE


def project(path: Path, name: str = "crossplane.lock.yaml") -> Path:
    path.mkdir(parents=True)
    (path / name).write_text("")
    return path


def error_of(folder: Path) -> NothingAsked:
    with pytest.raises(NothingAsked) as caught:
        read_inputs(folder, Limits(), {})
    return caught.value


def test_project_folders_below_are_named(tmp_path: Path) -> None:
    one, two = project(tmp_path / "clusters" / "a"), project(tmp_path / "clusters" / "b", "xplock.yaml")
    project(tmp_path / ".hidden")

    assert error_of(tmp_path).next == ("name one of these project folders:", str(one), str(two))


def test_the_project_folder_above_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = project(tmp_path / "platform") / "docs" / "more"
    folder.mkdir(parents=True)

    assert error_of(folder).next == ("name the project folder:", str(folder.parent.parent))


def test_a_folder_above_the_repository_is_not_named(tmp_path: Path) -> None:
    folder = project(tmp_path / "platform") / "repository"
    (folder / ".git").mkdir(parents=True)

    assert "kind: Provider" in error_of(folder).next


def test_only_a_few_of_many_folders_are_named(tmp_path: Path) -> None:
    for i in range(9):
        project(tmp_path / f"p{i}")

    assert len(error_of(tmp_path).next) == 6


def test_project_folders_beside_are_named_within_a_repository(tmp_path: Path) -> None:
    folder, other = tmp_path / "clusters/new", tmp_path / "clusters/two words"
    (tmp_path / ".git").mkdir()
    folder.mkdir(parents=True)
    other.mkdir()
    (other / SETTINGS_FILE).touch()

    assert error_of(folder).next == ("name the project folder:", f"'{other}'")


def test_a_misspelled_folder_and_a_file_are_answered_with_the_project_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = tmp_path / "clusters/two"
    two.mkdir(parents=True)
    (two / SETTINGS_FILE).write_text("roots: []\n")
    monkeypatch.chdir(tmp_path)

    for name in ("clusters/tow", "clusters/two/xplock.yaml"):
        done = run_command("lock", name)

        assert done.code == 2
        assert "did you mean clusters/two?" in done.stderr
