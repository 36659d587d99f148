"""A cycle of packages is shown whole, however long it is."""

from pathlib import Path

from rig.builders.projects import HOME, World
from rig.commands.pasting import paste


def test_a_cycle_of_thirty_packages_is_shown_whole_and_in_its_order(tmp_path: Path) -> None:
    world = World(tmp_path)
    names = [f"configuration-with-quite-a-long-name-{i:02}" for i in range(30)]
    for i, name in enumerate(names):
        world.publish(f"{name} v1.0.0", {names[(i + 1) % len(names)]: "*"})
    world.project("shop", names[0])

    done = paste("xplock lock shop", tmp_path)

    said = " ".join(done.stderr.split())
    places = [said.find(f"{HOME}/{name}", said.find("why:")) for name in names]
    assert done.code == 4
    assert -1 not in places and places == sorted(places), done.stderr
    assert said.count(f"{HOME}/{names[0]}") == 2 and "…" not in said
