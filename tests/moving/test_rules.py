"""Every rule about names, moves and leaving keeps some damage from a cluster: without the rule, that damage is found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import pytest
from rig.builders.catalogs import FakeCatalog, Packages
from rig.builders.lock_story import Story, move, wish
from rig.builders.projects import HOME
from rig.builders.render_inputs import rewrite_image
from rig.cluster.cluster import Cluster, NeverSettles

import render.lifecycle.carry_over
import render.lifecycle.names
import render.lifecycle.plan
import render.lifecycle.strategies
import render.manifests.deactivation
import render.manifests.objects
from render.lean import replace
from render.lifecycle.claims import ImpossibleMove
from render.lifecycle.conditions import check_strategies_are_possible
from render.lifecycle.names import (
    NameChanged,
    NameTaken,
    check_cluster_keeps_its_objects,
    check_names_are_free,
    check_names_differ,
    check_objects_keep_their_name,
)
from render.lifecycle.ownership import (
    HandoverWithoutConsent,
    check_handovers_have_consent,
    check_objects_have_one_owner,
)
from render.lifecycle.retiring.blockers import LockedFolder, find_stale_entries
from render.lifecycle.retiring.checks import StillNeeded
from render.lifecycle.retiring.retire import is_reinstalled, retire_packages
from render.lifecycle.update import LockOptions
from render.limits import Limits
from render.live.contradictions import InstalledOtherwise
from render.live.lock import LiveLock, LivePackage
from render.lock.derived.detaching import find_reasons
from render.lock.freshness import check_closure
from render.lock.text.format import format_lock
from render.lock.text.parse import parse_lock
from render.packages import Kind
from render.references import Source
from render.resolve.owners import SharedObjects
from render.versions.version import parse_version

Manifest: TypeAlias = Mapping[str, Any]
# Locks a folder again and again; yields what is synced.
Script: TypeAlias = Callable[[Story], Iterator[Sequence[Manifest]]]

AWAY = "xpkg.example.com/acme"
SEEDS = range(12)
CRDS = ["CustomResourceDefinition as.acme.org"]
PACKAGES: Packages = {
    "old v1.0.0": {},
    "old v1.1.0": {},
    "new v1.0.0": {},
    "new v2.0.0": {},
    "user v1.0.0": {"old": "*"},
    "user v1.1.0": {"old": "*"},
    "next v1.0.0": {"new": "*"},
    "top v1.0.0": {"next": "*"},
    "flow v1.0.0": {"fn": "*"},
    "work v1.0.0": {f"{AWAY}/fn": "*"},
    "fn v1.0.0": {},
    f"{AWAY}/fn v1.0.0": {},
    f"{AWAY}/old v1.0.0": {},
    "base v1.0.0": {},
}
KINDS = {
    **dict.fromkeys(["old", "new", "base", f"{AWAY}/old"], Kind.PROVIDER),
    "fn": Kind.FUNCTION,
    f"{AWAY}/fn": Kind.FUNCTION,
}
CATALOG = FakeCatalog(PACKAGES, kinds=KINDS, objects=dict.fromkeys(["old", "new", f"{AWAY}/old"], CRDS))


def leave_out(monkeypatch: pytest.MonkeyPatch, rule: object, table: str = "rules.RULES") -> None:
    """Take one rule out of a table of rules."""
    module, _, name = table.rpartition(".")
    holder = import_module(f"render.lifecycle.{module}")
    rules = getattr(holder, name)
    assert rule in rules
    monkeypatch.setattr(holder, name, tuple(one for one in rules if one is not rule))


def damage(script: Script, crossplane: str = "v2.3.4", *, reread: bool = True, **options: bool) -> set[str]:
    """Return what is wrong after any sync, in whatever order the controllers run."""
    story = Story(CATALOG, reread=reread, answers=False)
    story.settings = replace(story.settings, crossplane_version=parse_version(crossplane))
    commits = list(script(story))
    clusters = [Cluster(CATALOG, crossplane=crossplane, seed=seed, **options) for seed in SEEDS]
    return {found for cluster in clusters for objects in commits for found in _sync(cluster, objects)}


def _sync(cluster: Cluster, objects: Sequence[Manifest]) -> Iterator[str]:
    try:
        cluster.sync(objects)
    except NeverSettles:
        yield "never in sync"
    yield from _found(cluster, objects)


def _found(cluster: Cluster, objects: Sequence[Manifest]) -> Iterator[str]:
    off = {v["metadata"]["name"] for v in objects if v["spec"].get("revisionActivationPolicy") == "Manual"}
    signs = {
        "poisoned": cluster.duplicates(),
        "came back": cluster.came_back(),
        "left behind": cluster.left_behind(),
        "unpinned": cluster.state.unpinned,
        "deleted": cluster.state.deleted,
        "unhealthy": cluster.unhealthy().keys() - off,
    }
    return (name for name, sign in signs.items() if sign)


def retire(story: Story, *names: str) -> Sequence[Manifest]:
    """Take packages one step further."""
    folder = LockedFolder(".", story.current, story.settings.guard, story.settings.crossplane_version)
    (retirement,) = retire_packages(names, [folder])
    story.current = parse_lock(format_lock(retirement.lock), Limits(), place="crossplane.lock.yaml")
    return story.rendered()


def without_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Detach nothing, and do not look whether anything has to be."""
    for module in (render.lifecycle.plan, render.lifecycle.strategies):
        monkeypatch.setattr(module, "find_reasons", lambda *_: {})


