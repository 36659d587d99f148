"""Several repo-servers render one commit at the same time: whatever is in their caches, the bytes are the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rig.builders.projects import World, small_world
from rig.registry.layout_server import serve_layout

from render.cli.run import run
from render.system.files import LOCK_FILE

SECONDS = 120
# What a replica has: nothing, what an earlier call left, half of that, damaged files, or no cache at all.
CACHES = ("cold", "warm", "half", "damaged", "")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Packages that a server has."""
    return small_world(tmp_path)


def replica(tmp_path: Path, commit: Path, cache: str, policy: str, host: str) -> "subprocess.Popen[bytes]":
    """Start the plugin as one repo-server does: a home, a cache and a checkout of its own."""
    home = tmp_path / "replicas" / (cache or "none")
    checkout = home / "checkout"
    checkout.mkdir(parents=True)
    for file in commit.iterdir():
        (checkout / file.name).write_bytes(file.read_bytes())
    own = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XPLOCK_CACHE_DIR": str(tmp_path / "caches" / cache) if cache else "",
        "XPLOCK_PLAIN_HTTP": host,
        # Neither a host nor a language is in what is rendered.
        "HOSTNAME": f"repo-server-{cache}",
        "LC_ALL": "C" if cache == "cold" else "C.UTF-8",
        "PYTHONHASHSEED": str(len(cache)),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "render", "plugin", "generate", "--lock-policy", policy],
        cwd=checkout,
        env={**os.environ, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def prepare_caches(tmp_path: Path, host: str, commit: Path) -> None:
    """Fill the caches that are not empty by a call of their own."""
    for cache in ("warm", "half", "damaged"):
        done = replica(tmp_path / "before" / cache, commit, cache, "resolve", host)
        done.communicate(timeout=SECONDS)
        assert done.returncode == 0
        (tmp_path / "caches").mkdir(exist_ok=True)
        (tmp_path / "before" / cache / "caches" / cache).rename(tmp_path / "caches" / cache)
    files = sorted(path for path in (tmp_path / "caches/half").rglob("*") if path.is_file())
    for path in files[::2]:
        path.unlink()
    for path in (tmp_path / "caches/damaged").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize("policy", ["frozen", "resolve"])
def test_all_of_them_render_the_same_bytes_at_the_same_time(
    world: World, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        commit = world.project("commit", "app", "tool:v1.0.0")
        prepare_caches(tmp_path, server.host, commit)
        if policy == "frozen":
            monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
            assert run(["-q", "lock", str(commit)]) == 0

        running = [replica(tmp_path, commit, cache, policy, server.host) for cache in CACHES]
        made = [child.communicate(timeout=SECONDS) for child in running]

    assert [child.returncode for child in running] == [0] * len(CACHES), made
    assert len({output for output, _ in made}) == 1
    assert b"xpkg.example.org/acme/app:v2.0.0" in made[0][0]


def test_a_replica_leaves_nothing_in_its_checkout(world: World, tmp_path: Path) -> None:
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        commit = world.project("commit", "app")
        child = replica(tmp_path, commit, "cold", "resolve", server.host)
        child.communicate(timeout=SECONDS)

    assert child.returncode == 0
    assert [path.name for path in Path(tmp_path, "replicas/cold/checkout").iterdir()] == ["xplock.yaml"]
    assert not (commit / LOCK_FILE).exists()
