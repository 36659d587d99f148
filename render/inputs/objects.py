"""Checks on one object: it is a Kubernetes object, and Argo CD and Crossplane read it as we do."""

from collections.abc import Iterator, Mapping

from render.lean import Any
from render.packages import PACKAGE_GROUP, Kind, is_meta, is_project
from render.yaml.documents import Place, type_name
from render.yaml.fields import Fields, Problems
from render.yaml.folding import KnownFields, find_lookalike_fields, find_lookalikes, fold

REVISIONS = {f"{kind}Revision": kind for kind in Kind}
_LIST = "List"
_ITEMS = "items"
# Fields that decide what an object is and what Crossplane installs: each has to be spelled exactly so.
_METADATA = dict.fromkeys(("name", "namespace", "labels", "annotations", "generateName", "finalizers"))
_KNOWN: KnownFields = {**dict.fromkeys(("apiVersion", "kind", "spec", "status")), "metadata": _METADATA}
_PACKAGE_SPEC: KnownFields = dict.fromkeys((
    "package", "skipDependencyResolution", "revisionActivationPolicy", "revisionHistoryLimit",
    "packagePullPolicy", "packagePullSecrets", "ignoreCrossplaneConstraints", "commonLabels",
    "runtimeConfigRef",
))  # fmt: skip
_IMAGE_CONFIG_SPEC: KnownFields = {
    "matchImages": dict.fromkeys(("type", "prefix")),
    "rewriteImage": {"prefix": None},
    **dict.fromkeys(("registry", "verification", "runtime")),
}
_SPECS: Mapping[str, KnownFields] = {**dict.fromkeys(Kind, _PACKAGE_SPEC), "ImageConfig": _IMAGE_CONFIG_SPEC}


def list_items(value: Any) -> list[Any] | None:
    """Return the objects of a list, or None for anything else; a list with misspelt keys is checked as an object."""
    if not isinstance(value, dict) or not _is_list(value) or find_lookalikes(value, (*_KNOWN, _ITEMS)):
        return None
    items = value.get(_ITEMS)
    return items if isinstance(items, list) else None


def find_items_keys(value: Mapping[str, Any]) -> list[str]:
    """Return the keys that make Argo CD apply the items of an object instead of the object itself."""
    return [key for key in value if _reads_as_items(key)]


def find_misspelt(value: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield a place and a sentence for each field of an object that Go may take for one that decides what it is."""
    in_group = str(value.get("apiVersion")).partition("/")[0] == PACKAGE_GROUP
    spec = _SPECS.get(str(value.get("kind"))) if in_group else None
    return find_lookalike_fields(value, {**_KNOWN, "spec": spec})


def is_object(value: Any, problems: Problems) -> bool:
    """Return whether a document is one object that may be in a folder; add to the problems."""
    if not isinstance(value, dict):
        problems.add((), f"expected a Kubernetes object, found {type_name(value)}")
        return False
    fields = Fields(value, problems)
    _check_type(fields)
    _check_items(fields)
    _check_spelling(fields)
    return not problems


def check_numbers(value: Mapping[str, Any], problems: Problems) -> None:
    """Complain about numbers that JSON, and so Kubernetes, does not have."""
    try:
        written = repr(value)
        if "inf" in written or "nan" in written:
            # Only such a number, and few texts, look like that: most documents skip the slow test.
            import json

            json.dumps(value, allow_nan=False)
    except ValueError:
        problems.add((), "it holds infinity or NaN, which JSON does not have")


def _check_type(fields: Fields) -> None:
    api_version, kind = fields.text("apiVersion"), fields.text("kind")
    if (not api_version or not kind) and not fields.problems:
        fields.complain(
            "it is not a Kubernetes object: apiVersion or kind is missing; move it out of the folder"
        )
    if is_meta(api_version) or is_project(api_version):
        fields.complain(
            "a package on disk is read from crossplane.yaml or its project file only", "apiVersion"
        )
    if kind in REVISIONS and api_version.partition("/")[0] == PACKAGE_GROUP:
        package = REVISIONS[kind]
        fields.complain(
            f"Crossplane makes each {kind} from its {package}; remove it, and ask for the {package}"
        )


def _check_items(fields: Fields) -> None:
    for key in find_items_keys(fields.value):
        if not _is_list(fields.value):
            fields.complain("only a List has items; Argo CD would apply each of them as an object", key)
        elif key != _ITEMS:
            fields.complain(f"the key has to be spelled {_ITEMS!r}", key)
        elif not isinstance(fields.get(key), list):
            fields.complain(f"expected a list, found {type_name(fields.get(key))}", key)


def _check_spelling(fields: Fields) -> None:
    for place, problem in find_misspelt(fields.value):
        fields.complain(problem, *place)


def _is_list(value: Mapping[str, Any]) -> bool:
    return str(value.get("kind", "")).endswith(_LIST)


def _reads_as_items(key: str) -> bool:
    return fold(key) == _ITEMS
