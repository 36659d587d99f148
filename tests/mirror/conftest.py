"""What the stories of `xplock mirror` share: a closure in one registry, folders that have locked it, and another registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.mirrors import Closure
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.pushed import Raw


@pytest.fixture(scope="session")
def closure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closure]:
    """A closure of three packages; tests must not change it."""
    with docker_registry(tmp_path_factory.mktemp("upstream"), "open") as registry:
        yield Closure(Raw(registry.host)).push()


@pytest.fixture
def project(closure: Closure, tmp_path: Path) -> Path:
    """A folder that has locked the closure."""
    return closure.folder(tmp_path / "project")


@pytest.fixture
def store(closure: Closure, tmp_path: Path) -> Path:
    """A folder that has locked one package of the closure."""
    return closure.folder(tmp_path / "store", root="acme/store:v1.0.0")


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[RunningRegistry]:
    """An empty registry."""
    (tmp_path / "destination").mkdir()
    with docker_registry(tmp_path / "destination", "open") as registry:
        yield registry
