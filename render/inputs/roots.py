"""Documents → roots, rewrites, and objects that are passed through."""

from collections.abc import Iterable, Iterator, Mapping

from render.crd_dependencies import CrdRequest
from render.errors import InvalidInput, RenderError
from render.inputs.objects import check_numbers, is_object, list_items
from render.inputs.problems import placed
from render.lean import Any, dataclass, replace
from render.names import DNS_LABEL_MEANING, is_dns_label
from render.packages import PACKAGE_GROUP, Kind
from render.references import (
    DOCKER_HUB,
    InvalidReference,
    Reference,
    Source,
    is_tag,
    parse_reference,
    parse_source,
    split_tag,
)
from render.rewrites import Rewrite
from render.versions.constraints import parse_constraint
from render.versions.requests import CrdRoot, Request, Root
from render.versions.version import check_tag
from render.yaml.fields import Fields, Problems


class TwoRequests(InvalidInput):
    """A range beside a tag or a digest."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(
            f"a range of versions excludes a tag and a digest, and the package is {reference}",
            next=f"leave out the range, or write {reference.source}",
        )


class RangeAsTag(InvalidInput):
    """A range of versions in the place of a tag."""

    def __init__(self, source: str, versions: str) -> None:
        super().__init__(
            f"{versions!r} is a range of versions, and a tag names one version",
            next=f"write {source} and the range in the annotation {VERSION_ANNOTATION} (in xplock.yaml: version)",
        )


def parse_package(text: str) -> Reference:
    """Parse a package with its registry; unlike in Crossplane, tag and digest may both be missing."""
    if "@" in text or ":" in text.rpartition("/")[2]:
        _refuse_range(text)
        reference = parse_reference(text)
        check_tag(reference.tag)
        return reference
    source = parse_source(text)
    if source.registry in DOCKER_HUB and "/" not in source.repository:
        raise InvalidReference(
            text, f"on Docker Hub its full name is {source.registry}/library/{source.repository}"
        )
    return Reference(source)


def _refuse_range(text: str) -> None:
    source, tag = split_tag(text)
    if tag is None or is_tag(tag) or "@" in text or _RANGE_SIGNS.isdisjoint(tag):
        return
    try:
        parse_constraint(tag)
    except RenderError:
        # Neither a tag nor a range: the usual error says what a tag is.
        return
    raise RangeAsTag(source, tag)


def parse_request(reference: Reference, versions: str | None) -> Request:
    """Return the request for a tag, a digest or a range of versions."""
    if versions is None:
        return Request(tag=reference.tag, digest=reference.digest)
    if reference.tag or reference.digest:
        raise TwoRequests(reference)
    return Request.of(parse_constraint(versions))


VERSION_ANNOTATION = "xplock.dev/version"
# Without any of these, a text in the place of a tag is a misspelt version.
_RANGE_SIGNS = frozenset("^~<>=*,|")

_SERVED = {
    Kind.PROVIDER: ("v1",),
    Kind.CONFIGURATION: ("v1",),
    Kind.FUNCTION: ("v1", "v1beta1"),
}
# The group of ClusterPackageInstall and PackageInstall, which asked for packages of the first format.
_INSTALL_GROUP = "packages.crossplane.io"
_IMAGE_CONFIG = (f"{PACKAGE_GROUP}/v1beta1", "ImageConfig")
# The status belongs to the cluster: it is harmless in a manifest, and ignored.
_TOP_KEYS = ("apiVersion", "kind", "metadata", "spec", "status")


@dataclass(frozen=True, slots=True)
class Document:
    """One of the user's documents, and its place: the file, and its number if the file has several."""

    value: Any
    place: str


@dataclass(frozen=True, slots=True)
class Found:
    """The contents of documents, in their order."""

    roots: tuple[Root, ...]
    rewrites: tuple[Rewrite, ...]
    # Every object but roots; ImageConfigs are here, too.
    passthrough: tuple[Mapping[str, Any], ...]
    crd_roots: tuple[CrdRoot, ...] = ()


