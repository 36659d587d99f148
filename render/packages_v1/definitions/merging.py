"""CRDs of one name in several files → one CRD with all their versions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from render.packages_v1.definitions.crds import Crd
from render.packages_v1.definitions.versions import version_order
from render.packages_v1.findings import Findings


def by_name(crds: Iterable[Crd]) -> dict[str, list[Crd]]:
    """Return the CRDs of each name; those with the highest versions first."""
    grouped: dict[str, list[Crd]] = {}
    for crd in sorted(crds, key=lambda crd: (_highest(crd), crd.file.path.parts, crd.place)):
        grouped.setdefault(crd.name, []).append(crd)
    return dict(sorted(grouped.items()))


def merged_spec(parts: Sequence[Crd], found: Findings) -> dict[str, Any]:
    """Return the spec of one CRD with the versions of all parts."""
    first = parts[0]
    for other in parts[1:]:
        _check_agreement(first, other, found)
    versions = _merge_versions(parts, found)
    return {
        "group": first.group,
        "names": first.names,
        "scope": first.scope,
        "versions": versions,
        **({"conversion": first.conversion} if first.conversion else {}),
    }


def _highest(crd: Crd) -> tuple[object, ...]:
    return min(map(version_order, crd.version_names), default=(2,))


def _check_agreement(first: Crd, other: Crd, found: Findings) -> None:
    compared = {
        "scope": (first.scope, other.scope),
        "names": (_full_names(first), _full_names(other)),
        "conversion": (first.conversion, other.conversion),
    }
    for field, (one, two) in compared.items():
        if one != two:
            found.complain(f"{other.place}: spec.{field}", f"{other.name} has another one in {first.place}")


def _full_names(crd: Crd) -> Mapping[str, Any]:
    return {"singular": crd.kind.lower(), "listKind": f"{crd.kind}List", **crd.names}


def _merge_versions(parts: Sequence[Crd], found: Findings) -> list[dict[str, Any]]:
    places: dict[str, str] = {}
    versions: list[dict[str, Any]] = []
    for crd in parts:
        for version in crd.versions:
            name = str(version["name"])
            if name in places:
                found.complain(crd.place, f"{crd.name} has its version {name} already in {places[name]}")
            places.setdefault(name, crd.place)
            versions.append(version)
    versions.sort(key=lambda version: version_order(str(version["name"])))
    if len(parts) > 1:
        return [{**version, "served": True, "storage": i == 0} for i, version in enumerate(versions)]
    if sum(version.get("storage") is True for version in versions) != 1:
        found.complain(f"{parts[0].place}: spec.versions", "exactly one version has storage: true")
    return versions
