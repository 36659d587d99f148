"""Other folders of the same cluster, named in the settings."""

import json
from pathlib import Path

import pytest

from render.inputs.settings.file import parse_settings
from render.limits import Limits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project folder with neighbours."""
    for name in ("project/inner", "platform", "network"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "platform.yaml").touch()
    (tmp_path / "link").symlink_to("platform")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path / "project"


def parse(folder: Path, *texts: object) -> tuple[tuple[tuple[str, Path], ...], list[str]]:
    problems: list[str] = []
    settings = parse_settings(json.dumps({"uses": texts}).encode(), folder, Limits(), problems)
    return settings.uses, problems


def test_folders_are_relative_to_the_file_and_stay_in_order(folder: Path) -> None:
    uses, problems = parse(folder, "../platform", "../network/", "inner", "..")

    assert problems == []
    assert uses == (
        ("../platform", folder / "../platform"),
        ("../network/", folder / "../network"),
        ("inner", folder / "inner"),
        ("..", folder / ".."),
    )


@pytest.mark.parametrize("text", ["../nowhere", "../nowhere/at/all", "../platform.yaml", "n" * 300])
def test_what_is_not_there_is_told_by_whoever_needs_it(folder: Path, text: str) -> None:
    assert parse(folder, text) == (((text, folder / text),), [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("../loop", "'../loop' is not a folder"),
        ("a\0b", "'a\\x00b' is not a folder"),
        (".", "'.' is this folder itself"),
        ("inner/..", "'inner/..' is this folder itself"),
        ("../project", "'../project' is this folder itself"),
        ("/", "'/' is an absolute path; write it relative to this file"),
    ],
)
def test_what_is_no_other_folder_is_a_problem(folder: Path, text: str, problem: str) -> None:
    assert parse(folder, text) == ((), [f"xplock.yaml: uses: {problem}"])


def test_the_current_folder_is_told_from_others_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    uses, problems = parse(Path(), "../project", "../platform")

    assert uses == (("../platform", Path("../platform")),)
    assert problems == ["xplock.yaml: uses: '../project' is this folder itself"]


@pytest.mark.parametrize("again", ["../platform", "../platform/", "../network/../platform", "../link"])
def test_a_folder_is_named_once_however_it_is_written(folder: Path, again: str) -> None:
    uses, problems = parse(folder, "../platform", again)

    assert len(uses) == 1
    assert problems == [f"xplock.yaml: uses: {again!r} is the same folder as '../platform'"]


def test_every_item_is_a_text(folder: Path) -> None:
    _, problems = parse(folder, "../platform", 1, "")

    assert problems == [
        "xplock.yaml: uses[1]: expected text, found 1; write it in quotes",
        "xplock.yaml: uses[2]: it is empty",
    ]
