"""With -o json, stdout is one JSON document: the result, or the error."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from rig.builders.projects import World, small_world
from rig.git.repositories import new_repository, save

from render.cli.main import xplock
from render.cli.run import run
from render.errors import RenderError


def commands(group: click.Group = xplock, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every command that takes -o json, by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif any(option.name == "form" and "json" in option.type.choices for option in command.params):  # type: ignore[attr-defined]
            yield (*path, name)


COMMANDS = list(commands())
# What each command needs besides, so that it fails for the folder or package that does not work.
NEEDED = {
    "check": ["/nowhere/at/all"],
    "retire": ["acme/none"],
    "why": ["acme/none"],
    "explain": ["no-such-rule"],
    "package inspect": ["/nowhere/at/all.xpkg"],
    "diff": ["/nowhere/at/all.yaml", "."],
    "init": ["--repo", "not a url"],
}


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing in it, which is the current one."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return tmp_path / "empty"


def failure(capsys: pytest.CaptureFixture[str], code: int) -> dict[str, object]:
    """Return the error on stdout, and see that stderr has it as text."""
    told = capsys.readouterr()
    [(name, error)] = json.loads(told.out).items()
    assert name == "error"
    assert error["exitCode"] == code != 0
    assert f"error: {error['what']}\n" in told.err
    assert all(f" {line}\n" in told.err for line in (*error["why"], *error["next"]))
    return dict(error)


def test_there_are_commands_to_look_at() -> None:
    assert {("lock",), ("commit",), ("check",), ("package", "inspect")} <= set(COMMANDS)


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_error_is_the_result_of_a_command_that_fails(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([*words, "-o", "json", *NEEDED.get(" ".join(words), [])])

    error = failure(capsys, code)
    assert error.keys() == {"what", "why", "next", "exitCode"}


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_wrong_usage_is_an_error_like_every_other(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([*words, "--no-such-option", "-o", "json"])

    assert code == 2
    assert "--no-such-option" in str(failure(capsys, code)["what"])


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("form", [["-ojson"], ["--output", "json"], ["--output=json"], ["-Uo", "json"]])
def test_every_way_to_ask_for_json_counts(form: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["-q", "lock", "--no-such-option", *form, "-P"])

    assert failure(capsys, code)["exitCode"] == 2


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("form", [[], ["-o", "text"], ["-o", "json", "-o", "text"], ["--", "-o", "json"]])
def test_without_json_stdout_stays_empty(form: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["tree", *form])

    assert (code != 0, capsys.readouterr().out) == (True, "")


def test_a_result_that_was_written_stays_the_only_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_world(tmp_path).project("shop", "app:v1.0.0")

    code = run(["lock", "--check", "-o", "json", str(folder)])

    told = capsys.readouterr()
    assert code == 3
    assert [one["folder"] for one in json.loads(told.out)] == [str(folder)]
    assert "error: 1 of 1 lock would change" in told.err


def test_each_of_several_folders_has_its_own_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world: World = small_world(tmp_path)
    folders = [
        str(world.project(name, root))
        for name, root in {"one": "none:v1.0.0", "good": "base:v1.0.0", "two": "nothing:v1.0.0"}.items()
    ]

    code = run(["lock", "-o", "json", *folders])

    one, good, two = json.loads(capsys.readouterr().out)
    assert [entry["folder"] for entry in (one, good, two)] == folders
    assert (code, one["error"]["exitCode"], two["error"]["exitCode"]) == (1, 1, 1)
    assert "acme/none" in one["error"]["what"] and "acme/nothing" in two["error"]["what"]
    assert good["added"][0]["version"] == "v1.0.0"


def test_secrets_and_invisible_characters_are_not_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = new_repository(tmp_path / "repository")
    (root / "README").write_text("x\n")
    save(root)

    code = run(["diff", "-o", "json", "https://robin:secret@git.example.org/\x1b[31m", str(root)])

    out = capsys.readouterr().out
    assert code != 0
    assert "secret" not in out
    assert "\\u001b" not in out


def test_a_bug_is_an_error_for_programs_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("render.cli.main._invoke", fail)

    code = run(["tree", "-o", "json"])

    error = json.loads(capsys.readouterr().out)["error"]
    assert (code, error["exitCode"]) == (70, 70)
    assert "RuntimeError: oops" in error["why"]


@pytest.mark.usefixtures("empty")
def test_a_closed_stdout_changes_no_exit_code(empty: Path) -> None:
    script = (
        "import sys; from render.__main__ import main; sys.argv = ['xplock', 'tree', '-o', 'json']; main()"
    )

    done = subprocess.run(
        ["sh", "-c", f'{sys.executable} -c "{script}" >&-'], cwd=empty, capture_output=True, check=False
    )

    assert done.returncode in (1, 2, 3)
    assert b"Traceback" not in done.stderr


def test_an_error_has_all_its_parts_in_json_terms() -> None:
    from render.cli.failures import failure_document

    made = failure_document(RenderError("a", why=["b"], next="c"), 4, [])

    assert made == {"error": {"what": "a", "why": ["b"], "next": ["c"], "exitCode": 4}}
