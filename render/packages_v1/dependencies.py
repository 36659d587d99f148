"""`dependsOn` of `app.yaml` → the dependencies of a package of today."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from render.crd_dependencies import CrdRequest
from render.packages import PACKAGE_GROUP, Kind
from render.packages_v1.definitions.crds import Crd
from render.packages_v1.descriptions import App
from render.packages_v1.findings import Findings
from render.packages_v1.sources import qualified
from render.references import PartialSource, Source, split_tag
from render.versions.constraints import ANY, Constraint, parse_constraint
from render.xpkg.crd_fields import CRD_KEY, read_crd
from render.yaml.fields import Fields

CRDS_ANNOTATION = "xplock.dev/depends-on-crds"
# The entries of `spec.dependsOn` that stand for CRDs.
Answers: TypeAlias = Mapping[CrdRequest, Sequence[Mapping[str, Any]]]
_KNOWN = (CRD_KEY, "package", "source")
VERSION_KEY = "version"


@dataclass(frozen=True, slots=True)
class DependsOn:
    """What a package depends on."""

    # As `spec.dependsOn` of a package of today.
    entries: tuple[Mapping[str, Any], ...] = ()
    # Those that the package does not define itself.
    crds: tuple[CrdRequest, ...] = ()


def read_dependencies(
    app: App, crds: Sequence[Crd], source: str, found: Findings, answers: Answers = MappingProxyType({})
) -> DependsOn:
    """Read what a package depends on; its own CRDs are no dependency."""
    entries: list[Mapping[str, Any]] = []
    asked: list[CrdRequest] = []
    for fields in app.depends_on:
        check_entry(fields, app, found)
        if fields.get(CRD_KEY) is not None:
            request = read_other_crd(fields, crds)
            if request:
                asked.append(request)
                entries.extend(answers.get(request, [_crd_entry(request, read_versions(fields))]))
        else:
            entries.extend(_read_package(fields, source, app, found))
    return DependsOn(_once(entries), tuple(dict.fromkeys(asked)))


def _once(entries: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return each entry once: two CRDs may be those of one package."""
    return tuple({tuple(sorted(entry.items())): entry for entry in entries}.values())


def _crd_entry(request: CrdRequest, versions: Constraint) -> Mapping[str, Any]:
    return {CRD_KEY: str(request)} | ({} if versions == ANY else {VERSION_KEY: versions.text})


def read_versions(fields: Fields) -> Constraint:
    """Return the versions of the package that an entry for a CRD accepts, whichever package it is."""
    if fields.get(VERSION_KEY) is None:
        return ANY
    return fields.parse(VERSION_KEY, parse_constraint) or ANY


def check_entry(fields: Fields, app: App, found: Findings) -> None:
    """Complain about an entry that names no package and no CRD, or both."""
    given = [key for key in (CRD_KEY, "package") if fields.get(key) not in (None, "")]
    if len(given) != 1:
        fields.complain("it needs either crd or package" + (", not both" if given else ""))
    known = {*_KNOWN, *([VERSION_KEY] if given == [CRD_KEY] else [])}
    for key in sorted(fields.value.keys() - known):
        found.warn(app.file, f"dependsOn: {key}: a dependency of today has no such field; it is left out")


def read_other_crd(fields: Fields, crds: Sequence[Crd]) -> CrdRequest | None:
    """Return the CRDs that an entry asks for, unless the package defines them itself."""
    request = read_crd(fields)
    return None if request is None or _is_own(request, crds) else request


def _is_own(request: CrdRequest, crds: Sequence[Crd]) -> bool:
    return any(
        request.names(crd.group, crd.words) and request.accepts_version(crd.version_names) for crd in crds
    )


def dependency_on(package: str, version: str, kind: Kind = Kind.PROVIDER) -> Mapping[str, Any]:
    """Return an entry of `spec.dependsOn` for a package."""
    return {
        "apiVersion": f"{PACKAGE_GROUP}/v1",
        "kind": kind.value,
        "package": package,
        "version": version,
    }


def _read_package(fields: Fields, source: str, app: App, found: Findings) -> Iterator[Mapping[str, Any]]:
    package, tag = read_package(fields, source)
    if package is None:
        return
    if isinstance(package, PartialSource):
        found.warn(
            app.file,
            f"dependsOn: {fields.text('package')} names no registry; a lock completes it from where this package is, "
            "and Crossplane does not: name the registry with --source",
        )
    yield dependency_on(str(package), tag or "*")


def read_package(fields: Fields, source: str = "") -> tuple[Source | PartialSource | None, str | None]:
    """Return the package that an entry names, and its version if it has one; without a package after a problem."""
    repository, tag = split_tag(fields.text("package"))
    # No tag, and this one, meant the newest version.
    version = None if tag == "latest" else tag
    if not repository:
        return None, version
    with fields.errors_at("package"):
        parse_constraint(version or "*")
        return qualified(repository, fields.text("source") or source), version
    return None, version
