"""What every test gets: registries to talk to, a secret to look for, and nobody's own settings."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.examples import copy_examples
from rig.registry import RunningRegistry, docker_registry

_FOLDERS = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DOCKER_CONFIG")
_PREFIXES = ("XPLOCK_", "ARGOCD_", "GIT_")
_NAMES = ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


@pytest.fixture(autouse=True)
def nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the settings of whoever runs the tests."""
    empty = tmp_path_factory.mktemp("nobody")
    with pytest.MonkeyPatch.context() as environment:
        for name in filter(_is_a_setting, list(os.environ)):
            environment.delenv(name)
        for name in _FOLDERS:
            (empty / name).mkdir()
            environment.setenv(name, str(empty / name))
        environment.setenv("GIT_CONFIG_NOSYSTEM", "1")
        yield


@pytest.fixture
def canary() -> str:
    """A secret of this test alone; wherever it turns up, something leaks."""
    return f"canary-{secrets.token_hex(16)}"


@pytest.fixture(scope="session")
def registry_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder all registries keep their data in."""
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="session")
def open_registry(registry_folder: Path) -> Iterator[RunningRegistry]:
    """A real registry that asks nobody who they are."""
    with docker_registry(registry_folder, "open") as registry:
        yield registry


@pytest.fixture(scope="session")
def htpasswd_registry(registry_folder: Path) -> Iterator[RunningRegistry]:
    """The same data behind a user name and a password."""
    with docker_registry(registry_folder, "htpasswd") as registry:
        yield registry


@pytest.fixture(scope="session")
def token_registry(registry_folder: Path) -> Iterator[RunningRegistry]:
    """The same data behind tokens, and none for the anonymous."""
    with docker_registry(registry_folder, "token") as registry:
        yield registry


def _is_a_setting(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES) or name.upper().endswith("_PROXY")


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples with their packages built."""
    return copy_examples(tmp_path_factory.mktemp("examples") / "examples")