def sort_documents(documents: Iterable[Document], problems: list[str]) -> Found:
    """Separate roots from other objects; add to the problems."""
    roots: list[Root | CrdRoot] = []
    rewrites: list[Rewrite] = []
    passthrough: list[Mapping[str, Any]] = []
    for document in _objects(documents):
        found = Problems()
        if not is_object(document.value, found):
            problems.extend(placed(document.place, found.texts()))
            continue
        kind = _package_kind(document.value)
        if kind:
            roots.extend(_parse_root(document, kind, found))
        elif document.value["apiVersion"].partition("/")[0] == _INSTALL_GROUP:
            _take_install(document, found, roots, passthrough)
        else:
            rewrites.extend(_parse_rewrites(document, found))
            check_numbers(document.value, found)
            passthrough.append(document.value)
        problems.extend(placed(document.place, found.texts()))
    return Found(
        tuple(root for root in roots if isinstance(root, Root)),
        tuple(rewrites),
        tuple(passthrough),
        tuple(root for root in roots if isinstance(root, CrdRoot)),
    )


def _take_install(
    document: Document, problems: Problems, roots: list[Root | CrdRoot], passthrough: list[Mapping[str, Any]]
) -> None:
    # Imported late: few folders have such objects.
    from render.packages_v1.install_objects import parse_install

    install = parse_install(document.value, document.place, problems)
    if install:
        roots.append(install.root)
        passthrough.extend([install.runtime_config] if install.runtime_config else [])


