"""Small package images to put into a registry in memory, and answers that count or guard what is read."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from render.references import Digest
from rig.registry.http_server import Answer, Request, Wire, answer
from rig.registry.in_memory import INDEX, MANIFEST, Descriptor, MiniRegistry

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"


def tar_layer(files: Mapping[str, str]) -> bytes:
    """Return a compressed layer with some files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(raw.getvalue(), mtime=0)


def package_yaml(name: str) -> str:
    """Return the smallest package."""
    return (
        f"apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: {name}\nspec: {{}}\n"
    )


def manifest(config: Descriptor, layers: Sequence[Mapping[str, object]], **more: object) -> bytes:
    """Return an image manifest."""
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers, **more}
    return json.dumps(document).encode()


def index(children: Sequence[Mapping[str, object]], **more: object) -> bytes:
    """Return an image index."""
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": children, **more}).encode()


@dataclass(frozen=True)
class AddedPackage:
    """A package in a small registry."""

    digest: Digest
    layer: Descriptor
    data: bytes

    def as_child(self, platform: str = "") -> dict[str, object]:
        """Return how an index names it, for a platform written os/architecture."""
        child: dict[str, object] = {"mediaType": MANIFEST, "digest": self.digest, "size": len(self.data)}
        if platform:
            os_name, architecture = platform.split("/")
            child["platform"] = {"os": os_name, "architecture": architecture}
        return child


def add_package(
    mini: MiniRegistry, repository: str = "some/name", tag: str | None = "v1.0.0", name: str = "some-name"
) -> AddedPackage:
    """Put the smallest package into a small registry."""
    layer = mini.add_blob(tar_layer({"package.yaml": package_yaml(name)}), LAYER)
    marked = {**layer, "annotations": {"io.crossplane.xpkg": "base"}}
    data = manifest(mini.add_blob(b"{}", CONFIG), [marked])
    return AddedPackage(Digest(mini.add_manifest(repository, tag, data)), layer, data)


def challenged(mini: MiniRegistry, challenge: str, accepted: str) -> Callable[[Request], Answer]:
    """Serve a small registry to those who send the right Authorization header, and a challenge to others."""

    def handle(request: Request) -> Answer:
        if request.headers.get("Authorization") == accepted:
            return mini.serve(request)
        return answer(401, headers={"WWW-Authenticate": challenge})

    return handle


def counted(
    length: int, sent: list[int], *, with_length: bool, status: int = 200, chunk: bytes = bytes(16 << 10)
) -> Answer:
    """Send that many bytes, and record how many the client accepted."""

    def write(wire: Wire) -> None:
        wire.start(status, {"Content-Length": str(length)} if with_length else {}, close=True)
        sent.append(0)
        while sent[-1] < length and wire.open:
            wire.send(chunk)
            sent[-1] += len(chunk)

    return Answer(write)
