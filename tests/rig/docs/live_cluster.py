"""The running cluster of a page: an API that kubectl reads, and the registry that its packages came from."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rig.builders.live_objects import Object, Running, crossplane_deployment, live_objects
from rig.builders.live_worlds import running
from rig.builders.projects import World
from rig.builders.stuck import STATES
from rig.live_api import LiveApi


def publish_packages(folder: Path) -> World:
    """Publish what the cluster runs, and newer versions; the layout is `registry`."""
    world = World(folder)
    for name in ("net", "store"):
        for version in ("v1.0.0", "v1.1.0"):
            crds = [f"{name}s.example.org"]
            world.publish(f"provider-{name} {version}", kind="Provider", crds=crds)
    world.publish("function-ready v0.2.1", kind="Function")
    needs = {"provider-net": ">=v1.0.0", "provider-store": ">=v1.0.0", "function-ready": ">=v0.2.0"}
    world.publish("configuration-shop v1.0.0", needs)
    return world


def cluster_packages(world: World) -> list[Running]:
    """Return what the cluster runs: one package installed by hand under a name of its own, the rest by Crossplane."""
    needs = {"provider-net": ">=v1.0.0", "provider-store": ">=v1.0.0", "function-ready": ">=v0.2.0"}
    login = {"packagePullSecrets": [{"name": "login"}]}
    return [
        running(world, "configuration-shop v1.0.0", name="shop", needs=needs),
        running(world, "provider-net v1.0.0", kind="Provider", name="networks", spec=login),
        running(world, "provider-store v1.0.0", kind="Provider"),
        running(world, "function-ready v0.2.1", kind="Function"),
    ]


@contextmanager
def live_cluster() -> Iterator[dict[str, str]]:
    """Run the API of a healthy cluster, and yield the variable by which kubectl finds it."""
    with tempfile.TemporaryDirectory() as scratch:
        world = publish_packages(Path(scratch))
        with _serve(live_objects(cluster_packages(world), crossplane_deployment("v2.3.4"))) as variables:
            yield variables


def stuck_cluster() -> AbstractContextManager[dict[str, str]]:
    """Run the API of a cluster with one source under two names."""
    return _serve(STATES["poisoned-lock"]())


@contextmanager
def _serve(objects: Sequence[Object]) -> Iterator[dict[str, str]]:
    api = LiveApi(objects)
    with tempfile.TemporaryDirectory() as scratch, api.server:
        yield {"KUBECONFIG": str(api.kubeconfig(Path(scratch)))}
