"""A Git server, a clone to push from, and Argo CD's repo-server and cmp-server with the plugin between them."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from render.cli.run import run
from rig.argocd.cmp_server import SECONDS, CmpServer, cmp_server, plugin_with
from rig.argocd.repo_server import Application, RepoServer, repo_server
from rig.builders.projects import World, small_world
from rig.git.repositories import clone, git, new_repository, save


@dataclass(frozen=True, slots=True)
class Origin:
    """A server's repository and a clone of it, with projects that ask for packages of a small ecosystem."""

    world: World
    server: Path
    clone: Path

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"file://{self.server}"

    @property
    def tip(self) -> str:
        """The commit that the server's branch is at."""
        return git(self.server, "rev-parse", "main")

    def ask(self, *roots: str, path: str = "shop", more: str = "") -> Path:
        """Write what a project asks for, and return its folder."""
        written = self.world.project("template", *roots, more=more) / "xplock.yaml"
        folder = self.clone / path
        folder.mkdir(parents=True, exist_ok=True)
        # The layout of the repository: the plugin reads no other one.
        layout = os.path.relpath(self.clone / "registry", folder)
        (folder / "xplock.yaml").write_text(written.read_text().replace(str(self.world.layout), layout))
        return folder

    def lock(self, path: str = "shop") -> Path:
        """Lock a project as people do, and return its folder."""
        assert run(["-q", "lock", str(self.clone / path)]) == 0
        return self.clone / path

    def push(self, branch: str = "main") -> str:
        """Commit everything in the clone, and push it."""
        commit = save(self.clone)
        git(self.clone, "push", "--quiet", "origin", f"HEAD:{branch}")
        return commit

    def pull(self) -> None:
        """Pull from the server."""
        git(self.clone, "pull", "--quiet", "--ff-only", "origin", "main")


def new_origin(folder: Path) -> Origin:
    """Make a server with a project `shop` that asks for app and is not locked."""
    made = new_repository(folder / "made")
    (made / "README").write_text("read me\n")
    save(made, "begin")
    git(folder, "clone", "--quiet", "--bare", str(made), "server.git")
    origin = Origin(
        small_world(folder / "world"), folder / "server.git", clone(folder / "server.git", folder / "clone")
    )
    shutil.copytree(origin.world.layout, origin.clone / "registry")
    origin.ask("app:v1.0.0")
    origin.push()
    return origin


@dataclass(frozen=True, slots=True)
class ArgoCd:
    """Both servers, running."""

    repo: RepoServer
    cmp: CmpServer

    def generate(self, wanted: Application, revision: str = "", *, cached: bool = False) -> list[Any]:
        """Return the objects of an Application."""
        return self.repo.generate(wanted, revision, cached=cached)

    def failure(
        self, wanted: Application, revision: str = "", *, cached: bool = False, seconds: float = SECONDS
    ) -> str:
        """Return what users are shown when nothing comes out."""
        with pytest.raises(grpc.RpcError) as caught:
            self.repo.generate(wanted, revision, cached=cached, seconds=seconds)
        return str(caught.value.details())


@contextmanager
def argocd(
    folder: Path, environ: Mapping[str, str], *, policy: str = "commit", options: Sequence[str] = ()
) -> Iterator[ArgoCd]:
    """Start both servers; the environment is the sidecar's, the options are those of repo-server."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin = plugin_with(folder, policy)
    with (
        cmp_server(folder / "cmp", environ, plugin=plugin) as cmp,
        repo_server(folder / "repo", folder / "cmp/plugins", *options) as repo,
    ):
        yield ArgoCd(repo, cmp)
