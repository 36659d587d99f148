"""A lock with answers to dependencies on CRDs is committed only together with the files that they come from."""

from pathlib import Path

import pytest
from rig.builders.first_format import APP, package, write_package
from rig.builders.projects import World, at
from rig.git.repositories import new_repository, paths_in, save

from render.cli.run import run
from render.system.files import LOCK_FILE

CRD = "bucket.s3.example.org/v1"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A provider that defines a CRD."""
    world = World(tmp_path)
    world.publish("s3 v1.0.0", kind="Provider", defines=["buckets.s3.example.org v1"])
    return world


def catalog_in_a_subfolder(world: World) -> tuple[Path, str]:
    """Return a committed project that names a catalog file in a subfolder, and that file."""
    world.publish("app v1.0.0", needs_crds=[CRD])
    folder = world.project("shop", "app", more="catalog: [{file: catalogs/aws.yaml}]\n")
    (folder / "catalogs").mkdir()
    layout = f"xpkg.example.org={world.layout}"
    run(["-q", "catalog", "build", at("s3"), "--layout", layout, "-o", str(folder / "catalogs/aws.yaml")])
    return folder, "catalogs/aws.yaml"


def first_format(world: World) -> tuple[Path, str]:
    """Return a committed project that is a package of the first format, and its app.yaml."""
    folder = world.project("shop", more=f"catalog: [{{source: {at('s3')}}}]\n")
    write_package(folder, package({"app.yaml": f"{APP}dependsOn: [{{crd: {CRD}}}]\n"}))
    return folder, ".registry/app.yaml"


@pytest.mark.parametrize("make", [catalog_in_a_subfolder, first_format])
def test_a_file_below_the_folder_that_is_an_input_is_committed_with_the_lock(
    world: World, make: object, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = make(world)  # type: ignore[operator]
    root = new_repository(folder)
    save(root)
    assert run(["lock", "--commit", str(folder)]) == 0
    changed = (folder / file).read_text().replace(">=v1.0.0", ">=v0.9.0").replace("bucket.", "buckets.")
    (folder / file).write_text(changed)

    refused = run(["lock", "--commit", str(folder)])
    told = capsys.readouterr().err
    accepted = run(["lock", "--commit", "--with-inputs", str(folder)])

    assert (refused, accepted) == (3, 0)
    assert f"{file} has changes that are not committed" in told
    assert paths_in(root) == sorted([file, LOCK_FILE])
