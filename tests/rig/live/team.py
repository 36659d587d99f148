"""People who keep one folder in Git, lock it with xplock, and let Argo CD apply it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from render.app.scaffold.choices import Choices
from render.app.scaffold.pieces import format_piece
from render.settings import SETTINGS_FILE
from rig.builds.recipes import CROSSPLANE
from rig.git.repositories import clone, git, new_repository, save
from rig.live.application import Application
from rig.servers.client import Client, Object
from rig.servers.kinds import APPLICATIONS

_XPLOCK = Path(sys.executable).with_name("xplock")
_SECONDS = 120


class Team:
    """A folder of a clone, the repository that it is pushed to, and the Application that Argo CD makes of it."""

    def __init__(
        self,
        place: Path,
        name: str,
        client: Client,
        environ: Mapping[str, str],
        crossplane: str = CROSSPLANE.version,
    ) -> None:
        place.mkdir(parents=True)
        self.server = new_repository(place / "server.git", "--bare")
        self.url = f"file://{self.server}"
        self.root = clone(self.server, place / "clone")
        self.folder = self.root / name
        self.folder.mkdir()
        self.application = Application(client, name)
        # What the first push creates: as `xplock init` writes it.
        choices = Choices(name=name, repository=self.url, path=name)
        self.manifest: Object = yaml.safe_load(format_piece("application", choices))
        self._client = client
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "XDG_CACHE_HOME": str(place / "cache"),
            **environ,
        }
        # Which Crossplane the folder says the cluster has; empty, if it does not say it.
        self._crossplane = crossplane
        self.write_settings({})

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_settings(self, settings: Mapping[str, object]) -> None:
        """Write the settings of the folder, with the version of Crossplane; no file without any."""
        known = {"crossplaneVersion": self._crossplane} if self._crossplane else {}
        if whole := {**known, **settings}:
            self.write(SETTINGS_FILE, json.dumps(whole, indent=2) + "\n")

    def remove(self, name: str) -> None:
        """Delete a file of the folder."""
        (self.folder / name).unlink()

    def xplock(self, *arguments: str, code: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the command in the folder, and see that it ends as it should."""
        done = self.try_xplock(*arguments, stdin=stdin)
        assert done.returncode == code, f"xplock {' '.join(arguments)}: {done.returncode}\n{done.stderr}"
        return done

    def try_xplock(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the command in the folder, however it ends."""
        return subprocess.run(
            [_XPLOCK, *arguments],
            input=stdin,
            cwd=self.folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )

    def lock(self, *arguments: str, code: int = 0) -> str:
        """Lock the folder; return what was printed."""
        done = self.xplock("lock", *arguments, code=code)
        return done.stdout + done.stderr

    def commit_and_push(self, message: str = "a change") -> str:
        """Push everything that changed, and return the commit; the first push creates the Application."""
        commit = save(self.root, message)
        git(self.root, "push", "--quiet", "origin", "HEAD:main")
        if self._client.find(APPLICATIONS, self.application.name) is None:
            self._client.create(APPLICATIONS, self.manifest)
        return commit

    def sync(self, message: str = "a change", *, health: str = "Healthy") -> str:
        """Push everything, wait until it is applied and everything is healthy, and return the commit."""
        commit = self.commit_and_push(message)
        self.application.wait_synced(commit, health=health)
        return commit

    def pull(self) -> str:
        """Take over what others pushed, and return the commit."""
        git(self.root, "pull", "--quiet", "--ff-only", "origin", "main")
        return git(self.root, "rev-parse", "HEAD")
