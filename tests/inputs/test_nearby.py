"""An error about a folder that asks for nothing names the project folders near it."""

from pathlib import Path

import pytest

from render.inputs.projects import NothingAsked, read_inputs
from render.limits import Limits


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

    assert error_of(folder).next == ("name the project folder:", f"{folder}/../..")


def test_a_folder_above_the_repository_is_not_named(tmp_path: Path) -> None:
    folder = project(tmp_path / "platform") / "repository"
    (folder / ".git").mkdir(parents=True)

    assert "kind: Provider" in error_of(folder).next


def test_only_a_few_of_many_folders_are_named(tmp_path: Path) -> None:
    for i in range(9):
        project(tmp_path / f"p{i}")

    assert len(error_of(tmp_path).next) == 6
