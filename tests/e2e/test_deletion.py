"""An Application is deleted: guarded packages wait for a consent, and nothing of the folder goes before it."""

from datetime import UTC, datetime

from rig.builders.projects import at
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.kinds import APPLICATIONS, CRDS, IMAGE_CONFIGS, PROVIDERS

CASCADE = "resources-finalizer.argocd.argoproj.io"
APPROVAL = "argocd.argoproj.io/deletion-approved"


def test_deleting_an_application_takes_guarded_packages_only_after_a_consent(cluster: LiveCluster) -> None:
    guarded, unguarded = (installed(cluster, name) for name in ("guarded", "unguarded"))
    pins = pins_of(cluster, guarded)

    delete(cluster, guarded)
    delete(cluster, unguarded)
    wait_gone(cluster, unguarded)
    # Argo CD was asked to delete this one first.
    waiting = cluster.client.get(PROVIDERS, "guarded")
    left = pins_of(cluster, guarded)
    approve(cluster, guarded)
    wait_gone(cluster, guarded)

    assert pins
    assert left == pins
    assert "deletionTimestamp" not in waiting["metadata"]
    cluster.wait_until(lambda: cluster.client.find(CRDS, crd("guarded")) is None, "its kind goes with it")


def installed(cluster: LiveCluster, name: str) -> Team:
    """Install a Provider by an Application that takes its objects with it when it is deleted."""
    cluster.registry.publish(f"provider-{name} v1.0.0", kind="Provider", crds=[crd(name)])
    team = cluster.team(name)
    team.write_settings({"guard": name != "unguarded"})
    team.write("provider.yaml", package_manifest("Provider", name, f"{at(f'provider-{name}')}:v1.0.0"))
    team.lock()
    team.sync()
    cluster.client.patch(APPLICATIONS, name, {"metadata": {"finalizers": [CASCADE]}})
    return team


def crd(name: str) -> str:
    return f"{name}s.{name}.example.org"


def delete(cluster: LiveCluster, team: Team) -> None:
    cluster.client.delete(APPLICATIONS, team.application.name)


def approve(cluster: LiveCluster, team: Team) -> None:
    """Consent as `argocd app confirm-deletion` does."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    cluster.client.patch(APPLICATIONS, team.application.name, {"metadata": {"annotations": {APPROVAL: now}}})


def wait_gone(cluster: LiveCluster, team: Team) -> None:
    name = team.application.name
    cluster.wait_until(
        lambda: all(cluster.client.find(kind, name) is None for kind in (APPLICATIONS, PROVIDERS)),
        f"the Application {name} and its Provider are deleted",
    )


def pins_of(cluster: LiveCluster, team: Team) -> list[str]:
    """Return the names of the ImageConfigs that pin a team's Provider."""
    names = [value["metadata"]["name"] for value in cluster.client.objects(IMAGE_CONFIGS)]
    return [name for name in names if name.startswith(f"xplock-{team.application.name}-")]
