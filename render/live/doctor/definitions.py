"""States of definitions: refused ones, conversion that is down, deletion that hangs, kinds that are inactive."""

from collections.abc import Iterator, Sequence

from render.live.doctor.case import Case, key_of
from render.live.doctor.commands import kubectl, patch, patch_spec, resource
from render.live.doctor.entering import shorten
from render.live.doctor.messages import AWAITING, STORED_VERSIONS, find_definition
from render.live.doctor.model import Finding, ObjectKey, State, Trouble
from render.live.doctor.said import said_by_events
from render.live.model import ConfigObject, Definition, Metadata
from render.texts import counted, first_names

_SHOWN = 5
_CRD, _MRD = "CustomResourceDefinition", "ManagedResourceDefinition"
_BY_KUBERNETES = "customresourcecleanup.apiextensions.k8s.io"
_IN_USE = "in-use.crossplane.io"


def find_refused(case: Case) -> Iterator[Finding]:
    """Find definitions that the API server refuses, since objects are still stored in a version that is gone."""
    seen: set[str] = set()
    for trouble in case.open(STORED_VERSIONS):
        name = find_definition(trouble.message)
        seen.add(name)
        yield _refused(case, name, [shorten(trouble.message)], trouble.package, [trouble])
    for one in case.cluster.definitions:
        condition = one.conditions.get("Established")
        is_refused = condition is not None and condition.status == "False" and one.state == "Active"
        if one.kind == _MRD and is_refused and one.name not in seen:
            said = condition.message if condition else ""
            # The condition itself only points to the events.
            events = said_by_events(case, {(_MRD, one.name), (_CRD, one.name)})
            why = [shorten(said or "its condition Established is False; its events say why"), *events]
            yield _refused(case, one.name, why, (_MRD, one.name), [])


def _refused(
    case: Case, name: str, why: Sequence[str], about: ObjectKey, troubles: Sequence[Trouble]
) -> Finding:
    known = next((one for one in case.cluster.definitions if (one.kind, one.name) == (_CRD, name)), None)
    package = case.packages.get(about)
    earlier = case.earlier_image(package) if package else ""
    migrating = _migrating(case, known, " ".join(why))
    back = [patch_spec(case, about, package=earlier)] if earlier else []
    look = kubectl(case, "get", "crd", name, "-o", "jsonpath={.status.storedVersions}") if name else ""
    return Finding(
        State.REFUSED_DEFINITION,
        f"the API server refuses the new definition {name}".rstrip(),
        (*why, *([f"it has stored {first_names(known.stored_versions, _SHOWN)}"] if known else [])),
        (_CRD, name) if name else about,
        tuple(migrating or back or filter(None, [look])),
        "never delete the definition: its objects, and what they manage, go with it"
        + ("; run the second command only if the first one has written every object" if migrating else ""),
        "the provider installs its definition at its next try"
        if migrating
        else "every object has to be written again in a version that stays, while the definition has both",
        (about, *([(_CRD, name)] if name else [])),
        tuple(troubles),
    )


def _migrating(case: Case, known: Definition | None, why: str) -> list[str]:
    """Return the commands that write every object in the storage version; none, unless another one is what goes."""
    storage = [one.name for one in known.versions if one.storage] if known else []
    if known is None or not storage or STORED_VERSIONS not in why or f'"{storage[0]}"' in why:
        return []
    read = kubectl(case, "get", known.name, "--all-namespaces", "-o", "json")
    write = kubectl(case, "replace", "-f", "-")
    value = {"status": {"storedVersions": storage}}
    return [f"{read} | {write}", patch(case, (_CRD, known.name), value, "--subresource", "status")]


def find_conversion(case: Case) -> Iterator[Finding]:
    """Find definitions whose conversion runs in a provider that is not healthy: their objects cannot be read."""
    down = {key[1]: key for key, one in case.packages.items() if _is_down(case, key)}
    found: dict[str, list[Definition]] = {}
    for one in case.cluster.definitions:
        if one.kind == _CRD and one.webhook in down:
            found.setdefault(one.webhook, []).append(one)
    for service, definitions in sorted(found.items()):
        key = down[service]
        yield Finding(
            State.CONVERSION,
            f"objects of {counted(len(definitions), 'definition')} cannot be converted while {key[0]}/{key[1]} is down",
            (f"{first_names([one.name for one in definitions], _SHOWN)} convert by its webhook",),
            key,
            (kubectl(case, "get", f"{key[0].lower()}.pkg", key[1]),),
            "the last resort is spec.conversion of each definition; the provider sets it again",
            "first make the provider healthy; what lists these objects, such as Argo CD, works again then",
            (key,),
            is_stuck=False,
        )


