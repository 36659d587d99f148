"""Moving, section 2: a source keeps its object name, who depends on another name is detached, and entries that go stale."""

from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named
from rig.builders.lock_story import Story, detached, move, objects_of, states, wish
from rig.builders.projects import HOME, World, text_of
from rig.commands.refusals import edit_lock, refusal

from render.cli.run import run
from render.lean import replace
from render.lifecycle.names import NameChanged, NameTaken
from render.lifecycle.update import LockOptions
from render.live.lock import LiveLock, LivePackage
from render.lock.text.format import format_lock
from render.packages import Kind
from render.resolve.conflict import NoSolution
from render.settings import Detach
from render.system.files import LOCK_FILE
from render.versions.requests import Root
from render.versions.version import parse_version

AWAY = "xpkg.example.com/acme"
PACKAGES: Packages = {
    "old v1.0.0": {},
    "old v1.1.0": {},
    "new v1.0.0": {},
    f"{AWAY}/old v2.0.0": {},
    "user v1.0.0": {"old": "*"},
    "user v1.1.0": {"old": "*"},
    "top v1.0.0": {"user": "*"},
    "other v1.0.0": {},
}
KINDS = dict.fromkeys(("old", "new", f"{AWAY}/old"), Kind.PROVIDER)
REASON = f'  - "it needs {HOME}/base, whose object is named my-base"\n'
EVERYTHING = LockOptions(upgrade_everything=True)
MADE_BY_HAND = LiveLock(
    (
        LivePackage("my-old-0123456789ab", str(named("old")), "v1.0.0"),
        LivePackage("acme-user-0123456789ab", str(named("user")), "v1.0.0", (f"{named('old')} *",)),
    )
)
BOTH = pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])


def story(crossplane: str = "v2.3.4") -> Story:
    told = Story(FakeCatalog(PACKAGES, kinds=KINDS))
    told.settings = replace(told.settings, crossplane_version=parse_version(crossplane))
    return told


def called(text: str, name: str) -> Root:
    """A wish for a package under a name of the user's, which is no manifest and so says nothing of its kind."""
    return replace(wish(text), name=name)


# Names that stay.


@pytest.mark.parametrize(
    "roots", [("old v1.1.0",), ("user",), ("other",)], ids=["upgraded", "needed", "left"]
)
def test_a_source_keeps_its_name_whatever_becomes_of_it(roots: tuple[str, ...]) -> None:
    told = story()
    told.lock(called("old v1.0.0", "my-old"), "other")

    told.lock(*roots)

    assert objects_of(told.current)["old"] == "my-old"


@pytest.mark.parametrize(
    ("name", "new", "strategy", "objects"),
    [
        ("acme-old", "new", "alias", {"old": "acme-old"}),
        ("my-old", f"{AWAY}/old", "repoint", {f"{AWAY}/old": "my-old"}),
        ("my-old", "new", "deactivate", {"old": "my-old", "new": "acme-new"}),
    ],
)
def test_an_object_keeps_its_name_through_a_move_and_back(
    name: str, new: str, strategy: str, objects: dict[str, str]
) -> None:
    told = story()
    told.lock(called("old v1.0.0", name))

    told.lock(new, moves=(move("old", new, strategy=strategy),))
    moved = objects_of(told.current)
    told.lock("old", moves=(move(new, "old"),))

    assert moved == objects
    assert objects_of(told.current)["old"] == name


def test_another_name_for_what_is_installed_is_refused() -> None:
    told = story()
    told.lock("user v1.0.0")

    with pytest.raises(NameChanged) as caught:
        told.lock("user v1.0.0", called("old", "my-old"))

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('old')} is already installed as acme-old"
    assert caught.value.why[0].startswith("old.yaml names it my-old")
    assert caught.value.next == ("name it acme-old",)


def test_another_name_for_an_orphan_that_comes_back_is_refused() -> None:
    told = story()
    told.lock("old v1.0.0", "other")
    told.lock("other")

    with pytest.raises(NameChanged, match="is already installed as acme-old"):
        told.lock("other", called("old", "my-old"))


def test_another_name_for_what_is_off_and_comes_back_is_refused() -> None:
    told = story()
    told.lock("old v1.0.0")
    told.lock("new", moves=(move("old", "new"),))

    with pytest.raises(NameChanged, match="is already installed as acme-old"):
        told.lock(called("old", "my-old"), moves=(move("new", "old"),))


