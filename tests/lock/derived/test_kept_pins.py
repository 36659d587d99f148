"""Kept pins: a package, leaving or not, redirects only images that its own object has named."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rig.builders.locks import digest, lock, package, provided, source

from render.lock.derived.pins import check_pins, drop_foreign_pins
from render.lock.model import KeptPin, Lock, LockedPackage, Provided, Replaced, State
from render.moves import Consent, Move, Strategy, follow_moves
from render.references import Source, parse_source
from render.settings import Settings

VICTIM = parse_source("xpkg.example.org/other/provider-victim")
# Crossplane derives the name of `net` from it, too.
NAMESAKE = parse_source("old.example.org/acme/net")
LEAVING: dict[str, dict[str, object]] = {
    "an orphan": {"state": State.ORPHANED},
    "a deactivated package": {"state": State.DEACTIVATED, "replaced_by": (source("new"),)},
}
WANTED: dict[str, object] = {}


def pinned(named: Source | None, place: Source | None, *records: Replaced, **fields: object) -> LockedPackage:
    pins = (KeptPin("v1.0.0", digest("ab"), place, named),)
    made = replace(package("net v2.0.0"), kept_pins=pins, replaces=records)
    return replace(made, **fields)  # type: ignore[arg-type]  # tests name fields


def record(of: Source, strategy: str = "repoint", consent: str = "claim") -> Replaced:
    return Replaced(of, Strategy(strategy), Consent(consent))


def with_net(net: LockedPackage, *others: LockedPackage, more: tuple[Provided, ...] = ()) -> Lock:
    off = net.state is State.DEACTIVATED
    made = lock([*others] if off else [net, *others], provided=more)
    return replace(made, deactivated={net.cluster_source: net}) if off else made


def refused(made: Lock, *moves: Move) -> bool:
    found = bool(list(check_pins(made, Settings(moves=moves))))
    # Locking drops exactly those pins that reading refuses.
    left = drop_foreign_pins(made, follow_moves(moves))
    assert (left != made) is found
    assert not list(check_pins(left, Settings(moves=moves)))
    return found


@pytest.mark.parametrize("state", [WANTED, *LEAVING.values()], ids=["wanted", *LEAVING])
@pytest.mark.parametrize(
    "records",
    [
        (),
        (record(VICTIM, "plain"),),
        (record(VICTIM, "deactivate"),),
        (record(VICTIM, "alias"),),
        (record(VICTIM, "repoint"),),
        (record(VICTIM, "repoint", "moves"),),
    ],
    ids=lambda records: "-".join(f"{one.strategy}-{one.consent}" for one in records) or "no record",
)
@pytest.mark.parametrize("place", [None, VICTIM, source("net")], ids=["bytes here", "bytes there", "in full"])
def test_an_image_of_another_package_is_never_redirected(
    state: dict[str, object], records: tuple[Replaced, ...], place: Source | None
) -> None:
    assert refused(with_net(pinned(VICTIM, place, *records, **state), package("new v1.0.0")))


@pytest.mark.parametrize("state", [WANTED, *LEAVING.values()], ids=["wanted", *LEAVING])
@pytest.mark.parametrize("strategy", ["alias", "repoint"])
def test_its_own_image_is_not_redirected_to_what_it_claims(state: dict[str, object], strategy: str) -> None:
    net = pinned(source("net"), VICTIM, record(VICTIM, strategy), **state)
    chained = pinned(source("net"), VICTIM, record(VICTIM, strategy, "moves"), **state)

    assert refused(with_net(net, package("new v1.0.0")))
    # Only a user's own entries lead an object from one source to the next.
    assert not refused(with_net(chained, package("new v1.0.0")), Move(VICTIM, (source("net"),)))


@pytest.mark.parametrize("state", [WANTED, *LEAVING.values()], ids=["wanted", *LEAVING])
def test_what_a_user_moved_to_it_under_another_name_is_not_redirected(state: dict[str, object]) -> None:
    move = Move(VICTIM, (source("net"),))

    assert refused(with_net(pinned(VICTIM, None, record(VICTIM, "repoint", "moves"), **state)), move)


@pytest.mark.parametrize("state", [WANTED, *LEAVING.values()], ids=["wanted", *LEAVING])
def test_the_images_that_its_object_named_stay_pinned(state: dict[str, object]) -> None:
    move = Move(NAMESAKE, (source("net"),))
    claimed = record(NAMESAKE)
    agreed = record(NAMESAKE, "repoint", "moves")

    assert not refused(with_net(pinned(None, None, **state)))
    assert not refused(with_net(pinned(None, NAMESAKE, claimed, **state)))
    assert not refused(with_net(pinned(NAMESAKE, None, claimed, **state)))
    assert not refused(with_net(pinned(NAMESAKE, None, agreed, **state)), move)
    # Without its entry, no one agrees to the move any more.
    assert refused(with_net(pinned(NAMESAKE, None, agreed, **state)))
    assert refused(with_net(pinned(NAMESAKE, None, claimed, **state)), move)


OTHERS: dict[str, Callable[[LockedPackage], Lock]] = {
    "an active package": lambda net: with_net(net, replace(package("dns v1.0.0"), source=NAMESAKE)),
    "an alias": lambda net: with_net(net, replace(package("dns v1.0.0"), installed_as=NAMESAKE)),
    "a package of a used folder": lambda net: with_net(
        net, more=(replace(provided("dns v1.0.0"), source=NAMESAKE),)
    ),
    "an alias of a used folder": lambda net: with_net(
        net, more=(provided("dns v1.0.0", installed_as=NAMESAKE),)
    ),
}


@pytest.mark.parametrize("state", [WANTED, *LEAVING.values()], ids=["wanted", *LEAVING])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_an_image_that_another_object_names_is_not_redirected(
    other: Callable[[LockedPackage], Lock], state: dict[str, object]
) -> None:
    assert refused(other(pinned(NAMESAKE, None, record(NAMESAKE), **state)))


def test_a_deactivated_alias_does_not_redirect_the_images_of_its_successor() -> None:
    fields: dict[str, object] = {**LEAVING["a deactivated package"], "installed_as": NAMESAKE}
    successor = package("net v3.0.0")

    assert refused(with_net(pinned(source("net"), source("net"), **fields), successor))
    assert not refused(with_net(pinned(None, None, **fields), successor))


def test_a_record_that_only_a_dropped_pin_needed_goes_with_it() -> None:
    net = pinned(VICTIM, VICTIM, record(VICTIM, "alias", "moves"), **LEAVING["a deactivated package"])

    [left] = drop_foreign_pins(with_net(net), {}).deactivated.values()

    assert (left.kept_pins, left.replaces) == ((), ())
