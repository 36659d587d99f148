"""The ways in which a package moves, each as a story of a team with packages of its own."""

from collections.abc import Mapping

from rig.builders.projects import at
from rig.live.package_registry import PackageRegistry
from rig.live.story_runner import Step, Story

# In this order; the second and the last are followed by a while in which nothing may happen.
INSTALLED, MOVED, UPGRADED, ENDED, GONE = CHAPTERS = ("installed", "moved", "upgraded", "ended", "gone")

_OLD_HOST = "old.example.org"


def _move(old: str, *new: str, strategy: str = "") -> Mapping[str, object]:
    entry = {"from": at(old), "to": at(new[0]) if len(new) == 1 else [at(name) for name in new]}
    return entry | ({"strategy": strategy} if strategy else {})


def _kinds(team: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{name}.{team}.example.org" for name in names)


# A package claims to replace another one, which no package requires any more.

_REPLACES = _kinds("replaces", "buckets", "providerconfigs")


def _publish_replaces(registry: PackageRegistry) -> None:
    old, new = "replaces/provider-store", "replaces/provider-storage"
    registry.publish(f"{old} v1.0.0", kind="Provider", crds=_REPLACES)
    registry.publish(f"{new} v1.5.0", kind="Provider", crds=_REPLACES, replaces=[old])
    registry.publish("replaces/archive v1.0.0", {old: "^v1"})
    registry.publish("replaces/archive v2.0.0", {new: "*"})


REPLACES = Story(
    "replaces",
    _publish_replaces,
    {
        INSTALLED: Step(("replaces/archive v1.0.0",)),
        MOVED: Step(("replaces/archive v2.0.0",)),
        ENDED: Step(command=("retire", "replaces/provider-store")),
        GONE: Step(command=("retire", "replaces/provider-store", "--synced")),
    },
    _REPLACES,
)

# The same, but for a dependant of the old source that stays as it is, and later gets a version that names it, too.

_KEPT = _kinds("kept", "tables", "providerconfigs")


def _publish_kept(registry: PackageRegistry) -> None:
    old, new = "kept/provider-sql", "kept/provider-database"
    registry.publish(f"{old} v1.0.0", kind="Provider", crds=_KEPT)
    registry.publish(f"{new} v1.0.0", kind="Provider")
    registry.publish(f"{new} v1.1.0", kind="Provider", crds=_KEPT, replaces=[old])
    registry.publish("kept/report v1.0.0", {old: "*"})
    registry.publish("kept/report v1.1.0", {old: ">=v1.0.0"})


KEPT = Story(
    "kept",
    _publish_kept,
    {
        INSTALLED: Step(("kept/report v1.0.0", "kept/provider-database v1.0.0")),
        MOVED: Step(("kept/report v1.0.0", "kept/provider-database v1.1.0")),
        UPGRADED: Step(
            ("kept/report v1.1.0", "kept/provider-database v1.1.0"), early=("retire", "kept/provider-sql")
        ),
        ENDED: Step(command=("retire", "kept/provider-sql")),
        GONE: Step(command=("retire", "kept/provider-sql", "--synced")),
    },
    _KEPT,
)

# A dependant of the old source stays attached to it while another one needs the new source; when both do, the alias ends.

_ALIAS = _kinds("alias", "queues", "providerconfigs")
_ALIAS_MOVE = ("alias/provider-mq", "alias/provider-queue")


def _publish_alias(registry: PackageRegistry) -> None:
    old, new = _ALIAS_MOVE
    registry.publish(f"{old} v1.0.0", kind="Provider", crds=_ALIAS)
    registry.publish(f"{new} v1.5.0", kind="Provider", crds=_ALIAS)
    registry.publish("alias/archive v1.0.0", {old: "^v1"})
    registry.publish("alias/archive v2.0.0", {new: "*"})
    registry.publish("alias/report v1.0.0", {new: "*"})


ALIAS = Story(
    "alias",
    _publish_alias,
    {
        INSTALLED: Step(("alias/archive v1.0.0",)),
        MOVED: Step(("alias/archive v1.0.0", "alias/report v1.0.0"), (_move(*_ALIAS_MOVE),)),
        UPGRADED: Step(
            ("alias/archive v2.0.0", "alias/report v1.0.0"), (_move(*_ALIAS_MOVE, strategy="deactivate"),)
        ),
        ENDED: Step(command=("retire", "alias/provider-mq")),
        GONE: Step(command=("retire", "alias/provider-mq", "--synced")),
    },
    _ALIAS,
)

# The same bytes in another registry: an alias while a package names the old source, then one object with the new source.

_MIRROR = _kinds("mirror", "zones", "providerconfigs")
_MIRROR_MOVE = (f"{_OLD_HOST}/mirror/provider-dns", "mirror/provider-dns")


def _publish_mirror(registry: PackageRegistry) -> None:
    old, new = _MIRROR_MOVE
    for source in (old, new):
        registry.publish(f"{source} v1.0.0", kind="Provider", crds=_MIRROR)
    registry.publish("mirror/app v1.0.0", {old: "^v1"})
    registry.publish("mirror/app v2.0.0", {new: "^v1"})


MIRROR = Story(
    "mirror",
    _publish_mirror,
    {
        INSTALLED: Step(("mirror/app v1.0.0",)),
        MOVED: Step(("mirror/app v1.0.0",), (_move(*_MIRROR_MOVE),)),
        UPGRADED: Step(("mirror/app v2.0.0",), (_move(*_MIRROR_MOVE),)),
        ENDED: Step(("mirror/app v2.0.0",), (_move(*_MIRROR_MOVE, strategy="repoint"),)),
    },
    _MIRROR,
)

# One object with the new source, at once, though a package still names the old one.

_REPOINT = _kinds("repoint", "nets", "providerconfigs")
_REPOINT_MOVE = (f"{_OLD_HOST}/repoint/provider-net", "repoint/provider-net")


def _publish_repoint(registry: PackageRegistry) -> None:
    old, new = _REPOINT_MOVE
    registry.publish(f"{old} v1.0.0", kind="Provider", crds=_REPOINT)
    registry.publish(f"{new} v1.1.0", kind="Provider", crds=_REPOINT)
    registry.publish("repoint/app v1.0.0", {old: "^v1"})
    registry.publish("repoint/app v2.0.0", {new: "^v1"})


REPOINT = Story(
    "repoint",
    _publish_repoint,
    {
        INSTALLED: Step(("repoint/app v1.0.0",)),
        MOVED: Step(("repoint/app v1.0.0",), (_move(*_REPOINT_MOVE, strategy="repoint"),)),
        UPGRADED: Step(("repoint/app v2.0.0",), (_move(*_REPOINT_MOVE, strategy="repoint"),)),
    },
    _REPOINT,
)

# One provider becomes a family, and a dependant of the one stays until it can name the members.

_FAMILY = _kinds("family", "dbs", "mails", "providerconfigs")
_FAMILY_MOVE = _move(
    "family/provider-cloud",
    "family/provider-family-cloud",
    "family/provider-cloud-db",
    "family/provider-cloud-mail",
)
_MEMBERS = ("family/provider-cloud-db v1.3.0", "family/provider-cloud-mail v1.3.0")


def _publish_family(registry: PackageRegistry) -> None:
    family, shared = "provider-family-cloud", {"family/provider-family-cloud": ">= 0.0.0"}
    dbs, mails, configs = _FAMILY
    registry.publish("family/provider-cloud v1.2.0", kind="Provider", crds=_FAMILY)
    registry.publish("family/provider-family-cloud v1.3.0", kind="Provider", crds=[configs], family=family)
    registry.publish(_MEMBERS[0], shared, kind="Provider", crds=[dbs], family=family)
    registry.publish(_MEMBERS[1], shared, kind="Provider", crds=[mails], family=family)
    registry.publish("family/shop v1.0.0", {"family/provider-cloud": "^v1"})
    registry.publish("family/shop v2.0.0", {"family/provider-cloud-db": "^v1"})


FAMILY = Story(
    "family",
    _publish_family,
    {
        INSTALLED: Step(("family/shop v1.0.0",)),
        MOVED: Step(("family/shop v1.0.0", *_MEMBERS), (_FAMILY_MOVE,)),
        UPGRADED: Step(
            ("family/shop v2.0.0", *_MEMBERS), (_FAMILY_MOVE,), early=("retire", "family/provider-cloud")
        ),
        ENDED: Step(command=("retire", "family/provider-cloud")),
        GONE: Step(command=("retire", "family/provider-cloud", "--synced")),
    },
    _FAMILY,
)

# There and back again, with a dependant of the first source all the time; the package in between is retired.

_BACK = _kinds("back", "nodes", "providerconfigs")


def _publish_back(registry: PackageRegistry) -> None:
    registry.publish("back/provider-vm v0.4.0", kind="Provider", crds=_BACK)
    registry.publish("back-labs/provider-vm v0.5.0", kind="Provider", crds=_BACK)
    registry.publish("back/app v1.0.0", {"back/provider-vm": "*"})


BACK = Story(
    "back",
    _publish_back,
    {
        INSTALLED: Step(("back/app v1.0.0", "back/provider-vm v0.4.0")),
        MOVED: Step(
            ("back/app v1.0.0", "back-labs/provider-vm v0.5.0"),
            (_move("back/provider-vm", "back-labs/provider-vm", strategy="deactivate"),),
        ),
        UPGRADED: Step(
            ("back/app v1.0.0", "back/provider-vm v0.4.0"),
            (_move("back-labs/provider-vm", "back/provider-vm"),),
        ),
        ENDED: Step(command=("retire", "back-labs/provider-vm")),
        GONE: Step(command=("retire", "back-labs/provider-vm", "--synced")),
    },
    _BACK,
)

# A Composition finds Functions by the names of their objects: one keeps its object, the other one stays until it is not named.

_DEFINITION = """\
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata:
  name: apps.function.example.org
spec:
  group: function.example.org
  scope: Cluster
  names: {plural: apps, kind: App}
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
_COMPOSITION = """\
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: apps.function.example.org
spec:
  compositeTypeRef: {{apiVersion: function.example.org/v1, kind: App}}
  mode: Pipeline
  pipeline:
    - step: shape
      functionRef: {{name: {shape}}}
    - step: ready
      functionRef: {{name: function-function-ready}}
"""
_READY = (f"{_OLD_HOST}/function/function-ready", "function/function-ready")
_SHAPE = ("function-labs/function-shape", "function/function-shape")
_FUNCTION_MOVES = (_move(*_READY), _move(*_SHAPE))


def _publish_function(registry: PackageRegistry) -> None:
    for source, version in zip((*_READY, *_SHAPE), ("v0.1.0", "v0.2.0", "v0.3.0", "v0.4.0"), strict=True):
        registry.publish(f"{source} {version}", kind="Function")
    registry.publish("function/flow v1.0.0", {_READY[0]: "*", _SHAPE[0]: "*"})
    registry.publish("function/flow v2.0.0", {_READY[1]: "*", _SHAPE[1]: "*"})


FUNCTION = Story(
    "function",
    _publish_function,
    {
        INSTALLED: Step(
            ("function/flow v1.0.0",),
            files={
                "definition.yaml": _DEFINITION,
                "composition.yaml": _COMPOSITION.format(shape="function-labs-function-shape"),
            },
        ),
        MOVED: Step(("function/flow v1.0.0", "function/function-shape v0.4.0"), _FUNCTION_MOVES),
        UPGRADED: Step(
            ("function/flow v2.0.0", "function/function-shape v0.4.0"),
            _FUNCTION_MOVES,
            files={"composition.yaml": _COMPOSITION.format(shape="function-function-shape")},
        ),
        ENDED: Step(command=("retire", "function-labs/function-shape")),
        GONE: Step(command=("retire", "function-labs/function-shape", "--synced")),
    },
    composite="apps.function.example.org",
)

STORIES = (REPLACES, KEPT, ALIAS, MIRROR, REPOINT, FAMILY, BACK, FUNCTION)
