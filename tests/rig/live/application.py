"""One folder as Argo CD applies it, and waiting for it to get there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from rig.servers.client import Client, Object
from rig.servers.kinds import APPLICATIONS, LOCKS, PACKAGES, REVISIONS
from rig.servers.waiting import SECONDS, wait_for

_REFRESH = "argocd.argoproj.io/refresh"
_SHOWN = ("sync", "health", "conditions", "operationState", "resources")

# The conditions of a package that runs.
WELL = {"Installed": "True", "Healthy": "True"}


@dataclass(frozen=True, slots=True)
class Application:
    """An Application that Argo CD keeps in sync by itself."""

    client: Client
    name: str

    def get(self) -> Object:
        """Return it as it is now."""
        return self.client.get(APPLICATIONS, self.name)

    def refresh(self) -> None:
        """Let Argo CD read the repository and render again, without its cache."""
        self.client.patch(APPLICATIONS, self.name, {"metadata": {"annotations": {_REFRESH: "hard"}}})

    def wait_synced(
        self, commit: str, *, health: str = "Healthy", refresh: bool = True, seconds: float = SECONDS
    ) -> Object:
        """Wait until a commit is applied, nothing is under way, and everything has this health."""
        return self.wait_until(
            lambda value: _is_applied(value, commit) and value["status"]["health"]["status"] == health,
            f"{self.name} is applied and {health} at {commit}",
            refresh=refresh,
            seconds=seconds,
        )

    def errors(self) -> list[str]:
        """Return what Argo CD shows its users as wrong."""
        conditions = self.get().get("status", {}).get("conditions", [])
        return [condition["message"] for condition in conditions]

    def describe(self) -> str:
        """Describe the state of the Application and its cluster, for the error of a wait."""
        status = self.get().get("status", {})
        shown = yaml.safe_dump({key: status.get(key) for key in _SHOWN})
        return f"{shown}\n{describe_packages(self.client)}"

    def wait_until(
        self,
        condition: Callable[[Object], bool],
        what: str,
        *,
        refresh: bool = True,
        seconds: float = SECONDS,
    ) -> Object:
        """Wait until the Application is as it should be; without a refresh, Argo CD's own clock decides."""
        if refresh:
            self.refresh()

        def find() -> Object | None:
            value = self.get()
            return value if _is_refreshed(value) and condition(value) else None

        return wait_for(find, lambda: f"{what}\n{self.describe()}", seconds=seconds)


def conditions_of(value: Object) -> dict[str, str]:
    """Return the status of each condition of an object."""
    return {one["type"]: one["status"] for one in value.get("status", {}).get("conditions", [])}


def package_of(revision: Object) -> str:
    """Return the name of the package that a revision belongs to."""
    return str(revision["metadata"]["labels"]["pkg.crossplane.io/package"])


def describe_packages(client: Client) -> str:
    """Return a line for each package and revision with its conditions, and one for each entry of the Lock."""
    told = [_told(value) for kind in (*PACKAGES, *REVISIONS) for value in client.objects(kind)]
    entries = client.get(LOCKS, "lock").get("packages") or []
    locked = [f"Lock {entry['source']} {entry['version']} as {entry['name']}" for entry in entries]
    return "\n".join(told + locked)


def _is_refreshed(value: Object) -> bool:
    # Argo CD takes the annotation away once it has done what it asks for.
    return "status" in value and _REFRESH not in value["metadata"].get("annotations", {})


def _is_applied(value: Object, commit: str) -> bool:
    status: dict[str, Any] = value["status"]
    sync, last = status.get("sync", {}), status.get("operationState", {})
    return (
        (sync.get("status"), sync.get("revision")) == ("Synced", commit)
        and "operation" not in value
        and last.get("phase") == "Succeeded"
        # Until then, the health is that of the time before.
        and status.get("reconciledAt", "") >= last["finishedAt"]
    )


def _told(value: Object) -> str:
    conditions, spec = value.get("status", {}).get("conditions", []), value["spec"]
    told = [f"{one['type']}={one['status']} {one.get('message', '')}".strip() for one in conditions]
    what = spec.get("package") or f"{spec.get('desiredState')} {spec.get('image')}"
    return f"{value['kind']} {value['metadata']['name']} {what}: {'; '.join(told)}"
