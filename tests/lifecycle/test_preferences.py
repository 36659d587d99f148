"""What stays of the last lock, and what an upgrade lets go of."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, candidate, digest_of, named, root
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced

from render.inputs.projects import Inputs
from render.lifecycle.preferences import (
    LockedTags,
    Upgrade,
    kept_candidates,
    parse_upgrade,
    pinned_digests,
)
from render.lifecycle.update import LockOptions, update_lock
from render.limits import Limits
from render.lock.lookup import UnknownPackage, find_known, find_source
from render.lock.model import Lock, Replaced
from render.moves import Consent, Strategy
from render.packages import Package
from render.references import Reference, Source
from render.registry.offline import Offline
from render.resolve.conflict import NoSolution
from render.settings import Settings
from render.versions.constraints import InvalidConstraint, parse_constraint
from render.versions.requests import Request, Root
from render.xpkg.definitions import Definitions

LOCK = lock([package("app v1.0.0", "base *", "net *"), package("base v1.0.0"), package("net v1.0.0")])
D = digest("ab")
MOVED = lock(
    [
        package("app v1.0.0", "dns *", detached=("x",)),
        package("mesh v2.0.0", replaces=(replaced("net"), replaced("lan"))),
    ],
    deactivated=[deactivated("net v1.0.0", "mesh")],
    provided=[provided("dns v1.0.0", installed_as=Source("xpkg.example.org", "before/dns"))],
)


def test_everything_stays_where_nothing_is_upgraded() -> None:
    kept, released = kept_candidates(LOCK, Upgrade())

    assert kept == {named(name): candidate("v1.0.0") for name in ("app", "base", "net")}
    assert released == {}


def test_an_upgrade_of_everything_lets_everything_go() -> None:
    kept, released = kept_candidates(LOCK, Upgrade(everything=True))

    assert (kept, len(released)) == ({}, 3)


def test_an_upgrade_of_one_package_lets_it_go_alone() -> None:
    kept, released = kept_candidates(LOCK, parse_upgrade(["base"], LOCK, everything=False))

    assert kept.keys() == {named("app"), named("net")}
    assert released.keys() == {named("base")}


def test_the_members_of_a_family_move_together() -> None:
    family = lock(
        [
            package("s3 v1.0.0", "family-aws *", family="family-aws"),
            package("ec2 v1.0.0", "family-aws *", family="family-aws"),
            package("family-aws v1.0.0", family="family-aws"),
            package("gke v1.0.0", family="family-gcp"),
            package("nop v1.0.0"),
        ]
    )

    _, released = kept_candidates(family, parse_upgrade(["s3"], family, everything=False))
    _, alone = kept_candidates(family, parse_upgrade(["nop"], family, everything=False))

    assert released.keys() == {named("s3"), named("ec2"), named("family-aws")}
    assert alone.keys() == {named("nop")}


def test_a_package_by_digest_stays_with_its_tag() -> None:
    by_digest = lock([package(f"base {D}", tag="v1.0.0"), package(f"net {D}")])

    kept, _ = kept_candidates(by_digest, Upgrade())

    assert kept[named("base")] == candidate("v1.0.0", D)
    assert (kept[named("net")].tag, kept[named("net")].digest) == (None, D)
    assert pinned_digests(by_digest, kept) == {Reference(named("base"), "v1.0.0"): D}


def test_bytes_behind_tags_that_stay_are_pinned_and_others_are_not() -> None:
    kept, _ = kept_candidates(LOCK, parse_upgrade(["base"], LOCK, everything=False))

    pinned = pinned_digests(LOCK, kept)

    assert pinned.keys() == {Reference(named("app"), "v1.0.0"), Reference(named("net"), "v1.0.0")}


def test_an_alias_has_two_names_and_either_means_the_real_source() -> None:
    old = Source("xpkg.example.org", "before/mesh")
    alias = lock([package("mesh v2.0.0", installed_as=old, replaces=(replaced("net", "alias"),))])

    found = [find_source(text, alias) for text in ("mesh", "before/mesh", str(old), "acme/mesh")]

    assert found == [named("mesh")] * 4
    assert find_known(str(old), alias) == named("mesh")


@pytest.mark.parametrize("text", ["net", "acme/net", "lan"])
def test_what_others_have_replaced_cannot_be_named_but_tells_by_whom(text: str) -> None:
    with pytest.raises(UnknownPackage) as caught:
        find_source(text, MOVED)

    assert caught.value.why == (f"{named('mesh')} has replaced it",)
    assert caught.value.next == (f"name {named('mesh')} instead",)
    assert find_known(text, MOVED) == named(text.rpartition("/")[2])


def test_what_another_folder_provides_is_found_only_by_those_who_look_for_it() -> None:
    with pytest.raises(UnknownPackage) as caught:
        find_source("dns", MOVED)

    assert caught.value.why == ("../platform provides it",)
    assert find_source("dns", MOVED, provided=True) == named("dns")
    assert find_known("before/dns", MOVED) == find_known("acme/dns", MOVED) == named("dns")


def test_of_one_short_name_the_active_package_is_meant_and_the_full_name_means_the_other() -> None:
    old = Source("xpkg.example.org", "before/mesh")
    off = deactivated("mesh v1.0.0", "mesh", source=old, object_name="before-mesh")
    both = lock(
        [package("mesh v2.0.0", replaces=(Replaced(old, Strategy.DEACTIVATE, Consent.MOVES),))],
        deactivated=[off],
    )

    assert find_known("mesh", both) == named("mesh")
    assert find_known("before/mesh", both) == find_known(str(old), both) == old


@pytest.mark.parametrize("find", [find_source, find_known])
def test_what_nobody_knows_is_told_what_is_near(find: Callable[[str, Lock], Source]) -> None:
    with pytest.raises(UnknownPackage, match="mash is not in the lock") as caught:
        find("mash", MOVED)

    assert caught.value.why[0] == f"did you mean {named('mesh')}?"


@pytest.mark.parametrize("text", ["base", "acme/base", "xpkg.example.org/acme/base"])
def test_a_source_may_be_shortened_from_the_left(text: str) -> None:
    assert find_source(text, LOCK) == named("base")


@pytest.mark.parametrize("text", ["ase", "e/base", "", "base/", "bass"])
def test_a_source_that_is_not_there_is_an_error_with_near_ones(text: str) -> None:
    with pytest.raises(UnknownPackage) as caught:
        find_source(text, LOCK)

    assert caught.value.exit_code == 2
    assert f"{text} is not in the lock" in caught.value.what
    assert caught.value.why


def test_a_name_that_is_near_to_none_is_told_how_names_are_compared() -> None:
    with pytest.raises(UnknownPackage) as caught:
        find_source("something-else-altogether", LOCK)

    assert caught.value.why == ("no package that is locked has this name, be it in full or its last part",)


def test_a_near_miss_is_answered_with_what_was_probably_meant() -> None:
    with pytest.raises(UnknownPackage) as caught:
        find_source("xpkg.example.org/acme/bass", LOCK)

    assert caught.value.why[0] == f"did you mean {named('base')}?"


def test_a_short_name_of_two_packages_is_an_error_and_a_full_one_never_is() -> None:
    inner, outer = "xpkg.example.org/acme/base", "mirror.example/xpkg.example.org/acme/base"
    both = Lock({named(name): package("base v1.0.0", source=named(name)) for name in (inner, outer)})

    with pytest.raises(UnknownPackage, match="acme/base names 2 packages") as caught:
        find_source("acme/base", both)

    assert set(caught.value.why) == {f"did you mean {inner}?", f"did you mean {outer}?"}
    assert find_source(inner, both) == named(inner)
    assert find_source(outer, both) == named(outer)


def test_nothing_is_in_an_empty_lock() -> None:
    with pytest.raises(UnknownPackage, match="base is not in the lock"):
        find_source("base", Lock())


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("base", None),
        ("base=v1.2.3", Request(tag="v1.2.3")),
        ("base=v1.2.3-rc.1", Request(tag="v1.2.3-rc.1")),
        ("base=v1.2", Request(parse_constraint("v1.2"))),
        ("base=>=1.0.0", Request(parse_constraint(">=1.0.0"))),
        (f"base={D}", Request(digest=D)),
    ],
)
def test_a_version_may_be_asked_for(text: str, request_: Request | None) -> None:
    assert parse_upgrade([text], LOCK, everything=False).packages == {named("base"): request_}


def test_what_is_no_version_is_refused() -> None:
    for text in ("base=", "base=main"):
        with pytest.raises(InvalidConstraint):
            parse_upgrade([text], LOCK, everything=False)


# The same, through the pipeline.

PACKAGES: Packages = {
    "app v1.0.0": {"base": ">=1.0.0", "net": "*"},
    "base v1.0.0": {},
    "net v1.0.0": {},
}
NEWER: Packages = {
    **PACKAGES,
    "app v1.1.0": {"base": ">=1.0.0", "net": "*"},
    "base v2.0.0": {},
    "net v2.0.0": {},
}


def update(catalog: FakeCatalog, current: Lock, *wishes: Root, **options: object) -> Lock:
    inputs = Inputs(Path(), wishes or (root("app"),), Settings(), (), (), {})
    made = LockOptions(**options)  # type: ignore[arg-type]  # tests name the options
    return update_lock(inputs, current, catalog, Limits(), made).lock


def tags(made: Lock) -> dict[str, str]:
    return {source.name: item.version for source, item in made.packages.items()}


def before() -> Lock:
    return update(FakeCatalog(PACKAGES), Lock())


def test_a_lock_is_not_upgraded_by_itself() -> None:
    assert update(FakeCatalog(NEWER), before()) == before()


@pytest.mark.parametrize(
    ("options", "moved"),
    [
        ({"upgrade_everything": True}, {"app": "v1.1.0", "base": "v2.0.0", "net": "v2.0.0"}),
        ({"upgrade": ["base"]}, {"base": "v2.0.0"}),
        ({"upgrade": ["base", "net"]}, {"base": "v2.0.0", "net": "v2.0.0"}),
        ({"upgrade": ["app=v1.1.0"]}, {"app": "v1.1.0"}),
        ({"upgrade": ["base=<2"]}, {}),
        ({"upgrade": [f"base={digest_of('base v2.0.0')}"]}, {"base": "v2.0.0"}),
    ],
)
def test_what_is_upgraded_moves_and_nothing_else(options: dict[str, object], moved: dict[str, str]) -> None:
    after = update(FakeCatalog(NEWER), before(), **options)

    assert tags(after) == {**tags(before()), **moved}


def test_an_upgrade_to_a_version_that_suits_nobody_names_who_asked() -> None:
    with pytest.raises(NoSolution, match="the command line"):
        update(FakeCatalog({**NEWER, "base v0.1.0": {}}), before(), upgrade=["base=v0.1.0"])


def test_a_tag_that_moved_does_not_move_the_lock() -> None:
    moved = FakeCatalog(
        {**PACKAGES, "base old": {}},
        digests={"base v1.0.0": digest("ff"), "base old": digest_of("base v1.0.0")},
    )

    assert update(moved, before()) == before()
    upgraded = update(moved, before(), upgrade=["base"])
    assert upgraded.packages[named("base")].digest == digest("ff")


@dataclass
class OfflineCatalog:
    """Lists nothing, and has what a cache has."""

    inner: FakeCatalog
    known: frozenset[Source] = frozenset()

    def tags(self, source: Source) -> list[str]:
        """List tags only of what is known."""
        if source in self.known:
            return list(self.inner.tags(source))
        raise Offline(source)

    def package(self, reference: Reference) -> Package:
        """Return what is in the cache."""
        return self.inner.package(reference)

    def definitions(self, reference: Reference) -> Definitions:
        """Return what is in the cache."""
        return self.inner.definitions(reference)


def test_offline_the_locked_tag_is_all_there_is() -> None:
    catalog = LockedTags(OfflineCatalog(FakeCatalog(NEWER), frozenset({named("net")})), before())

    assert catalog.tags(named("base")) == ["v1.0.0"]
    assert list(catalog.tags(named("net"))) == ["v1.0.0", "v2.0.0"]
    with pytest.raises(Offline):
        catalog.tags(named("unheard-of"))


def test_offline_a_package_by_digest_has_the_tag_that_carries_it_or_none() -> None:
    by_digest = lock([package(f"base {D}", tag="v1.0.0"), package(f"net {D}")])
    catalog = LockedTags(OfflineCatalog(FakeCatalog({})), by_digest)

    assert catalog.tags(named("base")) == ["v1.0.0"]
    assert catalog.tags(named("net")) == []
