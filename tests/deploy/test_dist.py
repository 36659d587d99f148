"""A release: the wheel, the source distribution, the SBOM and their checksums."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rig.deploy.kustomize import TOP

from render import __version__

# Packages are downloaded the first time.
_SECONDS = 600


def run(*command: str, umask: int = 0o022) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, umask=umask)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """Return a function that builds a release in a clone with a given name and umask."""
    folder = tmp_path_factory.mktemp("release")
    environment = folder / "environment"
    run(sys.executable, "-m", "venv", str(environment))
    requirements = str(TOP / "deploy/requirements/release.txt")
    run(f"{environment}/bin/pip", "install", "--require-hashes", "--requirement", requirements)

    def build(name: str, umask: int) -> Path:
        clone = folder / name
        run("git", "clone", "--quiet", str(TOP), str(clone), umask=umask)
        # Nothing that is not committed gets into a release.
        (clone / "render/uncommitted.py").write_text("")
        run("sh", f"{clone}/deploy/dist.sh", str(environment), f"{clone}/dist", umask=umask)
        return clone / "dist"

    return build


@pytest.fixture(scope="module")
def built(release: Callable[[str, int], Path]) -> Path:
    """One release."""
    return release("one", 0o022)


def test_a_commit_gives_the_same_bytes_wherever_it_is_built(
    built: Path, release: Callable[[str, int], Path]
) -> None:
    again = release("another-folder", 0o077)

    assert {path.name: path.read_bytes() for path in built.iterdir()} == {
        path.name: path.read_bytes() for path in again.iterdir()
    }


def test_a_release_has_a_wheel_a_source_distribution_an_sbom_and_checksums(built: Path) -> None:
    name = f"xplock-{__version__}"
    files = {f"{name}-py3-none-any.whl", f"{name}.tar.gz", f"{name}.cdx.json"}
    lines = [line.split("  ./") for line in (built / "SHA256SUMS").read_text().splitlines()]

    assert {path.name for path in built.iterdir()} == {*files, "SHA256SUMS"}
    assert {file: digest for digest, file in lines} == {
        file: hashlib.sha256((built / file).read_bytes()).hexdigest() for file in files
    }


def test_the_sbom_names_each_locked_dependency_and_no_path(built: Path) -> None:
    text = (built / f"xplock-{__version__}.cdx.json").read_text()
    document: Any = json.loads(text)
    [root] = [entry for entry in document["dependencies"] if entry["ref"] == "root-component"]
    names = {component["name"].lower() for component in document["components"]}

    assert document["metadata"]["component"]["version"] == __version__
    assert {"click", "oras", "pyyaml", "semver", "urllib3"} <= names
    assert {"click", "oras"} <= {reference.partition("==")[0] for reference in root["dependsOn"]}
    assert str(built.parent.parent) not in text
