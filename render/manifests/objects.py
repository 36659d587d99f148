"""Lock and inputs → all objects to apply, in order. This is the file to read first; no network, no git, no clock."""

from collections.abc import Mapping, Sequence

from render.lean import TYPE_CHECKING, Any, TypeAlias
from render.limits import Limits
from render.lock.model import Lock, LockedPackage
from render.manifests.companions import render_companions
from render.manifests.conflicts import (
    FOLDER,
    LOCK,
    EmptyLock,
    NothingToRender,
    check_identities,
    check_packages,
)
from render.manifests.identity import identify
from render.manifests.order import layer_packages
from render.manifests.packages import check_admitted, render_package
from render.manifests.passthrough import is_setting, refuse_locks, render_other, render_setting
from render.manifests.pins import find_pins, render_pin
from render.manifests.sync_annotations import instance_wave, package_wave

if TYPE_CHECKING:
    # Only the type is needed here; importing the reader of folders would cost time.
    from render.inputs.projects import Inputs

_Layers: TypeAlias = Sequence[Sequence[LockedPackage]]


def render_lock(
    lock: Lock, inputs: "Inputs", limits: Limits, environ: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return all objects of a folder and its lock, after its overlay if it has one."""
    objects = _require_some(render_objects(lock, inputs), inputs)
    overlay = inputs.settings.overlay
    if overlay is None:
        return objects
    # Imported late: only folders with an overlay start a program.
    from render.manifests.overlay import apply_overlay

    made = apply_overlay(objects, overlay, inputs.folder, limits, environ, inputs.boundary)
    return _require_some(made, inputs)


def _require_some(objects: list[dict[str, Any]], inputs: "Inputs") -> list[dict[str, Any]]:
    if not objects:
        raise NothingToRender(inputs.folder)
    return objects


def render_objects(lock: Lock, inputs: "Inputs") -> list[dict[str, Any]]:
    """Return all objects to apply, checked for conflicts."""
    packages = lock.installed()
    if inputs.roots and not packages:
        raise EmptyLock(inputs.folder)
    check_packages(packages, inputs.folder)
    refuse_locks(inputs.passthrough)
    layers = layer_packages(lock.in_order(), inputs.folder)
    # The user's registry settings come before the pins that use them, and keep their place when pins change.
    sections = [
        (FOLDER, [render_setting(value) for value in inputs.passthrough if is_setting(value)]),
        (LOCK, _render_pins(packages, inputs)),
        (LOCK, _render_packages(layers, inputs)),
        (LOCK, _render_deactivated(lock, inputs)),
        (FOLDER, _render_others(layers, inputs)),
    ]
    check_identities(sections, inputs.folder)
    return [value for _, values in sections for value in values]


def _render_pins(packages: Sequence[LockedPackage], inputs: "Inputs") -> list[dict[str, Any]]:
    mirror = inputs.settings.mirror
    configs = _render_mirror(packages, inputs) if mirror else []
    if inputs.settings.pin != "digest":
        return configs
    pins = find_pins(packages, inputs.rewrites, mirror)
    made = [*configs, *map(render_pin, pins), *render_companions(pins, [*inputs.passthrough, *configs])]
    # Sorted by name, so that a companion follows its pin and the pins of one package are adjacent.
    return sorted(made, key=lambda value: str(value["metadata"]["name"]))


def _render_mirror(packages: Sequence[LockedPackage], inputs: "Inputs") -> list[dict[str, Any]]:
    # Imported late: most folders have no mirror.
    from render.manifests.mirror_configs import folder_configs

    # Those that `xplock mirror` printed may be among the inputs already.
    own = {identify(value) for value in inputs.passthrough}
    return [value for value in folder_configs(packages, inputs) if identify(value) not in own]


def _render_packages(layers: _Layers, inputs: "Inputs") -> list[dict[str, Any]]:
    graph, guard = inputs.settings.waves == "graph", inputs.settings.guard
    made = [
        render_package(package, wave=package_wave(level, graph=graph), guarded=guard and not package.released)
        for level, layer in enumerate(layers)
        for package in layer
    ]
    check_admitted([value["spec"]["package"] for value in made])
    return made


def _render_deactivated(lock: Lock, inputs: "Inputs") -> list[dict[str, Any]]:
    if not lock.deactivated:
        return []
    # Imported late: most locks have no deactivated packages.
    from render.manifests.deactivation import render_deactivated

    settings = inputs.settings
    made = [
        render_deactivated(
            package,
            guarded=settings.guard and not package.released,
            crossplane=settings.crossplane_version,
        )
        for _, package in sorted(lock.deactivated.items())
    ]
    return [value for values in made for value in values]


def _render_others(layers: _Layers, inputs: "Inputs") -> list[dict[str, Any]]:
    # Without the check for an empty group, every object of the core group would match.
    groups = {group for layer in layers for package in layer for group in package.groups if group}
    wave = instance_wave(len(layers), graph=inputs.settings.waves == "graph")
    return [render_other(value, groups, wave) for value in inputs.passthrough if not is_setting(value)]
