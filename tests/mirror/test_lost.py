"""xplock mirror to a registry that takes something and does not keep it, or has no room for it."""

from pathlib import Path

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.git.repositories import fill, small_disk
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.http_server import answer
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw
from rig.registry.rules import when

REPOSITORY = f"xp/{HOST}/acme/store"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_child_that_the_destination_loses_stops_the_image_before_it_is_named(
    number: int, closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    child = closure.images["acme/store v1.0.0"].manifests[f"child {number}"]
    with Proxy(destination.host, when("HEAD", f"/manifests/{child}", answer(404))) as there:
        done = closure.mirror(store, there.host)

    done.assert_refused(1, f"lost {child}")
    assert "v1.0.0" not in Raw(destination.host).tags(REPOSITORY)
    assert closure.mirror(store, destination.host).code == 0
    assert Raw(destination.host).digest(REPOSITORY, "v1.0.0") == closure.images["acme/store v1.0.0"].digest


def test_a_registry_with_a_full_disk_names_nothing_and_goes_on_when_there_is_room(
    closure: Closure, project: Path, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk, docker_registry(disk, "open") as registry:
        fill(disk)
        done = closure.mirror(project, registry.host, XPLOCK_LIMIT_ATTEMPTS="2")
        left = [Raw(registry.host).tags(f"xp/{image.repository}") for image in closure.images.values()]
        (disk / "filler").unlink()
        again = closure.mirror(project, registry.host)
        checked = closure.mirror(project, registry.host, "--check", "--deep")

    done.assert_refused(1, registry.host)
    assert left == [[], [], []]
    assert (again.code, checked.code) == (0, 0), again.stderr
