"""A replaced package goes when the cluster shows that its revision is switched off, too."""

from pathlib import Path

import pytest
import yaml
from rig.builders.projects import World, moves
from rig.commands.pasting import paste


@pytest.mark.parametrize("version", ["v2.3.4", "v2.4.0"])
def test_the_revision_is_part_of_the_proof_where_it_is_rendered(version: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("old", "new"):
        world.publish(f"{name} v1.0.0", kind="Provider", crds=["as.acme.org"])
    world.project("shop", "old")
    crossplane = f"crossplaneVersion: {version}\n"
    assert paste("xplock lock shop", tmp_path).code == 0
    world.project("shop", "new", more=crossplane + moves("old", "new", strategy="deactivate"))
    assert paste("xplock lock shop", tmp_path).code == 0
    assert paste("xplock retire old -C shop", tmp_path).code == 0
    objects = list(yaml.safe_load_all(paste("xplock render shop", tmp_path).stdout))
    without = [value for value in objects if value["kind"] != "ProviderRevision"]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    (tmp_path / "without.yaml").write_text(yaml.safe_dump_all(without))

    partly = paste("xplock retire old -C shop --live without.yaml --dry-run", tmp_path)
    fully = paste("xplock retire old -C shop --live all.yaml", tmp_path)

    assert partly.code == (2 if version == "v2.3.4" else 0), partly
    assert fully.code == 0, fully
