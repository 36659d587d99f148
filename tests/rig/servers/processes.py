"""Servers as processes: each has a log, and none of them outlives the tests, even if those are killed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import urllib3

from rig.processes import dying_with_us
from rig.servers.ports import Ports
from rig.servers.waiting import wait_for

_LAST_LINES = 30
# Far more than a server takes that is asked to end.
_STOP_SECONDS = 120.0
# Servers that live for minutes rather have more memory than collect garbage all the time: a quarter of an API server's work.
_GO = {"GOGC": "400"}


@dataclass(frozen=True, slots=True)
class Server:
    """A program that runs until it is stopped."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until it does its work; fail with the end of its log."""

        def is_ready() -> bool:
            self.check()
            return ready()

        wait_for(is_ready, lambda: f"{self.name} is ready\n{self.last_words()}")

    def wait_until_healthy(self, url: str, authority: Path | None = None) -> None:
        """Wait until it answers that it is well; its certificate may be one that it makes itself."""
        self.wait_until(lambda: (authority is None or authority.exists()) and _answers(url, authority))

    def last_words(self) -> str:
        """Return the end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([f"{self.log}:", *lines[-_LAST_LINES:]])

    def stop(self, how: signal.Signals = signal.SIGKILL, *, seconds: float = _STOP_SECONDS) -> None:
        """End it, with all that it started in its group; fail if it does not end."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            said = f"{self.name} did not end within {seconds:.0f} s of {how.name}\n{self.last_words()}"
            raise AssertionError(said) from None

    def check(self) -> None:
        """Fail if it has ended, with its last words."""
        code = self.process.poll()
        assert code is None, f"{self.name} ended with {code}\n{self.last_words()}"


@dataclass(slots=True)
class Servers:
    """All servers of one cluster, with their logs in one folder and ports that are theirs alone."""

    logs: Path
    running: list[Server] = field(default_factory=list)
    _ports: Ports = field(default_factory=Ports)

    def start(self, command: Sequence[str | Path], environ: Mapping[str, str], folder: Path) -> Server:
        """Start a program in a folder, with this environment alone."""
        name = Path(command[0]).name
        log = self.logs / f"{name}.log"
        self.logs.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            process = subprocess.Popen(
                dying_with_us(command),
                cwd=folder,
                env={**_GO, **environ},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        server = Server(name, log, process)
        self.running.append(server)
        return server

    def free_port(self) -> int:
        """Return a port on loopback, reserved until all servers are stopped."""
        return self._ports.take()

    def check(self) -> None:
        """Fail if one of them has ended by itself."""
        for server in self.running:
            server.check()

    def end(self, server: Server) -> None:
        """End one of them, which then is not missed."""
        self.running.remove(server)
        server.stop()

    def stop(self) -> None:
        """End all of them, the last one first."""
        with ExitStack() as stack:
            stack.callback(self._ports.give_back)
            # However one of them ends, the others do.
            for server in self.running:
                stack.callback(server.stop)
            self.running.clear()


def program(name: str) -> str:
    """Return where a program of the system is."""
    found = shutil.which(name)
    assert found, f"no {name} on PATH; `make e2e` names its Debian package"
    return found


def _answers(url: str, authority: Path | None) -> bool:
    try:
        with urllib3.PoolManager(ca_certs=authority and str(authority)) as pool:
            return pool.request("GET", url, retries=False, timeout=5).status == 200
    except urllib3.exceptions.HTTPError:
        return False