def test_a_root_that_is_dropped_and_still_needed_keeps_the_name_that_it_was_given() -> None:
    told = story()
    told.lock(called("old v1.0.0", "my-old"), "user v1.0.0")

    told.lock("user v1.0.0")

    package = told.current.packages[named("old")]
    assert (package.object_name, package.root) == ("my-old", None)
    assert detached(told.current) == {"user"}


@BOTH
def test_who_depends_on_a_package_under_another_name_than_it_derives_is_detached(crossplane: str) -> None:
    told = story(crossplane)

    told.lock(called("old", "my-old"), "top")

    assert detached(told.current) == {"user", "top"}
    rendered = told.packages()
    assert rendered["acme-user"]["spec"]["skipDependencyResolution"] is True
    assert "skipDependencyResolution" not in rendered["my-old"]["spec"]


@BOTH
def test_under_the_name_that_it_derives_its_dependants_are_attached(crossplane: str) -> None:
    told = story(crossplane)

    told.lock(called("old", "acme-old"), "top")

    assert detached(told.current) == set()


# Stale entries.


def let_go() -> Story:
    """User was attached, and is detached since new has taken the place of what it depends on."""
    told = story()
    told.lock("old v1.0.0", "user v1.0.0")
    told.lock("new", "user v1.0.0", moves=(move("old", "new", strategy="deactivate"),))
    return told


def stale(told: Story, name: str = "user") -> tuple[str, ...]:
    return told.current.packages[named(name)].stale_entry


def test_a_package_that_was_attached_and_is_detached_leaves_an_entry_which_the_lock_records() -> None:
    told = let_go()

    assert stale(told) == (str(named("old")),)
    assert f"  staleEntry:\n  - {named('old')}\n" in format_lock(told.current)


def test_all_sources_that_the_entry_names_are_recorded_and_of_every_package_that_is_detached() -> None:
    told = story()
    told.lock("top")

    told.lock("top", detach=Detach.ALL)

    assert (stale(told, "top"), stale(told)) == ((str(named("user")),), (str(named("old")),))


def test_a_package_that_never_was_attached_leaves_none() -> None:
    told = story()
    told.lock(called("old", "my-old"), "user v1.0.0")
    told.lock(called("old", "my-old"), "user v1.0.0", "other")

    assert (detached(told.current), stale(told)) == ({"user"}, ())


def test_an_entry_stays_stale_while_the_digest_stays() -> None:
    told = let_go()

    told.lock("new", "user v1.0.0", "other")

    assert stale(told) == (str(named("old")),)


def test_another_digest_clears_it() -> None:
    told = let_go()

    told.lock("new", "user v1.1.0")

    assert (detached(told.current), stale(told)) == ({"user"}, ())


def test_who_is_attached_again_has_an_entry_that_is_not_stale() -> None:
    told = let_go()

    told.lock("old", "user v1.0.0", moves=(move("new", "old"),))

    assert (detached(told.current), stale(told)) == (set(), ())


def test_from_v2_4_on_nothing_goes_stale() -> None:
    told = story("v2.4.0")
    told.lock("old v1.0.0", "user v1.0.0")

    told.lock("new", "user v1.0.0", moves=(move("old", "new", strategy="deactivate"),))

    assert (detached(told.current), stale(told)) == ({"user"}, ())


# While an entry that is stale names a package under a name of the user's.


def held() -> Story:
    """User is detached from old, which is called my-old, in a cluster where it was attached before it was locked."""
    told = story()
    told.lock(called("old v1.0.0", "my-old"), "user v1.0.0", options=LockOptions(live=MADE_BY_HAND))
    return told


def test_a_package_that_a_stale_entry_names_keeps_its_version_and_the_dependant_is_upgraded_first() -> None:
    told = held()

    told.lock(called("old", "my-old"), "user", options=EVERYTHING)

    assert states(told.current) == {"old": "v1.0.0", "user": "v1.1.0"}


def test_it_moves_in_a_later_lock() -> None:
    told = held()
    told.lock(called("old", "my-old"), "user", options=EVERYTHING)

    told.lock(called("old", "my-old"), "user", options=EVERYTHING)

    assert states(told.current) == {"old": "v1.1.0", "user": "v1.1.0"}


def test_another_version_of_it_that_is_asked_for_by_name_is_refused_with_the_way_to_it() -> None:
    told = held()

    with pytest.raises(NoSolution) as caught:
        told.lock(called("old v1.1.0", "my-old"), "user")

    assert caught.value.exit_code == 4
    assert (
        f"lock another version of {named('user')}, let the cluster sync, and change {named('old')} after that"
        in caught.value.next
    )