def _is_down(case: Case, key: ObjectKey) -> bool:
    return any(trouble.package == key for trouble in case.troubles)


def find_deletions(case: Case) -> Iterator[Finding]:
    """Find objects that are being deleted and held by finalizers."""
    for key, metadata in _all_objects(case):
        if metadata.is_deleted:
            why, run, then = _held(case, key, metadata)
            waits_for = first_names(metadata.finalizers, _SHOWN)
            yield Finding(
                State.DELETION,
                f"{key[0]}/{key[1]} is being deleted, and does not go",
                (
                    f"it waits for its finalizers: {waits_for}" if waits_for else "it has no finalizers left",
                    *why,
                ),
                key,
                (run,),
                "a finalizer of a managed resource may only be taken off by hand after a decision about what it manages outside",
                then,
                (key,),
                tuple(one for one in case.open() if key in (one.object, one.package)),
            )
    for config in case.cluster.provider_configs:
        if config.metadata.is_deleted:
            yield _config_in_use(case, config)


def _held(case: Case, key: ObjectKey, metadata: Metadata) -> tuple[list[str], str, str]:
    """Return why finalizers hold an object, the command that shows it, and what happens without them."""
    if _BY_KUBERNETES in metadata.finalizers:
        return (
            ["its objects are left, and what managed them is gone"],
            kubectl(case, "get", key[1], "--all-namespaces"),
            "when its objects are gone, the definition goes, and the provider can come back",
        )
    look = kubectl(case, "get", resource(key[0]), key[1], "-o", "jsonpath={.metadata.finalizers}")
    if key[0] == "Lock" and case.entries:
        left = counted(len(case.entries), "package")
        return [f"it still has {left}"], kubectl(case, "get", "pkg"), "it goes when its last package has gone"
    return [], look, ""


def _config_in_use(case: Case, config: ConfigObject) -> Finding:
    key = (config.kind, config.name)
    group = config.api_version.rpartition("/")[0]
    finalizers = first_names(config.metadata.finalizers, _SHOWN)
    return Finding(
        State.DELETION,
        f"{key[0]}/{key[1]} ({group}) is being deleted, and does not go",
        (
            f"it waits for its finalizers: {finalizers}",
            *(["managed resources still use it"] if _IN_USE in config.metadata.finalizers else []),
        ),
        key,
        (kubectl(case, "get", f"providerconfigusages.{group}", "--all-namespaces"),),
        "the managed resources need it to delete what they manage outside: delete them first, or keep it",
        "when nothing uses it any more, it goes",
        (key,),
    )


def _all_objects(case: Case) -> Iterator[tuple[ObjectKey, Metadata]]:
    cluster = case.cluster
    yield from ((key_of(one), one.metadata) for one in cluster.packages)
    yield from (((f"{one.kind}Revision", one.name), one.metadata) for one in cluster.revisions)
    yield from (((one.kind, one.name), one.metadata) for one in cluster.definitions)
    if cluster.lock:
        yield ("Lock", cluster.lock.metadata.name), cluster.lock.metadata


def find_inactive_kinds(case: Case) -> Iterator[Finding]:
    """Find providers none of whose kinds is active."""
    for key, package in case.packages.items():
        condition = package.conditions.get("Healthy")
        names = {one.name for one in case.revisions_of(package)}
        inactive = [
            one.name
            for one in case.cluster.definitions
            if one.kind == _MRD
            and one.state == "Inactive"
            and any(owner.name in names for owner in one.metadata.owners)
        ]
        is_waiting = condition is not None and condition.reason == AWAITING
        if inactive or is_waiting:
            yield Finding(
                State.INACTIVE_KINDS,
                f"{key[0]}/{key[1]}: {counted(len(inactive), 'inactive kind')}"
                if inactive
                else f"{key[0]}/{key[1]} waits until one of its kinds is active",
                (f"no activation policy names {first_names(inactive, _SHOWN)}",) if inactive else (),
                key,
                (kubectl(case, "get", "managedresourceactivationpolicies"),),
                then="a ManagedResourceActivationPolicy that names them activates them",
                objects=(key,),
                is_stuck=False,
            )
