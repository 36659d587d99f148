"""xplock explain: the rules of check, in words."""

import json
import os
import pty
import subprocess
import sys

import pytest

from render.checks.explaining import read_explanations
from render.checks.rules import load_rules
from render.cli.run import run


def test_a_rule_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["explain", "lock-stale"])

    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    assert output.out.startswith("# lock-stale\n\nA lock does not answer what")
    assert "## What to do\n" in output.out


def test_without_a_rule_all_of_them_are_listed_with_their_sentences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(["explain"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == list(load_rules())
    assert [line.split(maxsplit=1)[1] for line in lines] == [rule.__doc__ for rule in load_rules().values()]


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("lock-stal", ["did you mean lock-stale?", "see them all: xplock explain"]),
        ("nothing-like-it-at-all", ["see them all: xplock explain"]),
    ],
)
def test_an_unknown_rule_is_wrong_usage_and_the_nearest_is_offered(
    capsys: pytest.CaptureFixture[str], typed: str, advice: list[str]
) -> None:
    code = run(["explain", typed])

    output = capsys.readouterr()
    first, *rest = output.err.splitlines()
    assert (code, output.out, first) == (2, "", f"error: there is no rule '{typed}'")
    assert [line.removeprefix("  next:").strip() for line in rest] == advice


def test_a_program_gets_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    run(["explain", "-o", "json"])
    everything = json.loads(capsys.readouterr().out)
    run(["explain", "lock-missing", "-o", "json"])
    [one] = json.loads(capsys.readouterr().out)

    assert [rule["rule"] for rule in everything] == list(load_rules())
    assert one in everything
    assert (one["rule"], one["summary"]) == ("lock-missing", "A folder has no lock.")
    assert one["explanation"].startswith("# lock-missing\n")


def test_a_shell_is_offered_the_rules(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_XPLOCK_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "xplock explain provided-")
    monkeypatch.setenv("COMP_CWORD", "2")

    run([])

    assert capsys.readouterr().out.splitlines() == ["plain,provided-changed", "plain,provided-unsuited"]


@pytest.mark.parametrize("columns", [60, 100])
def test_the_list_breaks_between_words_on_a_terminal(columns: int) -> None:
    shown = _on_a_terminal(["explain"], columns)

    assert max(map(len, shown.splitlines())) <= columns
    assert shown.split() == " ".join(f"{one.name} {one.summary}" for one in read_explanations()).split()


def test_on_a_narrow_terminal_sentences_stay_beside_their_rules_and_examples_as_they_are() -> None:
    listed = _on_a_terminal(["explain"], 60).splitlines()
    explained = _on_a_terminal(["explain", "lock-stale"], 60).splitlines()

    assert listed[0] == "inputs-invalid         The files of a folder are invalid, or"
    assert listed[1] == "                       contradict each other."
    assert max(len(line) for line in explained if not line.startswith("    ")) <= 60
    assert "      why:  root xpkg.example.org/acme/provider-store changed" in explained


def _on_a_terminal(arguments: list[str], columns: int) -> str:
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "render", *arguments],
        stdout=theirs,
        env={**os.environ, "COLUMNS": str(columns)},
        check=True,
    )
    os.close(theirs)
    with os.fdopen(ours, "rb") as terminal:
        return terminal.read1(65_536).decode().replace("\r\n", "\n")
