"""An OCI layout over HTTP: what is added to the layout is served at once."""

import json
from pathlib import Path

from render.errors import RenderError
from render.limits import Limits
from render.references import Digest, Reference, Source
from render.registry.layout import Layout
from rig.registry.http_server import Answer, RecordingServer, Request, answer


def serve_layout(folder: Path, registry: str) -> RecordingServer:
    """Return a server that has the images which a layout holds for a registry."""
    layout = Layout(folder, Limits())

    def handle(request: Request) -> Answer:
        try:
            return _serve(layout, registry, request.path)
        except RenderError:
            return answer(404)

    return RecordingServer(handle)


def _serve(layout: Layout, registry: str, path: str) -> Answer:
    repository, kind, name = path.removeprefix("/v2/").rsplit("/", 2)
    source = Source(registry, repository)
    match kind:
        case "tags":
            return answer(200, json.dumps({"tags": layout.tags(source)}).encode())
        case "manifests":
            named = {"digest": Digest(name)} if ":" in name else {"tag": name}
            content = layout.content(Reference(source, **named))
            return answer(200, content.data, {"Content-Type": content.media_type})
    blob = layout.folder / "blobs/sha256" / name.removeprefix("sha256:")
    return answer(200, blob.read_bytes()) if blob.exists() else answer(404)
