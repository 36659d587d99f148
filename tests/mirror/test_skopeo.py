"""skopeo reads what xplock mirror wrote: registries, layouts and archives."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry

NAME = "acme/app:v1.0.0"


def skopeo(*arguments: str) -> str:
    """Run skopeo."""
    done = subprocess.run(["skopeo", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["docker", "oci", "oci-archive"])
def copy(
    request: pytest.FixtureRequest,
    closure: Closure,
    project: Path,
    destination: RunningRegistry,
    tmp_path: Path,
) -> str:
    """The place of one image in a copy of the closure, as skopeo names it."""
    if request.param == "docker":
        assert closure.mirror(project, destination.host).code == 0
        return f"docker://{destination.host}/xp/{HOST}/{NAME}"
    to = f"{request.param}:{tmp_path / 'copy'}"
    assert closure.export(project, to).code == 0
    return f"{to}:{HOST}/{NAME}"


def test_it_copies_an_image_with_all_platforms_and_its_extensions(
    copy: str, closure: Closure, tmp_path: Path
) -> None:
    image, folder = closure.images["acme/app v1.0.0"], tmp_path / "skopeo"

    skopeo("copy", "--all", "--preserve-digests", "--src-tls-verify=false", copy, f"dir:{folder}")

    data = (folder / "manifest.json").read_bytes()
    assert f"sha256:{hashlib.sha256(data).hexdigest()}" == image.digest
    children = {f"{name.removeprefix('sha256:')}.manifest.json" for name in list_children(data.decode())}
    assert len(children) == 3
    assert children <= {path.name for path in folder.iterdir()}


def test_it_sees_the_same_bytes(copy: str, closure: Closure) -> None:
    raw = skopeo("inspect", "--raw", "--tls-verify=false", copy)

    assert f"sha256:{hashlib.sha256(raw.encode()).hexdigest()}" == closure.images["acme/app v1.0.0"].digest


def list_children(index: str) -> list[str]:
    """Return the digests that an index names."""
    return [child["digest"] for child in json.loads(index)["manifests"]]
