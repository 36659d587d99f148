"""xplock explain: the rules of check, in words."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from render.checks.explaining import read_definition_explanations, read_explanations
from render.checks.rules import load_rules
from render.cli.run import run
from render.definitions.rules import RULES

EVERY_RULE = [*load_rules(), *RULES]


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
    assert [line.split()[0] for line in lines] == EVERY_RULE
    told = [line.split(maxsplit=1)[1] for line in lines]
    of_check = len(load_rules())
    assert told[:of_check] == [rule.__doc__ for rule in load_rules().values()]
    assert [line.partition(": ")[0] for line in told[of_check:]] == [rule.risk for rule in RULES.values()]


def test_a_rule_about_definitions_is_explained_with_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["explain", "field-gone"])

    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    assert output.out.startswith("# field-gone\n\nA field is no longer part of the schema")
    assert "\n\nClass *lost*: stored objects lose data" in output.out
    assert output.out.endswith("    -  type: string\n     size:\n       type: integer\n")


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

    assert [rule["rule"] for rule in everything] == EVERY_RULE
    classes = {rule["rule"]: rule["class"] for rule in everything if "class" in rule}
    assert classes == {name: rule.risk for name, rule in RULES.items()}
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
    listed = [f"{one.name} {one.summary}" for one in read_explanations()]
    listed += [f"{one.name} {one.risk}: {one.summary}" for one in read_definition_explanations()]
    assert shown.split() == " ".join(listed).split()


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
    parts = []
    # A terminal hands out a few KB at a time, and ends with an error once nobody can write to it.
    with os.fdopen(ours, "rb") as terminal, suppress(OSError):
        while part := terminal.read1(65_536):
            parts.append(part)
    return b"".join(parts).decode().replace("\r\n", "\n")
