"""The plugin as Argo CD calls it for an Application, with a Git server that it may commit to."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rig.builders.projects import World
from rig.git.repositories import clone, git, new_repository, save

SHOP_FOLDER = "clusters/shop"
SECONDS = 120


class Ending(NamedTuple):
    """Exit code, output and errors of the plugin."""

    code: int
    output: str
    errors: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """A server with a repository, and the folders that Argo CD would have of it."""

    world: World
    server: Path
    clone: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self.clone / SHOP_FOLDER

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"file://{self.server}"

    @property
    def tip(self) -> str:
        """The commit that the server's branch is at."""
        return git(self.server, "rev-parse", "main")

    def generate(
        self,
        path: str = SHOP_FOLDER,
        *,
        before: Sequence[str] = (),
        without: Sequence[str] = (),
        **environ: str,
    ) -> Ending:
        """Call the plugin with other variables, without some of them, or through another program."""
        process = self.start(path, before=before, without=without, **environ)
        output, errors = process.communicate(timeout=SECONDS)
        return Ending(process.returncode, output, errors)

    def start(
        self,
        path: str = SHOP_FOLDER,
        *,
        before: Sequence[str] = (),
        without: Sequence[str] = (),
        **environ: str,
    ) -> subprocess.Popen[str]:
        """Start the plugin as the leader of a group, as Argo CD does."""
        given = self.variables(path, **environ)
        return subprocess.Popen(
            [*before, sys.executable, "-m", "render", "plugin", "generate", "--lock-policy", "commit"],
            cwd=self.clone / path,
            env={name: value for name, value in given.items() if name not in without},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def variables(self, path: str = SHOP_FOLDER, **environ: str) -> dict[str, str]:
        """Return the environment for the plugin; keyword arguments replace the usual variables."""
        if "ARGOCD_APP_REVISION" not in environ:
            environ["ARGOCD_APP_REVISION"] = git(self.clone, "rev-parse", "HEAD")
        usual = {
            "ARGOCD_APP_NAME": "shop",
            "ARGOCD_APP_SOURCE_REPO_URL": self.url,
            "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
            "ARGOCD_APP_SOURCE_PATH": path,
            "XPLOCK_COMMIT_TO": f"https://git.example.org/*#main, {self.url}#main",
        }
        return {**os.environ, **usual, **self.environ, **environ}

    def kill_after(self, seconds: float, **environ: str) -> None:
        """Start the plugin, and kill it with everything that it has started."""
        process = self.start(**environ)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=SECONDS)

    def ask(self, *roots: str, path: str = SHOP_FOLDER, more: str = "") -> Path:
        """Write what a project asks for, and return its folder."""
        written = self.world.project("template", *roots, more=more) / "xplock.yaml"
        folder = self.clone / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "xplock.yaml").write_text(written.read_text())
        return folder

    def push(self, message: str = "a change") -> str:
        """Commit everything in the clone, and push it."""
        commit = save(self.clone, message)
        git(self.clone, "push", "--quiet", "origin", "HEAD:main")
        return commit

    def pull(self) -> None:
        """Pull from the server."""
        git(self.clone, "pull", "--quiet", "--ff-only", "origin", "main")

    def commits_since(self, commit: str) -> int:
        """Return how many commits the server has after this one."""
        return int(git(self.server, "rev-list", "--count", f"{commit}..main"))


def new_fleet(folder: Path, world: World, *options: str) -> Fleet:
    """Make a server with a project that asks for app and has never been locked; the options are those of git init."""
    made = new_repository(folder / "made", *options)
    (made / "README").write_text("read me\n")
    save(made, "begin")
    git(folder, "clone", "--quiet", "--bare", str(made), "server.git")
    (folder / "gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")
    fleet = Fleet(
        world,
        folder / "server.git",
        clone(folder / "server.git", folder / "clone"),
        {"GIT_CONFIG_GLOBAL": str(folder / "gitconfig"), "XPLOCK_PLAIN_HTTP": world.host},
    )
    fleet.ask("app:v1.0.0")
    fleet.push("ask for app")
    return fleet


def committed(commit: str) -> Ending:
    """Return how the plugin ends when it has committed a lock."""
    return Ending(1, "", f"error: lock committed as {commit}; the next refresh renders it\n")


def refused(reason: str, path: str = SHOP_FOLDER) -> Ending:
    """Return how the plugin ends when it commits no lock."""
    return Ending(
        3,
        "",
        "error: . has no crossplane.lock.yaml\n  why:  nothing has been locked there yet\n"
        f"        {reason}\n  next: run `xplock lock {path}` in a clone, and commit what it writes\n",
    )
