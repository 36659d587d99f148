"""A stand-in for nodes: it marks Deployments as available."""

from types import TracebackType
from typing import Self

from rig.servers.background import Beside
from rig.servers.client import Client, Object, Refused
from rig.servers.kinds import DEPLOYMENTS, Resource


class Kubelet:
    """Marks every Deployment as available, but for those that are broken."""

    def __init__(self, client: Client) -> None:
        # Names of Deployments, or beginnings of them, that do not come up.
        self.broken: set[str] = set()
        self._client = client
        self._resting = False
        self._beside = Beside(self._mark_all, "what says that Deployments run")

    def __enter__(self) -> Self:
        self._beside.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._beside.__exit__(kind, error, trace)

    def rest(self) -> None:
        """Leave every Deployment to others from now on."""
        self._resting = True

    def _mark_all(self) -> None:
        for deployment in [] if self._resting else self._client.objects(DEPLOYMENTS):
            self._mark(deployment)

    def _mark(self, deployment: Object) -> None:
        name, generation = deployment["metadata"]["name"], deployment["metadata"]["generation"]
        status = "False" if name.startswith(tuple(self.broken)) else "True"
        wanted = _status(generation, status)
        have = deployment.get("status", {})
        if have.get("observedGeneration") == generation and _availability(have) == status:
            return
        resource = Resource(DEPLOYMENTS.api, DEPLOYMENTS.plural, deployment["metadata"]["namespace"])
        try:
            self._client.patch(resource, name, {"status": wanted}, subresource="status")
        except Refused as error:
            # Gone in the meantime.
            if error.status != 404:
                raise


def _status(generation: int, available: str) -> Object:
    condition = {"type": "Available", "status": available, "reason": "Told", "message": "told by the tests"}
    replicas = int(available == "True")
    counts = {"readyReplicas": replicas, "availableReplicas": replicas, "updatedReplicas": 1, "replicas": 1}
    return {"observedGeneration": generation, "conditions": [condition], **counts}


def _availability(status: Object) -> str:
    return next((one["status"] for one in status.get("conditions", []) if one["type"] == "Available"), "")
