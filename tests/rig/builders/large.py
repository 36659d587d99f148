"""A package whose second layer is as large as one likes: a server makes its bytes while it sends them."""

import hashlib

from rig.registry.http_server import huge
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import CONFIG, LAYER, manifest, package_yaml, tar_layer

_PIECE = 1 << 20


def serve_large(mini: MiniRegistry, repository: str, size: int) -> str:
    """Add the package as v1.0.0, and return the digest of the large layer; its size is in whole MiB."""
    hashed = hashlib.sha256()
    for _ in range(size // _PIECE):
        hashed.update(bytes(_PIECE))
    digest = f"sha256:{hashed.hexdigest()}"
    package = mini.add_blob(tar_layer({"package.yaml": package_yaml("large")}), LAYER)
    marked = {**package, "annotations": {"io.crossplane.xpkg": "base"}}
    zeros = {"mediaType": LAYER, "digest": digest, "size": size}
    mini.add_manifest(repository, "v1.0.0", manifest(mini.add_blob(b"{}", CONFIG), [marked, zeros]))
    mini.override(f"/v2/{repository}/blobs/{digest}", huge(size, with_length=True))
    return digest
