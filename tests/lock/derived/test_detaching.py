"""Who is detached: every reason, everyone above, and nobody else."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, named, root, written
from rig.builders.lock_story import made_lock
from rig.builders.locks import digest, lock, needs, package, provided, replaced, source
from rig.builders.random_locks import small_locks

from render.lock.derived.detaching import EVERYTHING, check_detaching, find_reasons
from render.lock.freshness import check_closure
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedDependency, LockedPackage, Provided, State
from render.names import object_name
from render.packages import Kind
from render.references import Source
from render.settings import Detach, PinMode, Settings

ACME = "xpkg.example.org/acme"


def reasons(made: Lock) -> dict[str, tuple[str, ...]]:
    return {key.name: why for key, why in find_reasons(LockGraph(made), {}).items()}


def app(*dependencies: LockedDependency) -> LockedPackage:
    return replace(package("app v1.0.0"), dependencies=dependencies)


def test_nothing_is_detached_without_a_reason() -> None:
    made = lock(
        [
            package("app v1.0.0", "net >=v1.0.0", "dns *"),
            package("net v1.0.0", state=State.ORPHANED),
            package("my v1.0.0", object_name="my-own-name"),
            package(f"pinned {digest('ab')}"),
        ],
        provided=[provided("dns v1.0.0")],
    )

    assert reasons(made) == {}


@pytest.mark.parametrize(
    ("dependency", "net", "reason"),
    [
        (
            needs("old *"),
            package("net v1.0.0", replaces=(replaced("old"),)),
            f"it needs {ACME}/old, which the cluster knows as {ACME}/net",
        ),
        (
            LockedDependency("net", "*"),
            package("net v1.0.0"),
            f"it needs net, which the cluster knows as {ACME}/net",
        ),
        (
            LockedDependency("XPKG.example.org:443/acme/net", "*"),
            package("net v1.0.0"),
            f"it needs XPKG.example.org:443/acme/net, which the cluster knows as {ACME}/net",
        ),
        (
            needs("net *"),
            package("net v1.0.0", object_name="my-net"),
            f"it needs {ACME}/net, whose object is named my-net",
        ),
        (
            needs("net ^1"),
            package(f"net {digest('ab')}", tag="v1.0.0"),
            f"it needs {ACME}/net ^1, which is installed by its digest",
        ),
        (
            needs(f"net {digest('cd')}"),
            package(f"net {digest('ab')}"),
            f"it needs {ACME}/net {digest('cd')}, which is installed by its digest",
        ),
        (
            needs(f"net {digest('ab')}"),
            package("net v1.0.0", digest=digest("ab")),
            f"it needs {ACME}/net {digest('ab')}, which is installed by its tag",
        ),
        (
            LockedDependency(f"{ACME}/net", "*", "Function"),
            package("net v1.0.0"),
            f"it takes {ACME}/net for a Function, which is a Provider",
        ),
    ],
)
def test_a_dependency_that_crossplane_would_not_find_as_it_is_detaches_its_dependant(
    dependency: LockedDependency, net: LockedPackage, reason: str
) -> None:
    assert reasons(lock([app(dependency), net])) == {"app": (reason,)}


@pytest.mark.parametrize(
    "dependency", [needs(f"net {digest('ab')}"), LockedDependency(f"{ACME}/net", digest("ab"))]
)
def test_a_digest_that_is_asked_for_and_installed_is_found(dependency: LockedDependency) -> None:
    assert reasons(lock([app(dependency), package(f"net {digest('ab')}")])) == {}


def test_a_user_may_want_it() -> None:
    fields = {"spec": {"skipDependencyResolution": True}}

    made = lock([package("top v1.0.0", "app *"), replace(app(), fields=fields)])

    assert reasons(made) == {
        "app": ("its manifest says skipDependencyResolution",),
        "top": (f"it depends on {ACME}/app, which is detached",),
    }


@pytest.mark.parametrize("fields", [{"spec": {"skipDependencyResolution": False}}, {"spec": None}, {}])
def test_other_fields_are_no_reason(fields: Mapping[str, object]) -> None:
    assert reasons(lock([replace(app(), fields=fields)])) == {}


@pytest.mark.parametrize(
    ("needed", "why"),
    [(f"{ACME}/net", ()), ("net", (f"it needs net, which the cluster knows as {ACME}/net",))],
)
def test_a_manifest_that_stays_attached_is_detached_only_for_other_reasons_than_names(
    needed: str, why: tuple[str, ...]
) -> None:
    stays = replace(app(LockedDependency(needed, "*")), fields={"spec": {"skipDependencyResolution": False}})
    net = package("net v1.0.0", object_name="my-net")

    made = lock([replace(stays, detached=why), net])

    # The reasons follow from the lock, whichever of them it has already.
    assert reasons(lock([stays, net])) == reasons(made) == ({"app": why} if why else {})


def test_a_package_that_depends_on_what_it_replaced_is_detached_in_whatever_way_it_did() -> None:
    # As an alias it would depend on itself, and Crossplane installs nothing while there is a circle.
    alias = package(
        "net v1.0.0",
        "old *",
        installed_as=source("old"),
        object_name="acme-old",
        replaces=(replaced("old", "alias"),),
    )
    plain = package("net v1.0.0", "old *", replaces=(replaced("old", "plain"),))

    for net in (alias, plain):
        assert reasons(lock([net])) == {"net": (f"it needs {ACME}/old, whose place it has taken",)}


def test_everyone_above_is_detached_and_nobody_beside_or_below() -> None:
    made = lock(
        [
            package("top v1.0.0", "left *", "right *"),
            package("left v1.0.0", "net *"),
            package("right v1.0.0", "below *"),
            package("net v1.0.0", "below *", object_name="my-net"),
            package("below v1.0.0"),
        ]
    )

    assert reasons(made) == {
        "left": (f"it needs {ACME}/net, whose object is named my-net",),
        "top": (f"it depends on {ACME}/left, which is detached",),
    }


def test_reasons_are_all_told_and_sorted() -> None:
    made = lock(
        [
            replace(app(LockedDependency("net", "^1"), needs("mid *")), detached=()),
            package("mid v1.0.0", "net *"),
            package("net v1.0.0", object_name="my-net"),
        ]
    )

    assert find_reasons(LockGraph(made), {source("app"): ["a wish"]})[source("app")] == (
        "a wish",
        f"it depends on {ACME}/mid, which is detached",
        f"it needs net, which the cluster knows as {ACME}/net",
        f"it needs {ACME}/net, whose object is named my-net",
    )


def test_what_is_known_from_elsewhere_counts_and_goes_upwards() -> None:
    made = lock([package("app v1.0.0", "net *"), package("net v1.0.0")])

    found = find_reasons(LockGraph(made), {source("net"): [EVERYTHING], source("app"): []})

    assert found == {
        source("app"): (f"it depends on {ACME}/net, which is detached",),
        source("net"): (EVERYTHING,),
    }


@pytest.mark.parametrize(
    ("dns", "reason"),
    [
        (provided("dns v1.0.0", detached=True), f"it needs {ACME}/dns, which is detached in ../platform"),
        (provided("dns v1.0.0", object_name="my-dns"), f"it needs {ACME}/dns, whose object is named my-dns"),
        (
            provided("dns v1.0.0", installed_as=source("old-dns"), object_name="acme-old-dns"),
            f"it needs {ACME}/dns, which the cluster knows as {ACME}/old-dns",
        ),
        (
            provided("new-dns v1.0.0", replaces=(source("dns"),)),
            f"it needs {ACME}/dns, which the cluster knows as {ACME}/new-dns",
        ),
        (
            provided(f"dns {digest('ab')}", tag="v1.0.0"),
            f"it needs {ACME}/dns *, which is installed by its digest",
        ),
        (
            provided("dns v1.0.0", kind=Kind.FUNCTION),
            f"it takes {ACME}/dns for a Provider, which is a Function",
        ),
    ],
)
def test_what_another_folder_provides_detaches_its_dependants_for_the_same_reasons(
    dns: Provided, reason: str
) -> None:
    assert reasons(lock([package("app v1.0.0", "dns *")], provided=[dns])) == {"app": (reason,)}


def test_of_an_alias_the_dependants_of_the_old_source_stay_attached_and_those_of_the_new_do_not() -> None:
    alias = package(
        "net v2.0.0",
        installed_as=source("old"),
        object_name="acme-old",
        replaces=(replaced("old", "alias"),),
    )

    made = lock([package("before v1.0.0", "old >=v1"), package("after v1.0.0", "net >=v2"), alias])

    assert reasons(made) == {"after": (f"it needs {ACME}/net, which the cluster knows as {ACME}/old",)}


def test_of_a_repointed_object_under_its_own_name_the_dependants_of_the_new_source_stay_attached() -> None:
    def repointed(name: str) -> Lock:
        net = package("net v2.0.0", object_name=name, replaces=(replaced("old", "repoint"),))
        return lock([package("before v1.0.0", "old *"), package("after v1.0.0", "net *"), net])

    assert set(reasons(repointed("acme-net"))) == {"before"}
    assert set(reasons(repointed("acme-old"))) == {"before", "after"}


# What a lock of real packages records.

PACKAGES = {"app v1.0.0": {"base": "^1"}, "top v1.0.0": {"app": "*"}, "base v1.0.0": {}}


def recorded(made: Lock) -> dict[str, tuple[str, ...]]:
    return {key.name: item.detached for key, item in made.packages.items() if item.detached}


def test_a_lock_records_why() -> None:
    catalog = FakeCatalog({**PACKAGES, "lone v1.0.0": {}})
    own = replace(root("base"), name="mine", kind=Kind.CONFIGURATION)

    made = made_lock(catalog, root("top"), root("lone"), own)

    assert recorded(made) == {
        "app": (f"it needs {named('base')}, whose object is named mine",),
        "top": (f"it depends on {named('app')}, which is detached",),
    }
    assert check_closure(made) == []


def test_a_name_that_was_completed_is_a_reason_although_the_lock_holds_it_in_full() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"1": written("base", "^1")}, "base v1.0.0": {}})

    made = made_lock(catalog, root("app"))

    assert recorded(made) == {"app": (f"it needs base, which the cluster knows as {named('base')}",)}


def test_pins_in_the_packages_themselves_detach_whoever_has_a_range() -> None:
    made = made_lock(FakeCatalog(PACKAGES), root("top"), settings=Settings(pin=PinMode.NATIVE))

    assert set(recorded(made)) == {"app", "top"}
    assert made.packages[named("base")].by_digest
    assert check_closure(made) == []


def test_all_may_be_detached() -> None:
    made = made_lock(FakeCatalog(PACKAGES), root("top"), settings=Settings(detach=Detach.ALL))

    assert set(recorded(made)) == {"app", "base", "top"}
    assert all(EVERYTHING in why for why in recorded(made).values())


# What a lock records, and a hand has deleted.


def attached(made: Lock, *names: str) -> Lock:
    packages = {
        key: replace(item, detached=()) if key.name in names else item for key, item in made.packages.items()
    }
    return replace(made, packages=packages)


def test_a_reason_that_was_deleted_is_found_again() -> None:
    own = replace(root("base"), name="mine", kind=Kind.CONFIGURATION)
    made = made_lock(FakeCatalog(PACKAGES), root("top"), own)

    assert check_detaching(LockGraph(made)) == []
    assert check_detaching(LockGraph(attached(made, "app"))) == [
        f"{named('app')} has to be detached: it needs {named('base')}, whose object is named mine"
    ]
    assert check_detaching(LockGraph(attached(made, "top"))) == [
        f"{named('top')} has to be detached: it depends on {named('app')}, which is detached"
    ]
    assert len(check_detaching(LockGraph(attached(made, "app", "top")))) == 2


def test_a_reason_that_only_the_inputs_show_still_detaches_everyone_above() -> None:
    made = made_lock(FakeCatalog(PACKAGES), root("top"), settings=Settings(detach=Detach.ALL))

    problems = check_detaching(LockGraph(attached(made, "app", "top")))

    assert problems == [
        f"{named('app')} has to be detached: it depends on {named('base')}, which is detached",
        f"{named('top')} has to be detached: it depends on {named('app')}, which is detached",
    ]


@st.composite
def named_locks(draw: st.DrawFn) -> Lock:
    """Locks in which any package may have a name of the user's."""
    made = draw(small_locks())
    own = draw(st.sets(st.sampled_from(sorted(made.packages))))
    packages = {
        key: replace(item, object_name=f"my-{item.object_name}") if key in own else item
        for key, item in made.packages.items()
    }
    return replace(made, packages=packages)


@given(named_locks())
def test_whatever_the_names_those_above_a_name_of_the_users_are_detached_and_nobody_else(made: Lock) -> None:
    dependants: dict[Source, set[Source]] = {key: set() for key in made.packages}
    for key, item in made.packages.items():
        for dependency in item.dependencies:
            dependants[next(other for other in made.packages if str(other) == dependency.package)].add(key)
    expected: set[Source] = set()
    for key, item in made.packages.items():
        if item.object_name != object_name(key):
            expected |= dependants[key]
    for _ in made.packages:
        expected |= {above for key in expected for above in dependants[key]}

    assert find_reasons(LockGraph(made), {}).keys() == expected
