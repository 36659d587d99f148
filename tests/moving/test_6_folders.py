"""Moving, section 6: folders of one cluster, what one records of another, and what they keep each other from."""

from pathlib import Path

import pytest
import yaml
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named
from rig.builders.lock_story import Story, detached, is_guarded, move, wish
from rig.builders.projects import HOME, World, locked, moves, text_of
from rig.commands.refusals import edit_lock, refusal

from render.cli.run import run
from render.folders.neighbours import gather_neighbours
from render.lean import replace
from render.limits import Limits
from render.lock.model import Lock, Provided
from render.lock.text.file import read_lock
from render.lock.text.format import format_lock
from render.packages import Kind
from render.references import parse_source
from render.settings import Detach
from render.system.files import LOCK_FILE
from render.versions.requests import Root

AWAY = "xpkg.example.com/acme"
PACKAGES: Packages = {
    "base v1.0.0": {"net": "*"},
    "net v1.0.0": {},
    "new v1.5.0": {},
    f"{AWAY}/base v1.2.0": {},
    "app v1.0.0": {"base": "^1"},
    "lone v1.0.0": {},
}
KINDS = dict.fromkeys(("base", "net", "new", f"{AWAY}/base"), Kind.PROVIDER)


def platform(*roots: str | Root, detach: Detach = Detach.NEEDED) -> Story:
    told = Story(FakeCatalog(PACKAGES, kinds=KINDS))
    told.lock(*roots, detach=detach)
    return told


def user_of(there: Story) -> Story:
    """A folder that asks for app, and uses another one."""
    told = Story(there.catalog, around=gather_neighbours([("../platform", there.current)]))
    told.lock("app")
    return told


# What is recorded.


def test_of_what_is_provided_source_version_digest_and_object_are_recorded() -> None:
    told = user_of(platform("base"))

    assert told.current.provided == {
        named("base"): Provided(
            named("base"), "../platform", "v1.0.0", digest_of("base v1.0.0"), Kind.PROVIDER, "acme-base"
        )
    }


def test_that_it_is_detached_there_is_recorded() -> None:
    told = user_of(platform("base", detach=Detach.ALL))

    assert told.current.provided[named("base")].detached


def test_the_source_that_the_clusters_lock_knows_it_by_and_its_move_are_recorded() -> None:
    there = platform("base", "app")
    there.lock("new", "app", moves=(move("base", "new"),))
    told = Story(there.catalog, around=gather_neighbours([("../platform", there.current)]))
    told.catalog = FakeCatalog({"mine v1.0.0": {"base": "*"}}, kinds=KINDS)

    told.lock("mine")

    record = told.current.provided[named("new")]
    assert (record.installed_as, record.object_name, record.replaces) == (
        named("base"),
        "acme-base",
        (named("base"),),
    )
    _, details = yaml.safe_load_all(format_lock(told.current))
    assert details["provided"][0]["installedAs"] == str(named("base"))


# What detaches its dependants here.


def test_who_depends_on_a_provided_package_that_is_well_is_attached() -> None:
    assert detached(user_of(platform("base")).current) == set()


@pytest.mark.parametrize("why", ["detached", "named", "served"])
def test_a_provided_package_that_is_detached_named_by_a_user_or_served_by_another_detaches_its_dependants(
    why: str,
) -> None:
    there = {
        "detached": lambda: platform("base", detach=Detach.ALL),
        "named": lambda: platform(replace(wish("base"), name="my-base")),
        "served": lambda: moved_away(platform("base")),
    }[why]()

    assert detached(user_of(there).current) == {"app"}


def moved_away(there: Story) -> Story:
    there.lock(f"{AWAY}/base", moves=(move("base", f"{AWAY}/base"),))
    return there


# By the command.

PLATFORM = "uses:\n  - ../platform\n"
KNOWN = "crossplaneVersion: v2.3.4\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The folder app uses the folder platform, which has base; both are locked."""
    monkeypatch.chdir(tmp_path)
    found = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0", "v2.0.0"):
        found.publish(f"base {version}", kind="Provider", crds=["bases.acme.org"])
    found.publish("new v1.5.0", kind="Provider", crds=["bases.acme.org"])
    found.publish("app v1.0.0", {"base": "^1"})
    found.publish("lone v1.0.0")
    found.project("platform", "base:v1.0.0", more=KNOWN)
    found.project("app", "app", more=PLATFORM)
    assert run(["-q", "lock", "platform", "app"]) == 0
    return found


