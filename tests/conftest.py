"""What all tests share: registries, a secret to search for, empty user settings, and the marker of property tests."""

import secrets
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings
from rig.argocd.plugin_calls import Fleet, new_fleet
from rig.builders.projects import World, small_world
from rig.docs.examples import copy_examples
from rig.docs.machine import Machine, new_machine
from rig.environment import hidden_settings
from rig.properties import examples as tried_examples
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.http_server import Certificate, make_certificate
from rig.registry.layout_server import serve_layout
from rig.slow_files import is_slow

settings.register_profile("xplock", tried_examples(100))
settings.load_profile("xplock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make quick` leaves out: those that hypothesis gives examples to, and slow files."""
    for item in items:
        if is_hypothesis_test(getattr(item, "function", None)):
            item.add_marker("property")
        if is_slow(item.path):
            item.add_marker("slow")
    # First, so that at the end no worker is left alone with a long file.
    items.sort(key=lambda item: not is_slow(item.path))


@pytest.fixture(scope="session")
def empty_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for the settings of each test; pytest's own way looks at all folders there are before it makes one."""
    parent = tmp_path_factory.mktemp("empty")
    return (parent / str(number) for number in count())


@pytest.fixture(autouse=True)
def empty_user_settings(empty_folders: Iterator[Path]) -> Iterator[None]:
    """Hide the settings of the user who runs the tests."""
    folder = next(empty_folders)
    folder.mkdir()
    with hidden_settings(folder):
        yield


@pytest.fixture
def canary() -> str:
    """A secret of this test alone: text that contains it has leaked it."""
    return f"canary-{secrets.token_hex(16)}"


@pytest.fixture(scope="session")
def registry_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder all registries keep their data in."""
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="session")
def open_registry(registry_folder: Path) -> Iterator[RunningRegistry]:
    """A real registry that needs no login."""
    with docker_registry(registry_folder, "open") as registry:
        yield registry


@pytest.fixture(scope="session")
def htpasswd_registry(registry_folder: Path) -> Iterator[RunningRegistry]:
    """The same data behind a user name and a password."""
    with docker_registry(registry_folder, "htpasswd") as registry:
        yield registry


@pytest.fixture(scope="session")
def token_registry(registry_folder: Path) -> Iterator[RunningRegistry]:
    """The same data behind tokens; anonymous clients get none."""
    with docker_registry(registry_folder, "token") as registry:
        yield registry


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate for servers on this machine, trusted only where a test says so."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples with their packages built."""
    return copy_examples(tmp_path_factory.mktemp("examples") / "examples")


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with a clone on which `pip install .` was run."""
    return new_machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A small ecosystem in a registry; tests must not change it."""
    world = small_world(tmp_path_factory.mktemp("world"))
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        yield world


@pytest.fixture
def fleet(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A project that asks for app and has never been locked, behind a server."""
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", world.host)
    return new_fleet(tmp_path, world)
