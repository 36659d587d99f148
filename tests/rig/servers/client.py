"""A small client of the API server: objects are plain JSON, and a refused request fails the test."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import quote

import urllib3

from rig.servers.kinds import Resource

Object: TypeAlias = dict[str, Any]

# Far more than an answer takes on a busy machine.
_SECONDS = 120
_TOO_EARLY, _PAUSE = 429, 0.2
_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_MANAGER = "tests"


class Refused(AssertionError):
    """An answer that is not a success."""

    def __init__(self, method: str, path: str, status: int, answer: str) -> None:
        super().__init__(f"{method} {path}: {status} {answer}")
        self.status = status


class Client:
    """Asks one API server."""

    def __init__(self, url: str, authority: Path, token: str) -> None:
        self._url = url
        self._pool = urllib3.PoolManager(
            ca_certs=str(authority), headers={"Authorization": f"Bearer {token}"}, retries=False, maxsize=8
        )

    def get(self, resource: Resource, name: str) -> Object:
        """Return an object, which has to be there."""
        return self._ask("GET", f"{resource.path}/{quote(name)}")

    def find(self, resource: Resource, name: str) -> Object | None:
        """Return an object if there is one."""
        try:
            return self.get(resource, name)
        except Refused as error:
            if error.status != 404:
                raise
            return None

    def objects(self, resource: Resource) -> list[Object]:
        """Return all objects of a kind, sorted by their names."""
        items: list[Object] = self._ask("GET", resource.path)["items"]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    def create(self, resource: Resource, value: Mapping[str, Any]) -> Object:
        """Create an object."""
        return self._ask("POST", resource.path, value)

    def apply(self, resource: Resource, value: Mapping[str, Any], *, manager: str = _MANAGER) -> Object:
        """Apply an object on the server's side, and take over fields of other managers."""
        path = f"{resource.path}/{quote(value['metadata']['name'])}?fieldManager={manager}&force=true"
        return self._ask("PATCH", path, value, _APPLY)

    def patch(
        self, resource: Resource, name: str, value: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        """Merge fields into an object; None takes a field away."""
        path = f"{resource.path}/{quote(name)}{f'/{subresource}' if subresource else ''}"
        return self._ask("PATCH", f"{path}?fieldManager={_MANAGER}", value, _MERGE)

    def delete(self, resource: Resource, name: str, *, cascade: str = "Background") -> None:
        """Ask for an object to be deleted, with Background, Foreground or Orphan for what it owns."""
        self._ask("DELETE", f"{resource.path}/{quote(name)}", {"propagationPolicy": cascade})

    def watch(self, resource: Resource) -> "Watch":
        """Return a context in which all that happens to a kind is written down."""
        return Watch(self, resource)

    def is_ready(self) -> bool:
        """Return whether the server is up."""
        try:
            return self._send("GET", "/readyz").status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()

    def events(self, resource: Resource, since: str) -> Iterator[tuple[str, Object]]:
        """Wait a moment for what happens to a kind; yield it as it arrives, and as a BOOKMARK where to go on."""
        path = f"{resource.path}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion={since}"
        with self._checked("GET", path, is_read=False) as response:
            for event in map(json.loads, response):
                kind, value = event["type"], event["object"]
                if kind == "ERROR":
                    # Such as 410: what came after `since` is no longer known, and cannot be had again.
                    raise Refused("WATCH", path, value["code"], value.get("message", ""))
                yield kind, value

    def start_of(self, resource: Resource) -> tuple[list[Object], str]:
        """Return all objects of a kind, and the moment that a watch of what follows starts from."""
        answer = self._ask("GET", resource.path)
        # Of the server's own kinds, the items of a list do not say it again.
        kind = answer["kind"].removesuffix("List")
        items = [{"kind": kind, **item} for item in answer["items"]]
        return items, str(answer["metadata"]["resourceVersion"])

    def _ask(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Object:
        answer: Object = self._checked(method, path, body, kind).json()
        return answer

    def _checked(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        *,
        is_read: bool = True,
    ) -> urllib3.BaseHTTPResponse:
        end = time.monotonic() + _SECONDS
        response = self._send(method, path, body, kind, is_read=is_read)
        # The API server has just begun to serve a kind, or is very busy, and wants to be asked again.
        while response.status == _TOO_EARLY and time.monotonic() < end:
            time.sleep(_PAUSE)
            response = self._send(method, path, body, kind, is_read=is_read)
        if response.status >= 300:
            raise Refused(method, path, response.status, response.data.decode(errors="replace"))
        return response

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        kind: str = "application/json",
        *,
        is_read: bool = True,
    ) -> urllib3.BaseHTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._pool.headers, "Content-Type": kind}
        return self._pool.request(
            method,
            self._url + path,
            body=data,
            headers=headers,
            timeout=_SECONDS,
            preload_content=is_read,
        )


class Watch:
    """Everything that happens to the objects of one kind, in order, while the context lasts."""

    def __init__(self, client: Client, resource: Resource) -> None:
        # What was there at the start, and what happened since.
        self.before: list[Object] = []
        self.events: list[tuple[str, Object]] = []
        # When each event arrived, by the monotonic clock: what objects say of time are whole seconds.
        self.arrivals: list[float] = []
        self._client, self._resource = client, resource
        self._end = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self.before, self._since = self._client.start_of(self._resource)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join()
        if self._failure and error is None:
            raise self._failure

    def stop(self) -> None:
        """Let it end soon; leaving the context waits for that."""
        self._end.set()

    def names(self, event: str) -> list[str]:
        """Return the names of objects that were ADDED, MODIFIED or DELETED, in order."""
        return [str(value["metadata"]["name"]) for kind, value in self.events if kind == event]

    def _run(self) -> None:
        try:
            ended = False
            while not ended:
                # The last one starts after the end, so that all of what was before is in it.
                ended = self._end.is_set()
                for event, value in self._client.events(self._resource, self._since):
                    self._since = value["metadata"]["resourceVersion"]
                    if event != "BOOKMARK":
                        self.arrivals.append(time.monotonic())
                        self.events.append((event, value))
        except Exception as error:  # the test fails with it later
            self._failure = error


class Watches:
    """Several watches, which last as long as the context does."""

    def __init__(self, *watches: Watch) -> None:
        self._watches = watches
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for watch in self._watches:
            self._stack.enter_context(watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # All at once: each takes a moment to end.
        for watch in self._watches:
            watch.stop()
        self._stack.__exit__(kind, error, trace)
