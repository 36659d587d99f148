"""A tag that moved after it was locked: what is rendered stays, and nobody is asked."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig.builders.packages import CRD, PROVIDER, build_file
from rig.commands.run import run_command
from rig.registry.docker import RunningRegistry

SECONDS = 60
# Python itself tells of every socket and of every program that is started.
WATCHED = """\
import json, sys
seen = []
prefixes = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(prefixes) else None)
from render.cli.run import run
code = run(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump(seen, file)
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a command did."""

    code: int
    stdout: str
    # The sockets that it opened and the programs that it started.
    seen: list[str]


@dataclass(frozen=True, slots=True)
class Scene:
    """A real registry, and a project that has locked a tag of it."""

    host: str
    folder: Path
    locked: str

    @property
    def project(self) -> str:
        """The folder of the project."""
        return str(self.folder / "project")

    def watch(self, *arguments: str) -> Watched:
        """Run the command as a child that could ask the registry."""
        record = self.folder / "seen.json"
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, record, *arguments],
            env={**os.environ, "XPLOCK_PLAIN_HTTP": self.host, "XPLOCK_CACHE_DIR": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return Watched(done.returncode, done.stdout, json.loads(record.read_text()))


def publish(host: str, folder: Path, content: str) -> str:
    """Push a provider under the one tag of these tests, and return its digest."""
    file = build_file(folder / "provider.xpkg", {"crossplane.yaml": PROVIDER, "crd.yaml": content})
    pushed = run_command(
        "package", "push", str(file), f"{host}/moved/provider:v1.0.0", environ={"XPLOCK_PLAIN_HTTP": host}
    )
    assert pushed.code == 0, pushed.stderr
    return pushed.stdout.strip().partition("@")[2]


def move_tag(scene: Scene) -> str:
    """Publish other bytes under the tag, and return their digest."""
    (scene.folder / "moved").mkdir()
    return publish(scene.host, scene.folder / "moved", CRD.replace("nops", "others"))


@pytest.fixture
def scene(open_registry: RunningRegistry, tmp_path: Path) -> Scene:
    """A provider that is published and locked."""
    host = open_registry.host
    digest = publish(host, tmp_path, CRD)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/provider.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: moved\n"
        f"spec:\n  package: {host}/moved/provider:v1.0.0\n"
    )
    scene = Scene(host, tmp_path, digest)
    locked = scene.watch("lock", scene.project)
    assert locked.code == 0
    assert "socket.connect" in locked.seen
    return scene


@pytest.mark.parametrize("form", [[], ["-o", "json"]], ids=["yaml", "json"])
def test_after_a_tag_moved_the_same_bytes_are_rendered_and_no_request_is_made(
    scene: Scene, form: list[str]
) -> None:
    before = scene.watch("render", scene.project, *form)
    moved = move_tag(scene)

    after = scene.watch("render", scene.project, *form)

    assert moved != scene.locked
    assert after == Watched(0, before.stdout, [])
    assert f"@{scene.locked}" in after.stdout
    assert moved not in after.stdout


def test_verify_asks_and_names_the_tag_that_moved(scene: Scene) -> None:
    moved = move_tag(scene)

    told = scene.watch("verify", scene.project)

    assert told.code == 3
    assert "socket.connect" in told.seen
    assert f"{scene.host}/moved/provider v1.0.0: tag moved" in told.stdout
    assert f"locked {scene.locked}" in told.stdout
    assert f"now names {moved}" in told.stdout
