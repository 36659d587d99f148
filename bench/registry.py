"""A registry on loopback with real packages of the ecosystem, which takes its time for every answer."""

import json
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

# The rig that the tests use.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from rig.browser.chromium import chromium as chromium
from rig.builders.catalogs import EcosystemCatalog as EcosystemCatalog
from rig.builders.catalogs import FakeCatalog as FakeCatalog
from rig.builders.ecosystem import PackageVersion as PackageVersion
from rig.builders.ecosystem import read_ecosystem as read_ecosystem
from rig.builders.images import run_command as run_command
from rig.builders.large import serve_large as serve_large
from rig.registry.docker import docker_registry as docker_registry
from rig.registry.http_server import Answer as Answer
from rig.registry.http_server import Request as Request
from rig.registry.http_server import late as late
from rig.registry.in_memory import MiniRegistry as MiniRegistry
from rig.registry.proxy import Proxy as Proxy
from rig.registry.pushed import Raw as Raw

from render.xpkg.building.packing import PackedImage, pack_image


@contextmanager
def serve_closure(versions: list[PackageVersion], scratch: Path, latency: float) -> Iterator[MiniRegistry]:
    """Serve versions from one registry, each below the name of the registry it is really in."""
    with MiniRegistry(latency=latency) as mini:
        for version in versions:
            image = version.build(scratch)
            for data in (image.config, *image.layers):
                mini.add_blob(data)
            source = version.reference.source
            mini.add_manifest(f"{source.registry}/{source.repository}", version.tag, image.data)
        yield mini


@contextmanager
def serve_synthetic(count: int, versions: int) -> Iterator[MiniRegistry]:
    """Serve made-up packages, each depending on four of the next fifty, in ranges that all can be met."""
    chance = random.Random(count)
    with MiniRegistry() as mini:
        for number in range(count):
            following = range(number + 1, min(number + 50, count))
            for version in range(versions):
                needed = chance.sample(following, min(4, len(following)))
                if number + 1 < count and number + 1 not in needed:
                    needed.append(number + 1)
                image = _make_image(
                    number, {other: f">=v1.{chance.randrange(versions)}.0" for other in needed}
                )
                for data in (image.config, *image.layers):
                    mini.add_blob(data)
                mini.add_manifest(f"xpkg.example.org/bench/p{number}", f"v1.{version}.0", image.data)
        yield mini


def _make_image(number: int, needed: Mapping[int, str]) -> PackedImage:
    depends = [
        {"configuration": f"xpkg.example.org/bench/p{n}", "version": c} for n, c in sorted(needed.items())
    ]
    meta = {
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": "Configuration",
        "metadata": {"name": f"p{number}"},
        "spec": {"dependsOn": depends},
    }
    return pack_image([("base", "package.yaml", json.dumps(meta).encode())], None)


def reachable(root: str) -> list[PackageVersion]:
    """Return every version of everything that a source can lead to."""
    by_source = read_ecosystem().by_source()
    found, waiting = {root}, [root]
    while waiting:
        for version in by_source.get(waiting.pop(), []):
            for dependency in version.depends_on:
                named = next(dependency[key] for key in _NAMES if dependency.get(key))
                if named not in found:
                    found.add(named)
                    waiting.append(named)
    return [version for source in sorted(found) for version in by_source.get(source, [])]


_NAMES = ("package", "provider", "configuration", "function")


def write_project(folder: Path, reference: str, mini: MiniRegistry, registries: set[str]) -> None:
    """Write a project that asks for one package, found on the loopback registry."""
    folder.mkdir(parents=True, exist_ok=True)
    rewrites = "".join(f"  - from: {name}\n    to: {mini.host}/{name}\n" for name in sorted(registries))
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {reference}\nrewrites:\n{rewrites}")


def environment(mini: MiniRegistry, cache: Path) -> Mapping[str, str]:
    """Return the environment for a child: plain http to the registry, and a cache of its own."""
    return {**os.environ, "XPLOCK_PLAIN_HTTP": mini.host, "XPLOCK_CACHE_DIR": str(cache)}
