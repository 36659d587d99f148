"""Object names: the user's, else the locked one, else Crossplane's own."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named, root, solve
from rig.builders.lock_story import Story, move, wish
from rig.builders.locks import package
from rig.commands.suggestions import offered_moves

from render.lifecycle.names import KindChanged, NameChanged, NameTaken, UnusableName, name_place
from render.lifecycle.plan import make_plan
from render.lifecycle.rules import check_plan
from render.lifecycle.states import Context, StableResolution
from render.lock.model import Lock
from render.moves import Move, format_moves
from render.names import object_name
from render.packages import Kind
from render.references import Source
from render.resolve.model import Resolution
from render.versions.requests import Request, Root

APP: Packages = {"app v1.0.0": {"base": "*"}, "base v1.0.0": {}}


def name_objects(resolution: Resolution, locked: Mapping[Source, str]) -> dict[Source, str]:
    """Return the names that the packages of an answer get, where some are installed already."""
    before = {
        source: replace(
            package("x v0.1.0"), source=source, object_name=name, kind=resolution.packages[source].kind
        )
        for source, name in locked.items()
    }
    plan = check_plan(make_plan(StableResolution(resolution), Context(Lock(before))))
    return {source: item.object_name for source, item in plan.after.packages.items()}


def app(name: str | None = None) -> Resolution:
    return solve(FakeCatalog(APP), replace(root("app"), name=name))


def test_a_dependency_is_named_as_crossplane_names_it() -> None:
    assert name_objects(app(), {})[named("base")] == object_name(named("base")) == "acme-base"


def test_a_root_has_the_name_its_user_gave_it() -> None:
    assert name_objects(app("mine"), {}) == {named("app"): "mine", named("base"): "acme-base"}


def test_a_locked_name_stays_whatever_would_be_derived() -> None:
    names = name_objects(app(), {named("app"): "old-app", named("base"): "old-base"})

    assert names == {named("app"): "old-app", named("base"): "old-base"}


def test_a_dependency_that_becomes_a_root_keeps_its_name() -> None:
    resolution = solve(FakeCatalog(APP), root("app"), replace(root("base"), name="acme-base"))

    assert name_objects(resolution, {named("base"): "acme-base"})[named("base")] == "acme-base"


def test_another_name_for_an_installed_package_is_refused() -> None:
    with pytest.raises(NameChanged) as caught:
        name_objects(app("mine"), {named("app"): "acme-app"})

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('app')} is already installed as acme-app"
    assert caught.value.why[0].startswith("app.yaml names it mine")
    assert caught.value.next == ("name it acme-app",)


ONE, OTHER = "a.example/acme/base", "b.example/acme/base"


def twins(*, kinds: tuple[Kind, Kind] = (Kind.FUNCTION, Kind.FUNCTION), other: str = "v2.0.0") -> Resolution:
    catalog = FakeCatalog(
        {f"{ONE} v1.0.0": {}, f"{OTHER} {other}": {}, "app v1.0.0": {ONE: ">=1", OTHER: "*"}},
        kinds={ONE: kinds[0], OTHER: kinds[1]},
    )
    return solve(catalog, root("app"), root(OTHER))


def test_two_packages_of_one_name_are_named_with_who_wants_them() -> None:
    with pytest.raises(NameTaken) as caught:
        name_objects(twins(), {})

    assert caught.value.exit_code == 4
    assert caught.value.what == "two packages would be one Function named acme-base"
    assert caught.value.why == (
        f"{ONE} v1.0.0 is required by {named('app')} (>=1)",
        f"{OTHER} v2.0.0 is required by {named('app')} (*), you (any version)",
    )
    assert list(caught.value.next) == [
        "if one of them is the other's successor, add to xplock.yaml:",
        *format_moves([Move(named(ONE), (named(OTHER),))]),
        "if both are needed, give one of them a name of its own in a manifest",
    ]


def test_the_lower_version_is_taken_for_the_one_that_was_left_behind() -> None:
    with pytest.raises(NameTaken) as caught:
        name_objects(twins(other="v0.5.0"), {})

    assert list(caught.value.next[1:4]) == format_moves([Move(named(OTHER), (named(ONE),))])
    # You ask for what would be gone.
    assert caught.value.next[4] == f"  ask for {ONE} instead of {OTHER} (base.yaml)"


def test_all_names_that_are_taken_come_at_once_and_the_first_are_shown() -> None:
    pairs = [(f"a.example/acme/base{i}", f"b.example/acme/base{i}") for i in range(7)]
    names = [name for pair in pairs for name in pair]
    catalog = FakeCatalog(
        {**{f"{name} v1.0.0": {} for name in names}, "app v1.0.0": dict.fromkeys(names, "*")},
        kinds=dict.fromkeys(names, Kind.FUNCTION),
    )

    with pytest.raises(NameTaken) as caught:
        name_objects(solve(catalog, root("app")), {})

    assert caught.value.what == "two packages would be one Function named acme-base0, and so on for 6 more"
    assert [line.split(" ")[0] for line in caught.value.why] == names[:10]
    assert offered_moves(caught.value.next) == {named(one): (named(other),) for one, other in pairs}


def test_what_is_installed_moves_although_nobody_depends_on_it() -> None:
    catalog = FakeCatalog({f"{ONE} v1.0.0": {}, f"{OTHER} v2.0.0": {}})
    resolution = solve(catalog, root(ONE), root(OTHER))

    with pytest.raises(NameTaken) as new:
        name_objects(resolution, {})
    with pytest.raises(NameTaken) as installed:
        name_objects(resolution, {named(ONE): "acme-base"})

    assert new.value.next[0] == "if one of them is the other's successor:"
    assert offered_moves(installed.value.next) == {named(ONE): (named(OTHER),)}


def test_what_takes_the_place_of_a_package_that_is_switched_off_cannot_have_its_name() -> None:
    kinds = {"old": Kind.PROVIDER, "new": Kind.PROVIDER}
    story = Story(FakeCatalog({"old v1.0.0": {}, "new v2.0.0": {}}, kinds=kinds))
    story.lock(wish("old", name="mine"))

    with pytest.raises(NameTaken) as caught:
        story.lock(wish("new", name="mine"), moves=(move("old", "new"),))

    assert caught.value.next == ("the old one keeps its object, deactivated; name the new one acme-new",)


def test_what_was_behind_an_alias_that_is_switched_off_waits_until_its_object_is_gone() -> None:
    away = "xpkg.example.com/acme/tool"
    versions: Packages = {f"{name} v1.0.0": {} for name in ("tool", away, "other")}
    kinds = dict.fromkeys(("tool", away, "other"), Kind.PROVIDER)
    story = Story(FakeCatalog(versions, kinds=kinds))
    story.lock("tool")
    story.lock(away, moves=(move("tool", away, strategy="alias"),))
    story.lock("other", moves=(move("tool", "other"), move(away, "other")))

    with pytest.raises(NameTaken) as caught:
        story.lock(away, moves=(move("tool", "other"), move("other", away)))

    assert caught.value.why[1] == f"{named('tool')} v1.0.0 has it already"
    assert caught.value.next == (
        f"retire the old one first: xplock retire {named('tool')} -C project",
        "or give the new one a name of its own in a manifest",
    )


def test_three_packages_of_one_name_become_one() -> None:
    names = [f"{host}.example/acme/base" for host in "abc"]
    catalog = FakeCatalog(
        {
            **{f"{name} v1.{i}.0": {} for i, name in enumerate(names)},
            "app v1.0.0": dict.fromkeys(names, "*"),
        },
        kinds=dict.fromkeys(names, Kind.FUNCTION),
    )

    with pytest.raises(NameTaken) as caught:
        name_objects(solve(catalog, root("app")), {})

    moves = offered_moves(caught.value.next)
    assert caught.value.what == "3 packages would be one Function named acme-base"
    assert moves == {named(name): (named(names[2]),) for name in names[:2]}
    assert [
        source.registry
        for source in solve(catalog, root("app"), moves=moves).packages
        if source.name == "base"
    ] == ["c.example"]


def test_one_name_is_fine_for_two_kinds_and_for_two_names_given() -> None:
    kinds = (Kind.FUNCTION, Kind.CONFIGURATION)

    assert name_objects(twins(kinds=kinds), {})
    assert name_objects(twins(), {named(ONE): "acme-other"})


def test_a_source_whose_name_kubernetes_would_refuse_needs_one_from_the_user() -> None:
    # Position 63 is a separator, which a label cannot end with, so what is left is fine; nothing at all is not.
    source = "a.example/__".replace("__", "a" * 70)
    catalog = FakeCatalog({f"{source} v1.0.0": {}})

    assert len(name_objects(solve(catalog, root(source)), {})[named(source)]) == 63
    with pytest.raises(UnusableName) as caught:
        name_objects(solve(catalog, replace(root(source), name="Not_A_Label")), {})

    assert caught.value.exit_code == 4
    assert "'Not_A_Label'" in caught.value.why[0]


def test_a_source_that_became_another_kind_of_package_is_refused() -> None:
    story = Story(FakeCatalog({"app v1.0.0": {}, "other v1.0.0": {}}, kinds={"app": Kind.PROVIDER}))
    story.lock("app")
    story.catalog = FakeCatalog({"app v1.0.0": {}, "app v2.0.0": {}})

    with pytest.raises(KindChanged) as raised:
        story.lock("app v2.0.0")

    assert raised.value.what == f"{named('app')} v2.0.0 is a Configuration, and is installed as a Provider"


def test_a_name_that_changed_is_shown_where_the_manifest_has_it() -> None:
    root = Root(named("app"), Request(), "shop.yaml: spec.package", name="other")

    assert name_place(root) == "shop.yaml: metadata.name"
