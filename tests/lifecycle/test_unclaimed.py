"""What goes with a package that was replaced, because none of its successors brings it."""

import pytest
from rig.builders.catalogs import FakeCatalog, named
from rig.builders.lock_story import Story, move

from render.lifecycle.retiring.blockers import LockedFolder
from render.lifecycle.retiring.retire import WouldDelete, require_agreed, retire_packages
from render.packages import Kind

_BUCKETS, _MAIL = (
    "CustomResourceDefinition buckets.cloud.example.org",
    "CustomResourceDefinition mail.cloud.example.org",
)
KINDS = dict.fromkeys(("all", "store", "mail"), Kind.PROVIDER)
PACKAGES = {
    "app v1.0.0": {"all": "*"},
    "app v2.0.0": {"store": "*"},
    "app v3.0.0": {"store": "*", "mail": "*"},
    "all v1.0.0": {},
    "store v1.0.0": {},
    "mail v1.0.0": {},
}
OBJECTS = {"all": [_BUCKETS, _MAIL], "store": [_BUCKETS], "mail": [_MAIL]}


def story() -> Story:
    told = Story(FakeCatalog(PACKAGES, kinds=KINDS, objects=OBJECTS))
    told.lock("app v1.0.0")
    return told


def test_objects_that_no_successor_brings_are_counted_and_told() -> None:
    told = story()

    lock = told.lock("app v2.0.0", moves=(move("all", "store"),))

    assert lock.deactivated[named("all")].unclaimed == {"CustomResourceDefinition": 1}
    start = (
        f"{named('all')} is deactivated, and {named('store')} took over all but 1 CustomResourceDefinition: "
    )
    assert any(note.startswith(start) for note in told.notes)


def test_a_successor_that_comes_later_claims_what_was_left() -> None:
    told = story()
    told.lock("app v2.0.0", moves=(move("all", "store"),))

    lock = told.lock("app v3.0.0", moves=(move("all", "store", "mail"),))

    assert lock.deactivated[named("all")].unclaimed == {}
    assert told.notes == ()


def test_what_was_counted_stays_when_the_package_can_no_longer_be_had() -> None:
    told = story()
    told.lock("app v2.0.0", moves=(move("all", "store"),))
    told.catalog = FakeCatalog(
        {k: v for k, v in PACKAGES.items() if k != "all v1.0.0"}, kinds=KINDS, objects=OBJECTS
    )

    lock = told.lock("app v3.0.0")

    assert lock.deactivated[named("all")].unclaimed == {"CustomResourceDefinition": 1}


def test_they_are_deleted_only_if_that_is_agreed_to() -> None:
    told = story()
    lock = told.lock("app v2.0.0", moves=(move("all", "store"),))
    made = retire_packages(["all"], [LockedFolder(".", lock, True, None, {})])

    with pytest.raises(WouldDelete) as raised:
        require_agreed(made, delete=False)
    require_agreed(made, delete=True)

    assert raised.value.exit_code == 4
    assert raised.value.why == (
        f"with {named('all')} go 1 CustomResourceDefinition, and every resource of such a kind",
    )
