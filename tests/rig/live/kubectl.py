"""kubectl, for what people do with a cluster by hand."""

import subprocess

from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.processes import program

_SECONDS = 120


def kubectl(cluster: LiveCluster, *arguments: str, stdin: str = "") -> str:
    """Run kubectl, which has to work; return what it prints."""
    done = subprocess.run(
        [program("kubectl"), *arguments],
        input=stdin,
        env={"HOME": str(cluster.folder), "KUBECONFIG": str(cluster.argocd.kube.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def run_printed(cluster: LiveCluster, command: str) -> None:
    """Run a command of kubectl as it was printed, in a shell that knows no cluster by itself."""
    folder = str(program("kubectl")).rpartition("/")[0]
    done = subprocess.run(
        ["sh", "-c", command],
        env={"HOME": str(cluster.folder), "PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def live_lock(cluster: LiveCluster) -> str:
    """Return the cluster's Lock, as people get it."""
    return kubectl(cluster, "get", "lock", "lock", "-o", "yaml")


def diff_live(cluster: LiveCluster, team: Team, *options: str, code: int = 0) -> str:
    """Return in what the cluster's Lock differs from the folder's."""
    return team.xplock("diff", "-", "--exit-code", *options, code=code, stdin=live_lock(cluster)).stdout
