"""The registry mirror.example.org of a page: a real one, found by way of a proxy."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.registry.docker import docker_registry
from rig.registry.proxy import Proxy

HOST = "mirror.example.org"


@contextmanager
def mirror_registry() -> Iterator[dict[str, str]]:
    """Run the registry, and yield the variables by which programs find it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        docker_registry(Path(folder), "open") as registry,
        Proxy(registry.host, name=HOST) as proxy,
    ):
        yield {"http_proxy": proxy.server.url, "XPLOCK_PLAIN_HTTP": HOST}
