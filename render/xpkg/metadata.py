"""Meta document → Metadata: every kind and API version that Crossplane accepts, and older forms."""

from collections.abc import Callable, Iterator
from typing import Any

from render.crd_dependencies import MAPPING_KEYS
from render.errors import UnusableContent
from render.limits import LimitExceeded, Limits
from render.packages import (
    META_GROUPS,
    CrdDependency,
    Dependency,
    Kind,
    Metadata,
    PermissionRequest,
    is_project,
)
from render.references import PartialSource, Source, parse_dependency_source
from render.texts import first_lines, hides_something
from render.versions.constraints import ANY, Constraint, parse_constraint
from render.xpkg.crd_fields import CRD_KEY, read_crd
from render.yaml.documents import meta_rules, parse_documents
from render.yaml.fields import Fields, Problems, format_place
from render.yaml.folding import KnownFields, find_lookalike_fields

REPLACES_ANNOTATION = "meta.crossplane.io/replaces"

_ACCEPTED = {
    (Kind.PROVIDER, "v1"),
    (Kind.PROVIDER, "v1alpha1"),
    (Kind.CONFIGURATION, "v1"),
    (Kind.CONFIGURATION, "v1alpha1"),
    (Kind.FUNCTION, "v1"),
    (Kind.FUNCTION, "v1beta1"),
}
# Texts of a project file that become annotations of the package.
_PROJECT_FIELDS = ("maintainer", "source", "license", "description", "readme")
# In the order in which Crossplane looks for them.
_LEGACY_KINDS = {
    "configuration": Kind.CONFIGURATION,
    "provider": Kind.PROVIDER,
    "function": Kind.FUNCTION,
}
# Every field that is read, so that no other spelling of one is overlooked.
_NAMES = ["apiVersion", "kind", "package", "version", *_LEGACY_KINDS]
_DEPENDENCY_FIELDS: KnownFields = {
    **dict.fromkeys([*_NAMES, "crossplane"]),
    CRD_KEY: dict.fromkeys(MAPPING_KEYS),
}
_FIELDS: KnownFields = {
    "apiVersion": None,
    "kind": None,
    "metadata": dict.fromkeys(["name", "labels", "annotations"]),
    "spec": {
        "crossplane": {"version": None},
        "dependsOn": _DEPENDENCY_FIELDS,
        "dependencies": {"type": None, "xpkg": _DEPENDENCY_FIELDS},
        "replaces": None,
        "capabilities": None,
        "controller": {"image": None},
        "permissionRequests": dict.fromkeys(["apiGroups", "resources", "verbs"]),
        **dict.fromkeys(_PROJECT_FIELDS),
    },
}
_CROSSPLANE = "crossplane"
_SHOWN_PROBLEMS = 50


class InvalidMetadata(UnusableContent):
    """A meta document that Crossplane refuses, or may read in another way than we do."""

    def __init__(self, problems: list[str]) -> None:
        count = "one problem" if len(problems) == 1 else f"{len(problems):,} problems"
        super().__init__(
            f"its metadata has {count}",
            why=first_lines(problems, _SHOWN_PROBLEMS),
            next="ask the package's maintainers to correct its crossplane.yaml and build it again",
        )
        self.problems = problems


def parse_metadata(data: bytes, limits: Limits) -> Metadata:
    """Parse one meta document; all problems come in one error."""
    return _parse(_only_document(data, limits), limits, _parse_meta)


def parse_project(data: bytes, limits: Limits) -> Metadata:
    """Parse a project file; the package built from it is a Configuration."""
    return _parse(_only_document(data, limits), limits, _parse_project)


def _only_document(data: bytes, limits: Limits) -> Any:
    documents = parse_documents(data, meta_rules(limits))
    if any(document is not None for document in documents[1:]):
        # Crossplane reads the first one; other tools may read another.
        raise InvalidMetadata(["a second document follows the first"])
    return documents[0] if documents else None


