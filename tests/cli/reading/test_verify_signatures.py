"""xplock verify judges signatures by the rules of a folder, with a real registry."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.builders.projects import format_metadata
from rig.commands.run import Outcome
from rig.registry.docker import RunningRegistry
from rig.registry.pushed import Raw, SignedImage
from rig.signatures.cosigned import Signing
from rig.signatures.registry import attach
from rig.signatures.sigstore import ISSUER, SUBJECT, Sigstore, b64, fingerprint, new_key, public_pem

from render.system.files import LOCK_FILE

SIGSTORE = Sigstore()
KEY = new_key()
BY_KEY = Signing(SIGSTORE, KEY)
BY_CERTIFICATE = Signing(SIGSTORE, KEY, SIGSTORE.certify(KEY))
OF_KEY = {"name": "of-key", "key": {"secretRef": {"name": "acme", "key": "cosign.pub"}}}
OF_SUBJECT = {"name": "of-subject", "keyless": {"identities": [{"issuer": ISSUER, "subject": SUBJECT}]}}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "acme", "namespace": "crossplane-system"},
    "data": {"cosign.pub": b64(public_pem(KEY))},
}


def rule(prefix: str, *authorities: Mapping[str, Any], name: str = "acme") -> dict[str, Any]:
    """Return an ImageConfig with verification."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": name},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": prefix}],
            "verification": {"provider": "Cosign", "cosign": {"authorities": list(authorities)}},
        },
    }


@dataclass
class Shop:
    """A folder with a closure of one package, in a registry of its own path."""

    closure: Closure
    folder: Path
    repository: str
    digest: str

    @property
    def place(self) -> str:
        """Where the package is pulled from."""
        return f"{self.closure.registry.host}/{self.repository}"

    def write(self, *objects: Mapping[str, Any], file: str = "rules.json") -> None:
        """Put objects into the folder, and lock it again."""
        (self.folder / file).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        done = self.closure.run("lock", str(self.folder))
        assert done.code == 0, done.stderr

    def attach(self, *attached: Any) -> None:
        """Sign the package."""
        attach(self.closure.registry, self.repository, self.digest, attached)

    def verify(self, *options: str, root: bool = True) -> Outcome:
        """Run the command."""
        file = self.folder.parent / "root.json"
        file.write_bytes(SIGSTORE.trusted_root())
        trusted = ["--trusted-root", str(file)] if root else []
        return self.closure.run("verify", *trusted, *options, str(self.folder))

    def judged(self, *options: str, root: bool = True) -> dict[str, Any]:
        """Return the only verdict."""
        done = self.verify("-o", "json", *options, root=root)
        [one] = json.loads(done.stdout)[0]["signatures"]
        return {**one, "code": done.code}


@pytest.fixture
def shop(open_registry: RunningRegistry, tmp_path: Path) -> Shop:
    """A folder with one Provider, which is not signed yet."""
    closure = Closure(Raw(open_registry.host))
    repository = f"{tmp_path.name.replace('_', '-')}/store"
    image = closure.add(repository, "Provider", attached=False)
    folder = closure.folder(tmp_path / "shop", root=f"{repository}:v1.0.0")
    return Shop(closure, folder, repository, image.digest)


def test_a_folder_without_rules_is_verified_as_before(shop: Shop) -> None:
    done = shop.verify()

    assert (done.code, done.stdout) == (0, f"{shop.folder}: 1 of 1 package as locked\n")


def test_a_package_that_its_rule_accepts_is_told_with_the_authority(shop: Shop) -> None:
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(rule(shop.place, OF_SUBJECT, OF_KEY), SECRET)

    done = shop.verify()

    assert done.code == 0
    named = f"{HOST}/{shop.repository} v1.0.0"
    assert done.stdout.splitlines()[1:] == [
        f"{'SIGNATURE OF'.ljust(len(named))}   CROSSPLANE   OUTSIDE CROSSPLANE",
        f"{named}   accepted     good",
        "  ImageConfig acme, authority of-key",
        f"{shop.folder}: 1 of 1 package accepted",
    ]
    assert done.stderr == "note: a running Crossplane verifies only what it has not cached\n"


