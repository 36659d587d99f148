"""Objects of a running cluster, as `kubectl get ... -o yaml` or `-o json` prints them."""

from io import BytesIO
from typing import Any

from render.limits import LimitExceeded, Limits
from render.live.stream import InvalidLiveObjects as InvalidLiveObjects
from render.live.stream import iterate_objects


def parse_live_objects(data: bytes, limits: Limits) -> list[Any]:
    """Parse objects of a cluster: one, several documents, or a List of them."""
    if len(data) > limits.lock_bytes:
        raise LimitExceeded(
            "what the cluster has is too large", "lock_bytes", limits, found=f"{len(data):,} bytes"
        )
    return list(iterate_objects(BytesIO(data).read, limits))