def locks(*steps: tuple[tuple[Any, ...], Mapping[str, Any]]) -> Script:
    """Lock some roots with some settings, and then others."""

    def script(story: Story) -> Iterator[Sequence[Manifest]]:
        for roots, settings in steps:
            story.lock(*roots, **settings)
            yield story.rendered()

    return script


# Names.

NAMED = locks(((wish("old", name="my-old"), "user"), {}))


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_a_dependant_of_a_package_under_a_name_of_the_users_is_detached(
    crossplane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert damage(NAMED, crossplane) == set()

    without_reasons(monkeypatch)

    assert {"poisoned", "unhealthy"} <= damage(NAMED, crossplane)


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_a_dependency_has_the_name_that_crossplane_derives(
    crossplane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = locks((("user", "old v1.1.0"), {}))
    assert damage(plain, crossplane) == set()

    def another(source: Source) -> str:
        return f"the-{source.name}"

    monkeypatch.setattr(render.lifecycle.names, "object_name", another)
    without_reasons(monkeypatch)

    assert {"poisoned", "unhealthy"} <= damage(plain, crossplane)


def test_two_functions_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    both = locks((("flow", "work"), {}))
    with pytest.raises(NameTaken):
        damage(both)

    leave_out(monkeypatch, check_names_differ)
    monkeypatch.setattr(render.manifests.objects, "check_identities", lambda *_: None)

    assert {"unhealthy", "never in sync"} <= damage(both, reread=False)


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_a_root_cannot_give_another_name_to_an_installed_package(
    crossplane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = locks((("old",), {}), ((wish("old", name="my-old"),), {}))
    with pytest.raises(NameChanged):
        damage(renamed, crossplane)

    leave_out(monkeypatch, check_objects_keep_their_name)

    assert {"poisoned", "left behind"} <= damage(renamed, crossplane)


BY_HAND = LiveLock(
    (
        LivePackage("my-old-0123456789ab", f"{HOME}/old", "v1.0.0", kind="Provider"),
        LivePackage("acme-user-0123456789ab", f"{HOME}/user", "v1.0.0", (f"{HOME}/old *",), "Configuration"),
    )
)


def installed_by_hand(story: Story) -> Iterator[Sequence[Manifest]]:
    """A cluster has old under a name of its own, and only user is asked for."""
    old = package_object("Provider", "my-old", f"{HOME}/old:v1.0.0")
    user = package_object("Configuration", "acme-user", f"{HOME}/user:v1.0.0")
    yield [old]
    yield [old, user]
    story.lock("user", options=LockOptions(live=BY_HAND))
    # Argo CD does not delete what it has never managed.
    yield [old, *story.rendered()]


def package_object(kind: str, name: str, package: str) -> Manifest:
    """A manifest that somebody wrote by hand."""
    api = "pkg.crossplane.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": {"package": package}}


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_a_package_that_the_cluster_has_under_another_name_gets_no_second_object(
    crossplane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InstalledOtherwise):
        damage(installed_by_hand, crossplane)

    leave_out(monkeypatch, check_cluster_keeps_its_objects)

    assert {"poisoned", "unhealthy"} <= damage(installed_by_hand, crossplane)


def test_a_package_cannot_have_the_name_of_one_that_is_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = locks((("base",), {}), ((wish("old", name="acme-base"),), {}))
    with pytest.raises(NameTaken):
        damage(taken)

    leave_out(monkeypatch, check_names_are_free)
    monkeypatch.setattr(render.manifests.objects, "check_identities", lambda *_: None)

    assert damage(taken, reread=False)


def test_two_packages_with_the_same_objects_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    both = locks((("old", "new"), {}))
    with pytest.raises(SharedObjects):
        damage(both)

    leave_out(monkeypatch, check_objects_have_one_owner)

    assert damage(both) == {"unhealthy"}


def test_who_depends_on_a_detached_package_is_detached(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = locks(((wish("new", name="my-new"), "top"), {}))
    assert damage(chain) == set()

    def only_own(*args: Any) -> dict[Source, tuple[str, ...]]:
        found = find_reasons(*args)
        return {source: why for source, why in found.items() if "which is detached" not in why[0]}

    monkeypatch.setattr(render.lifecycle.plan, "find_reasons", only_own)

    assert "unhealthy" in damage(chain)


# Handing over.

DEACTIVATED = locks((("old",), {}), (("new",), {"moves": (move("old", "new"),)}))


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_the_package_that_makes_room_is_manual(crossplane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert damage(DEACTIVATED, crossplane) == set()

    switched_off = render.manifests.deactivation.render_deactivated

    def automatic(*args: Any, **options: Any) -> list[dict[str, Any]]:
        value, *revision = switched_off(*args, **options)
        return [{**value, "spec": {**value["spec"], "revisionActivationPolicy": "Automatic"}}, *revision]

    monkeypatch.setattr(render.manifests.deactivation, "render_deactivated", automatic)

    assert damage(DEACTIVATED, crossplane) & {"unhealthy", "never in sync"}


def test_up_to_v2_3_its_revision_is_switched_off_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render.manifests.deactivation, "needs_inactive_revision", lambda _: False)

    assert damage(DEACTIVATED, "v2.4.0") == set()
    assert damage(DEACTIVATED, "v2.3.4") == {"unhealthy"}


def test_nothing_is_taken_over_without_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = locks((("old",), {}), (("new",), {}))
    with pytest.raises(HandoverWithoutConsent):
        damage(taken)

    leave_out(monkeypatch, check_handovers_have_consent)

    assert damage(taken) == {"unhealthy"}


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_an_object_is_repointed_only_to_a_source_that_derives_its_name(
    crossplane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repointed = locks((("old",), {}), (("new", "next"), {"moves": (move("old", "new", strategy="repoint"),)}))
    with pytest.raises(ImpossibleMove):
        damage(repointed, crossplane)

    leave_out(monkeypatch, check_strategies_are_possible)
    without_reasons(monkeypatch)

    assert {"poisoned", "unhealthy"} <= damage(repointed, crossplane)


ALIASED = locks(
    (("old v1.0.0", "user"), {}),
    (("new", "user", "next"), {"moves": (move("old", "new", strategy="alias"),)}),
)


@pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
def test_a_dependant_of_the_source_behind_an_alias_is_detached(
    crossplane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert damage(ALIASED, crossplane) == set()

    without_reasons(monkeypatch)

    assert {"came back", "unhealthy"} <= damage(ALIASED, crossplane)


def test_the_pin_of_an_alias_leads_to_the_new_source(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(CATALOG)
    *_, objects = ALIASED(story)
    image = next(v["spec"]["package"] for v in objects if v["metadata"]["name"] == "acme-old")
    assert image.endswith("/acme/old:v2.0.0")
    assert rewrite_image([v for v in objects if v["kind"] == "ImageConfig"], image).startswith(
        "xpkg.example.org/acme/new@"
    )

    monkeypatch.setattr(render.manifests.objects, "find_pins", lambda *_: [])

    # A tag that the old source never had.
    assert {"unhealthy", "unpinned"} <= damage(ALIASED)


@pytest.mark.parametrize("user", [(), ("user",)])
def test_what_took_over_an_object_can_become_several_packages(user: tuple[str, ...]) -> None:
    first, then = move("old", f"{AWAY}/old"), move(f"{AWAY}/old", "new", "base")
    chain = locks(
        (("old", *user), {}),
        ((f"{AWAY}/old", *user), {"moves": (first,)}),
        (("new", "base", *user), {"moves": (first, then)}),
    )
    story = Story(CATALOG)

    commits = list(chain(story))

    # Otherwise the lock is out of date as soon as it is written.
    assert check_closure(story.current) == []
    assert len(commits) == 3
    assert damage(chain) == damage(chain, "v2.4.0") == set()


# Leaving.


def retired(story: Story) -> Iterator[Sequence[Manifest]]:
    """Move a package away from a dependant that stays attached until then, and retire it."""
    story.lock("old", "user")
    yield story.rendered()
    story.lock("new", "user", moves=(move("old", "new", strategy="deactivate"),))
    yield story.rendered()
    yield retire(story, "old")
    yield retire(story, "old")


def test_a_stale_entry_keeps_what_it_names_from_being_retired(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StillNeeded):
        damage(retired, "v2.3.4")

    leave_out(monkeypatch, find_stale_entries, "retiring.blockers.BLOCKER_RULES")

    assert damage(retired, "v2.3.4") == {"came back", "unhealthy"}


def test_from_v2_4_on_there_is_no_stale_entry_and_nothing_comes_back() -> None:
    assert damage(retired, "v2.4.0") == set()


def leaving(story: Story) -> Iterator[Sequence[Manifest]]:
    """Stop asking for a package with a dependency, and retire both at once."""
    story.lock("user", "fn")
    yield story.rendered()
    story.lock("fn")
    yield story.rendered()
    for _ in range(3):
        names = [name for name in ("user", "old") if name in {s.name for s in story.current.packages}]
        yield retire(story, *names)


def test_a_dependency_is_dropped_after_its_dependants(monkeypatch: pytest.MonkeyPatch) -> None:
    assert damage(leaving, slow_deletion=True) == {"deleted"}

    leave_out(monkeypatch, is_reinstalled, "retiring.retire.WAITING_RULES")

    assert "came back" in damage(leaving, slow_deletion=True)


def test_what_is_dropped_before_a_cluster_has_taken_its_guard_off_is_left_behind() -> None:
    def too_early(story: Story) -> Iterator[Sequence[Manifest]]:
        story.lock("old", "fn")
        yield story.rendered()
        story.lock("fn")
        yield story.rendered()
        # Nothing is synced between the two steps.
        retire(story, "old")
        yield retire(story, "old")

    assert "left behind" in damage(too_early)


# Pins.

UPGRADED = locks((("old v1.0.0",), {}), (("old v1.1.0",), {}))


def test_the_pin_of_the_last_version_stays_while_a_cluster_may_run_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert damage(UPGRADED) == set()

    monkeypatch.setattr(render.lifecycle.carry_over, "KEPT_VERSIONS", 0)

    assert damage(UPGRADED) == {"unpinned"}
