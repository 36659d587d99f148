"""A signed closure is carried across an air gap in an archive; Crossplane and cosign verify its signatures in the mirror there."""

from pathlib import Path

import pytest
from rig.builders.mirrors import Closure
from rig.builders.projects import at, format_metadata
from rig.builds.cosign import Cosign, build_cosigns
from rig.live.application import WELL, conditions_of
from rig.live.lock_files import attached_entries, locked_digests
from rig.live.manifests import package_manifest
from rig.live.package_registry import HOST
from rig.live.platform import LiveCluster, Platform
from rig.live.team import Team
from rig.registry.docker import docker_registry
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw, SignedImage
from rig.servers.client import Object
from rig.servers.kinds import CROSSPLANE_SECRETS, CROSSPLANE_SYSTEM
from rig.signatures.cosigned import Signing
from rig.signatures.registry import attach
from rig.signatures.sigstore import Sigstore, new_key, public_pem
from rig.signatures.tuf_roots import write_repository

SIGSTORE, KEY = Sigstore(), new_key()

# Whose signatures count, by the place that packages have on the other side of the gap.
RULE = f"""\
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: signed
spec:
  matchImages:
    - prefix: {HOST}/
  verification:
    provider: Cosign
    cosign:
      authorities:
        - name: acme
          key:
            hashAlgorithm: sha256
            secretRef: {{name: acme, key: cosign.pub}}
"""

# The names that the packages get, and their sources.
PACKAGES = {"app": "app", "acme-base": "base", "acme-provider-nop": "provider-nop"}


def test_what_was_carried_across_is_installed_by_a_crossplane_that_verifies_signatures(
    platform: Platform, tmp_path: Path
) -> None:
    root, archive = write_repository(SIGSTORE, tmp_path / "tuf"), f"oci-archive:{tmp_path / 'closure.tar'}"
    (tmp_path / "mirror").mkdir()
    with (
        platform.cluster("air-gap", trusted=root) as cluster,
        docker_registry(tmp_path / "mirror", "open") as registry,
        Proxy(registry.host) as mirror,
    ):
        to = f"{mirror.host}/xp"
        team = export(cluster, mirror.host, tmp_path / "original", archive)

        # From here on, there is no original.
        team.xplock("mirror", ".", "--from", archive, "--to", to, "--image-configs", "mirror.yaml")
        team.lock()
        cluster.client.create(CROSSPLANE_SECRETS, public_key())
        mirror.server.forget()
        commit = team.commit_and_push("install what was carried across")
        team.application.wait_synced(commit)

        digests, packages = locked_digests(team.folder), cluster.packages()
        assert {name: value["status"]["resolvedPackage"] for name, value in packages.items()} == {
            name: f"{to}/{at(source)}@{digests[name]}" for name, source in PACKAGES.items()
        }
        for value in packages.values():
            assert conditions_of(value) == WELL
        assert cluster.locked() == attached_entries(team.folder)
        # The signature of each package was fetched from the mirror, where everything else is.
        assert {line for line in mirror.asked if line.endswith(".sig")} >= {
            f"GET /v2/xp/{at(source)}/manifests/{digests[name].replace(':', '-')}.sig"
            for name, source in PACKAGES.items()
        }

        # What is not signed is refused there.
        meta = format_metadata("bare v1.0.0", "Provider", [], replaces=(), family="", annotations={})
        SignedImage(Raw(mirror.host), f"xp/{at('bare')}").push(meta, attached=False)
        team.write("bare.yaml", package_manifest("Provider", "bare", f"{at('bare')}:v1.0.0"))
        team.lock()
        team.commit_and_push("install what is not signed")
        cluster.wait_until(
            lambda: "signature verification failed" in str(cluster.packages().get("bare")),
            "Crossplane refuses what is not signed",
        )


def export(cluster: LiveCluster, mirror: str, folder: Path, archive: str) -> Team:
    """Lock a signed closure in its original registry, and copy it to an archive; afterwards, there is only that."""
    folder.mkdir()
    with docker_registry(folder, "open") as running, Proxy(running.host, name=HOST) as proxy:
        closure = Closure(Raw(running.host), HOST)
        closure.add("acme/provider-nop", "Provider", attached=False)
        closure.add("acme/base", "Configuration", ("provider", at("provider-nop")), attached=False)
        closure.add("acme/app", "Configuration", ("configuration", at("base")), attached=False)
        for image in closure.images.values():
            attach(
                closure.registry, image.repository, image.digest, [Signing(SIGSTORE, KEY).sign(image.digest)]
            )
        known = {"http_proxy": proxy.server.url, "no_proxy": mirror.partition(":")[0]}
        team = cluster.team("carried", {"XPLOCK_PLAIN_HTTP": f"{HOST},{mirror}", **known})
        team.remove("registry.yaml")
        team.write("signed.yaml", RULE)
        team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))
        team.lock()
        team.xplock("mirror", "--to", archive)
    return team


def public_key() -> Object:
    """Return the key that signatures are verified by."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "acme", "namespace": CROSSPLANE_SYSTEM},
        "stringData": {"cosign.pub": public_pem(KEY)},
    }


@pytest.fixture(scope="module")
def cosigns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cosign, Cosign]:
    """The older cosign and the newer one."""
    return build_cosigns(tmp_path_factory.mktemp("cosign"))


@pytest.mark.parametrize("legacy", [True, False], ids=["tags", "bundles"])
@pytest.mark.parametrize("generation", [0, 1], ids=["v2", "v3"])
def test_what_cosign_has_signed_is_good_for_cosign_in_the_mirror(
    cosigns: tuple[Cosign, Cosign], tmp_path: Path, generation: int, legacy: bool
) -> None:
    root, cosign = tmp_path / "root.json", cosigns[generation]
    root.write_bytes(SIGSTORE.trusted_root())
    for name in ("mirror", "original"):
        (tmp_path / name).mkdir()
    with (
        docker_registry(tmp_path / "original", "open") as running,
        docker_registry(tmp_path / "mirror", "open") as mirror,
    ):
        closure = Closure(Raw(running.host), HOST)
        image = closure.add("acme/store", "Provider", attached=False)
        cosign.sign(f"{running.host}/acme/store@{image.digest}", legacy=legacy)
        folder = closure.folder(tmp_path / "folder", root="acme/store:v1.0.0")
        archive = f"oci-archive:{tmp_path / 'closure.tar'}"
        exported, direct = closure.export(folder, archive), closure.mirror(folder, mirror.host)
        to = ("--to", f"{mirror.host}/carried")
        carried = closure.run("mirror", "--from", archive, *to, environ={"hosts": mirror.host})

        assert (exported.code, direct.code, carried.code) == (0, 0, 0), direct.stderr + carried.stderr
        for path in ("xp", "carried"):
            place = f"{mirror.host}/{path}/{HOST}/acme/store@{image.digest}"
            assert cosign.verify(place, cosign.public_key, root, legacy=legacy)