def test_the_document_has_signer_and_time(shop: Shop) -> None:
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(rule(shop.place, OF_KEY), SECRET)

    judged = shop.judged()

    assert judged["code"] == 0
    assert judged["reference"] == f"{shop.place}@{shop.digest}"
    assert (judged["verdict"], judged["rule"], judged["authority"]) == ("accepted", "acme", "of-key")
    assert judged["signers"] == [{"key": fingerprint(KEY), "since": 1_750_000_060}]


def test_an_identity_is_accepted_by_its_certificate(shop: Shop) -> None:
    shop.attach(BY_CERTIFICATE.sign(shop.digest))
    shop.write(rule(shop.place, OF_SUBJECT))

    assert shop.judged()["signers"] == [{"issuer": ISSUER, "subjects": [SUBJECT], "since": 1_750_000_060}]


def test_a_package_that_is_not_signed_is_an_error(shop: Shop) -> None:
    shop.write(rule(shop.place, OF_KEY), SECRET)

    done = shop.verify()

    assert done.code == 1
    assert "   unsigned     not good\n" in done.stdout
    assert "authority of-key: no signature is where Crossplane looks for it" in done.stdout
    assert f"why:  {HOST}/{shop.repository}: unsigned\n" in done.stderr


@pytest.mark.parametrize(
    ("signing", "trouble", "outside"),
    [
        (BY_KEY.without_log(), "not-logged", "accepted"),
        (Signing(SIGSTORE, new_key()), "not-accepted", "refused"),
    ],
)
def test_a_signature_that_crossplane_refuses_is_an_error(
    shop: Shop, signing: Signing, trouble: str, outside: str
) -> None:
    shop.attach(signing.sign(shop.digest))
    shop.write(rule(shop.place, OF_KEY), SECRET)

    judged = shop.judged()

    assert (judged["code"], judged["trouble"], judged["outsideCrossplane"]) == (1, trouble, outside)


def test_a_bundle_is_found_by_the_tag_of_the_list_and_told_apart(shop: Shop) -> None:
    shop.attach(BY_CERTIFICATE.bundle(shop.digest))
    shop.write(rule(shop.place, OF_SUBJECT))

    judged = shop.judged()

    assert (judged["code"], judged["trouble"]) == (1, "signature-unreadable-by-crossplane")
    assert judged["outsideCrossplane"] == "accepted"


def test_the_rule_is_looked_up_by_where_the_package_is_pulled_from(shop: Shop) -> None:
    # A longer prefix of the original place never counts: the package is pulled from elsewhere.
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(
        rule(f"{HOST}/{shop.repository}", OF_SUBJECT, name="original"),
        rule(shop.place[:-2], OF_KEY, name="short"),
        rule("x", OF_SUBJECT, name="other"),
        SECRET,
    )

    assert shop.judged()["rule"] == "short"


