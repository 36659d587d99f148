"""Printed commands can be pasted."""

import subprocess
from pathlib import Path

import pytest

from render.commands import as_path, shell, xplock
from render.lock.freshness import MissingLock

FOLDERS = ["clusters/two words", "it's", "a;b", "$HOME", "~", "#x", "a&&b", "*", "ü", "`id`", 'say "x"']


def words_of(command: str) -> list[str]:
    """Return the words after `xplock` as a shell passes them on."""
    script = 'xplock() { printf "%s\\0" "$@"; }; ' + command
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_shell_reads_the_folder_of_a_command_as_one_word(folder: str) -> None:
    assert words_of(xplock("lock", folder=folder)) == ["lock", folder]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_advice_for_a_folder_without_a_lock_can_be_pasted(folder: str) -> None:
    [advice] = MissingLock(Path(folder)).next

    assert words_of(advice.removeprefix("run: ")) == ["lock", folder]


def test_plain_words_are_not_quoted() -> None:
    assert xplock("lock", "-P", "xpkg.example.org/acme/app=v1.0.0", folder=Path("clusters/one")) == (
        "xplock lock -P xpkg.example.org/acme/app=v1.0.0 clusters/one"
    )


def test_the_current_folder_is_left_out() -> None:
    assert xplock("retire", "acme/app", folder=Path(), option="-C") == "xplock retire acme/app"


def test_a_folder_can_be_the_value_of_an_option() -> None:
    assert xplock("retire", "acme/app", folder="two words", option="-C") == (
        "xplock retire acme/app -C 'two words'"
    )


def test_a_path_is_never_read_as_an_option() -> None:
    assert as_path("--help") == "./--help"
    assert xplock("lock", folder="-x") == "xplock lock ./-x"


def test_any_program_can_be_named() -> None:
    assert shell("git", "add", "a b") == "git add 'a b'"
