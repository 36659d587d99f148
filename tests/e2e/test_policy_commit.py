"""Roots are pushed without a lock: the plugin commits it, and Argo CD applies it, without anybody doing anything."""

from rig.builders.projects import at
from rig.git.repositories import git
from rig.live.application import WELL, conditions_of
from rig.live.lock_files import attached_entries
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.waiting import wait_for

from render.system.files import LOCK_FILE

# After a commit the plugin is asked so many times more before we believe that nothing else comes.
LOOKS = 2


def test_a_folder_without_a_lock_gets_one_and_is_applied_by_itself(cluster: LiveCluster) -> None:
    cluster.registry.publish("provider-nop v1.0.0", kind="Provider", crds=["nops.nop.example.org"])
    cluster.registry.publish("app v1.0.0", {"provider-nop": "^1.0"}, xrds=["apps.app.example.org"])
    team = cluster.team()
    cluster.restart_sidecar({"XPLOCK_COMMIT_TO": f"{team.url}#main"})

    team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))
    asked = team.commit_and_push("ask for app")

    first = wait_applied(team, asked)
    assert team.pull() == first
    assert commits_since(team, asked) == [(first, "xplock", [f"platform/{LOCK_FILE}"])]
    assert installed(cluster) == {"app": "v1.0.0", "acme-provider-nop": "v1.0.0"}
    assert cluster.locked() == attached_entries(team.folder)

    cluster.registry.publish("app v1.1.0", {"provider-nop": "^1.0"}, xrds=["apps.app.example.org"])
    team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.1.0"))
    asked = team.commit_and_push("ask for the next app")

    second = wait_applied(team, asked)
    ask_again(team)
    assert team.pull() == second
    assert commits_since(team, asked) == [(second, "xplock", [f"platform/{LOCK_FILE}"])]
    assert installed(cluster) == {"app": "v1.1.0", "acme-provider-nop": "v1.0.0"}
    assert team.application.errors() == []
    team.lock("--check")


def wait_applied(team: Team, asked: str) -> str:
    """Wait until a lock was committed after a commit, and is applied, by Argo CD's own clock; return its commit."""

    def find() -> str | None:
        tip = git(team.server, "rev-parse", "main")
        return tip if tip != asked else None

    tip = wait_for(find, lambda: f"a lock is committed\n{team.application.describe()}")
    team.application.wait_synced(tip, refresh=False)
    return tip


def ask_again(team: Team) -> None:
    """Let Argo CD have the repository rendered some more times; by itself it would take what it remembers."""
    for _ in range(LOOKS):
        team.application.wait_until(lambda _: True, "it is rendered again")


def commits_since(team: Team, commit: str) -> list[tuple[str, str, list[str]]]:
    """Return what is on the branch after a commit: each commit, who made it, and which files it changed."""
    found = git(team.server, "rev-list", "--reverse", f"{commit}..main").split()
    return [(one, git(team.server, "show", "-s", "--format=%an", one), changed(team, one)) for one in found]


def changed(team: Team, commit: str) -> list[str]:
    """Return the files that a commit changed."""
    return git(team.server, "diff-tree", "--no-commit-id", "--name-only", "-r", commit).split()


def installed(cluster: LiveCluster) -> dict[str, str]:
    """Return the version of each package, all of which are healthy."""
    packages = cluster.packages()
    for value in packages.values():
        assert conditions_of(value) == WELL
    return {name: value["spec"]["package"].rpartition(":")[2] for name, value in packages.items()}
