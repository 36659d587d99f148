"""xplock lock --mimic: what Crossplane alone would pick, beside our answer."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.builders.live_locks import Entry, format_live_lock
from rig.builders.live_objects import Running, format_objects
from rig.builders.projects import HOME, World

from render.cli.run import run
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in which the first dependant of base takes a version that the second one does not accept."""
    made = World(tmp_path)
    made.publish("family v2.0.0", kind="Provider")
    made.publish("base v1.0.0", kind="Provider")
    made.publish("base v1.5.0", kind="Provider")
    made.publish("base v2.0.0", {"family": "v2.0.0"}, kind="Provider")
    made.publish("net v1.0.0", {"base": "<v2.0.0"})
    made.publish("app v1.0.0", {"base": ">=v1.0.0", "net": "^1.0.0"})
    return made


def mimic(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["lock", "--mimic", *words, str(folder)]) == 0
    return capsys.readouterr().out


def as_json(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(mimic(folder, capsys, "-o", "json", *words))


def test_it_shows_every_step_who_stays_unhealthy_and_why_ours_differs(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0")

    text = mimic(folder, capsys)

    assert text == (
        "Crossplane alone, from an empty cluster:\n"
        f"  you apply {HOME}/app v1.0.0\n"
        f"  {HOME}/app v1.0.0 -> {HOME}/base >=v1.0.0 -> v2.0.0\n"
        f"  {HOME}/app v1.0.0 -> {HOME}/net ^1.0.0 -> v1.0.0\n"
        f"  {HOME}/base v2.0.0 -> {HOME}/family v2.0.0 -> v2.0.0\n"
        "Its Lock has 4 packages, Resolved=True; 1 unhealthy\n"
        f"  {HOME}/net v1.0.0: {HOME}/base v2.0.0 is installed, and it accepts <v2.0.0\n"
        "The answer of xplock, 3 packages, differs in 2:\n"
        f"  {HOME}/base: Crossplane v2.0.0, xplock v1.5.0\n"
        f"    Crossplane asks the first dependant alone; v2.0.0 does not suit {HOME}/net v1.0.0 (<v2.0.0)\n"
        f"  {HOME}/family: Crossplane v2.0.0, xplock not installed\n"
        f"    needed by {HOME}/base v2.0.0\n"
    )


def test_it_writes_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    folder = world.project("shop", "app:v1.0.0")

    mimic(folder, capsys)

    assert not (folder / LOCK_FILE).exists()


def test_a_flag_of_crossplane_changes_its_answer(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    folder = world.project("shop", "app:v1.0.0")

    text = mimic(folder, capsys, "--crossplane-flags", "downgrades")

    assert f"{HOME}/net v1.0.0 -> {HOME}/base <v2.0.0 -> updated to v1.5.0" in text
    assert "0 unhealthy" in text
    assert f"{HOME}/family: Crossplane v2.0.0, xplock not installed" in text


def test_the_json_has_the_lock_that_crossplane_would_build(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0")

    found = as_json(folder, capsys)

    lock = found["lock"]
    assert (lock["apiVersion"], lock["kind"]) == ("pkg.crossplane.io/v1beta1", "Lock")
    assert [one["version"] for one in lock["packages"]] == ["v1.0.0", "v2.0.0", "v1.0.0", "v2.0.0"]
    assert lock["packages"][0]["dependencies"] == [
        {"package": f"{HOME}/base", "constraints": ">=v1.0.0", "type": "Provider"},
        {"package": f"{HOME}/net", "constraints": "^1.0.0", "type": "Configuration"},
    ]
    assert lock["packages"][1]["name"].startswith("acme-base-")
    assert [one["source"] for one in found["unhealthy"]] == [f"{HOME}/net"]
    assert found["stop"] is None
    assert found["otherOrder"] is None


def test_two_roots_are_tried_in_both_orders(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.publish("site v1.0.0", {"base": ">=v1.0.0"})
    folder = world.project("shop", "site:v1.0.0", "net:v1.0.0")

    text = mimic(folder, capsys)

    assert "With the roots in the other order, which Crossplane leaves to chance:\n" in text
    assert f"  {HOME}/base: v2.0.0 instead of v1.5.0\n" in text


def test_it_starts_from_the_lock_of_a_cluster(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0")
    live = tmp_path / "live.yaml"
    live.write_text(format_live_lock([Entry("base v1.0.0", kind="Provider")]))

    found = as_json(folder, capsys, "--from-live", str(live))

    assert found["start"] == "live"
    assert [one["source"].removeprefix(f"{HOME}/") for one in found["lock"]["packages"]] == [
        "base",
        "app",
        "net",
    ]
    assert found["lock"]["packages"][0]["version"] == "v1.0.0"
    assert not found["unhealthy"]


def test_an_object_of_the_cluster_that_has_the_derived_name_stops_it(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "net:v1.0.0")
    live = tmp_path / "live.yaml"
    taken = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": "acme-base"},
        "spec": {"package": "ghcr.io/acme/base:v1.0.0"},
    }
    live.write_text(f"{format_live_lock([])}\n---\n{yaml.safe_dump(taken)}")

    text = mimic(folder, capsys, "--from-live", str(live))

    assert "stops for good" in text
    assert "the object Provider/acme-base exists, and installs ghcr.io/acme/base" in text
    assert f"{HOME}/base: Crossplane not installed, xplock v1.5.0" in text
    assert "Crossplane stops before it gets there" in text


def test_where_nothing_suits_everyone_both_are_shown_and_the_error_stays_ours(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("site v1.0.0", {"base": ">=v3"})
    folder = world.project("shop", "site:v1.0.0")

    code = run(["lock", "--mimic", str(folder)])

    shown = capsys.readouterr()
    assert code == 4
    assert f"stops for good: {HOME}/site v1.0.0 -> {HOME}/base >=v3: no version fits >=v3" in shown.out
    assert f"no version of {HOME}/base suits" in shown.err


def test_a_name_of_the_users_starts_a_race_that_is_said(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "net:v1.0.0")
    (folder / "base.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: mine\n"
        f"spec:\n  package: {HOME}/base:v1.5.0\n"
    )

    assert run(["lock", "--mimic", str(folder)]) == 0

    warned = capsys.readouterr().err
    assert f"{HOME}/base is named mine, and other packages need it" in warned
    assert "creates acme-base as well" in warned


def test_a_pin_that_still_fits_is_the_reason_for_another_version(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "net:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    world.publish("base v1.6.0", kind="Provider")

    text = mimic(folder, capsys)

    assert f"{HOME}/base: Crossplane v1.6.0, xplock v1.5.0" in text
    assert "v1.5.0 was locked before and still fits; to move it: xplock lock -P" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--crossplane-flags", "upgrades"], "need --mimic"),
        (["--mimic", "--check"], "--mimic writes nothing"),
        (["--mimic", "--commit"], "--mimic writes nothing"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    world: World, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0")

    assert run(["lock", *words, str(folder)]) == 2
    assert said in capsys.readouterr().err


def test_something_else_than_a_lock_is_refused(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0")
    live = tmp_path / "live.yaml"
    live.write_text(format_objects([Running("base v1.0.0").as_package()]))

    assert run(["lock", "--mimic", "--from-live", str(live), str(folder)]) == 2
    assert "this is not the Lock of a cluster" in capsys.readouterr().err
