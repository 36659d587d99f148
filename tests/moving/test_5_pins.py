"""Moving, section 5: one pin for each source and tag, and those of the last versions stay while a cluster may run them."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named
from rig.builders.lock_story import Story, move
from rig.builders.projects import HOME, World, locked, text_of
from rig.builders.render_inputs import rewrite
from rig.cluster.cluster import Cluster
from rig.commands.refusals import edit_lock, refusal

from render.cli.run import run
from render.lean import replace
from render.lifecycle.update import LockOptions
from render.lock.model import KeptPin
from render.lock.text.format import format_lock
from render.packages import Kind
from render.settings import Detach, PinMode
from render.system.files import LOCK_FILE

VERSIONS = ("v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0")
PACKAGES: Packages = {
    **{f"base {version}": {} for version in VERSIONS},
    **{f"other {version}": {} for version in VERSIONS},
    "new v2.0.0": {},
    "new v2.1.0": {},
    "user v1.0.0": {"base": "*"},
    "odd v1.0.0-RC.1_x": {},
}
KINDS = dict.fromkeys(("base", "other", "new", "odd"), Kind.PROVIDER)
CATALOG = FakeCatalog(PACKAGES, kinds=KINDS)
BASE = str(named("base"))


def story(*versions: str) -> Story:
    """A folder that asked for one version of base after the other."""
    told = Story(CATALOG)
    for version in versions:
        told.lock(f"base {version}")
    return told


def image_configs(told: Story) -> dict[str, Any]:
    values: list[Any] = told.rendered()
    return {value["metadata"]["name"]: value["spec"] for value in values if value["kind"] == "ImageConfig"}


def pinned(told: Story, source: str = BASE) -> list[str]:
    """The tags of a source that have a pin."""
    return sorted(
        prefix.removeprefix(f"{source}:") for prefix in told.pins() if prefix.startswith(f"{source}:")
    )


# One pin for each source and tag.


@pytest.mark.parametrize(
    ("package", "tag", "label"),
    [("base", "v1.0.0", "v1-0-0"), ("odd", "v1.0.0-RC.1_x", "v1-0-0--1x")],
)
def test_a_pin_is_named_for_object_tag_and_what_it_stands_for(package: str, tag: str, label: str) -> None:
    told = Story(CATALOG)
    told.lock(f"{package} {tag}")
    reference = f"{named(package)}:{tag}"

    (name,) = image_configs(told)

    assert name == f"xplock-acme-{package}-{label}-{hashlib.sha256(reference.encode()).hexdigest()[:8]}"


def test_a_pin_leads_one_source_and_tag_to_its_bytes() -> None:
    told = story("v1.0.0")

    assert told.pins() == {f"{BASE}:v1.0.0": f"{BASE}@{digest_of('base v1.0.0')}"}


def test_every_source_and_every_tag_has_a_pin_of_its_own() -> None:
    told = story("v1.0.0")

    told.lock("base v1.1.0", "other v1.1.0")

    assert sorted(told.pins()) == [f"{BASE}:v1.0.0", f"{BASE}:v1.1.0", f"{named('other')}:v1.1.0"]
    assert len(image_configs(told)) == 3


# Those of earlier versions.


def test_the_pins_of_the_last_three_versions_stay() -> None:
    assert pinned(story(*VERSIONS[:4])) == list(VERSIONS[:4])
    assert pinned(story(*VERSIONS)) == list(VERSIONS[1:])


def test_the_lock_keeps_them_as_tag_and_digest() -> None:
    told = story(*VERSIONS)

    package = told.current.packages[named("base")]
    assert package.kept_pins == tuple(
        KeptPin(tag, digest_of(f"base {tag}")) for tag in ("v1.3.0", "v1.2.0", "v1.1.0")
    )
    assert f"  keptPins:\n  - tag: v1.3.0\n    digest: {digest_of('base v1.3.0')}\n" in format_lock(
        told.current
    )


def test_where_they_lead_follows_the_rewrites_of_today() -> None:
    told = story("v1.0.0", "v1.1.0")
    assert told.inputs is not None
    before = told.pins()

    told.inputs = replace(told.inputs, rewrites=(rewrite("xpkg.example.org", "mirror.example/all"),))

    digest = digest_of("base v1.0.0")
    assert before[f"{BASE}:v1.0.0"] == f"{BASE}@{digest}"
    assert told.pins()[f"{BASE}:v1.0.0"] == f"mirror.example/all/acme/base@{digest}"


def test_a_pin_goes_only_when_the_version_of_its_own_source_changes() -> None:
    told = story(*VERSIONS[:4])
    before = pinned(told)
    seen = []

    for version in VERSIONS:
        told.lock("base v1.3.0", f"other {version}")
        seen.append(pinned(told))
    told.lock("base v1.3.0", detach=Detach.ALL)
    seen.append(pinned(told))

    assert seen == [before] * 6


def test_what_leaves_and_what_is_switched_off_keeps_them() -> None:
    left, off = story("v1.0.0", "v1.1.0"), story("v1.0.0", "v1.1.0")

    left.lock("other")
    off.lock("new", moves=(move("base", "new"),))

    assert pinned(left) == pinned(off) == ["v1.0.0", "v1.1.0"]


@pytest.mark.parametrize("seed", range(3))
def test_a_pull_request_may_be_locked_several_times_before_one_sync(seed: int) -> None:
    told = story("v1.0.0")
    cluster = Cluster(CATALOG, seed=seed)
    cluster.sync(told.rendered())
    for version in VERSIONS[1:4]:
        told.lock(f"base {version}")

    cluster.sync(told.rendered())

    assert cluster.state.unpinned == set()
    assert cluster.images() == {"Provider/acme-base": f"{BASE}:v1.3.0"}


def test_bytes_that_change_under_their_tag_change_the_one_pin_in_place() -> None:
    told = story("v1.0.0", "v1.1.0")
    names = image_configs(told).keys()
    told.catalog = FakeCatalog(PACKAGES, kinds=KINDS, digests={"base v1.1.0": digest_of("others")})

    told.lock("base v1.1.0", options=LockOptions(upgrade=[BASE]))

    assert image_configs(told).keys() == names
    assert told.pins()[f"{BASE}:v1.1.0"] == f"{BASE}@{digest_of('others')}"
    assert told.current.packages[named("base")].kept_pins == (KeptPin("v1.0.0", digest_of("base v1.0.0")),)


@pytest.mark.parametrize("pin", [PinMode.TAG, PinMode.NATIVE])
def test_without_pins_all_of_them_go(pin: PinMode) -> None:
    told = story("v1.0.0", "v1.1.0")

    told.lock("base v1.1.0", pin=pin)

    assert (told.pins(), told.current.packages[named("base")].kept_pins) == ({}, ())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with base, which was locked in two versions."""
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0"):
        world.publish(f"base {version}")
        project = world.project("shop", f"base:{version}")
        assert run(["-q", "lock", str(project)]) == 0
    return project


