"""Clusters in which something is stuck, one for each state, from the smallest objects that show it."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

from render.limits import Limits
from render.live.doctor.case import Case
from render.live.doctor.diagnose import diagnose
from render.live.doctor.model import Diagnosis
from render.live.read import ClusterReader
from render.lock.model import Lock
from render.versions.version import parse_version
from rig.builders.live_objects import Object, Running, image_config, live_objects
from rig.builders.projects import at

DIGEST = "sha256:" + "d" * 64
CRD = "nets.net.example.org"
OTHER = "ghcr.io/acme/base"
_UNHEALTHY = "UnhealthyPackageRevision"


def diagnosed(
    objects: Iterable[Object], *, ours: Lock | None = None, crossplane: str = "v2.3.4"
) -> Diagnosis:
    """Diagnose objects as kubectl would print them."""
    reader = ClusterReader(Limits())
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    reader.add(BytesIO(text.encode()).read)
    version = parse_version(crossplane) if crossplane else None
    return diagnose(Case(reader.cluster(), ours=ours, crossplane=version))


def says(value: Object, message: str, *, type: str = "", status: str = "False", reason: str = "") -> Object:
    """Return an object with a condition, in the place of its own of that type."""
    made = copy.deepcopy(value)
    is_revision = made["kind"].endswith("Revision")
    name = type or ("RevisionHealthy" if is_revision else "Healthy")
    conditions = made.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [one for one in conditions if one["type"] != name]
    conditions.append({"type": name, "status": status, "reason": reason or _UNHEALTHY, "message": message})
    return made


def unhealthy(one: Running, message: str) -> list[Object]:
    """Return a package whose revision says something; the package repeats it."""
    quoted = f'Package revision health is "False" with message: {message}'
    return [says(one.as_package(), quoted), says(one.as_revision(), message)]


def lock_of(*entries: Object, resolved: str = "") -> Object:
    """Return a Lock; its condition is False with a message."""
    [lock] = live_objects([], entries=entries)
    message = f"Error occurred during dependency resolution {resolved}"
    return says(lock, message, type="Resolved", reason="DependencyResolutionFailed") if resolved else lock


def with_kinds(entry: Object, kind: str) -> Object:
    """Return an entry whose dependencies are all of one kind."""
    needs = [{**one, "type": kind} for one in entry["dependencies"]]
    return {**entry, "dependencies": needs}


def changed(value: Object, **fields: Any) -> Object:
    """Return an object with other fields in its metadata or spec, each named like spec_desiredState."""
    made = copy.deepcopy(value)
    for name, field in fields.items():
        part, _, key = name.partition("_")
        made.setdefault(part, {})[key] = field
    return made


def definition(
    name: str = CRD, kind: str = "CustomResourceDefinition", *, owner: str = "", uid: str = "", **spec: Any
) -> Object:
    """Return a definition, with the revision that controls it."""
    group = "apiextensions.k8s.io/v1"
    metadata: Object = {"name": name, "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "pkg.crossplane.io/v1", "kind": "ProviderRevision", "name": owner, "uid": uid, "controller": True}
        ]  # fmt: skip
    made = "apiextensions.crossplane.io/v1alpha1" if kind.startswith("Managed") else group
    return {"apiVersion": made, "kind": kind, "metadata": metadata, "spec": spec, "status": {}}


def provider(package: str, **more: Any) -> Running:
    """Return a running Provider."""
    return Running(package, kind="Provider", **more)


# One cluster for each state


def poisoned() -> list[Object]:
    mine, derived = provider("net v1.0.0", name="net", objects=[CRD]), provider("net v1.0.0", digest="e" * 64)
    text = f"cannot resolve package dependencies: cannot initialize dependency graph from the packages in the lock: node {at('net')} already exists"
    others = [provider(f"other-{i} v1.0.0") for i in range(3)]
    objects = [made for one in (mine, derived, *others) for made in unhealthy(one, text)]
    return [lock_of(*(one.as_entry() for one in (mine, derived, *others))), *objects]


def stale() -> list[Object]:
    app = Running("app v1.0.0", needs={"net": "*"})
    gone = provider("net v1.0.0")
    return [lock_of(gone.as_entry(), with_kinds(app.as_entry(), "Provider")), *app.objects_of_it()]


def broken() -> list[Object]:
    app = Running("app v1.0.0")
    entry = {**app.as_entry(), "dependencies": [{"package": "", "constraints": ">=v1", "type": "Provider"}]}
    return [lock_of(entry), *unhealthy(app, "dependency package is not valid: could not parse reference: ")]


def tagged() -> list[Object]:
    net = provider("net v1.0.0", spec={"package": f"{at('net')}:v1.0.0@{DIGEST}"})
    app = Running("app v1.0.0", needs={"net": "*"})
    entry = {**net.as_entry(), "source": f"{at('net')}:v1.0.0", "version": DIGEST}
    return [
        lock_of(entry, with_kinds(app.as_entry(), "Provider")),
        *net.objects_of_it(),
        *unhealthy(app, missing("net")),
    ]


def missing(*names: str) -> str:
    """Return the message about sources that are missing."""
    listed = ", ".join(f'"{at(name)}" (*)' for name in names)
    return f"cannot resolve package dependencies: missing dependencies: {listed}"


def cycle() -> list[Object]:
    app, base = Running("app v1.0.0", needs={"base": "*"}), Running("base v1.0.0", needs={"app": "*"})
    late = Running("late v1.0.0", needs={"net": "*"})
    return [
        lock_of(
            *(one.as_entry() for one in (app, base, late)), resolved="cannot sort DAG: detected cycle on: app"
        ),
        *app.objects_of_it(),
        *base.objects_of_it(),
        *unhealthy(late, missing("net")),
    ]


def not_pulled() -> list[Object]:
    net = provider("net v1.0.0")
    app = Running("app v1.0.0", needs={"net": "*"})
    text = "cannot unpack package: failed to fetch package digest from remote: HEAD https://xpkg.example.org/v2/: 404 Not Found"
    package = says(net.as_package(), text, type="Installed", reason="UnpackingPackage")
    return [
        lock_of(with_kinds(app.as_entry(), "Provider")),
        says(package, text, reason=_UNHEALTHY),
        *unhealthy(app, missing("net")),
    ]


def waits() -> list[Object]:
    net = provider("net v1.0.0", spec={"skipDependencyResolution": True})
    app = Running("app v1.0.0", needs={"net": "*"})
    return [
        lock_of(with_kinds(app.as_entry(), "Provider")),
        *net.objects_of_it(),
        *unhealthy(app, missing("net")),
    ]


def wrong_crossplane() -> list[Object]:
    net = provider("net v1.0.0")
    return [
        lock_of(),
        *unhealthy(net, "incompatible Crossplane version: package isn't compatible with v2.3.4 (>=v3)"),
    ]


def wrong_content() -> list[Object]:
    base = provider("base v1.0.0")
    app = Running("app v1.0.0", needs={"base": "*"})
    text = "validating package contents failed: package meta type is not Provider"
    return [
        lock_of(with_kinds(app.as_entry(), "Provider")),
        *unhealthy(base, text),
        *unhealthy(app, missing("base")),
    ]


def name_taken() -> list[Object]:
    other = provider("base v1.0.0", spec={"package": f"{OTHER}:v1.0.0"})
    app = Running("app v1.0.0", needs={"base": "*"})
    return [
        lock_of({**other.as_entry(), "source": OTHER}, with_kinds(app.as_entry(), "Provider")),
        *other.objects_of_it(),
        *unhealthy(app, missing("base")),
    ]


def nothing_fits() -> list[Object]:
    app = Running("app v1.0.0", needs={"base": ">=v9", "net": "*"})
    text = (
        f"dependency ({at('base')}) does not have a valid version to upgrade that satisfies all constraints."
    )
    return [
        lock_of(with_kinds(app.as_entry(), "Provider"), resolved=text),
        *unhealthy(app, missing("base", "net")),
    ]


def wrong_version() -> list[Object]:
    base = provider("base v2.0.0")
    app, site = (
        Running("app v1.0.0", needs={"base": ">=v1.5.0"}),
        Running("site v1.0.0", needs={"base": "<v2.0.0"}),
    )
    text = f"cannot resolve package dependencies: incompatible dependencies: existing package {at('base')}@v2.0.0 is incompatible with constraint <v2.0.0"
    entries = [with_kinds(one.as_entry(), "Provider") for one in (app, base, site)]
    return [lock_of(*entries), *base.objects_of_it(), *app.objects_of_it(), *unhealthy(site, text)]


def digest_under_semver() -> list[Object]:
    base = provider(f"base {DIGEST}")
    app = Running("app v1.0.0", needs={"base": ">=v1"})
    text = "cannot resolve package dependencies: invalid semantic version"
    return [
        lock_of(base.as_entry(), with_kinds(app.as_entry(), "Provider")),
        *base.objects_of_it(),
        *unhealthy(app, text),
    ]


def controlled(holder: str, uid: str) -> str:
    """Return the message about an object that another revision controls."""
    return f"cannot establish control of object: {CRD} is already controlled by ProviderRevision {holder} (UID {uid})"


def two_owners() -> list[Object]:
    old = provider("net v1.0.0", objects=[CRD])
    new = provider("labs/net v1.0.0")
    text = controlled(old.revision, f"uid-ProviderRevision-{old.revision}")
    return [lock_of(old.as_entry(), new.as_entry()), *old.objects_of_it(), *unhealthy(new, text)]


def refused_definition() -> list[Object]:
    net = provider("net v2.0.0")
    text = f'cannot establish control of object: CustomResourceDefinition.apiextensions.k8s.io "{CRD}" is invalid: status.storedVersions[0]: Invalid value: "v1beta1": must appear in spec.versions'
    crd = definition(versions=[{"name": "v1", "served": True, "storage": True}])
    crd["status"] = {"storedVersions": ["v1beta1", "v1"]}
    return [lock_of(net.as_entry()), crd, *unhealthy(net, text)]


def webhook() -> list[Object]:
    net = provider("net v1.0.0")
    return [
        lock_of(net.as_entry()),
        *unhealthy(net, "cannot establish control of object: cannot get webhook tls secret"),
    ]


def runtime() -> list[Object]:
    net = provider("net v1.0.0")
    text = 'provider package deployment is unavailable with message: Deployment has no condition of type "Available" yet'
    package, revision = unhealthy(net, text)
    healthy = says(revision, "", status="True")
    return [lock_of(net.as_entry()), package, says(healthy, text, type="RuntimeHealthy")]


def follows() -> list[Object]:
    net = provider("net v1.0.0")
    return [lock_of(net.as_entry()), *unhealthy(net, "Package revision is not healthy yet")]


def conversion() -> list[Object]:
    webhook_config = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "acme-net"}}}}
    return [*runtime(), definition(conversion=webhook_config)]


def silent() -> list[Object]:
    net = provider("net v1.0.0", status={"conditions": [], "currentRevision": ""})
    return [lock_of(), net.as_package()]


def paused() -> list[Object]:
    net = provider("net v1.0.0", annotations={"crossplane.io/paused": "true"})
    package = says(net.as_package(), "Reconciliation is paused", type="Synced", reason="ReconcilePaused")
    return [lock_of(net.as_entry()), package, net.as_revision()]


def switched_off() -> list[Object]:
    net = provider("net v1.0.0", spec={"revisionActivationPolicy": "Manual"})
    package = says(
        net.as_package(), "Package is inactive", type="Installed", reason="InactivePackageRevision"
    )
    return [lock_of(), package, changed(net.as_revision(), spec_desiredState="Inactive")]


def never_applied() -> list[Object]:
    net = provider("net v1.0.0")
    config = image_config("pin", f"{at('net')}:v1.0.0", {"rewriteImage": {"prefix": f"{at('net')}@{DIGEST}"}})
    return [lock_of(net.as_entry()), config, *net.objects_of_it()]


def foreign_revision() -> list[Object]:
    net = provider("net v1.0.0")
    text = 'cannot apply package revision: existing object is not controlled by UID "new"'
    package = changed(says(net.as_package(), text), metadata_uid="new")
    return [lock_of(net.as_entry()), package, net.as_revision()]


def deletion() -> list[Object]:
    crd = changed(
        definition(),
        metadata_deletionTimestamp="2026-01-01T00:00:00Z",
        metadata_finalizers=["customresourcecleanup.apiextensions.k8s.io"],
    )
    net = provider("net v1.0.0")
    return [lock_of(net.as_entry()), crd, *net.objects_of_it()]


def inactive_kinds() -> list[Object]:
    net = provider("net v1.0.0")
    package = says(net.as_package(), "", status="True", reason="AwaitingActivation")
    mrd = definition(kind="ManagedResourceDefinition", owner=net.revision, uid="x", state="Inactive")
    return [lock_of(net.as_entry()), mrd, package, net.as_revision()]


def unknown() -> list[Object]:
    net = provider("net v1.0.0")
    return [lock_of(net.as_entry()), *unhealthy(net, "the moon is in the wrong house\x1b[31m")]


STATES: Mapping[str, Callable[[], Sequence[Object]]] = {
    "poisoned-lock": poisoned,
    "stale-entry": stale,
    "broken-entry": broken,
    "tag-in-source": tagged,
    "cycle": cycle,
    "not-pulled": not_pulled,
    "waits-for-another": waits,
    "wrong-crossplane": wrong_crossplane,
    "wrong-content": wrong_content,
    "name-taken": name_taken,
    "nothing-fits": nothing_fits,
    "wrong-version": wrong_version,
    "digest-under-semver": digest_under_semver,
    "controlled-by-another": two_owners,
    "refused-definition": refused_definition,
    "webhook-certificate": webhook,
    "runtime": runtime,
    "not-healthy-yet": follows,
    "conversion-webhook": conversion,
    "nothing-said": silent,
    "paused": paused,
    "switched-off": switched_off,
    "config-never-applied": never_applied,
    "revision-not-ours": foreign_revision,
    "deletion-hangs": deletion,
    "inactive-kinds": inactive_kinds,
    "unknown": unknown,
}
