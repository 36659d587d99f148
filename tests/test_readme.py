"""The README tells the truth: what it shows is what comes out."""

import re
from pathlib import Path

import pytest
from rig.moving import begin_step, read_steps
from rig.projects import small_world

from render.cli.root import xplock
from render.cli.run import run
from render.inputs.settings import KEYS

README = (Path(__file__).parent.parent / "README.md").read_text()


def shown(command: str) -> list[str]:
    """Return every output that the README shows for a command."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE) if step]
    return [step.partition("\n")[2].strip() for step in steps if step.partition("\n")[0] == command]


def test_the_first_lock_prints_what_the_readme_shows(
    examples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "shop.yaml").write_text((examples / "shop/shop.yaml").read_text())
    monkeypatch.chdir(tmp_path)

    run(["lock", "--layout", str(examples / "registry")])
    locked = capsys.readouterr().out
    run(["tree"])

    assert shown("cat shop.yaml") == [(tmp_path / "shop.yaml").read_text().strip()]
    assert shown("xplock lock")[0] == locked.strip()
    assert shown("xplock tree") == [capsys.readouterr().out.strip()]


def test_the_rendered_provider_is_the_one_shown(
    examples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(examples / "provider")

    run(["render"])

    assert shown("cat provider.yaml") == [Path("provider.yaml").read_text().strip()]
    assert shown("xplock render") == [capsys.readouterr().out.strip()]


def test_the_error_for_versions_that_contradict_each_other_is_the_one_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small_world(tmp_path).project("shop", "app:v2.0.0", "old:v1.0.0"))

    run(["lock"])

    assert shown("xplock lock")[1] == capsys.readouterr().err.strip()


def test_a_move_and_its_end_print_what_the_readme_shows(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = next(step for step in read_steps("replaces") if step.name == "2-moved")
    (tmp_path / "registry").symlink_to(examples / "registry")
    begin_step(moved, tmp_path / "moving/replaces/now")
    monkeypatch.chdir(tmp_path / "moving/replaces/now")

    printed = {}
    for command in ("xplock lock", "xplock retire provider-store", "xplock retire provider-store --synced"):
        run(command.split()[1:])
        printed[command] = capsys.readouterr().out.strip()

    assert {command: shown(command)[-1] for command in printed} == printed


def test_every_command_and_every_setting_is_in_the_readme() -> None:
    commands = xplock.list_commands(xplock.make_context("xplock", [], resilient_parsing=True))

    missing = [name for name in commands if not re.search(rf"^\| `{name}\b", README, re.MULTILINE)]
    unset = [key.name for key in KEYS if f"| `{key.name}` |" not in README]

    assert (missing, unset) == ([], [])
