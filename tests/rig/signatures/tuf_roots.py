"""A TUF repository with our own authorities and logs, by which Crossplane and cosign trust them."""

from datetime import UTC, datetime
from pathlib import Path

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import (
    Metadata,
    MetaFile,
    Role,
    Root,
    Signed,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)

from rig.signatures.sigstore import Sigstore, certificate_pem, public_pem

_EXPIRES = datetime(2099, 1, 1, tzinfo=UTC)
_HASHES = ["sha256", "sha512"]
_SECONDS = 60


def write_repository(sigstore: Sigstore, folder: Path) -> Path:
    """Write metadata and targets, signed by one key for all roles; return the first root."""
    signer = CryptoSigner.generate_ed25519()
    files = {
        ("fulcio.crt.pem", "Fulcio"): certificate_pem(sigstore.root),
        ("fulcio_intermediate.crt.pem", "Fulcio"): certificate_pem(sigstore.authority),
        ("rekor.pub", "Rekor"): public_pem(sigstore.signature_log),
        ("ctfe.pub", "CTFE"): public_pem(sigstore.certificate_log),
    }
    (folder / "targets").mkdir(parents=True)
    targets = Targets(expires=_EXPIRES)
    for (name, usage), text in files.items():
        (folder / "targets" / name).write_text(text)
        target = TargetFile.from_data(name, text.encode(), _HASHES)
        target.unrecognized_fields["custom"] = {"sigstore": {"usage": usage, "status": "Active", "uri": ""}}
        targets.targets[name] = target
    data = _write(folder / "targets.json", targets, signer)
    snapshot = Snapshot(expires=_EXPIRES, meta={"targets.json": MetaFile.from_data(1, data, _HASHES)})
    data = _write(folder / "snapshot.json", snapshot, signer)
    timestamp = Timestamp(expires=_EXPIRES, snapshot_meta=MetaFile.from_data(1, data, _HASHES))
    _write(folder / "timestamp.json", timestamp, signer)
    key = signer.public_key
    roles = {name: Role([key.keyid], 1) for name in ("root", "snapshot", "targets", "timestamp")}
    root = Root(expires=_EXPIRES, keys={key.keyid: key}, roles=roles, consistent_snapshot=False)
    _write(folder / "1.root.json", root, signer)
    _write(folder / "root.json", root, signer)
    return folder / "root.json"


def _write(file: Path, signed: Signed, signer: CryptoSigner) -> bytes:
    metadata = Metadata(signed)
    metadata.sign(signer)
    data: bytes = metadata.to_bytes()
    file.write_bytes(data)
    return data
