"""A stand-in for the pods and Services of Functions: it answers Crossplane's calls to deployed Functions."""

import base64
import select
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

import grpc

from rig.argocd.protobuf import Message, decode, encode
from rig.servers.background import Beside
from rig.servers.client import Client, Object
from rig.servers.kinds import DEPLOYMENTS, Resource

_SERVICE = "apiextensions.fn.proto.v1.FunctionRunnerService"
_LABEL = "pkg.crossplane.io/function"
_CERTIFICATES = "tls-server-certs"
_BYTES = 65536
# Fields of Crossplane's run_function.proto.
_REQUEST_DESIRED, _RESPONSE_DESIRED, _RESPONSE_CONDITIONS = 3, 2, 6
_TYPE, _STATUS, _REASON, _MESSAGE = 1, 2, 3, 4
_TRUE = 2

# A Deployment as it is now: any change of it replaces its pods.
_Id: TypeAlias = tuple[str, int]


class Functions:
    """A proxy that Crossplane reaches Services through, and behind it a server for each Function that is deployed.

    A Function gives the composite what it got, and a condition: its type is the Function's object, its message the image.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pods: dict[_Id, _Pod] = {}
        self._lock, self._stack = threading.Lock(), ExitStack()
        self._proxy = _Proxy(self)

    @property
    def proxy(self) -> str:
        """What Crossplane's HTTPS_PROXY has to be; loopback is never asked for there."""
        return f"http://127.0.0.1:{self._proxy.server_port}"

    def __enter__(self) -> Self:
        self._stack.callback(self._stop_pods)
        thread = threading.Thread(target=self._proxy.serve_forever, daemon=True)
        thread.start()
        for end in (thread.join, self._proxy.server_close, self._proxy.shutdown):
            self._stack.callback(end)
        self._stack.enter_context(Beside(self._sweep, "what ends the pods of Functions"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def find_port(self, name: str, namespace: str) -> int | None:
        """Return where the pod listens that a Service leads to, if there is one."""
        service = self._client.find(Resource("v1", "services", namespace), name)
        if service is None:
            return None
        wanted = service["spec"]["selector"].items()
        for deployment in self._client.objects(DEPLOYMENTS):
            if wanted <= deployment["spec"]["template"]["metadata"]["labels"].items():
                return self._pod(deployment).port
        return None

    def _pod(self, deployment: Object) -> "_Pod":
        key = _id_of(deployment)
        with self._lock:
            if key not in self._pods:
                self._pods[key] = _start_pod(deployment, self._secret(deployment))
            return self._pods[key]

    def _secret(self, deployment: Object) -> dict[str, bytes]:
        volumes = deployment["spec"]["template"]["spec"]["volumes"]
        name = next(one["secret"]["secretName"] for one in volumes if one["name"] == _CERTIFICATES)
        secrets = Resource("v1", "secrets", deployment["metadata"]["namespace"])
        return {key: base64.b64decode(text) for key, text in self._client.get(secrets, name)["data"].items()}

    def _sweep(self) -> None:
        if not self._pods:
            return
        there = {_id_of(one) for one in self._client.objects(DEPLOYMENTS)}
        with self._lock:
            for key in self._pods.keys() - there:
                self._pods.pop(key).stop()

    def _stop_pods(self) -> None:
        for pod in self._pods.values():
            pod.stop()


def _id_of(deployment: Object) -> _Id:
    return deployment["metadata"]["uid"], deployment["metadata"]["generation"]


@dataclass(frozen=True, slots=True)
class _Pod:
    port: int
    server: Any

    def stop(self) -> None:
        self.server.stop(grace=None).wait()


@dataclass(frozen=True, slots=True)
class _Program(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio ships no types
    """What runs in the pod of a Function."""

    name: str
    image: str

    def service(self, details: Any) -> Any:
        if details.method != f"/{_SERVICE}/RunFunction":
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, _: self._run(request))

    def _run(self, request: bytes) -> bytes:
        desired = decode(request).get(_REQUEST_DESIRED, [])
        condition: Message = {_TYPE: self.name, _STATUS: _TRUE, _REASON: "Answered", _MESSAGE: self.image}
        return encode({_RESPONSE_DESIRED: desired, _RESPONSE_CONDITIONS: condition})


def _start_pod(deployment: Object, secret: dict[str, bytes]) -> _Pod:
    template = deployment["spec"]["template"]
    program = _Program(template["metadata"]["labels"][_LABEL], template["spec"]["containers"][0]["image"])
    server = grpc.server(ThreadPoolExecutor(2), handlers=[program])
    credentials = grpc.ssl_server_credentials(
        [(secret["tls.key"], secret["tls.crt"])], root_certificates=secret["ca.crt"], require_client_auth=True
    )
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    return _Pod(port, server)


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, functions: Functions) -> None:
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.functions = functions


class _Tunnel(BaseHTTPRequestHandler):
    server: _Proxy

    def do_CONNECT(self) -> None:
        name, _, namespace = self.path.partition(":")[0].partition(".")
        port = self.server.functions.find_port(name, namespace)
        if port is None:
            self.send_error(502)
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        # Either side may be gone at any time, as pods are.
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)) as pod:
            _pump(self.connection, pod)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _pump(one: socket.socket, other: socket.socket) -> None:
    """Forward bytes in both directions, until one side closes."""
    ends = {one: other, other: one}
    while True:
        for ready in select.select([one, other], [], [])[0]:
            data = ready.recv(_BYTES)
            if not data:
                return
            ends[ready].sendall(data)
