"""What a cluster has to be rid of before its packages can be locked: all reasons at once, each with a way out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.errors import RenderError, Unsatisfiable, in_one_line
from render.lean import dataclass
from render.live.adopting.commands import Commands
from render.live.adopting.digests import NamingRule
from render.live.adopting.found import Found, complete_source
from render.live.adopting.owners import Owner, advise_release, find_owners, names_of
from render.live.model import Cluster, Metadata, PackageObject
from render.names import object_name
from render.packages import PACKAGE_GROUP
from render.references import Source
from render.texts import counted, visible

_SHOWN = 20
_CONTROLLERS = (
    "custom-columns=NAME:.metadata.name,CONTROLLER:.metadata.ownerReferences[?(@.controller==true)].name"
)
_PULLED = '{"spec":{"packagePullPolicy":"IfNotPresent"}}'
_ACTIVE = '{"spec":{"desiredState":"Active"}}'
_INACTIVE = '{"spec":{"desiredState":"Inactive"}}'


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason not to adopt a cluster."""

    what: str
    why: Sequence[str]
    next: Sequence[str]


class AdoptionRefused(Unsatisfiable):
    """A cluster that cannot be adopted as it is."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        if len(refusals) == 1:
            (one,) = refusals
            super().__init__(one.what, why=one.why, next=one.next)
            return
        why = [f"({i}) {one.what}: {'; '.join(one.why)}" for i, one in enumerate(refusals[:_SHOWN], 1)]
        advice = [
            f"({i}) {line}" if j == 0 else f"    {line}"
            for i, one in enumerate(refusals[:_SHOWN], 1)
            for j, line in enumerate(one.next)
        ]
        hidden = len(refusals) - _SHOWN
        super().__init__(
            f"the cluster cannot be adopted as it is, for {len(refusals)} reasons",
            why=[*why, *([f"… and {hidden:,} more"] if hidden > 0 else [])],
            next=advice,
        )


def find_refusals(
    cluster: Cluster,
    packages: Sequence[Found],
    everything: Sequence[Found],
    rule: NamingRule | None,
    commands: Commands,
) -> Iterator[Refusal]:
    """Yield what is wrong with a cluster, and with the packages of it that are to be adopted."""
    poisoned = _doubled_entries(cluster)
    yield from _find_poison(poisoned, cluster, everything, rule, commands)
    doubles = _find_doubles(one for one in packages if str(one.source) not in poisoned)
    for source, copies in doubles.items():
        yield _refuse_double(source, copies, cluster, rule, commands)
    yield from _find_taken(packages, everything)
    for one in packages:
        # Of several copies, it is said above which one goes.
        if one.source not in doubles:
            yield from _find_unusable(one, commands)


def refuse_unclear(objects: Iterable[PackageObject], commands: Commands) -> Iterator[Refusal]:
    """Yield the packages whose spec.package is no full reference."""
    for one in objects:
        yield Refusal(
            f"{one.kind} {one.name} has the package {visible(one.package) or 'nothing'}",
            ["it is no full reference with a tag or a digest, so it cannot be fetched"],
            [
                _set_package(
                    f"{one.kind.lower()}.{PACKAGE_GROUP}/{one.name}",
                    "REGISTRY/ORGANISATION/NAME:TAG",
                    commands,
                )
            ],
        )


def refuse_owned(objects: Iterable[tuple[str, Metadata]], commands: Commands) -> Iterator[Refusal]:
    """Yield the owners of objects that the folder would own."""
    owned: dict[Owner, list[tuple[str, Metadata]]] = {}
    for resource, metadata in objects:
        for owner in find_owners(metadata):
            owned.setdefault(owner, []).append((resource, metadata))
            owned[owner].sort(key=lambda pair: pair[0])
    for owner in sorted(owned, key=str):
        yield Refusal(
            f"{owner} owns objects that would be adopted",
            [
                f"its label or annotation is on {names_of(owned[owner])}",
                "two owners would undo each other's changes",
            ],
            advise_release(owner, owned[owner], commands),
        )


def refuse_moved(package: Found, registry: str) -> Refusal:
    """Return the refusal of a package whose tag names other bytes than those that run."""
    revision = package.object.current_revision
    return Refusal(
        f"the tag of {package.reference} has moved since {package.title} was installed",
        [f"the registry has {registry}, and the name of the revision {revision} proves other bytes"],
        [
            "to lock the bytes that run, name their digest: --take installed=sha256:DIGEST",
            "to lock those of the registry, which replace them when Crossplane next pulls: --take registry",
        ],
    )


def refuse_gone(package: Found, error: RenderError) -> Refusal:
    """Return the refusal of a package whose tag cannot be had."""
    return Refusal(
        f"{package.reference}, which {package.title} runs, cannot be had",
        [in_one_line(error, advice=False)],
        ["if you know the digest that runs: --take installed=sha256:DIGEST", *error.next],
    )


def _doubled_entries(cluster: Cluster) -> dict[str, list[str]]:
    """Return the sources that the Lock has more than once, with the names of their revisions."""
    entries: dict[str, list[str]] = {}
    for entry in cluster.lock.lock.packages if cluster.lock else ():
        entries.setdefault(entry.source, []).append(entry.name)
    return {source: names for source, names in sorted(entries.items()) if len(names) > 1}


def _find_poison(
    poisoned: Mapping[str, Sequence[str]],
    cluster: Cluster,
    everything: Sequence[Found],
    rule: NamingRule | None,
    commands: Commands,
) -> Iterator[Refusal]:
    for source, names in poisoned.items():
        copies = [one for one in everything if str(one.source) == source]
        yield Refusal(
            f"the Lock has {visible(source)} {len(names)} times, and no package can be resolved",
            [
                f"its revisions are {' and '.join(map(visible, names))}",
                *(f"{one.title} {_describe_objects(one, cluster)}" for one in copies),
            ],
            _switch_off(empty, rule, commands)
            if (empty := _find_empty(copies, cluster))
            else [
                "deactivate the copy that controls no objects, and keep the other one; to see which that is: "
                + commands.doctor()
            ],
        )


def _find_empty(copies: Sequence[Found], cluster: Cluster) -> Found | None:
    """Return the only one of two copies that has established no objects."""
    empty = [one for one in copies if not _count_objects(one, cluster)]
    return empty[0] if len(copies) == 2 and len(empty) == 1 else None


def _switch_off(one: Found, rule: NamingRule | None, commands: Commands) -> list[str]:
    fields = '"revisionActivationPolicy":"Manual"'
    if rule is not NamingRule.DIGEST:
        fields += ',"skipDependencyResolution":true'
    run = [commands.patch(one.resource, f'{{"spec":{{{fields}}}}}')]
    if rule is not NamingRule.GENERATION and one.object.current_revision:
        revision = f"{one.object.kind.lower()}revision.{PACKAGE_GROUP}/{one.object.current_revision}"
        run.append(commands.patch(revision, _INACTIVE))
    return [f"switch off {one.title}, which controls no objects; keep the other copy:", *run]


def _describe_objects(one: Found, cluster: Cluster) -> str:
    count = _count_objects(one, cluster)
    return f"has established {counted(count, 'object') if count else 'no objects'}"


def _count_objects(one: Found, cluster: Cluster) -> int:
    return max((revision.objects for revision in cluster.revisions_of(one.object)), default=0)


def _find_doubles(packages: Iterable[Found]) -> dict[Source, list[Found]]:
    names: dict[Source, list[Found]] = {}
    for one in packages:
        names.setdefault(one.source, []).append(one)
    return {source: found for source, found in names.items() if len(found) > 1}


def _refuse_double(
    source: Source, copies: Sequence[Found], cluster: Cluster, rule: NamingRule | None, commands: Commands
) -> Refusal:
    off = [one for one in copies if one.is_off]
    if off and len(off) < len(copies):
        # What a package installed stays with the other one, which controls it by now.
        deletions = [commands.kubectl("delete", one.resource) for one in off]
        advice = [f"delete {' and '.join(one.title for one in off)}, which is switched off:", *deletions]
    elif empty := _find_empty(copies, cluster):
        advice = _switch_off(empty, rule, commands)
    else:
        advice = [
            "keep the one whose revision controls definitions, and deactivate the other; to see which that is:",
            commands.kubectl("get", "crd", "-o", _CONTROLLERS),
        ]
    return Refusal(
        f"{source} is installed as {' and '.join(one.title for one in copies)}",
        [
            "a second object for one source stops every package in the cluster",
            *(f"{one.title} {_describe_objects(one, cluster)}" for one in copies),
        ],
        advice,
    )


def _find_taken(packages: Sequence[Found], everything: Sequence[Found]) -> Iterator[Refusal]:
    """Find dependencies whose derived name another source has: Crossplane takes that for success, and waits for ever."""
    sources = {one.source for one in everything}
    names = {(str(one.object.kind), one.name): one for one in everything}
    seen: set[tuple[str, Source]] = set()
    for one in packages:
        for edge in one.entry.edges if one.entry and not one.skips_dependencies else ():
            source = complete_source(edge.package, one.source)
            if source is None or source in sources:
                continue
            other = names.get((edge.kind, object_name(source)))
            if other is not None and (other.name, source) not in seen:
                seen.add((other.name, source))
                yield Refusal(
                    f"{source} is not installed, since {other.source} has its name {other.name}",
                    [f"{one.title} needs {source} {edge.constraints}, and waits for it"],
                    [
                        f"if both are needed, give {source} a name of its own: apply a {edge.kind} with spec.package {source}:TAG",
                        "otherwise use versions of these packages that need the same one",
                    ],
                )


def _find_unusable(one: Found, commands: Commands) -> Iterator[Refusal]:
    reference = one.reference
    if reference.tag and reference.digest:
        yield Refusal(
            f"{one.title} has both a tag and a digest in spec.package",
            [f"it is {reference}; Crossplane takes {reference.source}:{reference.tag} for its source"],
            [_set_package(one.resource, f"{reference.source}:{reference.tag}", commands)],
        )
    elif one.object.spec.get("packagePullPolicy") == "Never":
        yield Refusal(
            f"{one.title} is never pulled, so its bytes are in no registry",
            ["its packagePullPolicy is Never"],
            [f"pull it: {commands.patch(one.resource, _PULLED)}"],
        )
    elif one.is_off:
        yield _refuse_off(one, commands)
    elif not one.object.current_revision or one.object.current_identifier not in ("", one.object.package):
        has = one.object.current_identifier or "nothing yet"
        yield Refusal(
            f"{one.title} is not installed as its object says",
            [f"spec.package is {one.object.package}, and installed is {visible(has)}"],
            [
                f"see what it waits for: {commands.kubectl('describe', one.resource)}",
                "then adopt the cluster again",
            ],
        )


def _refuse_off(one: Found, commands: Commands) -> Refusal:
    revision = f"{one.object.kind.lower()}revision.{PACKAGE_GROUP}/{one.object.current_revision}"
    return Refusal(
        f"{one.title} is switched off",
        ["its revisionActivationPolicy is Manual, and no revision of it is active"],
        [
            f"if it is wanted: {commands.patch(revision, _ACTIVE)}",
            f"if another package has taken its place, and controls its objects: {commands.kubectl('delete', one.resource)}",
            "or adopt the others by name: --only SRC",
        ],
    )


def _set_package(resource: str, reference: str, commands: Commands) -> str:
    value = f'{{"spec":{{"package":"{reference}"}}}}'
    return f"correct it: {commands.patch(resource, value)}"
