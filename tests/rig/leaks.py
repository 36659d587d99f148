"""A search for a secret in the arguments, environments and files of the machine."""

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path

from rig.registry.http_server import Answer, Handler, Request


@dataclass(slots=True)
class Watcher:
    """Looks for a secret on the machine, in the middle of a conversation with a server."""

    secret: str
    folders: list[Path]
    looks: int = 0
    arguments: set[str] = field(default_factory=set)
    environments: set[str] = field(default_factory=set)
    files: set[Path] = field(default_factory=set)

    def look(self) -> None:
        """Look at all processes, and at all files of some folders."""
        self.looks += 1
        for process in filter(lambda path: path.name.isdigit(), Path("/proc").iterdir()):
            if process.name == str(os.getpid()):
                continue
            name = self._read(process / "comm").decode().strip()
            self.arguments |= {name} if self._shows(process / "cmdline") else set()
            self.environments |= {name} if self._shows(process / "environ") else set()
        paths = [path for folder in self.folders for path in folder.rglob("*") if path.is_file()]
        self.files |= set(filter(self._shows, paths))

    def _shows(self, path: Path) -> bool:
        data = self._read(path)
        header = base64.b64encode(f"x-access-token:{self.secret}".encode())
        return self.secret.encode() in data or header in data

    def _read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError:
            # It is gone already.
            return b""


def watched(watcher: Watcher, handler: Handler) -> Handler:
    """Return a handler that searches first, while the client and all that it started are waiting."""

    def handle(request: Request) -> Answer | None:
        watcher.look()
        return handler(request)

    return handle
