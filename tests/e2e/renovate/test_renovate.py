"""Renovate as `xplock init --renovate` sets it up: it raises a version, locks it, and opens a pull request that passes CI."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from rig.builders.packages import PROVIDER, build_file, write_files
from rig.builds.renovate import run_renovate
from rig.deploy.ci import Job, read_job, run_job
from rig.docs.pages import TOP, read_blocks
from rig.git.gitea import Gitea
from rig.git.repositories import clone, git, new_repository, paths_in, save, write_program
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.http_server import RecordingServer

from render.cli.run import run
from render.system.files import LOCK_FILE

PROJECT = "clusters/production"
MANIFEST, LOCK = f"{PROJECT}/provider.yaml", f"{PROJECT}/{LOCK_FILE}"


def shown(language: str, word: str) -> str:
    """Return the block of the page about Renovate that has a word."""
    blocks = [block for block in read_blocks(TOP / "docs/ci.md") if block.section == "Renovate"]
    [text] = [block.text for block in blocks if block.language == language and word in block.text]
    return text


[ALLOWED] = json.loads(shown("json", "allowedCommands"))["allowedCommands"]
BY_HAND = shown("sh", "xplock lock").splitlines()[-1]


@dataclass(frozen=True, slots=True)
class Scene:
    """A repository on a server, a registry with two versions, and a folder with `xplock`."""

    folder: Path
    gitea: Gitea
    programs: Path
    registry: RunningRegistry

    def renovate(self, *, allowed: str | None) -> str:
        """Run Renovate, and return the branch that it pushed."""
        rules = [{"matchHost": self.registry.host, "insecureRegistry": True}]
        settings = {**self.gitea.settings, "RENOVATE_HOST_RULES": json.dumps(rules)}
        log = run_renovate(self.folder / "renovate", settings, programs=self.programs, allowed=allowed)
        branches = git(
            self.gitea.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads"
        ).split()
        assert len(branches) == 2, log[-5_000:]
        [branch] = [name for name in branches if name != "main"]
        return branch

    def clone(self, branch: str) -> Path:
        """Clone a branch as a CI server does."""
        return clone(self.gitea.repository, self.folder / "checkout", "--branch", branch)

    def job(self, checkout: Path) -> set[int]:
        """Run the shipped CI job there, and return its exit codes."""
        return set(run_job(read_job("github"), checkout, {}).values())


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A folder that asks for a version with a newer one, locked, with the configuration that `init` writes."""
    (tmp_path / "registry").mkdir()
    with docker_registry(tmp_path / "registry", "open") as registry:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", registry.host)
        monkeypatch.setenv("XPLOCK_CACHE_DIR", "")
        for version in ("v0.4.0", "v0.5.0"):
            meta = f"{PROVIDER}  annotations: {{version: {version}}}\n"
            file = build_file(tmp_path / f"package-{version}", {"crossplane.yaml": meta})
            assert (
                run(["-q", "package", "push", str(file), f"{registry.host}/acme/provider-nop:{version}"]) == 0
            )
        gitea = Gitea(tmp_path / "server", "acme/platform")
        _fill(gitea, tmp_path / "first", registry)
        # Renovate gives a command few variables, and none of the operator's settings of xplock.
        script = f'XPLOCK_PLAIN_HTTP={registry.host} XPLOCK_CACHE_DIR= exec {sys.executable} -m render "$@"'
        write_program(tmp_path / "programs/xplock", f"#!/bin/sh\n{script}\n")
        with RecordingServer(gitea.answer) as server:
            gitea.url = server.url
            yield Scene(tmp_path, gitea, tmp_path / "programs", registry)


def _fill(gitea: Gitea, root: Path, registry: RunningRegistry) -> None:
    new_repository(root)
    manifest = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": "acme-provider-nop"},
        "spec": {"package": f"{registry.host}/acme/provider-nop:v0.4.0"},
    }
    write_files(root / PROJECT, {"provider.yaml": yaml.safe_dump(manifest)})
    url = "https://git.example.org/acme/platform.git"
    assert run(["-q", "init", str(root / PROJECT), "--renovate", "--repo", url]) == 0
    assert run(["-q", "lock", str(root / PROJECT)]) == 0
    save(root)
    gitea.repository.parent.mkdir(parents=True)
    git(root, "clone", "--quiet", "--bare", str(root), str(gitea.repository))
    git(gitea.repository, "config", "http.receivepack", "true")


def test_a_version_that_renovate_raises_is_locked_in_the_same_pull_request(scene: Scene) -> None:
    branch = scene.renovate(allowed=ALLOWED)

    checkout = scene.clone(branch)
    [pull] = scene.gitea.pulls
    assert (pull["head"]["ref"], pull["base"]["ref"]) == (branch, "main")
    assert "v0.5.0" in pull["title"]
    assert sorted(paths_in(checkout)) == sorted([MANIFEST, LOCK])
    assert (checkout / MANIFEST).read_text().endswith("provider-nop:v0.5.0\n")
    assert "version: v0.5.0" in (checkout / LOCK).read_text()
    assert scene.job(checkout) == {0}


def test_a_renovate_that_runs_no_commands_leaves_the_lock_to_a_job(scene: Scene) -> None:
    branch = scene.renovate(allowed=None)
    checkout = scene.clone(branch)
    before = (paths_in(checkout), scene.job(checkout))

    [code] = run_job(Job({"lock": BY_HAND}, {}), checkout, {}).values()

    # The bytes of the old lock are still there, so one step of the job passes.
    assert before == ([MANIFEST], {0, 3})
    assert code == 0
    assert git(checkout, "rev-parse", "HEAD") == git(scene.gitea.repository, "rev-parse", branch)
    assert paths_in(checkout) == [LOCK]
    assert scene.job(checkout) == {0}
