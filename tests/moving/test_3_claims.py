"""Moving, section 3: whose word counts when one package takes the place of another, and what nobody can follow."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named, written
from rig.builders.lock_story import Story, move, states
from rig.builders.projects import HOME, World, at, moves, text_of
from rig.commands.refusals import refusal

from render.cli.run import run
from render.errors import Unsatisfiable
from render.lifecycle.claims import CircularClaims, ClaimOnRoot, ImpossibleMove, TwoClaimants
from render.lifecycle.conditions import HalfAliased
from render.lock.model import Lock, Replaced
from render.moves import CircularMoves, Consent, Strategy
from render.packages import Kind
from render.references import Source
from render.resolve.owners import ScatteredFamily

AWAY = "xpkg.example.com/acme"
STRANGER = "xpkg.example.org/evil/fork"
PACKAGES: Packages = {
    "app v1.0.0": {"old": "*"},
    "plot v1.0.0": {"old": "*", STRANGER: "*"},
    "pair v1.0.0": {"old": "*", "new": "*"},
    "scheme v1.0.0": {"old": "*", f"{AWAY}/new": "*"},
    "typed v1.0.0": {"old": written(str(named("old")), kind="Provider")},
    "old v1.0.0": {},
    "new v1.0.0": {},
    "newest v1.0.0": {},
    "part v1.0.0": {},
    "config v1.0.0": {},
    f"{STRANGER} v9.0.0": {},
    f"{AWAY}/new v1.0.0": {},
}
PROVIDERS = ("old", "new", "newest", "part", STRANGER, f"{AWAY}/new")
KINDS = dict.fromkeys(PROVIDERS, Kind.PROVIDER)


def story(
    replaces: Mapping[str, list[str]] | None = None, objects: Mapping[str, list[str]] | None = None
) -> Story:
    return Story(FakeCatalog(PACKAGES, kinds=KINDS, replaces=replaces or {}, objects=objects or {}))


def installed(replaces: Mapping[str, list[str]] | None = None, *roots: str) -> Story:
    """Old is installed, or something that needs it, before anybody claims anything."""
    told = story()
    told.lock(*(roots or ("old",)))
    told.catalog = story(replaces).catalog
    return told


def records(lock: Lock) -> dict[Source, tuple[Replaced, ...]]:
    return {source: package.replaces for source, package in lock.packages.items() if package.replaces}


# What a claim is, and which ones count.


@pytest.mark.parametrize("form", ["spec", "annotation"])
def test_a_package_claims_in_its_spec_or_by_an_annotation(form: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.publish("old v1.0.0", kind="Provider")
    project = world.project("shop", "old", more="crossplaneVersion: v2.3.4\n")
    run(["-q", "lock", str(project)])
    annotations = {"meta.crossplane.io/replaces": at("old")} if form == "annotation" else {}
    replaces = ["old"] if form == "spec" else []
    world.publish("new v1.0.0", kind="Provider", replaces=replaces, annotations=annotations)
    world.project("shop", "new", more="crossplaneVersion: v2.3.4\n")

    code = run(["-q", "lock", str(project)])

    assert code == 0
    assert "  - source: xpkg.example.org/acme/old\n    strategy: deactivate\n    consent: claim\n" in (
        text_of(project).decode()
    )


def test_only_packages_of_the_closure_claim() -> None:
    told = installed({"new": ["old"]})

    told.lock("old", "part")

    assert (records(told.current), told.notes) == ({}, ())


def test_a_package_that_is_asked_for_by_name_may_replace_one_of_another_organisation() -> None:
    told = installed({STRANGER: ["old"]})

    told.lock(STRANGER)

    assert records(told.current) == {
        named(STRANGER): (Replaced(named("old"), Strategy.DEACTIVATE, Consent.CLAIM),)
    }


def test_a_package_that_nobody_asks_for_by_name_may_replace_one_of_its_own_organisation() -> None:
    told = installed({"new": ["old"]}, "app")

    told.lock("pair")

    assert records(told.current)[named("new")][0].source == named("old")
    assert named("old") not in told.current.packages


@pytest.mark.parametrize(("root", "claimant"), [("plot", STRANGER), ("scheme", f"{AWAY}/new")])
def test_a_stranger_below_what_is_asked_for_is_noted_and_has_no_effect(root: str, claimant: str) -> None:
    told = installed({claimant: ["old"]}, "app")

    told.lock(root)

    assert records(told.current) == {}
    assert states(told.current)["old"] == "v1.0.0"
    assert told.notes == (
        f"{named(claimant)} says that it replaces {named('old')}, without effect: "
        "you do not ask for it, and it comes from another organisation",
    )


def test_a_claim_from_one_kind_on_another_is_noted_and_has_no_effect() -> None:
    told = installed({"config": ["old"]}, "app")

    told.lock("app", "config")

    assert records(told.current) == {}
    assert told.notes == (
        f"{named('config')} says that it replaces {named('old')}, without effect: "
        "one is a Configuration, the other a Provider",
    )


def test_a_claim_on_what_is_asked_for_is_refused() -> None:
    told = installed({"new": ["old"]})

    with pytest.raises(ClaimOnRoot) as caught:
        told.lock("old", "new")

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('new')} says that it replaces {named('old')}, and you ask for both"
    assert caught.value.why == (f"{named('old')} is asked for in old.yaml",)
    assert caught.value.next == (f"ask for {named('new')} alone, or drop the package that requires it",)


def test_two_claimants_are_refused_with_the_lines_that_decide() -> None:
    told = installed({"new": ["old"], "newest": ["old"]}, "app")

    with pytest.raises(TwoClaimants) as caught:
        told.lock("app", "new", "newest")

    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{named('new')}, {named('newest')}",)
    assert caught.value.next[1:] == ("  moves:", f"    - from: {named('old')}", f"      to: {named('new')}")


def test_the_users_word_decides_between_two_claimants() -> None:
    told = installed({"new": ["old"], "newest": ["old"]}, "app")

    told.lock("app", "new", "newest", moves=(move("old", "newest"),))

    assert records(told.current).keys() == {named("newest")}


# The user's word.


def test_moves_are_consent_to_a_handover_that_no_package_claims() -> None:
    crd = ["CustomResourceDefinition olds.acme.org"]
    told = story(objects={"old": crd, "new": crd})
    told.lock("old")

    told.lock("new", moves=(move("old", "new"),))

    assert records(told.current)[named("new")] == (
        Replaced(named("old"), Strategy.DEACTIVATE, Consent.MOVES),
    )


def test_a_move_from_one_kind_to_another_is_refused() -> None:
    told = installed()

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("config", moves=(move("old", "config"),))

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('old')} cannot become {named('config')}"
    assert caught.value.why == ("xplock.yaml: moves[0]: it is a Provider, and not a Configuration",)


def test_a_move_from_one_kind_to_another_is_refused_where_only_a_dependant_tells_the_old_kind() -> None:
    with pytest.raises(ImpossibleMove, match="cannot become"):
        story().lock("typed", "config", moves=(move("old", "config"),))


KIND_PAIRS = [(old, new) for old in Kind for new in Kind if old is not new]


@pytest.mark.parametrize(("old", "new"), KIND_PAIRS)
@pytest.mark.parametrize("before", ["first", "user"])
def test_no_kind_moves_to_another(before: str, old: Kind, new: Kind) -> None:
    packages: Packages = {"first v1.0.0": {}, "second v1.0.0": {}, "user v1.0.0": {"first": "*"}}
    told = Story(FakeCatalog(packages, kinds={"first": old, "second": new}))
    told.lock(before)
    after = ["second"] if before == "first" else ["user", "second"]

    with pytest.raises(ImpossibleMove) as caught:
        told.lock(*after, moves=(move("first", "second"),))

    assert caught.value.what == f"{named('first')} cannot become {named('second')}"
    assert caught.value.why == (f"xplock.yaml: moves[0]: it is a {old}, and not a {new}",)


def test_a_provider_that_moves_to_a_function_by_a_strategy_is_not_called_a_function() -> None:
    catalog = FakeCatalog(PACKAGES, kinds={**KINDS, "config": Kind.FUNCTION})
    told = Story(catalog)
    told.lock("old")

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("config", moves=(move("old", "config", strategy="deactivate"),))

    assert caught.value.why == ("xplock.yaml: moves[0]: it is a Provider, and not a Function",)


@pytest.mark.parametrize(("old", "new"), KIND_PAIRS)
@pytest.mark.parametrize("before", [["first"], []])
def test_no_kind_moves_to_another_while_both_are_asked_for(before: list[str], old: Kind, new: Kind) -> None:
    told = Story(FakeCatalog({"first v1.0.0": {}, "second v1.0.0": {}}, kinds={"first": old, "second": new}))
    told.lock(*before)

    with pytest.raises(Unsatisfiable):
        told.lock("first", "second", moves=(move("first", "second"),))


def test_a_package_may_become_several() -> None:
    told = installed()

    told.lock("new", "part", moves=(move("old", "new", "part"),))

    assert told.current.deactivated[named("old")].replaced_by == (named("new"), named("part"))
    assert records(told.current).keys() == {named("new"), named("part")}


def test_who_depended_on_it_gets_all_of_them() -> None:
    told = installed(None, "app")

    told.lock("app", moves=(move("old", "new", "part"),))

    assert states(told.current) == {
        "app": "v1.0.0",
        "new": "v1.0.0",
        "part": "v1.0.0",
        "old": "v1.0.0 deactivated",
    }
    for name in ("new", "part"):
        assert told.current.packages[named(name)].required_by == (str(named("app")),)


def test_chained_moves_lead_to_their_end() -> None:
    told = installed(None, "app")

    told.lock("app", moves=(move("old", "new"), move("new", "newest")))

    assert named("new") not in told.current.packages
    assert told.current.packages[named("newest")].required_by == (str(named("app")),)
    assert [one.source for one in records(told.current)[named("newest")]] == [named("new"), named("old")]


def test_claims_do_not_chain_the_word_of_a_package_that_is_replaced_is_void() -> None:
    told = installed({"new": ["old"], "newest": ["new"]}, "app")

    told.lock("pair", "newest")

    assert records(told.current) == {
        named("newest"): (Replaced(named("new"), Strategy.PLAIN, Consent.CLAIM),)
    }
    assert states(told.current) == {
        "app": "v1.0.0 orphaned",
        "newest": "v1.0.0",
        "old": "v1.0.0",
        "pair": "v1.0.0",
    }


@pytest.mark.parametrize("length", [2, 3])
def test_moves_in_a_circle_are_refused_and_shown(length: int) -> None:
    names = ["old", "new", "newest"][:length]
    circle = tuple(move(one, names[(i + 1) % length]) for i, one in enumerate(names))

    with pytest.raises(CircularMoves) as caught:
        installed().lock("new", moves=circle)

    assert caught.value.exit_code == 2
    assert all(f"{named(name)} -> " in caught.value.why[0] for name in names)


def test_claims_in_a_circle_are_refused_and_shown() -> None:
    told = installed({"new": ["part"], "part": ["new"]}, "app")

    with pytest.raises(CircularClaims) as caught:
        told.lock("app", "new", "part")

    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{named('new')} and {named('part')}",)


# Families.

MEMBERS = ("fam-a", "fam-b")
FAMILY: Packages = {
    "kin v1.0.0": {"fam-a": "*"},
    "head v1.0.0": {},
    f"{AWAY}/head v1.1.0": {},
    **{f"{name} v1.0.0": {"head": "*"} for name in MEMBERS},
    **{f"{AWAY}/{name} v1.1.0": {f"{AWAY}/head": "*"} for name in (*MEMBERS, "fam-c")},
    **{f"xpkg.example.org/contrib/{name} v1.0.0": {} for name in (*MEMBERS, "head")},
}
RELATED = [key.split(" ")[0] for key in FAMILY if key != "kin v1.0.0"]


def family() -> Story:
    """A family of which kin depends on one member."""
    told = Story(
        FakeCatalog(
            FAMILY, kinds=dict.fromkeys(RELATED, Kind.PROVIDER), families=dict.fromkeys(RELATED, "head")
        )
    )
    told.lock(*MEMBERS, "kin")
    return told


def test_a_member_does_not_move_without_its_family() -> None:
    told = family()

    with pytest.raises(ScatteredFamily) as caught:
        told.lock(f"{AWAY}/fam-a", "fam-b", "kin", moves=(move("fam-a", f"{AWAY}/fam-a"),))

    assert caught.value.exit_code == 4
    assert f"{AWAY}: {AWAY}/fam-a, {AWAY}/head" in caught.value.why


@pytest.mark.parametrize("place", [AWAY, "xpkg.example.org/contrib"])
def test_in_the_cluster_a_family_that_moved_names_one_place(place: str) -> None:
    told = family()
    everyone = (*MEMBERS, "head")

    told.lock(
        *[f"{place}/{name}" for name in everyone],
        "kin",
        moves=tuple(move(name, f"{place}/{name}") for name in everyone),
    )

    members = [package for package in told.current.packages.values() if package.family]
    assert {package.source.parent for package in members} == {place.partition("/")[2]}
    assert len({(p.cluster_source.registry, p.cluster_source.parent) for p in members}) == 1


def moved_family(told: Story, *more: str, strategies: Mapping[str, str]) -> None:
    """Move the family to another registry, each member in the way that is asked for."""
    everyone = (*MEMBERS, "head")
    told.lock(
        *[f"{AWAY}/{name}" for name in (*everyone, *more)],
        "kin",
        moves=tuple(move(name, f"{AWAY}/{name}", strategy=strategies.get(name)) for name in everyone),
    )


def test_the_alias_that_is_asked_of_one_member_is_asked_of_all() -> None:
    told = family()

    moved_family(told, strategies={"fam-b": "alias"})

    assert {one.strategy for found in records(told.current).values() for one in found} == {Strategy.ALIAS}


def test_members_that_are_asked_to_move_apart_are_refused() -> None:
    told = family()

    with pytest.raises(HalfAliased) as caught:
        moved_family(told, strategies={"fam-a": "alias", "fam-b": "repoint"})

    assert caught.value.exit_code == 4
    assert f"{AWAY}/fam-a would be installed as {named('fam-a')}" in caught.value.why
    assert f"{AWAY}/fam-b would be installed as {AWAY}/fam-b" in caught.value.why


def test_a_new_member_cannot_come_beside_members_that_are_aliases() -> None:
    told = family()
    moved_family(told, strategies={"head": "alias"})

    with pytest.raises(HalfAliased):
        moved_family(told, "fam-c", strategies={})
    moved_family(told, "fam-c", strategies=dict.fromkeys((*MEMBERS, "head"), "repoint"))

    assert {
        package.cluster_source.registry for package in told.current.packages.values() if package.family
    } == {"xpkg.example.com"}


# What nobody can follow, by the command: the lock stays as it is.


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Old is a provider; new and other could take its place, config is of another kind."""
    found = World(tmp_path)
    for name in ("old", "new", "other"):
        found.publish(f"{name} v1.0.0", kind="Provider", crds=["olds.acme.org"])
    found.publish("config v1.0.0")
    found.publish("app v1.0.0", {"old": "*"})
    found.publish("evil/fork v9.0.0", kind="Provider", replaces=["old"])
    found.publish("plot v1.0.0", {"old": "*", "evil/fork": "*"})
    for name in ("one", "two"):
        found.publish(f"{name} v1.0.0", kind="Provider", replaces=["old"])
    found.publish("left v1.0.0", kind="Provider", replaces=["right"])
    found.publish("right v1.0.0", kind="Provider", replaces=["left"])
    project = found.project("shop", "app", "old", more=KNOWN)
    assert run(["-q", "lock", str(project)]) == 0
    return found


