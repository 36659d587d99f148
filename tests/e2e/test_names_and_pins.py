"""Names and references that Crossplane would not understand alone: everything is healthy, and no source is there twice."""

from rig.builders.projects import at
from rig.live.application import WELL, conditions_of
from rig.live.history import find_doubles, watch_sources
from rig.live.kubectl import kubectl, live_lock
from rig.live.lock_files import attached_entries
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.revisions import KNOWN_AHEAD
from rig.live.team import Team


def partial_names(cluster: LiveCluster) -> Team:
    """Return a team with a package that says neither registry nor organisation of what it needs."""
    cluster.registry.publish("provider-net v0.4.0", kind="Provider", crds=["nets.net.example.org"])
    cluster.registry.publish("labs/function-shape v0.1.0", kind="Function")
    written = [
        {"provider": "acme/provider-net", "version": ">=v0.4.0"},
        {"function": "function-shape", "version": ">=v0.1.0"},
    ]
    cluster.registry.publish("labs/lab v1.0.0", written=written, xrds=["labs.lab.example.org"])
    cluster.registry.publish("labs/on-top v1.0.0", {"labs/lab": "^1.0"}, xrds=["tops.lab.example.org"])
    team = cluster.team("partial")
    team.write("top.yaml", package_manifest("Configuration", "labs-on-top", f"{at('labs/on-top')}:v1.0.0"))
    return team


def own_name(cluster: LiveCluster) -> Team:
    """Return a team that gave a name of its own to what its other package needs, deep below."""
    cluster.registry.publish("provider-store v1.0.0", kind="Provider", crds=["stores.store.example.org"])
    cluster.registry.publish("function-sort v1.0.0", kind="Function")
    needs = {"provider-store": ">=v1.0.0", "function-sort": "*"}
    cluster.registry.publish("archive v1.0.0", needs, xrds=["archives.archive.example.org"])
    cluster.registry.publish("shop v1.0.0", {"archive": "^1.0"}, xrds=["shops.shop.example.org"])
    team = cluster.team("named")
    team.write("shop.yaml", package_manifest("Configuration", "shop", f"{at('shop')}:v1.0.0"))
    team.write("store.yaml", package_manifest("Provider", "store", at("provider-store")))
    return team


def native_pins(cluster: LiveCluster) -> Team:
    """Return a team whose packages name digests instead of tags."""
    cluster.registry.publish("provider-mail v2.0.0", kind="Provider", crds=["mails.mail.example.org"])
    cluster.registry.publish("office v1.0.0", {"provider-mail": "^2.0"}, xrds=["desks.office.example.org"])
    team = cluster.team("native")
    team.write("office.yaml", package_manifest("Configuration", "office", f"{at('office')}:v1.0.0"))
    team.write_settings({"pin": "native"})
    return team


def test_what_crossplane_could_not_resolve_is_healthy_and_never_there_twice(cluster: LiveCluster) -> None:
    teams = [partial_names(cluster), own_name(cluster), native_pins(cluster)]
    for team in teams:
        team.lock()

    with watch_sources(cluster.client) as history:
        commits = [team.commit_and_push("install") for team in teams]
        for team, commit in zip(teams, commits, strict=True):
            team.application.wait_synced(commit)

    packages = cluster.packages()
    assert sorted(packages) == [
        *("acme-archive", "acme-function-sort", "acme-provider-mail", "acme-provider-net"),
        *("labs-function-shape", "labs-lab", "labs-on-top", "office", "shop", "store"),
    ]
    for value in packages.values():
        assert conditions_of(value) == WELL
    assert [entry["source"] for entry in cluster.locked()] == [
        *(at("function-sort"), at("provider-mail"), at("provider-net"), at("provider-store")),
        at("labs/function-shape"),
    ]
    assert cluster.locked() == attached_entries(*(team.folder for team in teams))
    assert find_doubles(history.moments()) == set()


def publish_clouds(cluster: LiveCluster, version: str) -> None:
    """Publish a family, two members of it, and what needs these."""
    family = {"provider-clouds": ">=v1.0.0"}
    needs: dict[str, dict[str, str]] = {"clouds": {}, "east": family, "west": family}
    for name, dependencies in needs.items():
        package, crd = f"provider-{name} {version}", f"things.{name}.example.org"
        cluster.registry.publish(package, dependencies, kind="Provider", family="clouds", crds=[crd])
    members = {"provider-east": "^1.0", "provider-west": "^1.0"}
    cluster.registry.publish(f"app {version}", members, xrds=["apps.app.example.org"])


