"""Plan → Lock: every object as it was decided, with what it keeps from the lock before."""

from collections.abc import Mapping

from render.lean import replace
from render.lifecycle.carry_over import carry_pins, lost_fields
from render.lifecycle.claims import agreed_records
from render.lifecycle.states import Plan
from render.live.installed import live_entry
from render.lock.derived.pins import drop_foreign_pins
from render.lock.fleets import same_versions
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, spec_of
from render.lock.stale_entries import stale_entry
from render.moves import follow_moves
from render.overrides import override_fields
from render.settings import PinMode


def make_lock(plan: Plan) -> Lock:
    """Return the lock that a plan makes."""
    required, replaced = LockGraph(plan.after).required_by, agreed_records(plan)
    packages = {}
    for before, after in plan.active():
        package = replace(after, required_by=required[after.source], replaces=replaced[after.source])
        packages[after.source] = _carry_over(package, before, plan)
    lock = replace(plan.after, packages=packages, inputs=dict(sorted(plan.context.record.items())))
    if same_versions(plan.before, lock):
        lock = replace(lock, promoted=plan.before.promoted)
    return drop_foreign_pins(lock, follow_moves(plan.answer.entries))


def _carry_over(package: LockedPackage, before: LockedPackage | None, plan: Plan) -> LockedPackage:
    settings = plan.context.settings
    known = stale_entry(package, before, settings.crossplane_version)
    named = live_entry(package, plan.context.live, settings.crossplane_version)
    if package.source not in plan.answer.orphans:
        package = replace(
            package,
            overrides=override_fields(package.source, package.kind, {}, settings.overrides),
            kept_pins=carry_pins(before, package) if settings.pin is PinMode.DIGEST else (),
        )
    return replace(
        package,
        overrides=_with_lost_fields(package, before),
        stale_entry=tuple(sorted({*known, *named})),
    )


def _with_lost_fields(package: LockedPackage, before: LockedPackage | None) -> Mapping[str, object]:
    overrides = package.overrides
    detached = ["skipDependencyResolution"] if package.detached else []
    lost = lost_fields(before, {*spec_of(overrides), *spec_of(package.fields), *detached})
    return {**overrides, "spec": {**lost, **spec_of(overrides)}} if lost else overrides
