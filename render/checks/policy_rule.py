"""A rule about policies: what is locked is allowed, by what the lock says of it."""

from collections.abc import Iterator

from render.checks.model import Checked, CheckedFolder, Finding, Place
from render.checks.positions import lock_place, read_lock_place
from render.errors import RenderError
from render.inputs.projects import Inputs
from render.lean import TYPE_CHECKING, replace

if TYPE_CHECKING:
    from render.policy.model import Policy


def policy_refused(checked: Checked) -> Iterator[Finding]:
    """A lock has packages that the policy of its folder or of the operator does not allow."""
    for one in checked.folders:
        policies = _policies(one, checked)
        lock = one.fresh_lock
        if policies and lock is not None and isinstance(one.inputs, Inputs):
            # Imported late: most folders have no policy.
            from render.lock.policies import LedAway, NotAllowed, find_refused, require_led_well

            try:
                require_led_well(policies, one.inputs)
            except LedAway as led:
                yield Finding.of("policy-refused", one, led, lock_place(one))
            found = find_refused(lock, policies, one.inputs)
            if found:
                places = tuple(_place(one, str(each.package.source)) for each in found)
                error = NotAllowed(one.folder, found)
                finding = Finding.of("policy-refused", one, error, places[0])
                several = len(error.why) == len(found)
                yield replace(finding, places=places if several else (), lead="not allowed: ")


def note_unused(checked: Checked) -> list[str]:
    """Return a line for each entry of a folder's policy that no locked package needs."""
    notes = []
    for one in checked.folders:
        policy = None if isinstance(one.inputs, RenderError) else one.inputs.settings.policy
        if policy and one.fresh_lock:
            from render.lock.unused_entries import find_unused

            notes += [f"{one.name}: {line}" for line in find_unused(policy, one.fresh_lock)]
    return notes


def _policies(one: CheckedFolder, checked: Checked) -> "tuple[Policy, ...]":
    own = None if isinstance(one.inputs, RenderError) else one.inputs.settings.policy
    return tuple(policy for policy in (own, checked.operator_policy) if policy)


def _place(one: CheckedFolder, source: str) -> Place:
    return read_lock_place(one, f"source: {source}\n")