KNOWN = "crossplaneVersion: v2.3.4\n"
CIRCLE = f"moves: [{{from: {at('old')}, to: {at('new')}}}, {{from: {at('new')}, to: {at('old')}}}]\n"


@pytest.mark.parametrize(
    ("roots", "more", "code", "what", "why", "way_out"),
    [
        (
            ["app", "old"],
            moves("old", "new"),
            4,
            f"{HOME}/old is asked for, and {HOME}/new has replaced it",
            "xplock.yaml: moves[0] says that it has moved",
            f"ask for {HOME}/new instead",
        ),
        (
            ["config"],
            moves("old", "new"),
            4,
            f"{HOME}/old is installed and moves to {HOME}/new, which nothing asks for",
            "xplock.yaml: moves[0] says so",
            f"ask for {HOME}/new in a manifest, or remove the move and retire {HOME}/old",
        ),
        (
            ["app"],
            moves("old", "nowhere"),
            1,
            f"{HOME}/nowhere is required, but cannot be fetched",
            f"{HOME}/app v1.0.0 accepts {HOME}/nowhere * (instead of {HOME}/old)",
            f"or correct the move of {HOME}/old",
        ),
        (
            ["app", "old", "config"],
            moves("nobody", "config"),
            4,
            f"{HOME}/nobody moves, and no package has or needs it",
            "xplock.yaml: moves[0] says that it has moved",
            "remove the entry, or correct its source",
        ),
        (
            ["app", "config"],
            moves("old", "config"),
            4,
            f"{HOME}/old cannot become {HOME}/config",
            "xplock.yaml: moves[0]: it is a Provider, and not a Configuration",
            "correct the move",
        ),
        (
            ["app", "new"],
            CIRCLE,
            2,
            "",
            f"{HOME}/new -> {HOME}/old -> {HOME}/new",
            "",
        ),
        (
            ["app", "old", "one"],
            "",
            4,
            f"{HOME}/one says that it replaces {HOME}/old, and you ask for both",
            f"{HOME}/old is asked for in xplock.yaml: roots[1]",
            f"ask for {HOME}/one alone, or drop the package that requires it",
        ),
        (
            ["app", "one", "two"],
            "",
            4,
            f"2 packages say that they replace {HOME}/old",
            f"{HOME}/one, {HOME}/two",
            f"    - from: {HOME}/old",
        ),
        (
            ["app", "left", "right"],
            "",
            4,
            "packages say that they replace each other",
            f"{HOME}/left and {HOME}/right",
            "decide which one stays: drop the other, or write a `moves` entry in xplock.yaml",
        ),
    ],
    ids=[
        "root",
        "no-target",
        "nowhere",
        "nobody",
        "kinds",
        "circle",
        "claim-on-root",
        "two-claimants",
        "claims",
    ],
)
def test_a_move_or_a_claim_that_nobody_can_follow_leaves_the_lock_as_it_is(
    roots: list[str],
    more: str,
    code: int,
    what: str,
    why: str,
    way_out: str,
    world: World,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = world.project("shop", *roots, more=KNOWN + more)
    before = text_of(project)

    refused = refusal(capsys, "lock", str(project))

    assert (refused.code, text_of(project)) == (code, before)
    assert what in refused.what
    assert any(why in line for line in refused.why)
    assert any(way_out in line for line in refused.next)


def test_a_strangers_claim_is_told_on_stderr_and_switches_nothing_off(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "plot", "app", more=KNOWN)

    code = run(["lock", str(project)])

    errors = capsys.readouterr().err
    assert code == 0
    assert f"{at('evil/fork')} says that it replaces {HOME}/old, without effect" in errors
    assert "replaces" not in text_of(project).decode()
    run(["render", str(project)])
    assert not {"Revision", "Manual", "Inactive"} & {*capsys.readouterr().out.split()}


def test_the_claim_of_a_root_is_an_entry_of_the_lock_and_of_its_diff(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "evil/fork", more=KNOWN)
    before = tmp_path / "before.yaml"
    before.write_bytes(text_of(project))

    run(["lock", str(project)])
    capsys.readouterr()
    run(["diff", str(before), str(project)])

    assert f"{HOME}/old by alias, consent: claim" in capsys.readouterr().out


def test_what_is_switched_off_is_switched_off_by_the_lock_alone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app", "old", more=KNOWN)
    capsys.readouterr()
    run(["render", str(project)])
    before = capsys.readouterr().out
    world.publish("app v1.0.0", {"old": "*"}, replaces=["old"])

    code = run(["render", str(project)])

    assert (code, capsys.readouterr().out) == (0, before)
