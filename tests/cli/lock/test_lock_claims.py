"""xplock lock: a claim that the lock records, and that no bytes make, is not carried on."""

from dataclasses import replace
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at, text_of

from render.cli.run import run
from render.limits import Limits
from render.lock.model import KeptPin, Lock, Replaced
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import format_lock
from render.moves import Consent, Strategy
from render.references import Source, parse_source

VICTIM = parse_source("xpkg.example.org/other/victim")
# The name that Crossplane derives from it is that of `net`.
NAMESAKE = parse_source("old.example.org/acme/net")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A Provider that replaced another one from its second version on, and forgot that in its third."""
    world = World(tmp_path)
    world.publish("old v1.0.0", kind="Provider", crds=["nets.net.example.org"])
    world.publish("net v1.0.0", kind="Provider", crds=["nets.net.example.org"], replaces=["old"])
    world.publish("net v1.1.0", kind="Provider", crds=["nets.net.example.org"])
    return world


@pytest.fixture
def project(world: World) -> Path:
    """A project with the last version of net alone."""
    folder = world.project("shop", "net:v1.1.0")
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def lock_of(folder: Path) -> Lock:
    lock = read_lock(folder, Limits())
    assert lock
    return lock


def plant(folder: Path, claimed: Source, strategy: str, *, pinned: bool = False) -> bytes:
    """Write a claim into the entry of net, with or without a pin for it; return the text before."""
    honest, lock = text_of(folder), lock_of(folder)
    net = lock.packages[parse_source(at("net"))]
    pins = (KeptPin("v1.0.0", net.digest, None, claimed),) if pinned else ()
    record = Replaced(claimed, Strategy(strategy), Consent.CLAIM)
    forged = replace(net, replaces=(record,), kept_pins=pins)
    write_lock(folder, format_lock(replace(lock, packages={net.source: forged})))
    return honest


@pytest.mark.parametrize("strategy", ["plain", "deactivate", "repoint"])
def test_a_planted_claim_would_change_and_is_dropped(project: Path, strategy: str) -> None:
    honest = plant(project, VICTIM, strategy)

    checked, repaired = run(["lock", "--check", str(project)]), run(["lock", str(project)])

    assert (checked, repaired, text_of(project)) == (3, 0, honest)


def test_a_planted_claim_that_a_pin_needs_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(project, NAMESAKE, "repoint", pinned=True)
    forged = text_of(project)

    codes = run(["lock", "--check", str(project)]), run(["lock", str(project)])

    assert (codes, text_of(project)) == ((4, 4), forged)
    assert (
        f"error: {HOME}/net replaces {NAMESAKE} in the lock, and its bytes make no such claim: was the lock edited?\n"
    ) in capsys.readouterr().err


@pytest.mark.parametrize("command", [["render"], ["check"]], ids=" ".join)
def test_a_planted_claim_gives_no_pin_of_another_package(
    project: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    plant(project, VICTIM, "repoint", pinned=True)

    assert run(command) in (1, 3)


def test_a_claim_of_a_version_whose_pin_is_kept_still_counts(world: World) -> None:
    folder = world.project("moved", "old:v1.0.0", more="crossplaneVersion: v2.3.4\n")
    assert run(["-q", "lock", str(folder)]) == 0
    for version in ("v1.0.0", "v1.1.0"):
        world.project("moved", f"net:{version}", more="crossplaneVersion: v2.3.4\n")
        assert run(["-q", "lock", str(folder)]) == 0

    assert run(["lock", "--check", str(folder)]) == 0

    assert parse_source(at("old")) in lock_of(folder).deactivated
