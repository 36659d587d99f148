"""What Argo CD did with an Application, one operation after the other."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rig.live.client import Object

Events: TypeAlias = Sequence[tuple[str, Object]]
# Kind and name.
Key: TypeAlias = tuple[str, str]

_RETRYING = ". Retrying attempt"
_MADE = r'[\w.]+ "[^"]+" already exists'
_RIVALS = re.compile(rf"one or more objects failed to apply, reason: {_MADE}(?:, ?{_MADE})*")
_UNCHANGED, _BY_SERVER, _PRUNED = " unchanged", " serverside-applied", "pruned"


def operation_states(name: str, events: Events) -> list[Object]:
    """Return the operations in the events of an Application, in order."""
    return [state for _, value in events if (state := _state_of(name, value))]


def failures_of(name: str, events: Events) -> list[str]:
    """Return why operations of an Application failed, but for what Crossplane made at the very same moment.

    Argo CD looks for an object, and then creates it. In between Crossplane may have made it for a package that was there
    before (in 2 of 16 closures, measured); the Application's retry policy is there for that.
    """
    states = operation_states(name, events)
    told = [str(state["message"]) for state in states if _has_failed(state)]
    return [text for text in told if not _RIVALS.fullmatch(text.partition(_RETRYING)[0])]


def operations_of(name: str, events: Events) -> list[str]:
    """Return the commit of every operation of an Application that did anything, in order.

    Revisions are applied on the server's side, so only their own events show whether an operation changed them. That may
    happen once after a commit: package and revision are deactivated together, and if Crossplane sees the revision first,
    it activates that again. A second time means that Argo CD and Crossplane fight.
    """
    ended = {state["startedAt"]: state for state in operation_states(name, events) if "finishedAt" in state}
    found: list[str] = []
    insisted: set[str] = set()
    for _, state in sorted(ended.items()):
        commit = _commit(state)
        if _is_idle(name, state, events):
            continue
        if _only_switches_off(state) and commit not in insisted:
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


def _only_switches_off(state: Object) -> bool:
    """Return whether an operation is a heal that applies nothing but revisions."""
    return "resources" in state["operation"]["sync"] and all(
        message.endswith((_UNCHANGED, _BY_SERVER)) for _, message in _results(state)
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
    """Return the revisions that were there before an operation, and wanted to be the same until it had ended."""
    wanted = dict(_revisions(before))
    changed = {key for key, desired in _revisions(during) if desired != wanted.get(key)}
    return wanted.keys() - changed


def _going(before: Events) -> set[Key]:
    """Return the objects that are deleted, or only wait for their finalizers."""
    last = {(value["kind"], value["metadata"]["name"]): (event, value) for event, value in before}
    return {
        key
        for key, (event, value) in last.items()
        if event == "DELETED" or "deletionTimestamp" in value["metadata"]
    }


def _revisions(events: Events) -> Iterator[tuple[Key, str]]:
    # All that the server is to apply is this one field; Crossplane sets the others.
    for event, value in events:
        if value["kind"].endswith("Revision"):
            desired = "" if event == "DELETED" else value["spec"]["desiredState"]
            yield (value["kind"], value["metadata"]["name"]), desired
