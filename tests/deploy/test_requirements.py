"""The locked dependencies of the image, of a release and of the hooks."""

import re
import tomllib
from collections.abc import Iterator

import pytest
import yaml
from packaging.requirements import Requirement
from rig.deploy.kustomize import TOP

FOLDER = TOP / "deploy/requirements"
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
RUNTIME = [*PROJECT["project"]["dependencies"], *EXTRAS["zstd"], *EXTRAS["verify"]]
GROUPS = PROJECT["dependency-groups"]
LOCKED = {
    "runtime.txt": RUNTIME,
    "hook.txt": RUNTIME,
    "build.txt": PROJECT["build-system"]["requires"],
    "release.txt": [*GROUPS["build"], *GROUPS["release"][1:]],
}


def entries(name: str) -> Iterator[str]:
    """Yield each requirement of a file, with its hashes, as one line."""
    text = (FOLDER / name).read_text().replace("\\\n", " ")
    yield from (line for line in text.splitlines() if line.strip())


def requirements(name: str) -> dict[str, Requirement]:
    found = (Requirement(line.partition(" --hash=")[0]) for line in entries(name))
    return {normal(requirement.name): requirement for requirement in found}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", LOCKED)
def test_each_dependency_of_the_project_is_locked_within_its_bounds(name: str) -> None:
    locked = requirements(name)

    for wanted in map(Requirement, LOCKED[name]):
        [exact] = locked[normal(wanted.name)].specifier
        assert exact.operator == "=="
        assert wanted.specifier.contains(exact.version), wanted


@pytest.mark.parametrize("name", ["runtime.txt", "build.txt", "release.txt"])
def test_each_locked_file_has_hashes(name: str) -> None:
    for line in entries(name):
        assert re.search(r" --hash=sha256:[0-9a-f]{64}\b", line), line


def test_the_backend_of_a_release_is_the_one_of_the_project() -> None:
    assert GROUPS["build"] == PROJECT["build-system"]["requires"]


def test_the_hooks_get_the_versions_of_the_image() -> None:
    assert requirements("hook.txt") == requirements("runtime.txt")


def test_each_hook_is_installed_with_the_locked_versions() -> None:
    hooks = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())

    for hook in hooks:
        assert hook["additional_dependencies"] == ["--constraint=deploy/requirements/hook.txt"]


def test_no_package_index_is_named() -> None:
    for name in LOCKED:
        assert "://" not in (FOLDER / name).read_text()