def test_the_report_and_the_diff_say_that_they_go(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before.yaml"
    before.write_bytes(text_of(shop))
    with (shop / "xplock.yaml").open("a") as settings:
        settings.write("pin: tag\n")
    capsys.readouterr()

    run(["lock", str(shop)])
    report = capsys.readouterr().out
    run(["diff", str(before), str(shop)])

    assert f"Unpinned {HOME}/base v1.1.0 (pins of earlier versions go: v1.0.0)" in report
    assert "keptPins" in capsys.readouterr().out


# Back to an earlier version.

MANY_CLUSTERS = range(12)


def test_a_git_revert_finds_its_pin_and_the_version_that_it_leaves_is_unpinned_for_a_moment() -> None:
    told = story("v1.0.0")
    first = told.rendered()
    told.lock("base v1.1.0")
    clusters = [Cluster(CATALOG, seed=seed) for seed in MANY_CLUSTERS]

    for cluster in clusters:
        for objects in (first, told.rendered(), first):
            cluster.sync(objects)

    assert {image for cluster in clusters for image in cluster.images().values()} == {f"{BASE}:v1.0.0"}
    assert {tag for cluster in clusters for tag in cluster.state.unpinned} == {f"{BASE}:v1.1.0"}


def test_locking_an_earlier_version_leaves_nothing_unpinned() -> None:
    told = story("v1.0.0", "v1.1.0")
    second = told.rendered()
    told.lock("base", options=LockOptions(upgrade=[f"{BASE}=v1.0.0"]))
    clusters = [Cluster(CATALOG, seed=seed) for seed in MANY_CLUSTERS]

    for cluster in clusters:
        for objects in (second, told.rendered()):
            cluster.sync(objects)

    assert {image for cluster in clusters for image in cluster.images().values()} == {f"{BASE}:v1.0.0"}
    assert {tag for cluster in clusters for tag in cluster.state.unpinned} == set()
    assert pinned(told) == ["v1.0.0", "v1.1.0"]


def test_an_alias_goes_back_to_an_earlier_version_with_a_pin_for_each() -> None:
    told = Story(CATALOG)
    told.lock("base v1.0.0", "user")
    for version in ("v2.0.0", "v2.1.0"):
        told.lock(f"new {version}", "user", moves=(move("base", "new"),))

    told.lock("new", "user", options=LockOptions(upgrade=[f"{named('new')}=v2.0.0"]))

    assert told.packages()["acme-base"]["spec"]["package"] == f"{BASE}:v2.0.0"
    assert {prefix: target for prefix, target in told.pins().items() if prefix.startswith(BASE)} == {
        f"{BASE}:v1.0.0": f"{BASE}@{digest_of('base v1.0.0')}",
        f"{BASE}:v2.0.0": f"{named('new')}@{digest_of('new v2.0.0')}",
        f"{BASE}:v2.1.0": f"{named('new')}@{digest_of('new v2.1.0')}",
    }


def test_by_the_command_that_is_an_upgrade_to_a_version(shop: Path) -> None:
    (shop / "xplock.yaml").write_text((shop / "xplock.yaml").read_text().replace("base:v1.1.0", "base"))

    code = run(["-q", "lock", "-P", "base=v1.0.0", str(shop)])

    assert (code, locked(shop)) == (0, {"base": "v1.0.0"})
    assert "  keptPins:\n  - tag: v1.1.0\n" in text_of(shop).decode()


# What somebody wrote into a lock.


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        ("  - tag: v1 0\n", "expected a tag"),
        ("  - digest: v1.0.0\n", "the key 'digest' stands here a second time"),
        ("  - tag: v1.0.0\n    name: mine\n", "keptPins[0].name: unknown field"),
        ("  - tag: v1.0.0\n    source: base\n", "keptPins[0].source"),
    ],
)
def test_a_pin_that_cannot_be_read_is_refused(
    new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, "  - tag: v1.0.0\n", new)

    refused = refusal(capsys, "lock", str(shop))

    assert (refused.code, text_of(shop)) == (2, edited)
    assert refused.what == f"{shop / LOCK_FILE} is not a valid lock"
    assert problem in " ".join(refused.why)
