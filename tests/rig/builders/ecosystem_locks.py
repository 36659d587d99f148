"""Our locks of real packages, each of one root."""

from render.lifecycle.plan import make_plan
from render.lifecycle.rules import check_plan
from render.lifecycle.states import Context, StableResolution
from render.lifecycle.write import make_lock
from render.limits import Limits
from render.lock.model import Lock
from render.references import parse_reference
from render.resolve.model import Wanted
from render.resolve.resolve import resolve
from render.versions.requests import Request, Root
from rig.builders.catalogs import EcosystemCatalog


def lock_root(text: str) -> Lock:
    """Lock one root as Crossplane would, which knows nothing of families."""
    reference = parse_reference(text)
    root = Root(reference.source, Request(tag=reference.tag), "root.yaml")
    resolution = resolve(Wanted((root,), follow_families=False), EcosystemCatalog(), Limits())
    return make_lock(check_plan(make_plan(StableResolution(resolution), Context())))
