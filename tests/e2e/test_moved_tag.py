"""A tag that is moved or deleted after locking changes nothing in the cluster, and `verify` names it."""

import json
import shutil
from collections.abc import Mapping

from rig.builders.projects import at
from rig.live.application import WELL, conditions_of, package_of
from rig.live.history import History
from rig.live.lock_files import attached_entries, locked_digests
from rig.live.manifests import package_manifest
from rig.live.package_registry import PackageRegistry
from rig.live.platform import LiveCluster
from rig.live.revisions import name_of_revision
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import CONFIGURATIONS, DEPLOYMENTS, FUNCTIONS, PROVIDERS, REVISIONS, Resource

_PAUSED = "crossplane.io/paused"
_LOOSE = "acme-provider-loose"
_PINNED: Mapping[str, Resource] = {
    "app": CONFIGURATIONS,
    "acme-provider-nop": PROVIDERS,
    "acme-function-nop": FUNCTIONS,
}


def test_the_cluster_stays_on_the_locked_bytes_until_somebody_decides_otherwise(cluster: LiveCluster) -> None:
    publish(cluster.registry)
    team, loose = install_pinned(cluster), install_loose(cluster)
    locked = {**locked_digests(team.folder), **locked_digests(loose.folder)}
    before = of_pinned(cluster.revisions())
    assert team.xplock("verify", ".", str(loose.folder)).stdout == (
        f".: 3 of 3 packages as locked\n{loose.folder}: 1 of 1 package as locked\n"
    )

    moved = move_tags(cluster.registry)
    delete_tag(cluster.registry, "function-nop", "v0.1.0")
    with History(cluster.client, *REVISIONS) as seen:
        for name, kind in {**_PINNED, _LOOSE: PROVIDERS}.items():
            reconcile(cluster, name, kind)
        # What is not pinned shows that Crossplane has looked, and what it does then.
        wait_for_bytes(cluster, _LOOSE, moved[_LOOSE])

    assert of_pinned(cluster.revisions()) == before
    assert {package_of(value) for event, value in seen.events if event != "MODIFIED"} == {_LOOSE}
    for name in _PINNED:
        assert cluster.packages()[name]["status"]["resolvedPackage"].endswith(f"@{locked[name]}")
    for name in ("acme-provider-nop", "acme-function-nop"):
        assert running(cluster)[name] == locked[name]
    see_that_verify_names_them(team, loose, locked, moved)

    # The one tag is put back; of the other one somebody takes what it names now.
    cluster.registry.publish("function-nop v0.1.0", kind="Function")
    team.lock("--check")
    team.lock("-P", at("provider-nop"))
    team.sync("take what the tag names now")

    team.xplock("verify")
    wait_for_bytes(cluster, "acme-provider-nop", moved["acme-provider-nop"])
    cluster.wait_until(
        lambda: (
            [entry for entry in cluster.locked() if entry["source"] != at("provider-loose")]
            == attached_entries(team.folder)
        ),
        "the Lock has what the team has locked",
    )


def publish(registry: PackageRegistry) -> None:
    registry.publish("provider-nop v1.0.0", kind="Provider", crds=["nops.nop.example.org"])
    registry.publish("function-nop v0.1.0", kind="Function")
    registry.publish("app v1.0.0", {"provider-nop": ">=v1.0.0", "function-nop": "*"})
    registry.publish("provider-loose v1.0.0", kind="Provider")


def install_pinned(cluster: LiveCluster) -> Team:
    team = cluster.team()
    team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))
    team.lock()
    team.sync()
    return team


def install_loose(cluster: LiveCluster) -> Team:
    team = cluster.team("loose")
    team.write_settings({"pin": "tag", "roots": [{"package": f"{at('provider-loose')}:v1.0.0"}]})
    team.lock()
    team.sync()
    return team


def move_tags(registry: PackageRegistry) -> dict[str, str]:
    """Let two tags name other bytes; return their digests by the objects whose tags these are."""
    # With the same definitions: the revision before has the same tag, may pull these bytes as well, and would keep new ones.
    again = {"rebuilt": "yes"}
    crds = ["nops.nop.example.org"]
    return {
        "acme-provider-nop": registry.publish(
            "provider-nop v1.0.0", kind="Provider", crds=crds, annotations=again
        ),
        _LOOSE: registry.publish("provider-loose v1.0.0", kind="Provider", annotations=again),
    }


def delete_tag(registry: PackageRegistry, name: str, tag: str) -> None:
    """Take a tag away and leave its bytes, for which this registry has no request."""
    repositories = registry.folder / "storage/docker/registry/v2/repositories"
    shutil.rmtree(repositories / at(name) / "_manifests/tags" / tag)


def reconcile(cluster: LiveCluster, name: str, kind: Resource) -> None:
    """Let Crossplane go through a package once more: what was paused loses its conditions, and gets them at the end."""

    def pause(value: str | None) -> None:
        cluster.client.patch(kind, name, {"metadata": {"annotations": {_PAUSED: value}}})

    def conditions() -> dict[str, str]:
        return conditions_of(cluster.client.get(kind, name))

    pause("true")
    cluster.wait_until(lambda: conditions().get("Synced") == "False", f"{name} is paused")
    pause(None)
    cluster.wait_until(lambda: conditions() == WELL, f"{name} is back")


def wait_for_bytes(cluster: LiveCluster, name: str, digest: str) -> None:
    def has_them() -> bool:
        package = cluster.packages()[name]
        return bool(package["status"]["currentRevision"] == name_of_revision(package, digest))

    cluster.wait_until(has_them, f"{name} has {digest}")


def of_pinned(revisions: Mapping[str, Object]) -> dict[str, object]:
    """Return what is wanted of each revision of a pinned package."""
    return {name: value["spec"] for name, value in revisions.items() if package_of(value) in _PINNED}


def running(cluster: LiveCluster) -> dict[str, str]:
    """Return the digest that the program of each package runs from."""
    found = {}
    for value in cluster.client.objects(DEPLOYMENTS):
        [container] = value["spec"]["template"]["spec"]["containers"]
        # It is named like the revision.
        found[value["metadata"]["name"].rpartition("-")[0]] = container["image"].partition("@")[2]
    return found


def see_that_verify_names_them(
    team: Team, loose: Team, locked: Mapping[str, str], moved: Mapping[str, str]
) -> None:
    told = team.xplock("verify", ".", str(loose.folder), code=3).stdout
    documents = json.loads(team.xplock("verify", "-o", "json", ".", str(loose.folder), code=3).stdout)
    for source, name in (("provider-nop", "acme-provider-nop"), ("provider-loose", _LOOSE)):
        digests = f"  locked {locked[name]}\n  it now names {moved[name]}\n"
        assert f"{at(source)} v1.0.0: tag moved\n{digests}" in told
    assert f"{at('function-nop')} v0.1.0: tag gone\n" in told
    assert ".: 1 of 3 packages as locked\n" in told
    found = {
        document["folder"]: {one["object"]: (one["trouble"], one["digest"]) for one in document["findings"]}
        for document in documents
    }
    assert found == {
        ".": {
            "acme-function-nop": ("tag gone", locked["acme-function-nop"]),
            "acme-provider-nop": ("tag moved", locked["acme-provider-nop"]),
        },
        str(loose.folder): {_LOOSE: ("tag moved", locked[_LOOSE])},
    }
