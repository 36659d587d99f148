"""What Argo CD did with an Application, one operation after the other."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rig.live.client import Object

Events: TypeAlias = Sequence[tuple[str, Object]]

_UNCHANGED, _BY_SERVER = " unchanged", " serverside-applied"


def operation_states(name: str, events: Events) -> list[Object]:
    """Return all that an Application told of its operations, in order."""
    return [state for _, value in events if (state := _state_of(name, value))]


def operations_of(name: str, events: Events) -> list[str]:
    """Return the commit of every operation of an Application that did anything, in order.

    Of what is applied by the server, which is revisions, only their own events tell whether that changed anything.
    Once after a commit it may: package and revision are switched off together, and where Crossplane sees the revision
    first it switches that on again. Whoever has to insist a second time is fighting.
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


def _commit(state: Object) -> str:
    return str(state["operation"]["sync"]["revision"])


def _only_switches_off(state: Object) -> bool:
    """Tell whether an operation is a heal that applies nothing but revisions."""
    messages = [result["message"] for result in state.get("syncResult", {}).get("resources", [])]
    return "resources" in state["operation"]["sync"] and all(
        message.endswith((_UNCHANGED, _BY_SERVER)) for message in messages
    )


def _is_idle(name: str, state: Object, events: Events) -> bool:
    # On a busy machine Argo CD may see what it has just applied so late that it applies that once more.
    if "resources" not in state["operation"]["sync"]:
        return False
    same = _same_during(name, state["startedAt"], events)
    return all(
        result["message"].endswith(_UNCHANGED)
        or (result["message"].endswith(_BY_SERVER) and (result["kind"], result["name"]) in same)
        for result in state.get("syncResult", {}).get("resources", [])
    )


def _same_during(name: str, started: str, events: Events) -> set[tuple[str, str]]:
    """Return the revisions that were there before an operation, and wanted to be the same until it had ended."""
    states = [_state_of(name, value) for _, value in events]
    first = next(at for at, state in enumerate(states) if state.get("startedAt") == started)
    last = next(at for at in range(first, len(events)) if "finishedAt" in states[at])
    before = dict(_revisions(events[:first]))
    changed = {key for key, desired in _revisions(events[first:last]) if desired != before.get(key)}
    return before.keys() - changed


def _revisions(events: Events) -> Iterator[tuple[tuple[str, str], str]]:
    # All that the server is to apply is this one field; Crossplane sets the others.
    for event, value in events:
        if value["kind"].endswith("Revision"):
            desired = "" if event == "DELETED" else value["spec"]["desiredState"]
            yield (value["kind"], value["metadata"]["name"]), desired
