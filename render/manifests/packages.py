"""LockedPackage → the Provider, Configuration or Function that installs it."""

from collections.abc import Mapping, Sequence

from render.errors import InvalidInput
from render.lean import Any
from render.lock.model import LockedPackage
from render.lock.text.format import PACKAGE_API
from render.manifests.sync_annotations import add_guards, apply_by_server, remove_guards, set_wave
from render.references import is_admitted
from render.texts import first_lines, first_names

REQUIRED_BY = "xplock.dev/required-by"

_SHOWN_DEPENDANTS = 20
_SHOWN_REFERENCES = 20
_METADATA_ORDER = ("name", "namespace", "labels", "annotations")


class UnadmittedPackages(InvalidInput):
    """Packages whose reference the API server would reject."""

    def __init__(self, references: Sequence[str]) -> None:
        super().__init__(
            "the API server rejects packages of a registry whose name has no dot",
            why=first_lines(references, _SHOWN_REFERENCES),
            next=[
                "use a registry name with a dot in the manifest, such as registry.example,",
                "and add an ImageConfig that rewrites that name to the registry",
            ],
        )


def render_package(package: LockedPackage, *, wave: str | None, guarded: bool) -> dict[str, Any]:
    """Return the object that installs a package."""
    added, own = _part(package.overrides, "metadata"), _part(package.fields, "metadata")
    annotations = {**_part(added, "annotations"), **_part(own, "annotations")}
    if package.required_by:
        annotations[REQUIRED_BY] = first_names(package.required_by, _SHOWN_DEPENDANTS)
    set_wave(annotations, wave)
    if guarded:
        add_guards(annotations)
    elif package.released:
        # Guards from the user's manifest go, too: that file no longer exists.
        remove_guards(annotations)
    apply_by_server(annotations)
    labels = {**_part(added, "labels"), **_part(own, "labels")}
    named = {"name": package.object_name, "labels": _by_key(labels), "annotations": _by_key(annotations)}
    return {
        "apiVersion": PACKAGE_API,
        "kind": package.kind.value,
        "metadata": _order_metadata({**added, **own, **named}),
        "spec": _render_spec(package),
    }


def check_admitted(references: Sequence[str]) -> None:
    """Raise if the API server would reject one of these values of spec.package."""
    rejected = [reference for reference in references if not is_admitted(reference)]
    if rejected:
        raise UnadmittedPackages(rejected)


def _order_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    order = [*_METADATA_ORDER, *sorted(metadata.keys() - _METADATA_ORDER)]
    return {key: metadata[key] for key in order if metadata.get(key)}


def _render_spec(package: LockedPackage) -> dict[str, Any]:
    given = {**_part(package.overrides, "spec"), **_part(package.fields, "spec")}
    given.pop("package", None)
    if package.detached:
        given["skipDependencyResolution"] = True
    return {"package": package.cluster_reference, **_by_key(given)}


def _part(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = fields.get(key)
    return part if isinstance(part, dict) else {}


def _by_key(merged: Mapping[str, Any]) -> dict[str, Any]:
    # A lock is sorted at every level; what was merged from two parts of it has to be sorted again.
    return {key: merged[key] for key in sorted(merged)}
