"""What an object takes over from the lock before: pins of earlier versions, and fields that were rendered once."""

from dataclasses import replace

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named, root
from rig.builders.lock_story import made_lock
from rig.builders.locks import digest, package, source

from render.lifecycle.carry_over import carry_pins, lost_fields
from render.lock.model import KeptPin, Lock, LockedPackage, State, pin_places
from render.lock.pins import join_pins
from render.moves import Move
from render.overrides import Override
from render.packages import Kind
from render.settings import PinMode, Settings
from render.versions.requests import Root


def pin(tag: str, **more: object) -> KeptPin:
    made = KeptPin(tag, package(f"net {tag}").digest)
    return replace(made, **more)  # type: ignore[arg-type]  # tests name fields of the pin


def upgraded(*versions: str, start: LockedPackage | None = None) -> LockedPackage:
    """Return a package after it was locked to one version after the other."""
    current = start or package(f"net {versions[0]}")
    for version in versions if start else versions[1:]:
        following = replace(
            package(f"net {version}"), source=current.source, installed_as=current.installed_as
        )
        current = replace(following, kept_pins=carry_pins(current, following))
    return current


def test_a_package_that_is_new_has_no_earlier_pins() -> None:
    assert carry_pins(None, package("net v1.0.0")) == ()


def test_the_version_before_is_kept_as_tag_and_digest() -> None:
    assert upgraded("v1.0.0", "v1.1.0").kept_pins == (pin("v1.0.0"),)


def test_three_versions_are_kept_besides_the_current_one_newest_first() -> None:
    last = upgraded("v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0")

    assert last.kept_pins == (pin("v1.3.0"), pin("v1.2.0"), pin("v1.1.0"))


def test_a_lock_that_changes_something_else_drops_no_pin() -> None:
    current = upgraded("v1.0.0", "v1.1.0")
    elsewhere = replace(current, root="another wish", required_by=("x",), kept_pins=())

    assert carry_pins(current, elsewhere) == current.kept_pins
    # Not even one of those that a merge has left too many of.
    many = replace(current, kept_pins=tuple(pin(f"v0.{i}.0") for i in range(5)))
    assert carry_pins(many, replace(many, kept_pins=())) == many.kept_pins


def test_bytes_that_change_under_their_tag_are_pinned_in_place() -> None:
    current = upgraded("v1.0.0", "v1.1.0")

    assert carry_pins(current, replace(current, digest=digest("ff"), kept_pins=())) == (pin("v1.0.0"),)


def test_back_and_forth_keeps_each_version_once() -> None:
    there = upgraded("v1.0.0", "v1.1.0", "v1.2.0")
    back = upgraded("v1.1.0", start=there)
    forth = upgraded("v1.2.0", start=back)

    assert back.kept_pins == (pin("v1.2.0"), pin("v1.0.0"))
    assert forth.kept_pins == (pin("v1.1.0"), pin("v1.0.0"))


def test_what_was_running_last_is_never_the_one_that_goes() -> None:
    # However a pin of the version that is left came to be among the earlier ones.
    odd = replace(
        package("net v2.0.0"), kept_pins=(pin("v1.0.0"), pin("v1.1.0"), pin("v2.0.0", digest=digest("ff")))
    )

    assert carry_pins(odd, package("net v3.0.0")) == (pin("v2.0.0"), pin("v1.0.0"), pin("v1.1.0"))


def test_a_package_by_digest_needs_no_pin_and_keeps_those_of_its_tags() -> None:
    tagged = upgraded("v1.0.0", "v1.1.0")
    by_digest = replace(
        package(f"net {digest('ab')}"), kept_pins=carry_pins(tagged, package(f"net {digest('ab')}"))
    )

    assert by_digest.kept_pins == (pin("v1.1.0"), pin("v1.0.0"))
    assert carry_pins(by_digest, package("net v1.2.0")) == by_digest.kept_pins


# Objects that changed hands.

OLD, NEW, NEWEST = source("old"), source("net"), source("newest")


def places(item: LockedPackage) -> list[tuple[str, str, str]]:
    """Return of each kept pin its tag, the source that its object named, and where its bytes are."""
    found = [(kept.tag, pin_places(item, kept)) for kept in item.kept_pins]
    return [(tag, installed.name, place.name) for tag, (installed, place) in found]


def alias(version: str, before: LockedPackage) -> LockedPackage:
    """Return the old object with the bytes of the new source."""
    made = replace(package(f"net {version}"), installed_as=OLD)
    return replace(made, kept_pins=carry_pins(before, made))


