"""xplock mirror: a closure with everything attached, from one real registry to another."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw


@pytest.fixture(scope="module")
def closure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closure]:
    """A closure of three packages; tests must not change it."""
    with docker_registry(tmp_path_factory.mktemp("upstream"), "open") as registry:
        yield Closure(Raw(registry.host)).push()


@pytest.fixture
def project(closure: Closure, tmp_path: Path) -> Path:
    """A folder that has locked the closure."""
    return closure.folder(tmp_path / "project")


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[RunningRegistry]:
    """An empty registry."""
    (tmp_path / "destination").mkdir()
    with docker_registry(tmp_path / "destination", "open") as registry:
        yield registry


def there(closure: Closure, host: str, prefix: str = f"xp/{HOST}") -> dict[str, dict[str, str | None]]:
    """Return the digests that a destination has for everything in the closure."""
    raw = Raw(host)
    return {
        image.repository: {
            name: raw.digest(f"{prefix}/{image.repository}", name if name.startswith("sha256-") else digest)
            for name, digest in image.manifests.items()
        }
        for image in closure.images.values()
    }


def test_every_manifest_arrives_under_its_digest(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    done = closure.run(
        "mirror", str(project), "--to", f"{destination.host}/xp", environ={"hosts": destination.host}
    )

    assert done.code == 0, done.stderr
    assert there(closure, destination.host) == closure.digests()
    raw = Raw(destination.host)
    for image in closure.images.values():
        repository = f"xp/{HOST}/{image.repository}"
        assert raw.digest(repository, "v1.0.0") == image.digest
        lists = [tag for tag in raw.tags(repository) if tag.startswith("sha256-") and "." not in tag]
        assert len(lists) == 2
        for tag in lists:
            [entry] = raw.document(repository, tag)["manifests"]
            assert entry["artifactType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
            assert entry["annotations"] == {"dev.sigstore.bundle.content": "dsse-envelope"}


def test_a_second_run_writes_nothing_and_asks_once_for_each_manifest(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host) as proxy:
        arguments = ("mirror", str(project), "--to", f"{proxy.host}/xp")
        first = closure.run(*arguments, environ={"hosts": proxy.host})
        proxy.server.forget()
        again = closure.run(*arguments, environ={"hosts": proxy.host})

        assert (first.code, again.code) == (0, 0), again.stderr
        assert proxy.writes() == []
        manifests = [line for line in proxy.asked if "/manifests/" in line]
        heads = [line for line in manifests if line.startswith("HEAD")]
        assert len(heads) == len(set(heads)) == sum(len(each) for each in closure.digests().values())
    assert first.stdout == again.stdout
    assert "0 of 3 images copied" in again.stderr