def _parse(document: Any, limits: Limits, parse: Callable[[Fields, Fields, Limits], Metadata]) -> Metadata:
    problems = Problems()
    for place, problem in find_lookalike_fields(document, _FIELDS):
        problems.add(place, problem)
    top = Fields(document, problems)
    metadata = parse(top, top.mapping("spec"), limits)
    if problems:
        # A field may be read twice; its problem is reported once.
        raise InvalidMetadata(list(dict.fromkeys(problems.texts())))
    return metadata


def _parse_meta(top: Fields, spec: Fields, limits: Limits) -> Metadata:
    api_version, kind = top.text("apiVersion"), _parse_kind(top)
    described = top.mapping("metadata")
    annotations = described.texts("annotations")
    name, entries = _parse_name(described), _entries(spec, limits)
    return Metadata(
        kind=kind,
        api_version=api_version,
        name=name,
        dependencies=_parse_dependencies(entries),
        crds=tuple(_parse_crds(entries)),
        crossplane=_parse_crossplane(spec, entries),
        replaces=_parse_replaces(spec, described, annotations),
        capabilities=_parse_capabilities(spec, kind),
        labels=described.texts("labels"),
        annotations=annotations,
        controller_image=spec.mapping("controller").text("image") or None,
        permission_requests=tuple(_parse_permissions(spec)),
    )


def _parse_project(top: Fields, spec: Fields, limits: Limits) -> Metadata:
    if top.text("kind") != "Project" or not is_project(top.text("apiVersion")):
        top.complain("this is not a project file", "kind")
    texts = {f"meta.crossplane.io/{name}": spec.text(name) for name in _PROJECT_FIELDS}
    entries = _entries(spec, limits)
    listed = [
        entry.mapping("xpkg") for entry in spec.mappings("dependencies") if entry.text("type") == "xpkg"
    ]
    return Metadata(
        kind=Kind.CONFIGURATION,
        api_version=top.text("apiVersion"),
        name=_parse_name(top.mapping("metadata")),
        dependencies=_parse_dependencies(entries)
        + tuple(_collect(_bounded(listed, limits), explicit=("package",))),
        crds=tuple(_parse_crds(entries)),
        crossplane=_parse_crossplane(spec, entries),
        annotations={name: text for name, text in texts.items() if text},
    )


def _parse_kind(top: Fields) -> Kind:
    group, _, version = top.text("apiVersion").partition("/")
    kind = top.text("kind")
    if group not in META_GROUPS or (kind, version) not in _ACCEPTED:
        top.complain(f"Crossplane knows no package kind {kind!r} in {group}/{version}", "kind")
        return Kind.CONFIGURATION
    return Kind(kind)


def _parse_name(described: Fields) -> str:
    name = described.text("name")
    if hides_something(name):
        described.complain("it contains an invisible character", "name")
    return name


def _parse_crossplane(spec: Fields, entries: list[Fields]) -> Constraint | None:
    """Return the constraint of the package, or else that of an entry of dependsOn."""
    found = [entry.parse(_CROSSPLANE, parse_constraint) for entry in entries if _names(entry, _CROSSPLANE)]
    for entry in entries:
        if _names(entry, _CROSSPLANE) and (len(found) > 1 or spec.get(_CROSSPLANE) is not None):
            entry.complain("the versions of Crossplane are given more than once", _CROSSPLANE)
    if spec.get(_CROSSPLANE) is None:
        return found[0] if found else None
    if isinstance(spec.get(_CROSSPLANE), str):
        return spec.parse(_CROSSPLANE, parse_constraint)
    return spec.mapping(_CROSSPLANE).parse("version", parse_constraint)


def _entries(spec: Fields, limits: Limits) -> list[Fields]:
    return _bounded(spec.mappings("dependsOn"), limits)


def _parse_dependencies(entries: list[Fields]) -> tuple[Dependency, ...]:
    # A package, a CRD and Crossplane exclude each other in one entry.
    others = [entry for entry in entries if not (_names(entry, CRD_KEY) or _names(entry, _CROSSPLANE))]
    return tuple(_collect(others, explicit=("apiVersion", "kind", "package")))


