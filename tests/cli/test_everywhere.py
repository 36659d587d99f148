"""Options that stand before or behind a command, and the words that people try first."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World
from rig.commands.run import run_command

import render


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A locked folder."""
    world = World(tmp_path)
    world.publish("net v1.0.0", kind="Provider")
    world.publish("net v1.1.0", kind="Provider")
    run_command("lock", str(world.project("shop", "net:v1.0.0")))
    folder = world.project("shop", "net")
    run_command("lock", str(folder))
    return folder


@pytest.mark.parametrize("command", ["lock", "check", "tree", "outdated", "verify", "render"])
def test_a_folder_is_named_in_front_of_a_command_behind_it_or_as_its_argument(
    project: Path, command: str
) -> None:
    named = run_command(command, str(project))

    assert named.stdout
    assert run_command("-C", str(project), command) == named
    assert run_command(command, "-C", str(project)) == named
    assert run_command("-C", str(project.parent), command, project.name) == named
    assert run_command("-C", str(project.parent), command, "-C", project.name) == named


def test_the_form_of_a_result_is_named_on_either_side(project: Path) -> None:
    behind = run_command("tree", str(project), "-o", "json")

    assert json.loads(behind.stdout)
    assert run_command("-o", "json", "tree", str(project)) == behind


def test_a_form_in_front_of_a_command_also_counts_for_its_errors(tmp_path: Path) -> None:
    done = run_command("-o", "json", "tree", str(tmp_path / "missing"))

    assert json.loads(done.stdout)["error"]["exitCode"] == 2


def test_a_command_without_forms_says_so() -> None:
    done = run_command("-o", "json", "completion", "bash")

    assert (done.code, done.stdout) == (2, "")
    assert "completion has no -o" in done.stderr


def test_quiet_and_verbose_stand_on_either_side(project: Path) -> None:
    assert run_command("-q", "lock", str(project)).stdout == ""
    assert run_command("lock", str(project), "-q").stdout == ""
    assert run_command("lock", "-v", str(project)) == run_command("-v", "lock", str(project))


def test_upgrade_is_lock_by_another_name(project: Path) -> None:
    dry = run_command("upgrade", "net", "-C", str(project), "--dry-run")

    assert dry == run_command("lock", "-P", "net", str(project), "--dry-run")
    assert "v1.0.0 -> v1.1.0" in dry.stdout
    assert run_command("upgrade", "-C", str(project)).code == 0
    assert "v1.1.0" in run_command("tree", str(project)).stdout


def test_upgrade_takes_a_version(project: Path) -> None:
    run_command("upgrade", "-C", str(project))

    done = run_command("upgrade", "net=v1.0.0", "-C", str(project))

    assert "v1.1.0 -> v1.0.0 (downgrade" in done.stdout


def test_help_answers_as_the_option_does() -> None:
    assert run_command("help", "lock") == run_command("lock", "--help")
    assert run_command("help", "package", "build") == run_command("package", "build", "--help")
    assert run_command("help") == run_command("--help")
    run_command("help", "lokc").assert_refused(2, "there is no command lokc")


def test_version_answers_as_the_option_does() -> None:
    done = run_command("version")

    assert done.stdout == f"xplock {render.__version__}\n"
    assert done == run_command("--version")
