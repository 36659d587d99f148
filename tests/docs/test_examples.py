"""Every folder in examples/ is a test: it locks and renders to the very bytes that are committed beside it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rig.builders.render_inputs import rewrite_image
from rig.cluster.crds import is_known, problems_of
from rig.docs.examples import EXAMPLES, PROJECTS, RENDERED

from render.cli.run import run
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.manifests.identity import Identity, identify
from render.packages import Kind
from render.system.files import LOCK_FILE
from render.yaml.documents import file_rules, parse_documents

SECONDS = 120
every_example = pytest.mark.parametrize("name", PROJECTS)


def parsed(data: bytes) -> list[dict[str, Any]]:
    """Return the objects of a YAML stream."""
    return parse_documents(data, file_rules(Limits()))


def by_identity(data: bytes) -> dict[Identity, dict[str, Any]]:
    """Return the same by what they are in a cluster; no two may be one."""
    objects = parsed(data)
    found = {identify(value): value for value in objects}
    assert len(found) == len(objects)
    return found


def test_there_are_examples() -> None:
    assert len(PROJECTS) >= 7


@every_example
def test_an_example_locks_to_the_bytes_beside_it(examples: Path, tmp_path: Path, name: str) -> None:
    project = tmp_path / name
    shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns(LOCK_FILE))
    (tmp_path / "registry").symlink_to(examples / "registry")

    code = run(["-q", "lock", str(project)])

    assert code == 0
    assert (project / LOCK_FILE).read_bytes() == (EXAMPLES / name / LOCK_FILE).read_bytes()


@every_example
def test_an_example_renders_to_the_bytes_that_are_expected(
    examples: Path, name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = run(["render", str(examples / name)])

    output = capfdbinary.readouterr()
    assert (code, output.err) == (0, b"")
    assert output.out == (EXAMPLES / name / RENDERED).read_bytes()


@every_example
def test_kustomize_builds_the_files_of_an_example_to_the_same_objects(
    examples: Path, tmp_path: Path, name: str
) -> None:
    code = run(["-q", "render", str(examples / name), "--out", str(tmp_path / "out")])

    built = subprocess.run(
        ["kubectl", "kustomize", tmp_path / "out"], capture_output=True, check=True, timeout=SECONDS
    )
    assert code == 0
    assert by_identity(built.stdout) == by_identity((EXAMPLES / name / RENDERED).read_bytes())


@every_example
def test_the_api_server_would_take_what_an_example_renders(name: str) -> None:
    objects = parsed((EXAMPLES / name / RENDERED).read_bytes())

    refused = {identify(value): problems_of(value) for value in objects if is_known(value)}

    assert {place: why for place, why in refused.items() if why} == {}


@every_example
def test_what_crossplane_would_pull_for_an_example_is_what_is_locked(name: str) -> None:
    objects = parsed((EXAMPLES / name / RENDERED).read_bytes())
    configs = [value for value in objects if value["kind"] == "ImageConfig"]
    lock = read_lock(EXAMPLES / name, Limits()) or Lock()

    pulled = {
        value["metadata"]["name"]: rewrite_image(configs, value["spec"]["package"]).partition("@")[2]
        for value in objects
        if value["kind"] in tuple(Kind)
    }

    assert pulled == {package.object_name: package.digest for package in lock.packages.values()}


@every_example
def test_an_example_is_explained(name: str) -> None:
    assert f"| `{name}/` | " in (EXAMPLES / "README.md").read_text()


def test_the_demo_shows_a_moved_tag_and_a_moved_package(examples: Path, tmp_path: Path) -> None:
    copy = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("registry"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    done = subprocess.run(
        ["sh", copy / "demo.sh"],
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    # The script and the tests build the same packages.
    built, expected = (
        json.loads((folder / "registry/index.json").read_text()) for folder in (copy, examples)
    )
    assert done.returncode == 0, done.stderr
    assert "xpkg.example.org/acme/provider-store v1.1.0: tag moved\n" in done.stdout
    assert "\n$ xplock render | cmp - ../before\nthe same bytes\n" in done.stdout
    assert "0 of 5 images to copy, 0 bytes\n" in done.stdout
    assert "$ xplock retire provider-store --synced\nDropped  " in done.stdout
    assert built == expected
    assert [path.name for path in tmp_path.iterdir()] == ["examples"]


@pytest.mark.parametrize(
    "package", ["crossplane/provider-gcp", "samples/mysql-stack", "samples/sample-stack"]
)
def test_a_runtime_config_in_an_example_is_what_building_the_package_writes(
    examples: Path, package: str
) -> None:
    written = (examples / "converted" / package / "runtime.yaml").read_bytes()

    assert (EXAMPLES / "packages-v1" / f"{package.partition('/')[2]}.yaml").read_bytes() == written