def read(folder: str) -> Lock:
    return read_lock(Path(folder), Limits()) or Lock()


def change(world: World, version: str) -> None:
    """Lock another version of base in the folder that is used, by itself."""
    world.project("platform", f"base:{version}", more=KNOWN)
    assert run(["-q", "lock", "platform"]) == 0


@pytest.mark.parametrize("version", ["v1.1.0", "v2.0.0"])
def test_a_change_in_the_used_lock_never_makes_rendering_stale(
    version: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["render", "app"])
    before = capsys.readouterr().out
    change(world, version)
    capsys.readouterr()

    code = run(["render", "app"])

    assert (code, capsys.readouterr().out) == (0, before)


@pytest.mark.parametrize(
    "command", [["lock", "--check", "app"], ["check", "app"], ["check", "platform", "app"]]
)
@pytest.mark.parametrize(("version", "code"), [("v1.0.0", 0), ("v1.1.0", 3), ("v2.0.0", 4)])
def test_checking_compares_the_record_3_if_it_differs_4_if_a_constraint_no_longer_holds(
    command: list[str], version: str, code: int, world: World
) -> None:
    change(world, version)
    before = text_of(Path("app"))

    assert run(command) == code
    assert text_of(Path("app")) == before


@pytest.mark.parametrize("order", [["platform", "app"], ["app", "platform"]])
def test_locking_goes_in_the_order_of_uses(order: list[str], world: World) -> None:
    world.project("platform", "base:v1.1.0", more=KNOWN)

    code = run(["-q", "lock", *order])

    assert (code, read("app").provided[parse_source(f"{HOME}/base")].version) == (0, "v1.1.0")


@pytest.mark.parametrize("order", [["platform", "app"], ["app", "platform"]])
def test_retiring_goes_in_the_order_of_uses_a_package_after_what_depends_on_it(
    order: list[str], world: World
) -> None:
    world.publish("own v1.0.0")
    world.project("platform", "lone", more=KNOWN)
    world.project("app", "own", more=PLATFORM)
    assert run(["-q", "lock", "platform", "app"]) == 0
    folders = [word for name in order for word in ("-C", name)]
    seen = []

    for names in (["app", "base"], ["app", "base", "--synced"], ["base", "--synced"]):
        assert run(["-q", "retire", *names, *folders]) == 0
        seen.append(({*locked(Path("app"))}, {*locked(Path("platform"))}))

    assert seen == [
        ({"app", "own"}, {"base", "lone"}),
        ({"own"}, {"base", "lone"}),
        ({"own"}, {"lone"}),
    ]


# The lock of a folder whose settings changed is out of date as well, which check tells with the higher code.
@pytest.mark.parametrize(
    ("command", "expected"), [(["lock"], 2), (["lock", "--check"], 2), (["check"], 3)], ids=str
)
def test_folders_that_use_each_other_are_refused(
    command: list[str], expected: int, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "base:v1.0.0", more=KNOWN + "uses:\n  - ../app\n")
    before = text_of(Path("app")), text_of(Path("platform"))
    capsys.readouterr()

    code = run([*command, "platform", "app"])

    output = capsys.readouterr()
    assert (code, (text_of(Path("app")), text_of(Path("platform")))) == (expected, before)
    assert "app uses platform uses app" in output.err + output.out


def test_versions_that_a_using_folder_does_not_accept_are_not_taken(world: World) -> None:
    world.project("platform", "base", more=KNOWN)

    code = run(["-q", "lock", "-U", "platform", "app"])

    assert (code, locked(Path("platform"))) == (0, {"base": "v1.1.0"})


def test_a_dependant_in_a_using_folder_makes_a_move_an_alias(world: World) -> None:
    world.project("platform", "new", more=KNOWN + moves("base", "new"))

    code = run(["-q", "lock", "platform", "app"])

    assert code == 0
    assert read("platform").packages[parse_source(f"{HOME}/new")].installed_as == parse_source(f"{HOME}/base")


def test_what_a_using_folder_depends_on_is_not_retired_and_that_one_is_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "lone", more=KNOWN)
    assert run(["-q", "lock", "platform", "app"]) == 0
    before = text_of(Path("platform"))

    refused = refusal(capsys, "retire", "base", "-C", "platform", "-C", "app")

    assert (refused.code, text_of(Path("platform"))) == (4, before)
    assert refused.why == [f"{HOME}/app v1.0.0 in app needs {HOME}/base v1.0.0"]


