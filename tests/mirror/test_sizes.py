"""xplock mirror counts bytes: a dry run says how many, and as many are copied."""

import json
from pathlib import Path

import pytest
from rig.builders.mirrors import Closure
from rig.commands.run import Outcome
from rig.registry.docker import RunningRegistry


def total(done: Outcome) -> str:
    """Return the last words of what was printed: how many bytes there are."""
    return (done.stdout or done.stderr).splitlines()[-1].rpartition(", ")[2]


@pytest.mark.parametrize("scheme", ["oci", "oci-archive", "registry"])
def test_a_dry_run_announces_as_many_bytes_as_are_copied(
    scheme: str, closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    to = f"{destination.host}/xp" if scheme == "registry" else f"{scheme}:{tmp_path / 'copy'}"
    more = (
        ("--to", to, "--image-configs", str(tmp_path / "configs.yaml"))
        if scheme == "registry"
        else ("--to", to)
    )
    hosts = {"hosts": destination.host}

    announced = closure.run("mirror", str(project), "--to", to, "--dry-run", environ=hosts)
    copied = closure.run("mirror", str(project), *more, environ=hosts)
    nothing = closure.run("mirror", str(project), "--to", to, "--dry-run", environ=hosts)

    assert (announced.code, copied.code, nothing.code) == (0, 0, 0), copied.stderr
    # All three images share blobs, which are copied once.
    assert total(announced) == total(copied)
    assert total(announced) != total(nothing) == "0 bytes"


def test_each_shared_blob_is_announced_with_the_first_image_that_has_it(
    closure: Closure, project: Path, tmp_path: Path
) -> None:
    done = closure.run("mirror", str(project), "--to", f"oci:{tmp_path / 'copy'}", "--dry-run", "-o", "json")

    blobs = {
        digest: size
        for image in closure.images.values()
        for manifest in image.manifests.values()
        for digest, size in named_blobs(closure, image.repository, manifest)
    }
    manifests = {
        manifest: len(closure.registry.ask("GET", f"/v2/{image.repository}/manifests/{manifest}")[2])
        for image in closure.images.values()
        for manifest in image.manifests.values()
    }
    total = sum(image["bytes"] for image in json.loads(done.stdout)["images"])
    assert total == sum(blobs.values()) + sum(manifests.values())


def named_blobs(closure: Closure, repository: str, manifest: str) -> list[tuple[str, int]]:
    """Return the blobs of a manifest with their sizes."""
    document = closure.registry.document(repository, manifest)
    blobs = [*document.get("layers", ()), *([document["config"]] if "config" in document else [])]
    return [(blob["digest"], blob["size"]) for blob in blobs]


def test_a_shared_manifest_is_announced_once_for_a_layout_and_for_each_repository(
    closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    announced = {}
    for to in (f"{destination.host}/xp", f"oci:{tmp_path / 'copy'}", f"oci-archive:{tmp_path / 'copy.tar'}"):
        done = closure.run(
            "mirror", str(project), "--to", to, "--dry-run", "-o", "json", environ={"hosts": destination.host}
        )
        announced[to] = sum(image["bytes"] for image in json.loads(done.stdout)["images"])
    copied = closure.run("mirror", str(project), "--to", f"oci:{tmp_path / 'copy'}", "-o", "json")

    registry, layout, archive = announced.values()
    assert registry > layout == archive
    assert layout == sum(image["bytes"] for image in json.loads(copied.stdout)["images"])
