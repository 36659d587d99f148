"""Folders of one call count for each other, wherever they are."""

from pathlib import Path

from rig.builders.projects import World, locked
from rig.commands.pasting import paste


def test_a_package_that_a_far_folder_of_the_call_needs_is_reported_as_needed_and_not_retired(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.publish("base v1.0.0")
    world.publish("tool v1.0.0")
    world.publish("app v1.0.0", {"base": "*"})
    world.project("one/plat", "base", "tool")
    world.project("two/three/user", "app", more="uses: [../../../one/plat]\n")
    assert paste("xplock lock one/plat two/three/user", tmp_path).code == 0
    world.project("one/plat", "tool")

    done = paste("xplock lock one/plat two/three/user", tmp_path)
    together = paste("xplock retire base -C one/plat -C two/three/user", tmp_path)

    assert done.code == 0 and "two/three/user" in done.stdout and "xplock retire" not in done.stdout, done
    assert together.code == 4 and "app" in together.stderr, together
    assert "base" in locked(tmp_path / "one/plat")
