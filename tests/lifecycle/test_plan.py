"""A plan has one transition for each object of the lock before and of the lock after."""

from collections.abc import Iterable

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named, root, short
from rig.builders.lock_story import Story, move, wish

from render.lean import replace
from render.lifecycle.plan import make_plan
from render.lifecycle.resolve_with_moves import resolve_with_moves
from render.lifecycle.rules import RULES
from render.lifecycle.states import Context, Plan
from render.limits import Limits
from render.lock.model import Lock
from render.moves import Move
from render.packages import Kind
from render.resolve.model import Wanted
from render.settings import Settings
from render.versions.version import parse_version

AWAY = "xpkg.example.com/acme/old"
PACKAGES: Packages = {
    "app v1.0.0": {"base": "*"},
    "base v1.0.0": {},
    "old v1.0.0": {},
    "old v1.1.0": {},
    "new v1.0.0": {},
    f"{AWAY} v1.0.0": {},
    "user v1.0.0": {"old": "*"},
}
CATALOG = FakeCatalog(PACKAGES, kinds=dict.fromkeys(["old", "new", AWAY], Kind.PROVIDER))
SETTINGS = Settings(crossplane_version=parse_version("v2.3.4"))


def plan(before: Lock, *roots: str, moves: Iterable[Move] = ()) -> Plan:
    """Return the plan for roots on top of a lock."""
    context = Context(before, replace(SETTINGS, moves=tuple(moves)))
    wanted = Wanted(tuple(wish(one) for one in roots))
    return make_plan(resolve_with_moves(wanted, context, CATALOG, Limits()), context)


def events(made: Plan) -> dict[str, tuple[str, str | None]]:
    """Return the event of each object, by its name, with the source and state after."""
    found = {}
    for one in made.transitions:
        item = one.after or one.before
        assert item is not None
        found[item.object_name] = (str(one.event), short(one.after.source) if one.after else None)
    assert len(found) == len(made.transitions)
    return found


def locked(*roots: str, moves: Iterable[Move] = ()) -> Lock:
    return Story(CATALOG, SETTINGS).lock(*roots, moves=tuple(moves))


def test_packages_without_a_lock_are_installed() -> None:
    assert events(plan(Lock(), "app")) == {"acme-app": ("install", "app"), "acme-base": ("install", "base")}


def test_an_installed_package_is_kept_or_upgraded() -> None:
    made = plan(locked("base", "old v1.0.0"), "base", "old v1.1.0")

    assert events(made) == {"acme-base": ("keep", "base"), "acme-old": ("upgrade", "old")}


def test_a_package_that_is_not_required_any_more_is_orphaned_once() -> None:
    before = locked("app", "old")
    made = plan(before, "old")

    assert events(made) == {
        "acme-app": ("orphan", "app"),
        "acme-base": ("orphan", "base"),
        "acme-old": ("keep", "old"),
    }
    assert events(plan(made.after, "old"))["acme-app"] == ("keep", "app")


def test_an_orphan_that_is_asked_for_again_returns() -> None:
    story = Story(CATALOG, SETTINGS)
    story.lock("base", "old")
    before = story.lock("old")

    assert events(plan(before, "base", "old"))["acme-base"] == ("return", "base")


@pytest.mark.parametrize(
    ("roots", "target", "expected"),
    [
        (("old v1.0.0", "user"), "new", {"acme-old": ("alias", "new")}),
        (("old v1.0.0",), AWAY, {"acme-old": ("repoint", AWAY)}),
        (("old v1.0.0",), "new", {"acme-old": ("deactivate", "old"), "acme-new": ("install", "new")}),
    ],
)
def test_the_object_of_a_moved_package_has_the_event_of_its_strategy(
    roots: tuple[str, ...], target: str, expected: dict[str, tuple[str, str]]
) -> None:
    made = plan(locked(*roots), target, *roots[1:], moves=[move("old", target)])

    assert {name: event for name, event in events(made).items() if name != "acme-user"} == expected
    assert all(one.move for one in made.transitions if one.event in ("alias", "repoint", "deactivate"))


def test_a_deactivated_package_is_kept_until_a_move_brings_it_back() -> None:
    story = Story(CATALOG, SETTINGS)
    story.lock("old v1.0.0")
    before = story.lock("new", moves=(move("old", "new"),))

    kept = plan(before, "new", moves=[move("old", "new")])
    back = plan(before, "old v1.0.0", moves=[move("new", "old")])

    assert events(kept) == {"acme-new": ("keep", "new"), "acme-old": ("keep", "old")}
    assert events(back) == {"acme-new": ("deactivate", "new"), "acme-old": ("return", "old")}


def test_without_a_guard_a_package_is_dropped() -> None:
    story = Story(CATALOG, SETTINGS)
    before = story.lock("base", "old", guard=False)
    context = Context(before, replace(SETTINGS, guard=False))

    made = make_plan(resolve_with_moves(Wanted((root("old"),)), context, CATALOG, Limits()), context)

    assert events(made)["acme-base"] == ("drop", None)
    assert named("base") not in made.after.packages


def test_a_plan_that_rules_reject_can_be_made() -> None:
    made = plan(locked("old v1.0.0", "base"), "base", moves=[move("old", "new")])

    errors = [type(error).__name__ for rule in RULES for error in rule(made)]

    assert "ImpossibleMove" in errors
