"""Ports on loopback for servers that cannot choose one themselves."""

import random
import socket
from collections.abc import Sequence

# Below the ports that the system itself hands out to outgoing connections.
_PORTS = range(20_000, 32_000)


class Ports:
    """Ports that no other test process gets until they are given back."""

    def __init__(self, candidates: Sequence[int] = _PORTS) -> None:
        self._candidates = candidates
        self._held: list[socket.socket] = []

    def take(self) -> int:
        """Return a port that no program listens on, and that no other tests will take."""
        for port in random.sample(self._candidates, len(self._candidates)):
            held = _hold(port)
            if held is None:
                continue
            self._held.append(held)
            if _is_free(port):
                return port
        raise AssertionError(f"no port is free between {self._candidates[0]} and {self._candidates[-1]}")

    def give_back(self) -> None:
        """Give all of them back."""
        while self._held:
            self._held.pop().close()


def _hold(port: int) -> socket.socket | None:
    """Take what only one process can have, and what ends with it: a name without a file."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(f"\0xplock-tests-port-{port}")
    except OSError:
        held.close()
        return None
    return held


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
