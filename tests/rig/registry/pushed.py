"""Images with everything that can be attached to them, pushed to a real registry byte for byte."""

import base64
import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from render.registry.oci import digest_of
from rig.registry.http_server import WAIT_SECONDS
from rig.registry.package_images import CONFIG, LAYER, tar_layer

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
_ACCEPT = f"{MANIFEST}, {INDEX}"


@dataclass(frozen=True)
class Raw:
    """A registry, spoken to without anything of xplock."""

    host: str
    login: str = ""

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request."""
        connection = http.client.HTTPConnection(self.host, timeout=WAIT_SECONDS)
        given = {"Accept": _ACCEPT, **(headers or {})}
        if self.login:
            given["Authorization"] = "Basic " + base64.b64encode(self.login.encode()).decode()
        try:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            return response.status, response.headers, response.read()  # type: ignore[return-value]
        finally:
            connection.close()

    def blob(
        self, repository: str, data: bytes, media_type: str = "application/octet-stream"
    ) -> dict[str, Any]:
        """Upload a blob and describe it."""
        digest = digest_of(data)
        _, headers, _ = self.ask("POST", f"/v2/{repository}/blobs/uploads/")
        place = urlsplit(headers["Location"])
        path = f"{place.path}?{place.query}&{urlencode({'digest': digest})}"
        status, _, answer = self.ask("PUT", path, data, {"Content-Type": "application/octet-stream"})
        assert status == 201, answer
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def manifest(
        self,
        repository: str,
        document: Mapping[str, Any] | bytes,
        tag: str | None = None,
        media_type: str = MANIFEST,
    ) -> dict[str, Any]:
        """Upload a manifest or index and describe it."""
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        kind = media_type if isinstance(document, bytes) else str(document["mediaType"])
        digest = digest_of(data)
        path = f"/v2/{repository}/manifests/{tag or digest}"
        status, _, answer = self.ask("PUT", path, data, {"Content-Type": kind})
        assert status == 201, answer
        return {"mediaType": kind, "digest": digest, "size": len(data)}

    def digest(self, repository: str, name: str) -> str | None:
        """Return the digest of a tag or a digest, computed from its bytes."""
        status, _, data = self.ask("GET", f"/v2/{repository}/manifests/{name}")
        return digest_of(data) if status == 200 else None

    def document(self, repository: str, name: str) -> dict[str, Any]:
        """Return a manifest or an index."""
        status, _, data = self.ask("GET", f"/v2/{repository}/manifests/{name}")
        assert status == 200, data
        found: dict[str, Any] = json.loads(data)
        return found

    def tags(self, repository: str) -> list[str]:
        """Return all tags; of a repository that does not exist none."""
        status, _, data = self.ask("GET", f"/v2/{repository}/tags/list")
        return sorted(json.loads(data)["tags"] or []) if status == 200 else []


@dataclass
class SignedImage:
    """An index of three children, with attachments of both generations."""

    registry: Raw
    repository: str
    tag: str = "v1.0.0"
    manifests: dict[str, str] = field(default_factory=dict)
    digest: str = ""

    def push(self, meta: str, *, attached: bool = True) -> "SignedImage":
        """Push all of it, or the image alone."""
        children = [
            self._child(meta, "linux", "amd64"),
            self._child(meta, "linux", "arm64"),
            self._extensions(),
        ]
        # White space and unknown keys have to stay.
        document = {"schemaVersion": 2, "mediaType": INDEX, "manifests": children, "x-unknown": [1, None]}
        top = self.registry.manifest(
            self.repository, json.dumps(document, indent=3).encode(), self.tag, INDEX
        )
        self.digest = top["digest"]
        self.manifests |= {
            "top": top["digest"],
            **{f"child {i}": one["digest"] for i, one in enumerate(children)},
        }
        if not attached:
            return self
        self._legacy(top, ".sig")
        self._legacy(top, ".att")
        self._legacy(children[1], ".sbom")
        bundle = self.refer(top)
        self.refer(bundle)
        return self

    def refer(self, subject: Mapping[str, Any], *, listed: bool = True) -> dict[str, Any]:
        """Push a bundle that refers to something, and the list of it, as cosign writes that."""
        payload = json.dumps({"dsseEnvelope": {"payload": subject["digest"]}}).encode()
        document = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": BUNDLE,
            "config": self.registry.blob(self.repository, b"{}", EMPTY),
            "layers": [self.registry.blob(self.repository, payload, BUNDLE)],
            "subject": {key: subject[key] for key in ("mediaType", "digest", "size")},
            "annotations": {"dev.sigstore.bundle.content": "dsse-envelope"},
        }
        made = self.registry.manifest(self.repository, document)
        self.manifests[f"referrer of {subject['digest'][7:19]}"] = made["digest"]
        if listed:
            # Without annotations and with another type, as some versions do.
            entry = {**made, "artifactType": EMPTY}
            index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
            self.registry.manifest(self.repository, index, subject["digest"].replace(":", "-"))
        return made

    def _child(self, meta: str, os: str, architecture: str) -> dict[str, Any]:
        layer = self.registry.blob(self.repository, tar_layer({"package.yaml": meta}), LAYER)
        settings = json.dumps({"os": os, "architecture": architecture}).encode()
        config = self.registry.blob(self.repository, settings, CONFIG)
        marked = {**layer, "annotations": {"io.crossplane.xpkg": "base"}}
        made = self._image(config, [marked])
        return {**made, "platform": {"os": os, "architecture": architecture}}

    def _extensions(self) -> dict[str, Any]:
        layer = self.registry.blob(self.repository, tar_layer({"readme.md": "# hello"}), LAYER)
        config = self.registry.blob(self.repository, b'{"extensions":true}', CONFIG)
        made = self._image(config, [layer])
        return {**made, "annotations": {"io.crossplane.xpkg": "xpkg-extensions"}}

    def _legacy(self, subject: Mapping[str, Any], suffix: str) -> None:
        payload = json.dumps({"critical": {"image": {"docker-manifest-digest": subject["digest"]}}}).encode()
        layer = self.registry.blob(self.repository, payload + suffix.encode(), SIMPLE_SIGNING)
        config = self.registry.blob(self.repository, b'{"signature":true}', CONFIG)
        tag = subject["digest"].replace(":", "-") + suffix
        self.manifests[tag] = self._image(config, [layer], tag)["digest"]

    def _image(
        self, config: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], tag: str | None = None
    ) -> dict[str, Any]:
        document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        return self.registry.manifest(self.repository, document, tag)
