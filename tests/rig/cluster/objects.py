"""Who owns and controls the objects that packages install."""

from collections.abc import Mapping

from render.packages import Kind, Package
from render.references import parse_reference
from rig.cluster.registry import Pulled
from rig.cluster.state import ACTIVE, Handover, ObjectKey, Revision, State

_CRD = "CustomResourceDefinition"
# What each kind of package establishes; a managed resource definition stands for the CRD that is made of it.
_ESTABLISHED: Mapping[Kind, Mapping[str, str]] = {
    Kind.PROVIDER: {_CRD: _CRD, "ManagedResourceDefinition": _CRD},
    Kind.CONFIGURATION: {
        "CompositeResourceDefinition": "CompositeResourceDefinition",
        "Composition": "Composition",
    },
    Kind.FUNCTION: {},
}


def installed_objects(package: Package) -> frozenset[ObjectKey]:
    """Return the objects that a package brings into a cluster."""
    established = _ESTABLISHED[package.metadata.kind]
    return frozenset(
        (established[item.kind], item.name) for item in package.objects if item.kind in established
    )


def establish(state: State, revision: Revision, pulled: Pulled) -> str | None:
    """Own everything that a revision installs, and control it if the revision is active; return the conflicts."""
    objects = installed_objects(pulled.package)
    controls = revision.desired == ACTIVE
    for key in sorted(objects) if controls else ():
        other = next((uid for uid, controller in state.objects.get(key, {}).items() if controller), None)
        if other not in (None, revision.uid):
            return f"cannot establish control of object: {key[1]} is already controlled by {other}"
    for key in sorted(objects):
        if controls:
            _hand_over(state, key, revision, pulled)
        if controls or key in state.objects:
            owners = state.objects.setdefault(key, {})
            owners[revision.owner] = False
            owners[revision.uid] = controls
    revision.refs = objects
    return None


def release(state: State, revision: Revision) -> None:
    """Give up control, and stay an owner."""
    for key in revision.refs & state.objects.keys():
        state.objects[key][revision.uid] = False


def _hand_over(state: State, key: ObjectKey, revision: Revision, pulled: Pulled) -> None:
    new, named = pulled.reference.source, parse_reference(revision.image).source
    old, known_as = state.holders.get(key, (new, named))
    if old != new:
        state.handovers.append(Handover(key, old, new, known_as))
    state.holders[key] = new, named
