"""Signed images and rules: Crossplane's own code and `xplock verify` give the same verdict on each pair."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from rig.builders.projects import format_metadata
from rig.builds.cosign import Cosign, build_cosigns
from rig.builds.signature_verifier import SignatureVerifier, running_signature_verifier
from rig.commands.run import run_command
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.pushed import Raw, SignedImage
from rig.signatures.cosigned import PROVENANCE, Signing
from rig.signatures.registry import attach
from rig.signatures.sigstore import ISSUER, NOW, SUBJECT, PrivateKey, Sigstore, new_key, public_pem
from rig.signatures.tuf_roots import write_repository

from render.signatures.found import ENTRY, Attached

SIGSTORE = Sigstore()
KEY, OTHER_KEY, RSA_KEY = new_key(), new_key(), rsa.generate_private_key(65537, 3072)
BY_KEY, BY_OTHER, BY_RSA = (Signing(SIGSTORE, key) for key in (KEY, OTHER_KEY, RSA_KEY))
CERTIFIED = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY))
MALLORY = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, subject="mallory@example.org"))
UNLISTED = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, listed=False))
SERVER = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, purposes=[ExtendedKeyUsageOID.SERVER_AUTH]))
ODD_LOG = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY, log=new_key()))
FOREIGN = Sigstore(signature_log=SIGSTORE.signature_log, certificate_log=SIGSTORE.certificate_log)
SHA512 = replace(BY_KEY, algorithm=hashes.SHA512())
ELSEWHERE = "sha256:" + "cd" * 32


def _mixed(digest: str) -> Attached:
    one = BY_KEY.sign(digest)
    return replace(one, annotations={**one.annotations, ENTRY: BY_KEY.sign(digest).annotation(ENTRY)})


def _damaged(digest: str) -> Attached:
    one = BY_KEY.sign(digest)
    return replace(
        one, annotations={**one.annotations, ENTRY: one.annotation(ENTRY).replace("logIndex", "x")}
    )


# What is attached to each image, by its digest.
IMAGES: Mapping[str, Any] = {
    "unsigned": lambda _: [],
    "key": lambda d: [BY_KEY.sign(d)],
    "key-unlogged": lambda d: [BY_KEY.without_log().sign(d)],
    "key-other": lambda d: [BY_OTHER.sign(d)],
    "key-both": lambda d: [BY_OTHER.sign(d), BY_KEY.sign(d)],
    "key-rsa": lambda d: [BY_RSA.sign(d)],
    "key-sha512": lambda d: [SHA512.sign(d)],
    "key-elsewhere": lambda _: [BY_KEY.sign(ELSEWHERE)],
    "key-mixed": lambda d: [_mixed(d)],
    "key-damaged": lambda d: [_damaged(d)],
    "key-stranger-log": lambda d: [Signing(replace(SIGSTORE, signature_log=new_key()), KEY).sign(d)],
    "key-bundle": lambda d: [BY_KEY.bundle(d)],
    "key-bundle-unlogged": lambda d: [BY_KEY.without_log().bundle(d)],
    "key-attested": lambda d: [BY_KEY.attest(d)],
    "key-attested-other": lambda d: [BY_KEY.attest(d, "https://example.org/other")],
    "key-attested-sha512": lambda d: [SHA512.attest(d)],
    "key-attested-elsewhere": lambda _: [BY_KEY.attest(ELSEWHERE)],
    "certified": lambda d: [CERTIFIED.sign(d)],
    "certified-unlogged": lambda d: [CERTIFIED.without_log().sign(d)],
    "certified-early": lambda d: [replace(CERTIFIED, at=NOW - 1).sign(d)],
    "certified-late": lambda d: [replace(CERTIFIED, at=NOW + 601).sign(d)],
    "certified-last": lambda d: [replace(CERTIFIED, at=NOW + 600).sign(d)],
    "certified-mallory": lambda d: [MALLORY.sign(d)],
    "certified-unlisted": lambda d: [UNLISTED.sign(d)],
    "certified-odd-log": lambda d: [ODD_LOG.sign(d)],
    "certified-server": lambda d: [SERVER.sign(d)],
    "certified-foreign": lambda d: [Signing(FOREIGN, KEY, FOREIGN.certify(KEY)).sign(d)],
    "certified-elsewhere": lambda _: [CERTIFIED.sign(ELSEWHERE)],
    "certified-bundle": lambda d: [CERTIFIED.bundle(d)],
    "certified-attested": lambda d: [CERTIFIED.attest(d)],
}


def key(name: str = "acme", algorithm: str = "sha256") -> dict[str, Any]:
    """Return the key of an authority."""
    return {"secretRef": {"name": name, "key": "cosign.pub"}, "hashAlgorithm": algorithm}


def keyless(*identities: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """Return an authority with identities."""
    return {"name": "keyless", "keyless": {"identities": list(identities), **more}}


SUBJECTS = keyless({"issuer": ISSUER, "subject": SUBJECT})
RULES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "key": [{"name": "key", "key": key()}],
    "other-key": [{"name": "key", "key": key("other")}],
    "rsa-key": [{"name": "key", "key": key("rsa")}],
    "missing-key": [{"name": "key", "key": key("none")}],
    "key-sha512": [{"name": "key", "key": key(algorithm="sha512")}],
    "key-odd-hash": [{"name": "key", "key": key(algorithm="md5")}],
    "key-blank-hash": [{"name": "key", "key": key(algorithm=" SHA256 ")}],
    "subject": [SUBJECTS],
    "subject-expression": [keyless({"issuer": ISSUER, "subjectRegExp": r"^https://git\.example\.org/acme/.*@refs/tags/v\d+"})],
    "expression-in-the-middle": [keyless({"issuerRegExp": "example", "subjectRegExp": "(?i)ACME|mallory"})],
    "expression-wins": [keyless({"issuer": ISSUER, "subject": SUBJECT, "subjectRegExp": "mallory"})],
    "bad-expression": [keyless({"issuer": ISSUER, "subjectRegExp": "(?=x)"})],
    "issuer-only": [keyless({"issuer": ISSUER})],
    "other-issuer": [keyless({"issuer": "https://other.example.org", "subject": SUBJECT})],
    "unlisted": [keyless({"issuer": ISSUER, "subject": SUBJECT}, insecureIgnoreSCT=True)],
    "nothing": [],
    "anyone": [{"name": "anyone"}],
    "no-identities": [keyless()],
    "attested": [{"name": "a", "key": key(), "attestations": [{"name": "x", "predicateType": "slsaprovenance1"}]}],
    "attested-uri": [{"name": "a", "key": key(), "attestations": [{"name": "x", "predicateType": "spdx"}, {"name": "y", "predicateType": "https://example.org/other"}]}],
    "attested-sha512": [{"name": "a", "key": key(algorithm="sha512"), "attestations": [{"name": "x", "predicateType": PROVENANCE}]}],
    "attested-subject": [{**SUBJECTS, "attestations": [{"name": "x", "predicateType": "slsaprovenance1"}]}],
    "key-or-subject": [{"name": "key", "key": key("other")}, SUBJECTS],
    "key-and-subject": [{**SUBJECTS, "key": key()}],
}  # fmt: skip
SECRETS: Mapping[str, PrivateKey] = {"acme": KEY, "other": OTHER_KEY, "rsa": RSA_KEY}


@dataclass(frozen=True)
class Shelf:
    """A folder that has locked every image, and where they are."""

    registry: Raw
    folder: Path
    root: Path

    def judge(self, authorities: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Return the verdict of xplock on each image."""
        self.write(authorities)
        done = self.run("verify", "-o", "json", "--trusted-root", str(self.root), str(self.folder))
        judged = json.loads(done)[0]["signatures"]
        return {one["source"].rpartition("/")[2]: one["verdict"] for one in judged}

    def write(self, authorities: Sequence[Mapping[str, Any]]) -> None:
        """Write the rule and the keys."""
        rule = {
            "apiVersion": "pkg.crossplane.io/v1beta1",
            "kind": "ImageConfig",
            "metadata": {"name": "rule"},
            "spec": {
                "matchImages": [{"type": "Prefix", "prefix": f"{self.registry.host}/"}],
                "verification": {"provider": "Cosign", "cosign": {"authorities": list(authorities)}},
            },
        }
        secrets = [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": "crossplane-system"},
                "stringData": {"cosign.pub": public_pem(one)},
            }
            for name, one in SECRETS.items()
        ]
        items = {"apiVersion": "v1", "kind": "List", "items": [rule, *secrets]}
        (self.folder / "rules.json").write_text(json.dumps(items))

    def run(self, *arguments: str) -> str:
        """Run xplock."""
        return run_command(*arguments, environ={"XPLOCK_PLAIN_HTTP": self.registry.host}).stdout


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    """A registry of this file alone."""
    with docker_registry(tmp_path_factory.mktemp("registry"), "open") as running:
        yield running


