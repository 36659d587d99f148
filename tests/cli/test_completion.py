"""Shells complete commands, options and their values."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from render.cli.main import xplock as root
from render.cli.run import run

SECONDS = 60


def completions(line: str) -> list[str]:
    """Return what bash is offered for the last word of a line."""
    return [offer.partition(",")[2] for offer in offers(line)]


def offers(line: str) -> list[str]:
    """Return what bash is offered, each with its kind before it."""
    words = line.split(" ")
    environ = {
        **os.environ,
        "_XPLOCK_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "render"], env=environ, capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("xplock pac", ["package"]),
        ("xplock package ", ["build", "push", "inspect"]),
        ("xplock package in", ["inspect"]),
        ("xplock package inspect --ob", ["--objects"]),
        ("xplock package inspect x -o ", ["text", "json"]),
        ("xplock package build x --pl", ["--platform", "--plain-http"]),
        ("xplock lock --ca", ["--cache-dir", "--ca-bundle"]),
        ("xplock completion z", ["zsh"]),
        ("xplock --ver", ["--verbose", "--version"]),
    ],
)
def test_the_last_word_is_completed(line: str, expected: list[str]) -> None:
    assert completions(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("xplock lock --ca-bundle ca", "file,ca"), ("xplock lock --cache-dir ca", "dir,ca")],
)
def test_the_shell_completes_files_and_folders_itself(line: str, expected: str) -> None:
    assert offers(line) == [expected]


def test_a_command_is_offered_without_importing_it() -> None:
    every = completions("xplock ")

    assert every == root.list_commands(click.Context(root))
    assert "package" in every


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_us_for_completions(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "render", "completion", shell], capture_output=True, text=True, timeout=SECONDS
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert f"_XPLOCK_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=done.stdout, capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "xplock"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m render "$@"\n')
    program.chmod(0o700)
    script = """
eval "$(xplock completion bash)"
COMP_WORDS=(xplock package bu); COMP_CWORD=2
_xplock_completion xplock
echo "${COMPREPLY[@]}"
"""

    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    assert (done.stdout.strip(), done.stderr) == ("build", "")


def test_without_a_shell_the_error_lists_them_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["completion"])

    assert code == 2
    assert capsys.readouterr().err.splitlines()[1:] == [
        "error: missing argument 'SHELL'",
        "  why:  choose from: bash, zsh, fish",
        "  next: see xplock completion --help",
    ]


def test_a_variable_of_completion_without_the_others_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_XPLOCK_COMPLETE", "zsh_complete")
    monkeypatch.delenv("COMP_WORDS", raising=False)

    assert run([]) == 2
    assert "_XPLOCK_COMPLETE is set, and COMP_WORDS is not" in capsys.readouterr().err