def test_a_rule_in_a_used_folder_counts(shop: Shop, tmp_path: Path) -> None:
    used = tmp_path / "cluster"
    used.mkdir()
    items = [rule(shop.place, OF_KEY), SECRET]
    (used / "rules.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    other = shop.closure.add(f"{shop.repository}-base", "Provider", attached=False)
    shop.closure.folder(used, root=f"{other.repository}:v1.0.0")
    settings = shop.folder / "xplock.yaml"
    settings.write_text(f"{settings.read_text()}uses: [../cluster]\n")
    assert shop.closure.run("lock", str(shop.folder)).code == 0
    shop.attach(BY_KEY.sign(shop.digest))

    assert shop.judged()["verdict"] == "accepted"


# ---- What is missing -------------------------------------------------------------------------------------------------


def test_a_key_that_is_not_in_the_folder_is_named_and_can_be_given(shop: Shop, tmp_path: Path) -> None:
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(rule(shop.place, OF_KEY))
    key = tmp_path / "cosign.pub"
    key.write_text(public_pem(KEY))

    without, given = shop.judged(), shop.judged("--key", f"acme/cosign.pub={key}")

    assert (without["code"], without["trouble"]) == (1, "not-checked")
    assert "--key acme/cosign.pub=FILE" in without["details"][0]
    assert given["verdict"] == "accepted"


def test_without_a_trusted_root_nothing_counts_as_accepted(shop: Shop) -> None:
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(rule(shop.place, OF_KEY), SECRET)

    judged = shop.judged(root=False)

    assert (judged["code"], judged["trouble"], judged["outsideCrossplane"]) == (1, "not-checked", "accepted")


@pytest.mark.parametrize("text", ["x", "acme/cosign.pub=missing.pub", "acme=/dev/null", "/k=x"])
def test_a_key_that_is_not_written_well_is_wrong_usage(shop: Shop, text: str) -> None:
    done = shop.verify("--key", text)

    assert done.code == 2
    assert "is not SECRET/KEY=FILE with a file that exists" in done.stderr


@pytest.mark.parametrize("data", [b"", b"x", b"[]", b"{}", b'{"tlogs":[{"publicKey":{"rawBytes":"AA=="}}]}'])
def test_a_file_that_is_no_trusted_root_is_refused(shop: Shop, tmp_path: Path, data: bytes) -> None:
    shop.write(rule(shop.place, OF_KEY), SECRET)
    file = tmp_path / "odd.json"
    file.write_bytes(data)

    done = shop.verify("--trusted-root", str(file), root=False)

    assert done.code == 2
    assert "the file of --trusted-root or XPLOCK_TRUSTED_ROOT cannot be used" in done.stderr


def test_signatures_can_be_required_and_left_out(shop: Shop) -> None:
    required = shop.judged("--signatures", "require")
    shop.write(rule(shop.place, OF_KEY), SECRET)
    off = shop.verify("--signatures", "off")

    assert (required["code"], required["trouble"]) == (1, "no-rule")
    assert (off.code, off.stdout) == (0, f"{shop.folder}: 1 of 1 package as locked\n")


def test_a_missing_library_is_an_error_that_names_the_extra(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(rule(shop.place, OF_KEY), SECRET)
    for name in [
        one for one in sys.modules if one.partition(".")[0] == "cryptography" or "signatures.crypto" in one
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    done = shop.verify()

    assert done.code == 1
    assert "next: install the extra: pip install 'xplock[verify]'" in done.stderr


def test_a_signature_that_a_mirror_left_behind_is_named(shop: Shop) -> None:
    host = shop.closure.registry.host
    mirrored = SignedImage(shop.closure.registry, f"mirror/{shop.repository}").push(
        format_metadata(f"{shop.repository} v1.0.0", "Provider", [], replaces=(), family="", annotations={}),
        attached=False,
    )
    assert mirrored.digest == shop.digest
    # The source is the registry itself, and a rewrite leads to the copies.
    (shop.folder / "xplock.yaml").write_text(
        f"roots:\n  - package: {shop.place}:v1.0.0\n"
        f"rewrites:\n  - from: '{shop.place}:'\n    to: '{host}/mirror/{shop.repository}:'\n"
    )
    (shop.folder / LOCK_FILE).unlink()
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(rule(f"{host}/mirror/", OF_KEY), SECRET)

    judged = shop.judged()

    assert judged["trouble"] == "unsigned"
    assert judged["details"][-1] == (
        f"{shop.place} has a signature that is not in {host}/mirror/{shop.repository}: mirror it again"
    )


def test_too_many_bytes_of_signatures_are_an_error(shop: Shop) -> None:
    shop.attach(BY_KEY.sign(shop.digest))
    shop.write(rule(shop.place, OF_KEY), SECRET)

    done = shop.closure.run("verify", str(shop.folder), environ={"XPLOCK_LIMIT_SIGNATURE_BYTES": "100"})

    assert done.code == 1
    assert "XPLOCK_LIMIT_SIGNATURE_BYTES" in done.stderr
