"""The version of Crossplane in the settings: refused where a setting does not fit it, and told where it is assumed."""

from pathlib import Path

import pytest
from rig.builders.projects import World, small_world

from render.cli.run import run
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


# A folder without a lock is the graver finding.
@pytest.mark.parametrize(("command", "refused"), [("lock", 2), ("check", 3)])
def test_a_crossplane_that_is_too_old_for_pins_is_refused(
    world: World, command: str, refused: int, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0", more="crossplaneVersion: v1.17.0\n")

    code = run([command, "shop"])

    told = "".join(capsys.readouterr())
    assert (code, (project / LOCK_FILE).exists()) == (refused, False)
    assert "crossplaneVersion: v1.17.0 is too old: pin: digest needs Crossplane v2.2 or newer" in told


def test_with_tags_alone_it_is_accepted(world: World) -> None:
    world.project("shop", "app:v1.0.0", more="crossplaneVersion: v1.17.0\npin: tag\n")

    assert run(["lock", "shop"]) == run(["check", "shop"]) == 0


@pytest.mark.parametrize("command", ["lock", "check"])
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", "shop: crossplaneVersion is not set; Crossplane v2.2 or newer is assumed\n"),
        ("pin: tag\n", "shop: crossplaneVersion is not set; any Crossplane is assumed\n"),
        ("crossplaneVersion: v2.4.0\n", ""),
    ],
)
def test_details_say_which_version_is_assumed(
    world: World, command: str, more: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v1.0.0", more=more)
    run(["lock", "shop"])
    capsys.readouterr()

    code = run(["-v", command, "shop"])

    lines = capsys.readouterr().err.splitlines(keepends=True)
    assert (code, "".join(line for line in lines if "crossplaneVersion" in line)) == (0, told)