@pytest.fixture(scope="module")
def shelf(registry: RunningRegistry, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Every image, pushed and locked."""
    raw, folder = Raw(registry.host), tmp_path_factory.mktemp("shelf") / "folder"
    folder.mkdir()
    roots = []
    for name, attached in IMAGES.items():
        meta = format_metadata(f"{name} v1.0.0", "Configuration", [], replaces=(), family="", annotations={})
        image = SignedImage(raw, f"acme/{name}").push(meta, attached=False)
        attach(raw, image.repository, image.digest, attached(image.digest))
        roots.append(f"  - package: {registry.host}/acme/{name}:v1.0.0\n")
    (folder / "xplock.yaml").write_text(f"roots:\n{''.join(roots)}")
    (folder.parent / "root.json").write_bytes(SIGSTORE.trusted_root())
    shelf = Shelf(raw, folder, folder.parent / "root.json")
    shelf.run("lock", str(folder))
    return shelf


@pytest.fixture(scope="module")
def cosigns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cosign, Cosign]:
    """The older cosign and the newer one."""
    return build_cosigns(tmp_path_factory.mktemp("cosign"))


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignatureVerifier]:
    """Crossplane's own code, which trusts our authorities and logs."""
    root = write_repository(SIGSTORE, tmp_path_factory.mktemp("tuf") / "repository")
    with running_signature_verifier(root, tmp_path_factory.mktemp("roots")) as running:
        yield running


@pytest.mark.parametrize("name", RULES)
def test_the_verdict_on_every_image_is_that_of_crossplane(
    shelf: Shelf, verifier: SignatureVerifier, name: str
) -> None:
    ours = {image: verdict == "accepted" for image, verdict in shelf.judge(RULES[name]).items()}
    objects = shelf.run("render", str(shelf.folder))

    theirs = {}
    for image in IMAGES:
        got = verifier.get(f"{shelf.registry.host}/acme/{image}:v1.0.0", objects)
        assert not got.error or "signature verification failed" in got.error
        theirs[image] = not got.error

    assert ours == theirs


def test_each_image_and_each_rule_makes_a_difference(shelf: Shelf) -> None:
    table = {name: shelf.judge(authorities) for name, authorities in RULES.items()}

    # Otherwise the table would show nothing.
    assert {verdict for row in table.values() for verdict in row.values()} >= {"accepted", "refused"}
    assert all("accepted" in row.values() for name, row in table.items() if name not in NEVER)


# Rules that no image satisfies.
NEVER = {"missing-key", "key-odd-hash", "bad-expression", "other-issuer", "key-sha512"}


# ---- What cosign itself writes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", [0, 1], ids=["v2", "v3"])
@pytest.mark.parametrize("legacy", [True, False], ids=["tags", "bundles"])
def test_a_signature_by_cosign_is_read_in_both_forms(
    shelf: Shelf, cosigns: tuple[Cosign, Cosign], tmp_path: Path, generation: int, legacy: bool
) -> None:
    cosign, name = cosigns[generation], f"v{generation + 2}-{'tags' if legacy else 'bundles'}"
    meta = format_metadata(f"{name} v1.0.0", "Configuration", [], replaces=(), family="", annotations={})
    image = SignedImage(shelf.registry, f"cosigned/{name}").push(meta, attached=False)
    place = f"{shelf.registry.host}/{image.repository}"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {place}:v1.0.0\n")
    own = replace(shelf, folder=folder)
    own.run("lock", str(folder))

    cosign.sign(f"{place}@{image.digest}", legacy=legacy)
    own.write([{"name": "key", "key": key("cosign")}])
    options = ["--key", f"cosign/cosign.pub={cosign.public_key}", "--trusted-root", str(shelf.root)]
    [judged] = json.loads(own.run("verify", "-o", "json", *options, str(folder)))[0]["signatures"]

    # Without a log entry it is good for everyone but Crossplane.
    assert judged["outsideCrossplane"] == "accepted"
    assert judged["trouble"] == ("not-logged" if legacy else "signature-unreadable-by-crossplane")


@pytest.mark.parametrize("legacy", [True, False], ids=["tags", "bundles"])
def test_what_our_own_key_signs_is_good_for_cosign(
    shelf: Shelf, cosigns: tuple[Cosign, Cosign], tmp_path: Path, legacy: bool
) -> None:
    file = tmp_path / "cosign.pub"
    file.write_text(public_pem(KEY))
    name = "key" if legacy else "key-bundle-unlogged"
    digest = shelf.registry.digest(f"acme/{name}", "v1.0.0")

    for cosign in cosigns:
        cosign.verify(f"{shelf.registry.host}/acme/{name}@{digest}", file, shelf.root, legacy=legacy)