def ask_for_clouds(team: Team, version: str = "") -> None:
    """Write what is asked for: the family under a name that Crossplane would not give it, and the app."""
    tag = f":{version}" if version else ""
    team.write("clouds.yaml", package_manifest("Provider", "clouds", f"{at('provider-clouds')}{tag}"))
    team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}{tag}"))


def apply_by_hand(cluster: LiveCluster, team: Team, *names: str, expected: int) -> None:
    """Apply files of a folder as people did before there was a lock, and wait for so many healthy packages."""
    for name in names:
        kubectl(cluster, "apply", "-f", str(team.folder / name))
    cluster.wait_until(lambda: count_healthy(cluster) == expected, f"there are {expected} healthy packages")


def see_no_difference(cluster: LiveCluster, team: Team) -> None:
    """Wait until the cluster's Lock is what the folder's says, which also knows what is left there of before."""

    def is_equal() -> bool:
        told = team.try_xplock("diff", "-", "--exit-code", stdin=live_lock(cluster))
        return told.returncode == 0

    cluster.wait_until(is_equal, "the Lock is as expected")


def count_healthy(cluster: LiveCluster) -> int:
    """Return how many packages there are, or less if one of them is not healthy."""
    return sum(conditions_of(value) == WELL for value in cluster.packages().values())


def test_a_family_that_people_named_is_taken_over_and_upgraded_up_to_v2_3_its_members_first(
    cluster: LiveCluster,
) -> None:
    publish_clouds(cluster, "v1.0.0")
    team = cluster.team()
    ask_for_clouds(team, "v1.0.0")

    with watch_sources(cluster.client) as history:
        apply_by_hand(cluster, team, "registry.yaml", "clouds.yaml", expected=1)
        # Crossplane resolves what it needs by itself.
        apply_by_hand(cluster, team, "app.yaml", expected=4)
        by_hand = cluster.locked()
        ask_for_clouds(team)
        advice = team.lock()
        unknown = team.xplock("diff", "-", stdin=live_lock(cluster)).stdout
        team.xplock("adopt", "--to", ".", "--kubeconfig", str(cluster.argocd.kube.kubeconfig))
        attached_members = sorted(path.name for path in team.folder.glob("provider-*.yaml"))
        for name in attached_members:
            # From now on they are detached, as in a new cluster.
            (team.folder / name).unlink()
        team.lock()
        team.sync("take over")
        taken = cluster.locked()
        see_no_difference(cluster, team)
        publish_clouds(cluster, "v1.1.0")
        # All at once would be too much while entries of the members stay, as up to v2.3: while the family changes,
        # Crossplane must not look for it.
        first = team.lock("-U")
        team.sync("upgrade everything")
        see_no_difference(cluster, team)
        between = cluster.locked()
        second = team.lock("-U")
        if KNOWN_AHEAD:
            team.sync("upgrade the rest of it")
            see_no_difference(cluster, team)

    assert find_doubles(history.moments()) == set()
    packages = cluster.packages()
    assert {name: value["spec"]["package"] for name, value in packages.items()} == {
        "clouds": f"{at('provider-clouds')}:v1.1.0",
        "acme-provider-east": f"{at('provider-east')}:v1.1.0",
        "acme-provider-west": f"{at('provider-west')}:v1.1.0",
        "app": f"{at('app')}:v1.1.0",
    }
    assert count_healthy(cluster) == 4
    assert attached_members == ["provider-acme-provider-east.yaml", "provider-acme-provider-west.yaml"]
    assert ("xplock adopt --to " in advice) is KNOWN_AHEAD
    # What was attached once keeps its entry until its bytes change; from v2.4 on only while it is attached.
    attached = [entry for entry in by_hand if KNOWN_AHEAD or entry["source"] == at("provider-clouds")]
    assert len(by_hand) == 4 and taken == attached
    assert unknown.count("it is detached, and should have no entry") == 3
    # Names are aligned, and long lines go on below.
    one_line, other_line = " ".join(first.split()), " ".join(second.split())
    held = "provider-clouds stays at v1.0.0 until"
    updated = "provider-clouds v1.0.0 -> v1.1.0"
    assert (held in one_line, updated in one_line) == (KNOWN_AHEAD, not KNOWN_AHEAD), first
    assert (updated in other_line) is KNOWN_AHEAD
    known = "v1.0.0" if KNOWN_AHEAD else "v1.1.0"
    assert [(entry["source"], entry["version"]) for entry in between] == [(at("provider-clouds"), known)]
    assert cluster.locked() == attached_entries(team.folder)
