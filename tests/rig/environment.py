"""Empty settings instead of those of the user who runs the tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FOLDERS = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DOCKER_CONFIG")
_PREFIXES = ("XPLOCK_", "ARGOCD_", "GIT_")
_NAMES = ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


@contextmanager
def hidden_settings(empty: Path) -> Iterator[None]:
    """Hide all settings while the context lasts; their folders are new ones below an empty one."""
    with pytest.MonkeyPatch.context() as environment:
        for name in filter(_is_a_setting, list(os.environ)):
            environment.delenv(name)
        for name in _FOLDERS:
            (empty / name).mkdir()
            environment.setenv(name, str(empty / name))
        environment.setenv("GIT_CONFIG_NOSYSTEM", "1")
        yield


def _is_a_setting(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES) or name.upper().endswith("_PROXY")
