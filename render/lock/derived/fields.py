"""Manifest fields: a root has those of its manifest, a dependency has none, and the settings add theirs."""

from collections.abc import Iterator, Mapping

from render.crossplane import SPEC_DEFAULTS
from render.digests import format_canonical
from render.lock.model import Lock, LockedPackage, State, spec_of
from render.references import Source
from render.settings import Settings
from render.versions.requests import Root


def check_fields(lock: Lock, asked: Mapping[Source, Root], settings: Settings) -> Iterator[str]:
    """Yield the packages whose manifest fields are not those of the inputs. Those of leaving packages are history."""
    for source, package in lock.packages.items():
        if package.state is not State.WANTED:
            continue
        root = asked.get(source)
        fields = manifest_fields(root)
        if (package.fields or fields) and _differ(package.fields, fields):
            where = root.place if root and root.is_manifest else "no manifest"
            yield f"{source} has manifest fields in the lock that {where} does not have, or lacks some of them"
        if (package.overrides or settings.overrides) and not _follows(package, settings):
            yield f"{source} has other overrides in the lock than the settings give it"


def manifest_fields(root: Root | None) -> Mapping[str, object]:
    """Return the fields that a root's manifest gives to its object; a dependency has no manifest."""
    return root.fields if root and root.is_manifest else {}


def _follows(package: LockedPackage, settings: Settings) -> bool:
    """Return whether the overrides are those of the settings, and default values in the place of fields that went."""
    # Imported late: most folders have no overrides.
    from render.overrides import override_fields

    expected = override_fields(package.source, package.kind, {}, settings.overrides)
    given = {*spec_of(expected), *spec_of(package.fields)}
    spec = {
        key: value
        for key, value in spec_of(package.overrides).items()
        if key in given or key not in SPEC_DEFAULTS or _differ(value, SPEC_DEFAULTS[key])
    }
    found = {**package.overrides, "spec": spec}
    return not _differ({key: value for key, value in found.items() if value}, expected)


def _differ(one: object, other: object) -> bool:
    # Python takes True for 1; a manifest does not.
    return format_canonical(one) != format_canonical(other)
