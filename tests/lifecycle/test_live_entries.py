"""What a cluster's Lock says of packages that were attached by hand, before they were locked."""

from dataclasses import replace as changed

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named
from rig.builders.lock_story import Story, states, wish

from render.lean import replace
from render.lifecycle.update import LockOptions
from render.live.lock import LiveLock, LivePackage
from render.names import object_name
from render.resolve.conflict import NoSolution
from render.versions.requests import Root
from render.versions.version import parse_version

PACKAGES: Packages = {
    "base v1.0.0": {},
    "base v1.1.0": {},
    "app v1.0.0": {"base": "*"},
    "app v1.1.0": {"base": "*"},
    "top v1.0.0": {"app": "*"},
}
# The names that users have given to objects.
MINE = {"base": "my-base"}
ADVICE = "xplock adopt --to "


def entry(text: str, *needs: str, called: str = "") -> LivePackage:
    name, version = text.split()
    source = named(name)
    revision = f"{called or MINE.get(name) or object_name(source)}-0123456789ab"
    return LivePackage(revision, str(source), version, tuple(f"{named(need)} *" for need in needs))


def live(*entries: LivePackage) -> LockOptions:
    return LockOptions(live=LiveLock(entries))


HAND_MADE = live(entry("base v1.0.0"), entry("app v1.0.0", "base"), entry("top v1.0.0", "app"))
DERIVED = live(entry("base v1.0.0", called="acme-base"), entry("app v1.0.0", "base"))


def called(text: str, name: str = "my-base") -> Root:
    """A wish for a package under a name of the user's."""
    return replace(wish(text), name=name)


def story(crossplane: str = "v2.3.4") -> Story:
    told = Story(FakeCatalog(PACKAGES))
    told.settings = replace(told.settings, crossplane_version=parse_version(crossplane))
    return told


def stale(told: Story) -> dict[str, tuple[str, ...]]:
    return {
        str(source).rpartition("/")[2]: package.stale_entry
        for source, package in told.current.packages.items()
    }


def test_what_entries_of_detached_packages_name_is_remembered() -> None:
    told = story()

    told.lock(called("base v1.0.0"), "top", "app v1.0.0", options=HAND_MADE)

    assert stale(told) == {"app": (str(named("base")),), "base": (), "top": (str(named("app")),)}


def test_it_can_be_told_later_and_adds_to_what_is_known() -> None:
    told = story()
    told.lock(called("base v1.0.0"), "app v1.0.0")
    assert stale(told)["app"] == ()

    told.lock(called("base v1.0.0"), "app v1.0.0", options=HAND_MADE)
    told.lock(called("base v1.0.0"), "app v1.0.0", options=live(entry("base v1.0.0")))

    assert stale(told)["app"] == (str(named("base")),)


def test_who_is_attached_has_no_entry_to_remember() -> None:
    told = story()

    told.lock("base v1.0.0", "app v1.0.0", options=DERIVED)

    assert stale(told) == {"app": (), "base": ()}


def test_the_entry_of_another_version_goes_with_it() -> None:
    told = story()

    told.lock(called("base v1.0.0"), "app v1.1.0", options=HAND_MADE)

    assert stale(told)["app"] == ()


def test_from_v2_4_on_nothing_is_remembered_and_nothing_binds() -> None:
    told = story("v2.4.0")

    told.lock(called("base v1.1.0"), "app v1.0.0", options=HAND_MADE)

    assert stale(told)["app"] == ()


def test_what_is_taken_over_keeps_the_versions_that_the_cluster_has() -> None:
    told = story()

    told.lock(called("base"), "app", options=HAND_MADE)

    assert states(told.current) == {"base": "v1.0.0", "app": "v1.0.0"}


def test_another_version_that_is_asked_for_at_once_is_refused_with_the_way_to_it() -> None:
    with pytest.raises(NoSolution) as caught:
        story().lock(called("base v1.1.0"), "app", options=HAND_MADE)

    assert caught.value.exit_code == 4
    assert (
        f"ask for {named('base')} v1.0.0, which the cluster has, and change it in a later lock"
        in caught.value.next
    )


def test_a_package_that_is_there_by_its_digest_keeps_it() -> None:
    digest = story().lock("base v1.0.0").packages[named("base")].digest
    told = story()

    told.lock(
        called("base"),
        "app",
        options=live(changed(entry("base v1.0.0"), version=digest), entry("app v1.0.0", "base")),
    )

    assert told.current.packages[named("base")].digest == digest


def test_a_name_that_only_the_lock_knows_counts() -> None:
    told = story()
    told.lock(called("base v1.0.0"), "app v1.0.0")

    told.lock("app v1.1.0", options=HAND_MADE)

    assert states(told.current) == {"base": "v1.0.0", "app": "v1.1.0"}


def test_a_name_given_to_a_package_that_nothing_needs_raises_no_question() -> None:
    told = story()

    told.lock(called("base v1.0.0"))

    assert told.notes == ()


@pytest.mark.parametrize(
    ("crossplane", "name", "options", "told"),
    [
        ("v2.3.4", "my-base", LockOptions(), True),
        ("v2.4.0", "my-base", LockOptions(), False),
        ("v2.3.4", "acme-base", LockOptions(), False),
        ("v2.3.4", "my-base", HAND_MADE, False),
    ],
)
def test_a_first_lock_asks_for_the_clusters_lock_where_that_may_matter(
    crossplane: str, name: str, options: LockOptions, told: bool
) -> None:
    first = story(crossplane)
    first.lock(called("base v1.0.0", name), "app v1.0.0", options=options)
    notes = first.notes
    first.lock(called("base v1.0.0", name), "app v1.1.0")

    assert any(ADVICE in note for note in notes) is told
    assert not any(ADVICE in note for note in first.notes)
