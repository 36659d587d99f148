"""A repository whose folder is locked and rendered as docs/flux.md says, behind a server that wants a password."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rig.docs.pages import TOP, read_blocks
from rig.git.repositories import clone, git, new_repository, save, serve
from rig.registry.http_server import Certificate, RecordingServer

PAGE = TOP / "docs/flux.md"
_XPLOCK = Path(sys.executable).with_name("xplock")
_USER, _PASSWORD = "robin", "made-up-password"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Repository:
    """A clone, and the address that Flux fetches from."""

    root: Path
    url: str
    certificate: Certificate
    environ: Mapping[str, str]

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def xplock(self, *arguments: str) -> str:
        """Run a command at the top of the clone, which has to work."""
        done = subprocess.run(
            [_XPLOCK, *arguments],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"xplock {' '.join(arguments)}: {done.returncode}\n{done.stderr}"
        return done.stdout

    def render_and_push(self) -> str:
        """Render as the page says, and push everything; return the commit."""
        [block] = [
            block
            for block in read_blocks(PAGE)
            if block.section == "Render to a folder" and block.language == "console"
        ]
        render = block.text.splitlines()[0].removeprefix("$ xplock ")
        self.xplock(*render.split())
        return self.push()

    def push(self) -> str:
        """Push everything; return the commit."""
        commit = save(self.root)
        git(self.root, "push", "--quiet", "origin", "HEAD:main")
        return commit

    @property
    def login(self) -> dict[str, str]:
        """The keys of the Secret that the page names."""
        return {"username": _USER, "password": _PASSWORD, "ca.crt": self.certificate.file.read_text()}


def read_objects(section: str) -> list[dict[str, Any]]:
    """Return the objects that a section of the page shows."""
    blocks = [block for block in read_blocks(PAGE) if (block.section, block.language) == (section, "yaml")]
    return [value for block in blocks for value in yaml.safe_load_all(block.text)]


@contextmanager
def serving_repository(
    place: Path, certificate: Certificate, environ: Mapping[str, str]
) -> Iterator[Repository]:
    """Make an empty repository, and serve it over https."""
    place.mkdir()
    new_repository(place / "platform.git", "--bare")
    root = clone(place / "platform.git", place / "clone")
    usual = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}
    with RecordingServer(serve(place, f"{_USER}:{_PASSWORD}"), certificate=certificate) as server:
        yield Repository(root, f"{server.url}/platform.git", certificate, {**usual, **environ})
