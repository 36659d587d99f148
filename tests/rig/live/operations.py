"""What Argo CD did with an Application, one operation after the other."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rig.servers.client import Object

Events: TypeAlias = Sequence[tuple[str, Object]]
# Kind and name.
Key: TypeAlias = tuple[str, str]

_PACKAGES = ("Provider", "Configuration", "Function")
_RETRYING = ". Retrying attempt"
_UNCHANGED, _BY_SERVER, _PRUNED = " unchanged", " serverside-applied", "pruned"


def operation_states(name: str, events: Events) -> list[Object]:
    """Return the operations in the events of an Application, in order."""
    return [state for _, value in events if (state := _state_of(name, value))]


def failures_of(name: str, events: Events) -> list[str]:
    """Return why operations of an Application failed, including those that were tried again."""
    return [str(state["message"]) for state in operation_states(name, events) if _has_failed(state)]


def operations_of(name: str, events: Events) -> list[str]:
    """Return the commit of every operation of an Application that did anything, in order.

    Packages and revisions are applied on the server's side, so only their own events show whether an operation changed
    them. For revisions that may happen once after a commit: package and revision are deactivated together, and if Crossplane
    sees the revision first, it activates that again. A second time means that Argo CD and Crossplane fight.
    """
    ended = {state["startedAt"]: state for state in operation_states(name, events) if "finishedAt" in state}
    found: list[str] = []
    insisted: set[str] = set()
    for _, state in sorted(ended.items()):
        commit = _commit(state)
        if _is_idle(name, state, events):
            continue
        if _only_switches_off(name, state, events) and commit not in insisted:
            insisted.add(commit)
            continue
        found.append(commit)
    return found


def _state_of(name: str, value: Object) -> Object:
    if (value["kind"], value["metadata"]["name"]) != ("Application", name):
        return {}
    state: Object = value.get("status", {}).get("operationState", {})
    return state


def _has_failed(state: Object) -> bool:
    return state["phase"] in ("Failed", "Error") or _RETRYING in state.get("message", "")


def _commit(state: Object) -> str:
    return str(state["operation"]["sync"]["revision"])


def _only_switches_off(name: str, state: Object, events: Events) -> bool:
    """Return whether an operation is a heal that changes nothing but revisions."""
    if "resources" not in state["operation"]["sync"]:
        return False
    same = _same_during(*_split(name, state["startedAt"], events))
    return all(
        message.endswith(_UNCHANGED) or (message.endswith(_BY_SERVER) and (_is_revision(key) or key in same))
        for key, message in _results(state)
    )


def _is_idle(name: str, state: Object, events: Events) -> bool:
    # On a busy machine Argo CD may see what it has just done so late that it does that once more.
    if "resources" not in state["operation"]["sync"]:
        return False
    before, during = _split(name, state["startedAt"], events)
    same, going = _same_during(before, during), _going(before)
    return all(
        message.endswith(_UNCHANGED)
        or (message.endswith(_BY_SERVER) and key in same)
        or (message == _PRUNED and key in going)
        for key, message in _results(state)
    )


def _results(state: Object) -> Iterator[tuple[Key, str]]:
    for result in state.get("syncResult", {}).get("resources", []):
        yield (result["kind"], result["name"]), result["message"]


def _split(name: str, started: str, events: Events) -> tuple[Events, Events]:
    """Return what happened before an operation, and until it had ended."""
    states = [_state_of(name, value) for _, value in events]
    first = next(at for at, state in enumerate(states) if state.get("startedAt") == started)
    last = next(at for at in range(first, len(events)) if "finishedAt" in states[at])
    return events[:first], events[first:last]


def _same_during(before: Events, during: Events) -> set[Key]:
    """Return what was there before an operation, and was wanted to be the same until it had ended."""
    wanted = dict(_wanted(before))
    changed = {key for key, value in _wanted(during) if value != wanted.get(key)}
    return wanted.keys() - changed


def _going(before: Events) -> set[Key]:
    """Return the objects that are deleted, or only wait for their finalizers."""
    last = {(value["kind"], value["metadata"]["name"]): (event, value) for event, value in before}
    return {
        key
        for key, (event, value) in last.items()
        if event == "DELETED" or "deletionTimestamp" in value["metadata"]
    }


def _wanted(events: Events) -> Iterator[tuple[Key, object]]:
    """Yield what packages and revisions are wanted to be; None for deleted ones."""
    for event, value in events:
        key = (value["kind"], value["metadata"]["name"])
        if _is_revision(key) or value["kind"] in _PACKAGES:
            yield key, None if event == "DELETED" else _fields(value)


def _fields(value: Object) -> object:
    metadata = value["metadata"]
    if value["kind"] in _PACKAGES:
        # The generation changes with every field of the spec.
        return metadata["generation"], metadata.get("labels", {}), metadata.get("annotations", {})
    # All that the server is to apply is this one field; Crossplane sets the others.
    return value["spec"]["desiredState"]


def _is_revision(key: Key) -> bool:
    return key[0].endswith("Revision")
