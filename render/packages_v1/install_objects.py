"""ClusterPackageInstall and PackageInstall → roots: Crossplane has no CRD for these kinds any more."""

from collections.abc import Iterable, Iterator, Mapping

from render.lean import Any, dataclass
from render.names import DNS_LABEL_MEANING, is_dns_label
from render.packages import PACKAGE_GROUP
from render.packages_v1.sources import qualified
from render.references import GONE_REGISTRY, Digest, PartialSource, Source, is_digest, split_tag
from render.system.files import APP_FILE, REGISTRY_FOLDER
from render.versions.constraints import ANY, Constraint, parse_constraint
from render.versions.requests import CrdRoot, Request, Root
from render.versions.version import check_tag
from render.xpkg.crd_fields import CRD_KEY, read_crd
from render.yaml.fields import Fields, Problems

GROUP = "packages.crossplane.io"
_API_VERSION = f"{GROUP}/v1alpha1"
# The permissionScope in app.yaml that each kind was for.
_SCOPES = {"ClusterPackageInstall": "Cluster", "PackageInstall": "Namespaced"}
_TOP_KEYS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_SPEC_KEYS = frozenset(
    {"source", "package", CRD_KEY, "imagePullSecrets", "imagePullPolicy", "serviceAccount"}
)
_VERSION_ANNOTATION = "xplock.dev/version"


@dataclass(frozen=True, slots=True)
class Install:
    """What an install object asks for."""

    root: Root | CrdRoot
    # The DeploymentRuntimeConfig with the annotations of its ServiceAccount, if it has any.
    runtime_config: Mapping[str, Any] | None = None


def parse_install(value: Mapping[str, Any], place: str, problems: Problems) -> Install | None:
    """Parse an object of the group of install objects; add to the problems."""
    top = Fields(value, problems)
    kind = top.text("kind")
    if top.text("apiVersion") != _API_VERSION or kind not in _SCOPES:
        known = " or ".join(_SCOPES)
        top.complain(
            f"Crossplane has no kinds in {GROUP} any more; remove it, or write a {known} of {_API_VERSION}"
        )
        return None
    described, spec = top.mapping("metadata"), top.mapping("spec")
    top.allow(_TOP_KEYS)
    spec.allow(_SPEC_KEYS)
    name = described.text("name")
    # A name of another type has been reported already.
    if described.get("name") in (None, name) and not is_dns_label(name):
        described.complain(f"expected {DNS_LABEL_MEANING}; found {name!r}", "name")
    texts = {key: described.texts(key) for key in ("labels", "annotations")}
    constraint = _parse_version(described, texts["annotations"].pop(_VERSION_ANNOTATION, None))
    config = _runtime_config(name, spec)
    fields = _fields(spec, texts, config)
    root = _parse_root(spec, place, name, constraint, fields)
    return Install(root, config) if root and not problems else None


def _parse_version(described: Fields, text: str | None) -> Constraint | None:
    with described.errors_at("annotations", _VERSION_ANNOTATION):
        return parse_constraint(text) if text is not None else None
    return None


def _parse_root(
    spec: Fields, place: str, name: str, constraint: Constraint | None, fields: Mapping[str, object]
) -> Root | CrdRoot | None:
    given = [key for key in ("package", CRD_KEY) if spec.get(key) not in (None, "")]
    if len(given) != 1:
        spec.complain(
            "package and crd exclude each other; remove one" if given else "it needs a package or a crd"
        )
        return None
    if given == [CRD_KEY]:
        crd = read_crd(spec)
        where = f"{place}: spec.{CRD_KEY}"
        return CrdRoot(crd, where, constraint or ANY, name, fields) if crd else None
    source, request = _parse_package(spec, constraint)
    return Root(source, request, f"{place}: spec.package", name, None, fields) if source and request else None


def _parse_package(spec: Fields, constraint: Constraint | None) -> tuple[Source | None, Request | None]:
    base, at, digest = spec.text("package").partition("@")
    repository, tag = split_tag(base)
    if at and not is_digest(digest):
        spec.complain("after @ comes sha256: and 64 lower-case hex digits", "package")
    source: Source | PartialSource | None = None
    with spec.errors_at("package"):
        source = qualified(repository, spec.text("source"))
    if isinstance(source, PartialSource):
        spec.complain(
            f"{repository!r} does not start with a registry host, and an install object has no dependant to complete it "
            f"from; the registry of that time, {GONE_REGISTRY}, is gone: write source with the registry of today",
            "package",
        )
        return None, None
    return source, _parse_request(spec, tag, digest, constraint)


def _parse_request(
    spec: Fields, tag: str | None, digest: str, constraint: Constraint | None
) -> Request | None:
    if constraint is not None:
        if tag or digest:
            spec.complain(
                f"a tag or a digest excludes the annotation {_VERSION_ANNOTATION}; remove one", "package"
            )
        return Request.of(constraint)
    if not digest and tag in (None, "", "latest"):
        spec.complain(
            "no tag meant the newest version of that day; write the version as the tag, "
            f"or a range in the annotation {_VERSION_ANNOTATION}",
            "package",
        )
        return None
    with spec.errors_at("package"):
        check_tag(tag)
        return Request(tag=tag, digest=Digest(digest) if digest else None)
    return None


def _runtime_config(name: str, spec: Fields) -> Mapping[str, Any] | None:
    account = spec.mapping("serviceAccount")
    account.allow(frozenset({"annotations"}))
    annotations = account.texts("annotations")
    if not annotations:
        return None
    return {
        "apiVersion": f"{PACKAGE_GROUP}/v1beta1",
        "kind": "DeploymentRuntimeConfig",
        "metadata": {"name": name},
        "spec": {"serviceAccountTemplate": {"metadata": {"annotations": annotations}}},
    }


def _fields(
    spec: Fields, texts: Mapping[str, Mapping[str, str]], config: Mapping[str, Any] | None
) -> dict[str, object]:
    """Return the fields of the package object, as today's Crossplane calls them."""
    secrets = [{"name": entry.text("name")} for entry in spec.mappings("imagePullSecrets")]
    given = {
        "packagePullPolicy": spec.text("imagePullPolicy"),
        "packagePullSecrets": secrets,
        "runtimeConfigRef": {"name": config["metadata"]["name"]} if config else None,
    }
    metadata = {key: value for key, value in texts.items() if value}
    kept = {key: value for key, value in given.items() if value}
    return {key: value for key, value in (("metadata", metadata), ("spec", kept)) if value}


def find_wrong_scopes(scope: str, objects: Iterable[tuple[Any, str]]) -> Iterator[str]:
    """Yield a problem for each install object whose kind does not fit the scope of the package beside it."""
    fitting = next((kind for kind, known in _SCOPES.items() if known == scope), None)
    for value, place in objects:
        kind = (
            value.get("kind") if isinstance(value, dict) and value.get("apiVersion") == _API_VERSION else None
        )
        if fitting and kind in _SCOPES and kind != fitting:
            yield (
                f"{place}: kind: {kind} does not fit permissionScope: {scope} in {REGISTRY_FOLDER}/{APP_FILE}; "
                f"write {fitting}"
            )
