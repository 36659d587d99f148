"""Folders that use a folder are found where they are in reach."""

import os
from pathlib import Path

import pytest
from rig.builders.catalogs import named
from rig.builders.locks import lock, provided

from render.folders.users import Users, needed_packages
from render.limits import Limits


def write(folder: Path, *uses: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "xplock.yaml").write_text(f"uses: [{', '.join(uses)}]\n" if uses else "pin: tag\n")
    return folder


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a folder that others use, below the current folder."""
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    write(tmp_path / "repository" / "shared" / "platform")
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"


def users(folder: str = "shared/platform") -> list[str]:
    return [str(path) for path in Users(Limits()).of(Path(folder))]


def test_folders_anywhere_in_the_repository_are_found(repository: Path) -> None:
    write(repository / "reef", "../shared/platform")
    write(repository / "clusters" / "eu" / "atoll", "../../../shared/platform")
    write(repository / "alone")

    assert users() == ["clusters/eu/atoll", "reef"]


def test_a_folder_that_uses_it_through_another_one_is_found(repository: Path) -> None:
    write(repository / "middle", "../shared/platform")
    write(repository / "top", "../middle")

    assert users() == ["middle", "top"]


def test_their_names_are_paths_from_the_current_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository / "reef", "../shared/platform")
    monkeypatch.chdir(repository / "shared" / "platform")

    assert users(".") == ["../../reef"]


def test_nothing_outside_of_the_repository_is_read(repository: Path) -> None:
    write(repository.parent / "elsewhere", "../repository/shared/platform")

    assert users() == []


def test_without_a_repository_the_folders_beside_it_are_read(tmp_path: Path) -> None:
    platform = write(tmp_path / "platform")
    reef = write(tmp_path / "reef", "../platform")

    assert Users(Limits()).of(platform) == [Path(os.path.relpath(reef))]


def test_folders_below_hidden_ones_and_deep_ones_are_found(repository: Path) -> None:
    deep = Path(*"abcdefghijkl")
    write(repository / ".clusters" / "reef", "../../shared/platform")
    write(repository / deep, f"{'../' * 12}shared/platform")

    assert users() == [".clusters/reef", str(deep)]


def test_folders_that_the_command_names_are_found_anywhere(repository: Path) -> None:
    away = write(repository.parent / "one" / "two" / "reef", "../../../repository/shared/platform")
    middle = write(repository.parent / "far" / "middle", "../../one/two/reef")

    found = Users(Limits(), [middle, away]).of(Path("shared/platform"))

    assert [path.resolve() for path in found] == [middle, away]


def test_links_invalid_settings_and_the_folder_of_git_are_passed_over(repository: Path) -> None:
    write(repository / ".git" / "reef", "../../shared/platform")
    (repository / "link").symlink_to(write(repository / "reef", "../shared/platform"))
    (repository / "loop").symlink_to(repository)
    broken = write(repository / "broken", "../shared/platform")
    (broken / "xplock.yaml").write_text("uses: [unclosed\n")

    assert users() == ["reef"]


def test_packages_that_users_need_are_named_with_them(repository: Path) -> None:
    reef = Path(os.path.relpath(write(repository / "reef", "../shared/platform")))
    locks = {reef: lock([], provided=[provided("dns v1.0.0", folder="../shared/platform")])}

    assert needed_packages(Path("shared/platform"), locks) == {named("dns"): ["reef"]}
    assert needed_packages(Path("alone"), locks) == {}
