"""Headless Chromium behind chromedriver, which speaks JSON over HTTP on the loopback interface."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECONDS = 60.0
# As root it needs --no-sandbox; without the others it looks for servers of its own in the background.
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1400,900",
)
# The key by which WebDriver names an element.
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER, ESCAPE, DOWN = "\ue007", "\ue00c", "\ue015"


@dataclass(frozen=True)
class Browser:
    """One window of a browser."""

    url: str

    def open(self, path: Path) -> None:
        """Show a file."""
        self._post("url", {"url": path.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page, and return what it returns."""
        return self._post("execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str) -> None:
        """Run a script again and again until it returns something true."""
        deadline = time.monotonic() + _SECONDS
        while not self.run(script):
            assert time.monotonic() < deadline, f"still not: {script}"
            time.sleep(0.05)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )
        return found

    def click(self, selector: str) -> None:
        """Click an element where it is on the screen, as a person does."""
        self._post(f"element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into an element."""
        self._post(f"element/{self._find(selector)}/value", {"text": text})

    def press(self, key: str) -> None:
        """Press a key, wherever the focus is."""
        strokes = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._post("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def screenshot(self, path: Path) -> None:
        """Write what the window shows as a PNG."""
        path.write_bytes(base64.b64decode(self._get("screenshot")))

    def print(self) -> bytes:
        """Return the page as a PDF, as the page wants to be printed."""
        pdf: str = self._post("print", {"background": True})
        return base64.b64decode(pdf)

    def _find(self, selector: str) -> str:
        found: dict[str, str] = self._post("element", {"using": "css selector", "value": selector})
        return found[_ELEMENT]

    def _post(self, what: str, body: dict[str, Any]) -> Any:
        return _ask(f"{self.url}/{what}", body)

    def _get(self, what: str) -> Any:
        return _ask(f"{self.url}/{what}", None)


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own."""
    driver = shutil.which("chromedriver")
    assert driver and shutil.which("chromium"), (
        "install the Debian packages chromium and chromium-driver: make tools"
    )
    port = _free_port()
    with (folder / "chromedriver.log").open("wb") as log:
        process = subprocess.Popen([driver, f"--port={port}"], stdout=log, stderr=log)
    try:
        server = f"http://127.0.0.1:{port}"
        _wait(server)
        options = {"args": [*_FLAGS, f"--user-data-dir={folder / 'profile'}"]}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        session = _ask(f"{server}/session", wanted)["sessionId"]
        yield Browser(f"{server}/session/{session}")
        _ask(f"{server}/session/{session}", None, method="DELETE")
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _wait(server: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            if _ask(f"{server}/status", None)["ready"]:
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def _ask(url: str, body: dict[str, Any] | None, *, method: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url,
        data,
        {"Content-Type": "application/json"},
        method=method or ("GET" if data is None else "POST"),
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        return json.load(answer)["value"]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
