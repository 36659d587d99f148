"""A proxy in front of a real registry: it remembers every request, and answers some of them in its own way."""

import http.client
import json
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias

from rig.registry.http_server import WAIT_SECONDS, Answer, RecordingServer, Request, answer

Rule: TypeAlias = Callable[[Request], Answer | None]

_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive")


class Proxy:
    """Passes requests on, unless a rule answers them."""

    def __init__(self, host: str, *rules: Rule, name: str = "") -> None:
        self.upstream = host
        # The host that clients ask for, if they use it as an HTTP proxy.
        self.name = name
        self.rules = list(rules)
        self.server = RecordingServer(self._answer)
        # As a reference spells it; known even when the server has stopped.
        self.host = self.server.host

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.stop()

    @property
    def asked(self) -> list[str]:
        """Return method and path of every request, in order."""
        return [f"{request.method} {request.path}" for request in self.server.requests]

    def writes(self) -> list[str]:
        """Return the requests that change something."""
        return [line for line in self.asked if line.split()[0] not in ("GET", "HEAD")]

    def _answer(self, request: Request) -> Answer:
        for rule in self.rules:
            own = rule(request)
            if own is not None:
                return own
        return self.pass_on(request)

    def pass_on(self, request: Request, **more: str) -> Answer:
        """Return the answer of the registry, with more headers; it sends its clients to the proxy again."""
        connection = http.client.HTTPConnection(self.upstream, timeout=WAIT_SECONDS)
        try:
            headers: dict[str, str] = {}
            for name, text in request.headers.items():
                if name.lower() not in (*_HOP, "host"):
                    # Several lines of one header, as some clients write it.
                    headers[name] = f"{headers[name]}, {text}" if name in headers else text
            if self.name:
                headers["Host"] = self.name
            target = request.target.removeprefix(f"http://{self.name}")
            connection.request(request.method, target, request.body or None, headers)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        kept = [(name, text) for name, text in response.getheaders() if name.lower() not in _HOP]
        kept = [(name, text.replace(self.upstream, self.host)) for name, text in kept]
        if request.method == "HEAD":
            kept.append(("Content-Length", response.headers.get("Content-Length", "0")))
        return answer(response.status, body, [*kept, *((k.replace("_", "-"), v) for k, v in more.items())])


class ReferrersApi:
    """Answers what a registry with the API for referrers answers; the registry behind it has none."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._listed: dict[str, dict[str, dict[str, object]]] = {}

    def __call__(self, request: Request) -> Answer | None:
        """Answer for lists, and remember what refers to something."""
        name = request.path.rpartition("/")[2]
        if "/referrers/" in request.path:
            index = {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "manifests": list(self._listed.get(name, {}).values()),
            }
            return answer(200, json.dumps(index).encode(), {"Content-Type": str(index["mediaType"])})
        if request.method == "PUT" and "/manifests/" in request.path:
            document = json.loads(request.body)
            subject = document.get("subject")
            if subject:
                entry = {"mediaType": document["mediaType"], "digest": name, "size": len(request.body)}
                self._listed.setdefault(subject["digest"], {})[name] = entry
                return self._proxy.pass_on(request, OCI_Subject=subject["digest"])
        return None
