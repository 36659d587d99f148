"""An example whose packages are signed, with the files by which that is judged."""

import json
import shutil
from pathlib import Path

from render.limits import Limits
from render.references import Reference, Source
from render.registry.layout import Layout
from rig.signatures.cosigned import Signing
from rig.signatures.layouts import attach_to_layout
from rig.signatures.sigstore import Sigstore, new_key, public_pem

_HOST = "xpkg.example.org"


def sign_example(examples: Path, folder: Path, name: str) -> Path:
    """Copy an example and its registry, and sign its Configurations as version 2 does and a Provider as version 3."""
    shutil.copytree(examples / name, folder / name)
    shutil.copytree(examples / "registry", folder / "registry")
    sigstore, key = Sigstore(), new_key()
    signing, layout = Signing(sigstore, key), Layout(folder / "registry", Limits())
    for package, tag in (
        ("configuration-shop", "v1.0.0"),
        ("configuration-network", "v1.2.0"),
        ("provider-store", "v1.1.0"),
    ):
        source = Source(_HOST, f"acme/{package}")
        digest = layout.content(Reference(source, tag)).digest
        made = signing.bundle(digest) if package == "provider-store" else signing.sign(digest)
        attach_to_layout(layout, source, digest, [made])
    (folder / "trusted_root.json").write_bytes(sigstore.trusted_root())
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "acme", "namespace": "crossplane-system"},
        "stringData": {"cosign.pub": public_pem(key)},
    }
    (folder / name / "key.json").write_text(json.dumps(secret))
    return folder / name