@pytest.mark.parametrize("what", ["retire", "move"])
def test_checking_reports_a_retire_or_a_move_that_the_lock_of_another_folder_forbids(
    what: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    if what == "retire":
        world.project("platform", "lone", more=KNOWN)
        assert run(["-q", "lock", "platform"]) == 0
        # In another clone, where the folder that uses this one is not in reach.
        Path("app/xplock.yaml").rename("elsewhere.yaml")
        assert run(["-q", "retire", "base", "-C", "platform"]) == 0
        Path("elsewhere.yaml").rename("app/xplock.yaml")
    else:
        world.project("platform", "new", more=KNOWN + moves("base", "new"))
        assert run(["-q", "lock", "platform"]) == 0
    capsys.readouterr()

    code = run(["check", "platform", "app"])

    told = capsys.readouterr().out
    assert code == 4
    assert "app: needed-elsewhere: the folders that it uses no longer provide what its packages need" in told
    done = {"retire": "is about to drop", "move": "has deactivated"}[what]
    assert f"{HOME}/app v1.0.0 needs {HOME}/base, which ../platform {done}" in told


def test_what_leaves_this_folder_and_is_provided_by_a_used_one_is_dropped_at_once_with_its_guard_on(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("app", "app", "lone", more=PLATFORM)
    assert run(["-q", "lock", "app"]) == 0
    capsys.readouterr()
    run(["render", "app"])
    last = {value["metadata"]["name"]: value for value in yaml.safe_load_all(capsys.readouterr().out)}
    world.project("platform", "base:v1.0.0", "lone", more=KNOWN)
    world.project("app", "app", more=PLATFORM)

    code = run(["lock", "platform", "app"])

    assert (code, {*locked(Path("app"))}, {*locked(Path("platform"))}) == (0, {"app"}, {"base", "lone"})
    assert is_guarded(last["acme-lone"])
    assert f"{HOME}/lone is dropped here; ../platform provides it" in capsys.readouterr().err


def test_a_package_that_two_folders_need_and_neither_provides_is_refused_with_a_shared_folder_and_its_lines(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        world.publish(f"{name} v1.0.0", {"lone": "*"})
        world.project(name, name, more=PLATFORM)

    refused = refusal(capsys, "lock", "one", "two")

    assert refused.code == 4
    assert refused.what == "one and two have locked the same package"
    assert f"{HOME}/lone" in refused.why
    assert refused.next == [
        "ask for it in a folder that they use, platform, and nowhere else; each of them needs:",
        "  # one/xplock.yaml",
        "  uses:",
        "    - ../platform",
        "  # two/xplock.yaml",
        "  uses:",
        "    - ../platform",
    ]
    assert not (Path("one") / LOCK_FILE).exists()


# What somebody wrote into a lock.


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('  folder: "../platform"\n', "  folder: /platform\n", "expected a relative path"),
        ('  folder: "../platform"\n', "", "folder is missing"),
        (
            '  folder: "../platform"\n',
            '  folder: "../platform"\n  detached: false\n',
            "expected true or nothing",
        ),
        (
            "  object: acme-base\n",
            "  object: acme-app\n  name: x\n",
            "LockDetails.provided[0].name: unknown field",
        ),
    ],
)
def test_a_record_of_another_folder_that_cannot_be_read_is_refused(
    old: str, new: str, problem: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(world.folder / "app", old, new)

    refused = refusal(capsys, "lock", "app")

    assert (refused.code, text_of(Path("app"))) == (2, edited)
    assert problem in " ".join(refused.why)


@pytest.mark.parametrize("field", ["object", "digest"])
def test_a_record_that_is_not_what_the_other_folder_has_is_found_out_and_put_right_by_locking(
    field: str, world: World
) -> None:
    before = text_of(Path("app"))
    digest = read("platform").packages[parse_source(f"{HOME}/base")].digest
    old = {"object": "  object: acme-base\n", "digest": digest}[field]
    edit_lock(world.folder / "app", old, {"object": "  object: base\n", "digest": digest_of("others")}[field])

    codes = [run(["-q", "lock", "--check", "app"]), run(["-q", "lock", "app"])]

    assert (codes, text_of(Path("app"))) == ([3, 0], before)
