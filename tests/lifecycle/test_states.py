"""Packages that are not required any more."""

from rig.builders.catalogs import FakeCatalog, named
from rig.builders.lock_story import Story, move, states

from render.packages import Kind

KINDS = dict.fromkeys(("old", "new"), Kind.PROVIDER)
PACKAGES = {
    "old v1.0.0": {},
    "new v1.0.0": {},
    "user v1.0.0": {"old": "*"},
    "user v1.1.0": {"new": "*"},
    "lone v1.0.0": {},
}


def story() -> Story:
    return Story(FakeCatalog(PACKAGES, kinds=KINDS))


def test_what_leaves_when_the_guard_is_switched_off_stays_for_one_lock_more() -> None:
    told = story()
    told.lock("lone", "old")

    switched = states(told.lock("lone", guard=False))
    later = states(told.lock("lone"))

    # In the cluster its guard is still on; dropped at once, nobody would look after it any more.
    assert switched == {"lone": "v1.0.0", "old": "v1.0.0 orphaned"}
    assert later == {"lone": "v1.0.0"}
    assert all("Prune=false" not in str(value["metadata"]) for value in told.rendered())


def test_a_version_that_comes_back_before_a_sync_still_has_its_old_entry_in_the_cluster() -> None:
    told = story()
    told.lock("old", "user v1.0.0")
    moved = (move("old", "new", strategy="deactivate"),)
    told.lock("new", "user v1.1.0", moves=moved)

    lock = told.lock("new", "user v1.0.0")

    assert lock.packages[named("user")].detached
    assert lock.packages[named("user")].stale_entry == (str(named("old")),)