def test_under_its_derived_name_it_is_free_to_change() -> None:
    told = story()
    told.lock("old v1.0.0", "user v1.0.0")
    told.lock("old v1.0.0", "user v1.0.0", detach=Detach.ALL)

    told.lock("old v1.1.0", "user v1.0.0")

    assert states(told.current)["old"] == "v1.1.0"
    assert stale(told) == (str(named("old")),)


@BOTH
def test_raising_the_version_of_crossplane_to_v2_4_warns_of_every_package_that_is_held(
    crossplane: str,
) -> None:
    told = held()

    told.lock(called("old", "my-old"), "user v1.0.0", crossplane_version=parse_version(crossplane))

    warned = [note for note in told.notes if note.startswith(f"{named('old')} is installed as my-old")]
    assert len(warned) == (crossplane == "v2.4.0")
    assert all(f"for {named('user')}; before Crossplane there becomes v2.4.0" in note for note in warned)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder in which base has a name of the user's; app needs it, was attached and has left its entry."""
    world = World(tmp_path)
    world.publish("base v1.0.0")
    world.publish("app v1.0.0", {"base": "*"})
    project = world.project("shop", "app")
    (project / "base.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: my-base\n"
        f"spec:\n  package: {HOME}/base\n"
    )
    assert run(["-q", "lock", str(project)]) == 0
    edit_lock(project, REASON, f"{REASON}  staleEntry:\n  - {HOME}/base\n")
    world.publish("base v1.1.0")
    world.publish("app v1.1.0", {"base": "*"})
    return project


def test_locking_says_what_it_holds_back(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["lock", "-U", str(shop)])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[0].startswith(f"Updated  {HOME}/app v1.0.0 -> v1.1.0")
    assert lines[1:3] == [
        f"Held     {HOME}/base stays at v1.0.0 until the cluster has synced",
        "           this lock; after that it may change",
    ]


# What somebody wrote into a lock.


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("  object: my-base\n", "  object: base\n", "object and digest in LockDetails make it base-"),
        (
            "  object: my-base\n",
            "  object: My_Base\n",
            'expected the name of an object, found the text "My_Base"',
        ),
        (f"  - {HOME}/base\n  objects", "  - 7\n  objects", "expected text, found 7"),
    ],
)
def test_a_name_or_an_entry_that_cannot_be_is_refused(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "lock", str(shop))

    assert (refused.code, text_of(shop)) == (2, edited)
    assert refused.what == f"{shop / LOCK_FILE} is not a valid lock"
    assert problem in " ".join(refused.why)


def test_an_entry_of_a_package_that_is_attached_cannot_be_stale(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, f"  detached:\n{REASON}", "")

    refused = refusal(capsys, "render", str(shop))

    assert (refused.code, text_of(shop)) == (3, edited)
    assert refused.why == [f"{HOME}/app has a staleEntry, but it is not detached"]


def test_who_has_to_be_detached_cannot_be_attached_by_hand(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, f"  detached:\n{REASON}  staleEntry:\n  - {HOME}/base\n", "")

    refused = refusal(capsys, "render", str(shop))

    assert (refused.code, text_of(shop)) == (3, edited)
    assert refused.why == [
        f"{HOME}/app has to be detached: it needs {HOME}/base, whose object is named my-base"
    ]


def test_another_name_in_a_manifest_leaves_the_lock_as_it_is(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(shop)
    manifest = shop / "base.yaml"
    manifest.write_text(manifest.read_text().replace("my-base", "your-base"))

    refused = refusal(capsys, "lock", str(shop))

    assert (refused.code, text_of(shop)) == (4, before)
    assert refused.what == f"{HOME}/base is already installed as my-base"
    assert refused.next == ["name it my-base"]


def test_a_move_that_is_written_already_is_not_advised_again() -> None:
    kinds = {"old": Kind.FUNCTION, "new": Kind.FUNCTION}
    told = Story(FakeCatalog({"old v1.0.0": {}, "new v1.0.0": {}}, kinds=kinds))
    told.lock("old v1.0.0")

    with pytest.raises(NameTaken) as caught:
        told.lock(replace(wish("new v1.0.0"), name="acme-old"), moves=(move("old", "new"),))

    advice = (
        "the move is in xplock.yaml, and both keep an object of their own: give the new one a name of its own"
    )
    assert caught.value.next == (f"{advice} in a manifest",)