def _objects(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        value = document.value
        if value is None:
            continue
        listed = list_items(value)
        if listed is None:
            yield document
        else:
            items = (Document(item, f"{document.place}: items[{i}]") for i, item in enumerate(listed))
            yield from _objects(items)


def _package_kind(value: Mapping[str, Any]) -> Kind | None:
    in_group = value["apiVersion"].partition("/")[0] == PACKAGE_GROUP
    return Kind(value["kind"]) if in_group and value["kind"] in tuple(Kind) else None


def _parse_root(document: Document, kind: Kind, problems: Problems) -> Iterator[Root]:
    top = Fields(document.value, problems)
    described, spec = top.mapping("metadata"), top.mapping("spec")
    _check_top(top, document.value, kind)
    name = _parse_name(described)
    texts = {key: described.texts(key) for key in ("labels", "annotations")}
    version = texts["annotations"].pop(VERSION_ANNOTATION, None)
    package = _package_text(spec)
    reference, request = None, None
    with spec.errors_at("package"):
        reference = parse_package(package) if package else None
    with described.errors_at("annotations", VERSION_ANNOTATION):
        request = parse_request(reference, version) if reference else None
    fields = _other_fields(top, texts)
    check_numbers(fields, problems)
    if reference and request and not problems:
        yield Root(reference.source, request, f"{document.place}: spec.package", name, kind, fields)


def _check_top(top: Fields, value: Mapping[str, Any], kind: Kind) -> None:
    version = value["apiVersion"].partition("/")[2]
    if version not in _SERVED[kind]:
        top.complain(
            f"Crossplane has no {kind} in {PACKAGE_GROUP}/{version}; write {PACKAGE_GROUP}/v1", "apiVersion"
        )
    for key in value:
        if key not in _TOP_KEYS:
            top.complain(f"a {kind} has no such field", key)


def _parse_name(described: Fields) -> str:
    name = described.text("name")
    # A name of another type has been reported already.
    if described.get("name") in (None, name) and not is_dns_label(name):
        found = f"found {name!r}" if name else "it is missing"
        described.complain(f"expected {DNS_LABEL_MEANING}; {found}", "name")
    return name


def _package_text(spec: Fields) -> str:
    if spec.get("package") in (None, ""):
        spec.complain("it is missing; write registry/organisation/name:tag", "package")
    return spec.text("package")


def _other_fields(top: Fields, texts: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return all other fields of a root's manifest, without empty ones."""
    kept = {**_mapping(top.get("metadata")), **texts}
    metadata = {key: value for key, value in kept.items() if key != "name" and value not in (None, {}, [])}
    spec = {key: value for key, value in _mapping(top.get("spec")).items() if key != "package"}
    return {key: value for key, value in (("metadata", metadata), ("spec", spec)) if value}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _parse_rewrites(document: Document, problems: Problems) -> Iterator[Rewrite]:
    value = document.value
    spec = _mapping(value.get("spec"))
    if (value["apiVersion"], value["kind"]) != _IMAGE_CONFIG or spec.get("rewriteImage") is None:
        return
    reader = Fields(spec, problems, ("spec",))
    replacement = _required(reader.mapping("rewriteImage"), "prefix")
    for i, entry in enumerate(reader.mappings("matchImages")):
        if entry.get("type") not in (None, "Prefix"):
            entry.complain("expected Prefix", "type")
        prefix = _required(entry, "prefix")
        if prefix and replacement:
            yield Rewrite(prefix, replacement, f"{document.place}: spec.matchImages[{i}]")


def _required(fields: Fields, key: str) -> str:
    text = fields.text(key)
    if fields.get(key) in (None, ""):
        fields.complain("it is missing or empty", key)
    return text


def agree_on_roots(roots: Iterable[Root], problems: list[str]) -> tuple[Root, ...]:
    """Return one root for each source, sorted by source and name."""
    agreed: dict[Source, Root] = {}
    for root in roots:
        known = agreed.get(root.source)
        agreed[root.source] = root if known is None else _join(known, root, problems)
    _check_names(agreed.values(), problems)
    return tuple(sorted(agreed.values(), key=lambda root: (root.source, root.name or "")))


def agree_on_crds(asked: Iterable[CrdRoot], problems: list[str]) -> tuple[CrdRoot, ...]:
    """Return one entry for each CRD that the user asks for, sorted."""
    agreed: dict[CrdRequest, CrdRoot] = {}
    for root in asked:
        known = agreed.setdefault(root.crd, root)
        if (known.constraint, known.name, known.fields) != (root.constraint, root.name, root.fields):
            problems.append(f"{root.place}: {root.crd} is asked for in another way than in {known.place}")
    return tuple(agreed[crd] for crd in sorted(agreed))


def agree_on_rewrites(rewrites: Iterable[Rewrite], problems: list[str]) -> tuple[Rewrite, ...]:
    """Return one rewrite for each prefix, in the order they come in."""
    agreed: dict[str, Rewrite] = {}
    for rewrite in rewrites:
        known = agreed.setdefault(rewrite.prefix, rewrite)
        if known.replacement != rewrite.replacement:
            problems.append(
                f"{rewrite.place}: {rewrite.prefix} is rewritten to {rewrite.replacement} here "
                f"and to {known.replacement} in {known.place}; Crossplane takes either"
            )
    return tuple(agreed.values())


def _join(known: Root, root: Root, problems: list[str]) -> Root:
    differences = [
        ("version", str(known.request), str(root.request), known.request != root.request),
        ("name", known.name, root.name, _differ(known.name, root.name)),
        ("kind", known.kind, root.kind, _differ(known.kind, root.kind)),
    ]
    for what, old, new, differs in differences:
        if differs:
            problems.append(
                f"{root.place}: {root.source} is asked for with the {what} {new} here "
                f"and with {old} in {known.place}"
            )
    if known.is_manifest and root.is_manifest and known.fields != root.fields:
        problems.append(f"{root.place}: the manifest of {root.source} has other fields than in {known.place}")
    return replace(
        known,
        place=f"{known.place} and {root.place}",
        name=known.name or root.name,
        kind=known.kind or root.kind,
        fields=known.fields or root.fields,
    )


def _differ(old: str | None, new: str | None) -> bool:
    # A missing value agrees with any other.
    return old is not None and new is not None and old != new


def _check_names(roots: Iterable[Root], problems: list[str]) -> None:
    named: dict[tuple[Kind, str], Root] = {}
    for root in roots:
        if root.name is None or root.kind is None:
            continue
        known = named.setdefault((root.kind, root.name), root)
        if known is not root:
            problems.append(
                f"{root.place}: {root.kind}/{root.name} is {root.source} here and {known.source} in {known.place}"
            )
