"""An upgrade, and a rollback by Git revert, change the revisions that they are meant to change and no others."""

from collections.abc import Callable
from itertools import pairwise

from rig.builders.projects import at
from rig.git.repositories import git
from rig.live.application import WELL, conditions_of, package_of
from rig.live.history import History, Moment
from rig.live.lock_files import attached_entries, locked_digests
from rig.live.manifests import package_manifest
from rig.live.package_registry import PackageRegistry
from rig.live.platform import LiveCluster
from rig.live.revisions import KNOWN_AHEAD
from rig.live.team import Team
from rig.servers.kinds import REVISIONS

from render.system.files import LOCK_FILE


def test_only_what_is_upgraded_or_rolled_back_gets_another_revision(cluster: LiveCluster) -> None:
    publish_first(cluster.registry)
    team = cluster.team()
    ask_for(team, app="v1.0.0", tool="v1.0.0")
    team.lock()
    team.sync()
    publish_upgrades(cluster.registry)
    installed = revisions(cluster)

    # A dependency alone; then a root, and with it the one dependency that does not suit it as it is locked.
    by_dependency = seen_while(cluster, lambda: upgrade_dependency(team))
    before, lock, bytes_before = revisions(cluster), lock_of(team), resolved(cluster)
    see_that_it_runs(cluster, team)
    by_root = seen_while(cluster, lambda: upgrade_root(team))
    upgraded = revisions(cluster)
    see_that_it_runs(cluster, team)
    by_revert = seen_while(cluster, lambda: revert(team))

    assert by_dependency == {"acme-provider-net"} == changed(installed, before)
    assert by_root == {"app", "acme-provider-store"} == changed(before, upgraded)
    assert by_revert == {"app", "acme-provider-store"}
    assert (resolved(cluster), lock_of(team)) == (bytes_before, lock)
    # From v2.4 on, Crossplane makes another revision of the bytes that a package had before.
    assert changed(before, revisions(cluster)) == (set() if KNOWN_AHEAD else by_revert)
    see_that_it_runs(cluster, team)


def publish_first(registry: PackageRegistry) -> None:
    registry.publish("provider-net v1.0.0", kind="Provider", crds=["nets.net.example.org"])
    registry.publish("provider-store v1.0.0", kind="Provider", crds=["buckets.store.example.org"])
    registry.publish("function-nop v0.1.0", kind="Function")
    registry.publish("base v1.0.0", {"provider-net": ">=v1.0.0"}, xrds=["bases.acme.example.org"])
    registry.publish("app v1.0.0", {"base": "^v1", "provider-store": ">=v1.0.0"})
    registry.publish("tool v1.0.0", {"provider-net": "*", "provider-store": "*", "function-nop": "*"})


def publish_upgrades(registry: PackageRegistry) -> None:
    """Publish a newer version of everything, most of which nobody asks for."""
    crds = ["nets.net.example.org", "cables.net.example.org"]
    registry.publish("provider-net v1.1.0", kind="Provider", crds=crds)
    registry.publish("provider-store v1.1.0", kind="Provider", crds=["buckets.store.example.org"])
    registry.publish("function-nop v0.2.0", kind="Function")
    registry.publish("base v1.1.0", {"provider-net": ">=v1.0.0"}, xrds=["bases.acme.example.org"])
    registry.publish("app v2.0.0", {"base": "^v1", "provider-store": ">=v1.1.0"})
    registry.publish("tool v1.1.0", {"provider-net": "*", "provider-store": "*", "function-nop": "*"})


def ask_for(team: Team, **versions: str) -> None:
    for name, version in versions.items():
        team.write(f"{name}.yaml", package_manifest("Configuration", name, f"{at(name)}:{version}"))


def upgrade_dependency(team: Team) -> None:
    team.lock("-P", f"{at('provider-net')}=v1.1.0")
    team.sync("a newer net")


def upgrade_root(team: Team) -> None:
    ask_for(team, app="v2.0.0")
    team.lock()
    team.sync("a newer app")


def revert(team: Team) -> None:
    git(team.root, "revert", "--no-commit", "HEAD")
    team.sync("Revert: a newer app")


def revisions(cluster: LiveCluster) -> dict[str, str]:
    """Return the revision that each package is at."""
    return {name: value["status"]["currentRevision"] for name, value in cluster.packages().items()}


def resolved(cluster: LiveCluster) -> dict[str, str]:
    """Return the bytes that each package is at."""
    return {name: value["status"]["resolvedPackage"] for name, value in cluster.packages().items()}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if before[name] != after[name]}


def seen_while(cluster: LiveCluster, act: Callable[[], None]) -> set[str]:
    """Return the packages of which a revision came, went, or was told something else, be it for a moment."""
    with History(cluster.client, *REVISIONS) as seen:
        act()
    return {
        name
        for before, after in pairwise(map(specs, seen.moments()))
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def specs(moment: Moment) -> dict[str, dict[str, object]]:
    """Return what is wanted of the revisions of each package."""
    found: dict[str, dict[str, object]] = {}
    for (_, name), value in moment.items():
        found.setdefault(package_of(value), {})[name] = value["spec"]
    return found


def lock_of(team: Team) -> str:
    return (team.folder / LOCK_FILE).read_text()


def see_that_it_runs(cluster: LiveCluster, team: Team) -> None:
    packages, digests = cluster.packages(), locked_digests(team.folder)
    assert packages.keys() == digests.keys()
    for name, package in packages.items():
        assert conditions_of(package) == WELL
        assert package["status"]["resolvedPackage"].endswith(f"@{digests[name]}")
    assert cluster.locked() == attached_entries(team.folder)
