"""The package manager: a package object → the revision that its reference leads to."""

from render.errors import RenderError
from render.names import revision_name
from render.references import Digest
from rig.cluster.names import generation_revision_name
from rig.cluster.state import ACTIVE, INACTIVE, Installed, Revision, State


def reconcile_package(state: State, package: Installed) -> None:
    """Look at a package once."""
    if package.deleting:
        _collect(state, package)
        return
    image = package.spec["package"]
    try:
        pulled = state.registry.pull(image, state.image_configs.values())
    except RenderError as error:
        package.active, package.problem = False, f"cannot unpack package: {error.what}"
        return
    if pulled.reference.digest is None and not package.uninvited:
        state.unpinned.add(image)
    package.resolved = str(pulled.reference)
    package.current = _revision_name(state, package, pulled.package.digest)
    revision = _current_revision(state, package)
    package.problem = revision.problem
    revision.image, revision.skip = image, package.spec["skipDependencyResolution"]
    if package.spec["revisionActivationPolicy"] == "Automatic":
        revision.desired = ACTIVE
    package.active = revision.desired == ACTIVE


def _revision_name(state: State, package: Installed, digest: Digest) -> str:
    if state.by_generation:
        return generation_revision_name(package.name, digest, package.generation)
    return revision_name(package.name, digest)


def _current_revision(state: State, package: Installed) -> Revision:
    """Return the revision of the bytes that were found; all others make room for it."""
    own = state.revisions_of(package)
    for other in own:
        if other.name != package.current and other.desired == ACTIVE:
            other.desired = INACTIVE
    highest = max((revision.number for revision in own), default=0)
    key = (package.kind, package.current)
    revision = state.revisions.get(key) or Revision(*key, state.new_uid(), package.name, package.uid)
    if revision.number < highest or not revision.number:
        revision.number = highest + 1
    # The limit is one for earlier revisions, and zero is none.
    if len(own) > package.spec["revisionHistoryLimit"] + 1 > 1:
        min(own, key=lambda revision: revision.number).deleting = True
    state.revisions[key] = revision
    return revision


def _collect(state: State, package: Installed) -> None:
    """Delete a package in the foreground: first its revisions, and itself when they are gone."""
    own = state.revisions_of(package)
    for revision in own:
        revision.deleting = True
    if not own:
        del state.packages[package.key]
        state.forget(package.uid)
