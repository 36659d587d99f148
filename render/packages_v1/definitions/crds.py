"""CRD files → what each says, in the form of `apiextensions.k8s.io/v1`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from render.limits import Limits
from render.packages_v1.definitions.structural import PRESERVE, structural_problems
from render.packages_v1.documents import read_documents
from render.packages_v1.findings import Findings
from render.packages_v1.tree import File, Tree
from render.yaml.documents import Place
from render.yaml.fields import Fields, describe

CRD_KIND = "CustomResourceDefinition"
CRD_END = "crd.yaml"
_GROUP = "apiextensions.k8s.io"
_OLD, _NEW = f"{_GROUP}/v1beta1", f"{_GROUP}/v1"
NAMESPACED = "Namespaced"
_SCOPES = ("Cluster", NAMESPACED)
_COPIED_NAMES = ("plural", "singular", "kind", "listKind", "shortNames", "categories")
_PROTECTED, _APPROVED = (".k8s.io", ".kubernetes.io"), "api-approved.kubernetes.io"
_ANY_SCHEMA = {"type": "object", PRESERVE: True}


@dataclass(frozen=True, slots=True)
class Crd:
    """One CRD of one file."""

    file: File
    # The file, and the number of the document if the file has several.
    place: str
    name: str
    group: str
    names: dict[str, Any]
    scope: str
    # As `apiextensions.k8s.io/v1` has them.
    versions: tuple[dict[str, Any], ...]
    conversion: dict[str, Any] | None
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def kind(self) -> str:
        """The kind that it defines."""
        return str(self.names["kind"])

    @property
    def words(self) -> list[str]:
        """The plural, the singular and the kind."""
        return [str(self.names.get(key) or self.kind) for key in ("plural", "singular", "kind")]

    @property
    def version_names(self) -> list[str]:
        """The names of its versions, in their order."""
        return [str(version["name"]) for version in self.versions]


def read_crds(tree: Tree, limits: Limits, found: Findings) -> list[Crd]:
    """Read every CRD of a package, sorted by file."""
    return [
        crd
        for file in tree.ending(CRD_END)
        for place, fields in read_documents(file, limits, found)
        if (crd := _read_crd(file, place, fields, found)) is not None
    ]


def _read_crd(file: File, place: str, fields: Fields, found: Findings) -> Crd | None:
    known = len(found.problems)
    api_version, kind = fields.text("apiVersion"), fields.text("kind")
    if kind != CRD_KIND or api_version not in (_OLD, _NEW):
        fields.complain(f"expected a {CRD_KIND} of {_OLD} or {_NEW}, found {kind!r} of {api_version!r}")
        return None
    described, spec = fields.mapping("metadata"), fields.mapping("spec")
    group, names = spec.required_text("group"), _read_names(spec.mapping("names"))
    old = api_version == _OLD
    scope = _read_scope(spec, optional=old)
    versions = tuple(_read_old_versions(spec, place, found) if old else _read_new_versions(spec))
    name = described.required_text("name")
    if name and group and names.get("plural") and name != f"{names['plural']}.{group}":
        described.complain(f"expected {names['plural']}.{group}, found {name}", "name")
    conversion = _read_conversion(spec, old=old)
    _check_approval(described, group or "")
    texts = {key: described.texts(key) for key in ("labels", "annotations")}
    if len(found.problems) > known or not name or not group:
        return None
    return Crd(file, place, name, group, names, scope, versions, conversion, **texts)


def _check_approval(described: Fields, group: str) -> None:
    """Complain about a group of Kubernetes itself: v1 wants to know who approved it, and v1beta1 did not ask."""
    if f".{group}".endswith(_PROTECTED) and not described.texts("annotations").get(_APPROVED):
        described.complain(f"{group} is a group of Kubernetes itself; v1 needs the annotation {_APPROVED}")


def _read_names(names: Fields) -> dict[str, Any]:
    plural, kind = names.required_text("plural"), names.required_text("kind")
    if plural == "" or kind == "":
        names.complain("plural and kind may not be empty")
    for key in ("singular", "listKind"):
        names.text(key)
    for key in ("shortNames", "categories"):
        names.list_of_texts(key)
    return {key: names.get(key) for key in _COPIED_NAMES if names.get(key)}


def _read_scope(spec: Fields, *, optional: bool) -> str:
    scope = spec.text("scope")
    # The default of v1beta1, which v1 does not have.
    if scope == "" and optional:
        return NAMESPACED
    if scope not in _SCOPES:
        spec.complain(f"expected {' or '.join(_SCOPES)}, found {scope!r}", "scope")
    return scope


def _read_old_versions(spec: Fields, place: str, found: Findings) -> Iterator[dict[str, Any]]:
    """Yield the versions of a v1beta1 CRD: what it says for all of them becomes part of each."""
    listed, single = spec.mappings("versions"), spec.text("version")
    if listed and single and listed[0].text("name") != single:
        spec.complain("it has to be the name of the first entry of versions", "version")
    if not listed and not single:
        spec.complain("version is missing")
    if spec.get("preserveUnknownFields") is True and spec.get("validation"):
        found.warn(place, "spec.preserveUnknownFields: v1 has no such field; unknown fields will be dropped")
    for entry in listed:
        yield _old_version(spec, entry, entry.text("name"), entry.get("served"), entry.get("storage"))
    if not listed and single:
        yield _old_version(spec, spec, single, True, True)


def _old_version(spec: Fields, entry: Fields, name: str, served: Any, storage: Any) -> dict[str, Any]:
    within = entry if entry.get("schema") else spec
    key = "schema" if within.get("schema") else "validation"
    given = within.mapping(key)
    schema = given.get("openAPIV3Schema")
    if schema is None:
        schema = dict(_ANY_SCHEMA)
    else:
        # Schemas of that time often leave out the only type that a whole object can have.
        schema = {"type": "object", **schema} if isinstance(schema, dict) else schema
        _check_schema(schema, (*given.place, "openAPIV3Schema"), given)
    own = {key: entry.get(key) or spec.get(key) for key in ("subresources", "additionalPrinterColumns")}
    columns = [
        _column(column) for column in _columns(entry if entry.get("additionalPrinterColumns") else spec)
    ]
    return {
        "name": name,
        "served": served is True,
        "storage": storage is True,
        "schema": {"openAPIV3Schema": schema},
        **({"subresources": own["subresources"]} if own["subresources"] else {}),
        **({"additionalPrinterColumns": columns} if columns else {}),
    }


def _columns(fields: Fields) -> list[Fields]:
    return fields.mappings("additionalPrinterColumns")


def _column(column: Fields) -> dict[str, Any]:
    return {"jsonPath" if key == "JSONPath" else key: value for key, value in column.value.items()}


def _read_new_versions(spec: Fields) -> Iterator[dict[str, Any]]:
    for entry in spec.mappings("versions", required=True):
        entry.required_text("name")
        schema = entry.mapping("schema").get("openAPIV3Schema")
        _check_schema(schema, (*entry.place, "schema", "openAPIV3Schema"), entry)
        yield dict(entry.value)


def _check_schema(schema: Any, place: Place, fields: Fields) -> None:
    for within, problem in structural_problems(schema, place):
        fields.problems.add(within, problem)


def _read_conversion(spec: Fields, *, old: bool) -> dict[str, Any] | None:
    given = spec.mapping("conversion")
    if not given.value:
        return None
    strategy = given.text("strategy")
    if strategy not in ("None", "Webhook"):
        given.complain(f"expected None or Webhook, found {describe(given.get('strategy'))}", "strategy")
    if not old or strategy != "Webhook":
        return dict(given.value) if not old else {"strategy": strategy}
    webhook = {
        "clientConfig": given.mapping("webhookClientConfig").value,
        # The default of v1beta1; v1 has none.
        "conversionReviewVersions": given.list_of_texts("conversionReviewVersions") or ["v1beta1"],
    }
    return {"strategy": strategy, "webhook": webhook}
