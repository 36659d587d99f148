"""Which calls run without click: those without options, on folders that can be read."""

from pathlib import Path

import pytest

from render.cli.fast import find_fast_call

FOLDER, FILE = "folder", "file"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand beside a folder and a file."""
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FILE).touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["plugin", "generate"],
        ["plugin", "generate", "--lock-policy", "frozen"],
        ["plugin", "parameters"],
        # An error of plugin.yaml, which the plugin itself reports.
        ["plugin", "no-such-command"],
        ["render"],
        ["render", FOLDER],
        ["check"],
        ["check", FOLDER, "."],
    ],
)
def test_a_call_without_options_is_fast(arguments: list[str]) -> None:
    assert find_fast_call(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["plugin"],
        ["plugin", "--help"],
        ["plugin", "generate", "-h"],
        ["render", FOLDER, FOLDER],
        ["render", FILE],
        ["render", "missing"],
        ["render", "-o", "json"],
        ["render", ""],
        ["check", FOLDER, FILE],
        ["check", FOLDER, "-o", "json"],
        ["lock"],
        ["-q", "render"],
        ["no-such-command"],
    ],
)
def test_click_looks_at_every_other_call(arguments: list[str]) -> None:
    assert find_fast_call(arguments) is None
