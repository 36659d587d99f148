"""Manifests that were moved into a subfolder are named when their packages leave: only the folder itself is read."""

from pathlib import Path

import pytest
from rig.builders.projects import World, at, small_world
from rig.commands.run import run_command

MANIFEST = """apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: {name}
spec:
  package: {package}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A locked project with a manifest for tool, and another root."""
    world: World = small_world(tmp_path)
    folder = world.project("shop", "app:v1.0.0")
    write(folder / "tool.yaml", "tool:v1.0.0")
    assert run_command("lock", str(folder)).code == 0
    return folder


def write(path: Path, package: str) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(MANIFEST.format(name="tool", package=at(package)))


def move(shop: Path, place: str) -> None:
    (shop / place).parent.mkdir(exist_ok=True, parents=True)
    (shop / "tool.yaml").rename(shop / place)


@pytest.mark.parametrize("place", ["packages/tool.yaml", "a/b/tool.yml"])
def test_a_package_whose_manifest_is_in_a_subfolder_now_is_named_with_the_file(
    shop: Path, place: str
) -> None:
    move(shop, place)

    done = run_command("lock", str(shop))

    assert done.code == 0 and "Leaving" in done.stdout
    assert (
        f"warning: {at('tool')} is leaving; {shop / place} asks for it, and is not read: "
        "only files in the folder itself are\n"
    ) in done.stderr


@pytest.mark.parametrize("place", [".hidden/tool.yaml", "other/tool.yaml", "../tool.yaml"])
def test_hidden_folders_other_projects_and_folders_above_are_not_meant(shop: Path, place: str) -> None:
    (shop / "other").mkdir()
    (shop / "other" / "xplock.yaml").write_text("pin: tag\n")
    move(shop, place)

    done = run_command("lock", str(shop))

    assert done.code == 0 and "Leaving" in done.stdout
    assert "is not read" not in done.stderr


def test_a_manifest_of_another_package_is_not_meant(shop: Path) -> None:
    (shop / "tool.yaml").unlink()
    write(shop / "packages" / "toolbox.yaml", "toolbox:v1.0.0")

    done = run_command("lock", str(shop))

    assert done.code == 0 and "is not read" not in done.stderr


@pytest.mark.parametrize("form", ["rendered", "rendered.yaml"])
def test_rendered_manifests_are_not_meant(shop: Path, form: str) -> None:
    place = shop / "below" / form
    place.parent.mkdir()
    if form == "rendered":
        assert run_command("render", str(shop), "--out", str(place)).code == 0
    else:
        place.write_text(run_command("render", str(shop)).stdout)
    (shop / "tool.yaml").unlink()

    done = run_command("lock", str(shop))

    assert done.code == 0 and "Leaving" in done.stdout
    assert "is not read" not in done.stderr