def test_an_alias_keeps_the_pins_of_its_object_where_their_bytes_are() -> None:
    old = upgraded("v1.1.0", start=package("net v1.0.0", source=OLD))

    first = alias("v1.2.0", old)
    second = alias("v1.3.0", first)

    assert first.kept_pins == (pin("v1.1.0", source=OLD), pin("v1.0.0", source=OLD))
    assert places(first) == [("v1.1.0", "old", "old"), ("v1.0.0", "old", "old")]
    assert second.kept_pins == (pin("v1.2.0"), *first.kept_pins)
    assert places(second) == [("v1.2.0", "old", "net"), ("v1.1.0", "old", "old"), ("v1.0.0", "old", "old")]


def test_an_alias_with_the_tag_that_its_object_names_already_changes_the_pin_in_place() -> None:
    old = upgraded("v1.1.0", start=package("net v1.0.0", source=OLD))

    # Both sources have a v1.1.0: what the object names is the same, and there is one pin for it.
    assert alias("v1.1.0", old).kept_pins == (pin("v1.0.0", source=OLD),)


def test_an_alias_that_moves_on_keeps_the_pins_of_all_it_was() -> None:
    last = alias("v1.3.0", alias("v1.2.0", package("net v1.0.0", source=OLD)))
    made = replace(package("net v2.0.0"), source=NEWEST, installed_as=OLD)

    moved_on = replace(made, kept_pins=carry_pins(last, made))

    assert places(moved_on) == [("v1.3.0", "old", "net"), ("v1.2.0", "old", "net"), ("v1.0.0", "old", "old")]
    assert moved_on.kept_pins[0] == pin("v1.3.0", source=NEW, installed_as=OLD)


def test_a_repointed_object_keeps_the_pins_of_the_source_it_had() -> None:
    old = upgraded("v1.1.0", start=package("net v1.0.0", source=OLD))
    made = package("net v1.1.0")

    repointed = replace(made, kept_pins=carry_pins(old, made))

    # The same tag of another source is another reference.
    assert repointed.kept_pins == (pin("v1.1.0", source=OLD), pin("v1.0.0", source=OLD))
    assert places(repointed) == [("v1.1.0", "old", "old"), ("v1.0.0", "old", "old")]


def test_an_alias_that_ends_by_repoint_keeps_its_pins_under_the_source_they_are_for() -> None:
    last = alias("v1.2.0", package("net v1.0.0", source=OLD))
    made = package("net v1.2.0")

    ended = replace(made, kept_pins=carry_pins(last, made))

    assert places(ended) == [("v1.2.0", "old", "net"), ("v1.0.0", "old", "old")]


def test_pins_that_two_branches_know_are_put_together_once_each() -> None:
    ours = upgraded("v1.0.0", "v1.1.0", "v1.3.0")
    theirs = upgraded("v1.0.0", "v1.1.0", "v1.2.0")

    assert join_pins(ours, [theirs]) == (pin("v1.1.0"), pin("v1.0.0"), pin("v1.2.0"))
    assert join_pins(ours, []) == ours.kept_pins


# The same, through whole locks.

VERSIONS: Packages = {f"net v1.{i}.0": {} for i in range(6)}


def tags(made: Lock, name: str = "net") -> list[str]:
    return [kept.tag for kept in made.packages[named(name)].kept_pins]


def test_a_lock_keeps_the_pins_of_three_versions_and_their_digests() -> None:
    made = Lock()
    for i in range(6):
        made = made_lock(FakeCatalog(VERSIONS), root("net", tag=f"v1.{i}.0"), before=made)

    assert tags(made) == ["v1.4.0", "v1.3.0", "v1.2.0"]
    assert made.packages[named("net")].kept_pins[0].digest == digest_of("net v1.4.0")


@pytest.mark.parametrize("mode", [PinMode.TAG, PinMode.NATIVE])
def test_without_pins_none_are_kept(mode: PinMode) -> None:
    made = made_lock(FakeCatalog(VERSIONS), root("net", tag="v1.0.0"))
    made = made_lock(FakeCatalog(VERSIONS), root("net", tag="v1.1.0"), before=made)

    without = made_lock(
        FakeCatalog(VERSIONS), root("net", tag="v1.2.0"), before=made, settings=Settings(pin=mode)
    )

    assert (tags(made), tags(without)) == (["v1.0.0"], [])


def test_a_lock_keeps_pins_through_an_alias() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"old": "*"}, "old v1.0.0": {}, "net v1.1.0": {}})
    before = made_lock(catalog, root("app"))

    made = made_lock(
        catalog, root("app"), root("net"), before=before, moves=[Move(named("old"), (named("net"),))]
    )

    net = made.packages[named("net")]
    assert net.installed_as == named("old")
    assert net.kept_pins == (KeptPin("v1.0.0", digest_of("old v1.0.0"), named("old")),)


# Fields.