def _parse_crds(entries: list[Fields]) -> Iterator[CrdDependency]:
    for entry in entries:
        if _names(entry, CRD_KEY) and _names_nothing_else(entry, CRD_KEY):
            crd = read_crd(entry)
            versions = entry.parse("version", parse_constraint) if _names(entry, "version") else ANY
            if crd and versions:
                yield CrdDependency(crd, versions, format_place((*entry.place, CRD_KEY)))
        elif _names(entry, _CROSSPLANE):
            _names_nothing_else(entry, _CROSSPLANE)


def _names(entry: Fields, key: str) -> bool:
    return entry.get(key) is not None


def _names_nothing_else(entry: Fields, key: str) -> bool:
    keys = [name for name in (CRD_KEY, _CROSSPLANE, "package", *_LEGACY_KINDS) if _names(entry, name)]
    if len(keys) > 1:
        entry.complain(f"it names {' and '.join(keys)}; give one of them")
    return keys == [key]


def _bounded(entries: list[Fields], limits: Limits) -> list[Fields]:
    if len(entries) > limits.dependencies:
        raise LimitExceeded(
            "the package has too many dependencies", "dependencies", limits, found=f"{len(entries):,}"
        )
    return entries


def _collect(entries: list[Fields], *, explicit: tuple[str, ...]) -> Iterator[Dependency]:
    for entry in entries:
        dependency = _parse_dependency(entry, explicit)
        if dependency:
            yield dependency


def _parse_dependency(entry: Fields, explicit: tuple[str, ...]) -> Dependency | None:
    given = {key: entry.text(key) for key in dict.fromkeys([*explicit, *_LEGACY_KINDS])}
    keys = [key for key in _LEGACY_KINDS if entry.get(key) is not None]
    if all(entry.get(key) is not None for key in explicit):
        keys.insert(0, "package")
    named = list(dict.fromkeys(given[key] for key in keys if given[key]))
    if len(named) != 1:
        if named:
            entry.complain(f"it names several packages: {', '.join(named)}")
        elif not any(entry.get(key) and not given[key] for key in given):
            entry.complain(f"it names no package: give {', '.join(explicit)}")
        return None
    # Crossplane takes the first of these that is there, even if it is empty.
    key = keys[0]
    empty = [name for name in (explicit if key == "package" else (key,)) if entry.get(name) == ""]
    for name in empty:
        entry.complain("it is empty", name)
    source = None if empty else entry.parse(key, parse_dependency_source)
    constraint = entry.parse("version", parse_constraint)
    if source is None or constraint is None:
        return None
    if key != "package":
        return Dependency(source, constraint, given[key], _LEGACY_KINDS[key])
    return Dependency(
        source, constraint, given[key], entry.text("kind") or None, entry.text("apiVersion") or None
    )


def _parse_replaces(
    spec: Fields, described: Fields, annotations: dict[str, str]
) -> tuple[Source | PartialSource, ...]:
    listed = enumerate(spec.list_of_texts("replaces"))
    given = [spec.parse_text(text, parse_dependency_source, "replaces", i) for i, text in listed]
    written = annotations.get(REPLACES_ANNOTATION, "").replace(",", " ").split()
    place = ("annotations", REPLACES_ANNOTATION)
    given += [described.parse_text(text, parse_dependency_source, *place) for text in written]
    return tuple(dict.fromkeys(source for source in given if source))


def _parse_capabilities(spec: Fields, kind: Kind) -> tuple[str, ...]:
    given = tuple(spec.list_of_texts("capabilities"))
    return given or (("composition",) if kind is Kind.FUNCTION else ())


def _parse_permissions(spec: Fields) -> Iterator[PermissionRequest]:
    for entry in spec.mappings("permissionRequests"):
        names = ("apiGroups", "resources", "verbs")
        yield PermissionRequest(*(tuple(entry.list_of_texts(name)) for name in names))
