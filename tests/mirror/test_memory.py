"""xplock mirror with a blob beyond the limit of layers: it is never held in memory, and never in the cache."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.images import Ran
from rig.builders.images import run_command as run_measured
from rig.builders.large import serve_large
from rig.registry.docker import RunningRegistry
from rig.registry.in_memory import MiniRegistry
from rig.registry.pushed import Raw

SIZE = 192 << 20


@pytest.fixture
def upstream() -> Iterator[MiniRegistry]:
    """A registry in this process."""
    with MiniRegistry() as mini:
        yield mini


def run(tmp_path: Path, upstream: MiniRegistry, to: str, *hosts: str) -> Ran:
    """Lock the package, and mirror it."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "xplock.yaml").write_text(f"roots:\n  - package: {upstream.host}/acme/large:v1.0.0\n")
    environ = {
        "XPLOCK_PLAIN_HTTP": ",".join([upstream.host, *hosts]),
        "XPLOCK_CACHE_DIR": str(tmp_path / "cache"),
    }
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    locked = run_measured("lock", str(project), folder=tmp_path / "a", environ=environ)
    assert locked.code == 0, locked.err
    done = run_measured("mirror", str(project), "--to", to, folder=tmp_path / "b", environ=environ)
    assert done.code == 0, done.err
    return done


def test_a_large_blob_gets_to_a_registry_in_little_memory_and_past_the_cache(
    upstream: MiniRegistry, destination: RunningRegistry, tmp_path: Path
) -> None:
    digest = serve_large(upstream, "acme/large", SIZE)
    done = run(tmp_path, upstream, f"{destination.host}/xp", destination.host)

    assert done.megabytes < 100
    path = f"xp/{upstream.host.replace(':', '-')}/acme/large"
    assert Raw(destination.host).ask("HEAD", f"/v2/{path}/blobs/{digest}")[0] == 200
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.stat().st_size > SIZE // 2]


@pytest.mark.parametrize("scheme", ["oci", "oci-archive"])
def test_a_large_blob_gets_to_a_file_and_from_there_to_a_registry_in_little_memory(
    scheme: str, upstream: MiniRegistry, destination: RunningRegistry, tmp_path: Path
) -> None:
    file, to = f"{scheme}:{tmp_path / 'copy'}", f"{destination.host}/xp"
    serve_large(upstream, "acme/large", SIZE)
    exported = run(tmp_path, upstream, file)
    (tmp_path / "c").mkdir()
    environ = {"XPLOCK_PLAIN_HTTP": destination.host}
    imported = run_measured("mirror", "--from", file, "--to", to, folder=tmp_path / "c", environ=environ)

    assert imported.code == 0, imported.err
    assert max(exported.megabytes, imported.megabytes) < 100