def test_what_is_new_has_lost_nothing() -> None:
    assert lost_fields(None, ()) == {}
    assert lost_fields(package("net v1.0.0"), ()) == {}


def test_fields_that_are_no_longer_named_return_at_their_defaults() -> None:
    before = package(
        "net v1.0.0",
        fields={
            "spec": {"packagePullPolicy": "Always", "revisionHistoryLimit": 5},
            "metadata": {"labels": {"a": "b"}},
        },
        overrides={"spec": {"runtimeConfigRef": {"name": "small"}}},
    )

    assert lost_fields(before, {"revisionHistoryLimit"}) == {
        "packagePullPolicy": "IfNotPresent",
        "runtimeConfigRef": {"name": "default"},
    }


def test_a_field_without_a_known_default_is_let_go() -> None:
    assert lost_fields(package("net v1.0.0", fields={"spec": {"unheardOf": 1}}), ()) == {}


@pytest.mark.parametrize(
    ("before", "lost"),
    [
        (package("net v1.0.0", detached=("a reason",)), {"skipDependencyResolution": False}),
        (
            package("net v1.0.0", state=State.DEACTIVATED),
            {"skipDependencyResolution": False, "revisionActivationPolicy": "Automatic"},
        ),
        (package("net v1.0.0", state=State.ORPHANED), {}),
    ],
)
def test_what_was_rendered_without_a_manifest_saying_so_is_taken_back_too(
    before: LockedPackage, lost: dict[str, object]
) -> None:
    assert lost_fields(before, ()) == lost
    assert lost_fields(before, lost) == {}


APP: Packages = {"app v1.0.0": {"base": "*"}, "base v1.0.0": {}}


def manifest(name: str, **spec: object) -> Root:
    fields = {"spec": spec} if spec else {}
    return replace(root(name), name=f"acme-{name}", kind=Kind.CONFIGURATION, fields=fields)


def spec_of(made: Lock, name: str) -> dict[str, object]:
    """Return the fields as they are rendered: what a manifest says counts more."""
    item = made.packages[named(name)]
    specs = [part.get("spec") or {} for part in (item.overrides, item.fields)]
    return {key: value for spec in specs if isinstance(spec, dict) for key, value in spec.items()}


def test_a_field_that_leaves_a_manifest_stays_rendered_at_its_default_for_good() -> None:
    catalog = FakeCatalog(APP)
    first = made_lock(catalog, manifest("app", packagePullPolicy="Always"))

    second = made_lock(catalog, manifest("app"), before=first)
    third = made_lock(catalog, manifest("app"), before=second)
    again = made_lock(catalog, manifest("app", packagePullPolicy="Never"), before=third)

    assert spec_of(first, "app") == {"packagePullPolicy": "Always"}
    assert spec_of(second, "app") == spec_of(third, "app") == {"packagePullPolicy": "IfNotPresent"}
    assert spec_of(again, "app") == {"packagePullPolicy": "Never"}


def test_a_field_that_leaves_the_settings_stays_rendered_at_its_default() -> None:
    catalog = FakeCatalog(APP)
    with_limit = Settings(overrides=(Override("xpkg.example.org", history_limit=5),))
    first = made_lock(catalog, root("app"), settings=with_limit)

    second = made_lock(catalog, root("app"), before=first)

    assert spec_of(first, "base") == {"revisionHistoryLimit": 5}
    assert spec_of(second, "base") == {"revisionHistoryLimit": 1}


def test_a_package_that_is_attached_again_says_so() -> None:
    catalog = FakeCatalog(APP)
    own = replace(root("base"), name="mine", kind=Kind.CONFIGURATION)
    bare = {"spec": {"skipDependencyResolution": True}}
    wish = replace(manifest("app"), fields=bare)
    first = made_lock(catalog, wish)

    second = made_lock(catalog, manifest("app"), before=first)
    detached = made_lock(catalog, root("app"), own)

    assert first.packages[named("app")].detached
    assert not second.packages[named("app")].detached
    assert spec_of(second, "app") == {"skipDependencyResolution": False}
    # While it is detached there is nothing to take back.
    assert spec_of(made_lock(catalog, root("app"), own, before=detached), "app") == {}


def test_a_root_that_is_dropped_and_still_needed_keeps_its_name_and_loses_its_fields() -> None:
    catalog = FakeCatalog(APP)
    fields = {"spec": {"packagePullPolicy": "Always"}, "metadata": {"labels": {"team": "shop"}}}
    own = replace(manifest("base"), fields=fields)
    first = made_lock(catalog, root("app"), own)

    second = made_lock(catalog, root("app"), before=first)

    base = second.packages[named("base")]
    default = {"spec": {"packagePullPolicy": "IfNotPresent"}}
    assert (base.root, base.object_name, base.fields, base.overrides) == (None, "acme-base", {}, default)
