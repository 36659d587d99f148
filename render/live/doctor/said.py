"""What pods and events say about objects that do not come up."""

from collections.abc import Collection

from render.live.doctor.case import Case
from render.live.doctor.entering import shorten
from render.live.doctor.model import ObjectKey

_SHOWN = 3
_WARNING = "Warning"


def said_by_pods(case: Case, label: str, value: str) -> list[str]:
    """Return why the containers of pods with a label do not run, and what events say about these pods."""
    pods = [one for one in case.cluster.pods if one.metadata.labels.get(label) == value]
    waiting = [
        f"{pod.metadata.name}: {reason} {message}".rstrip() for pod in pods for reason, message in pod.waiting
    ]
    lines = [shorten(line) for line in dict.fromkeys(waiting)]
    return [*lines[:_SHOWN], *said_by_events(case, {("Pod", pod.metadata.name) for pod in pods})]


def said_by_events(case: Case, objects: Collection[ObjectKey]) -> list[str]:
    """Return the warnings of events about some objects, each once."""
    found = [
        f"event {one.reason}: {one.message}"
        for one in case.cluster.events
        if (one.kind, one.name) in objects and one.type == _WARNING and one.message
    ]
    return [shorten(line) for line in dict.fromkeys(sorted(found))][:_SHOWN]
