"""Files that Argo CD evaluates and that are not read are named."""

from pathlib import Path

from rig.builders.projects import World
from rig.commands.pasting import paste


def test_a_jsonnet_file_is_named_as_not_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.publish("app v1.0.0")
    folder = world.project("shop", "app")
    (folder / "more.jsonnet").write_text("{}")

    done = paste("xplock lock shop", tmp_path)

    assert done.code == 0
    assert "shop/more.jsonnet is not read" in done.stderr
