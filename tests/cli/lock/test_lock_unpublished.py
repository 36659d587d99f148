"""xplock lock and lock --check: facts of a lock that the registry does not have are an error, or become a change."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rig.builders.projects import HOME, World, at, moves, small_world, text_of
from rig.commands.refusals import edit_lock
from rig.commands.served import Served, serve
from rig.registry.docker import RunningRegistry

from render.cli.run import run
from render.limits import Limits
from render.lock.model import KeptPin, LockedDependency, LockedPackage
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import format_lock
from render.packages import Kind
from render.references import Digest, parse_source

BASE = f"{HOME}/base"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem; app needs base."""
    return small_world(tmp_path)


@pytest.fixture
def project(world: World) -> Path:
    """A locked project."""
    folder = world.project("shop", "app:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def digest_of(folder: Path, name: str) -> str:
    """Return the digest that a folder has locked for a package of acme's."""
    lock = read_lock(folder, Limits())
    assert lock
    return next(package.digest for source, package in lock.packages.items() if source.name == name)


def another(digest: str) -> str:
    """Return the digest with another last digit, which no package has."""
    return digest[:-1] + ("0" if digest[-1] != "0" else "1")


# Bytes.


def test_a_digest_that_the_registry_does_not_have_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locked_digest = digest_of(project, "base")
    edit_lock(project, locked_digest, another(locked_digest))
    edited = text_of(project)

    codes = [run(["lock", str(project)]), run(["lock", "--check", str(project)])]

    assert (codes, text_of(project)) == ([1, 1], edited)
    assert f"error: {BASE} v1.1.0 cannot be fetched as it was locked\n" in capsys.readouterr().err


@pytest.fixture
def served(open_registry: RunningRegistry, tmp_path: Path) -> Served:
    """A locked project of two packages in a registry, each in a range."""
    served = serve(open_registry, tmp_path, "unpublished")
    served.push("net v1.0.0")
    served.push("app v1.0.0", net=">=v1")
    served.ask("app")
    assert served.run("lock").code == 0
    return served


def test_a_digest_that_a_registry_cannot_be_asked_about_stays_unconfirmed(served: Served) -> None:
    locked_digest = digest_of(served.folder, "net")
    edit_lock(served.folder, locked_digest, another(locked_digest))
    edited = text_of(served.folder)

    known, unknown = served.run("lock"), served.run("lock", "--offline")

    assert (known.code, unknown.code, text_of(served.folder)) == (1, 0, edited)
    assert "stays unconfirmed" in unknown.stderr


# Versions.


@pytest.mark.parametrize("version", ["v1.0.5", "v1.9.9"])
@pytest.mark.parametrize(
    "command", [["lock"], ["lock", "--check"], ["lock", "--check", "--offline"]], ids=" ".join
)
def test_a_version_that_does_not_exist_is_an_error(
    project: Path, version: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    edit_lock(project, "version: v1.1.0", f"version: {version}")
    edited = text_of(project)

    code = run([*command, str(project)])

    errors = capsys.readouterr().err
    assert (code, text_of(project)) == (1, edited)
    assert f"from {version} to v1.1.0" in errors
    assert "but its registry does not have it; it was removed, or the lock was edited\n" in errors


def test_a_registry_is_asked_about_versions_that_the_cache_does_not_know(served: Served) -> None:
    change(served.folder, served.source("net"), version="v1.9.9")
    edited = text_of(served.folder)

    offline, checked, again = (
        served.run("lock", "--offline"),
        served.run("lock", "--check"),
        served.run("lock"),
    )

    assert (offline.code, checked.code, again.code, text_of(served.folder)) == (0, 1, 1, edited)


def test_a_tag_that_moved_is_no_edit(world: World, project: Path) -> None:
    honest = text_of(project)
    world.publish("base v1.1.0", kind="Provider")

    assert (run(["lock", "--check", str(project)]), text_of(project)) == (0, honest)


# What is leaving, and kept pins.


@pytest.fixture
def moved(world: World) -> Path:
    """A locked project with a kept pin, an orphan that needs base, and a deactivated package."""
    for name in ("net", "new/net"):
        world.publish(f"{name} v1.0.0", kind="Provider", crds=["nets.net.example.org"])
    folder = world.project("moved", "app:v1.0.0", "tool:v1.0.0", "net:v1.0.0", "base:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    more = "crossplaneVersion: v2.3.4\n" + moves("net", "new/net", strategy="deactivate")
    world.project("moved", "app:v1.0.0", "new/net:v1.0.0", "base:v1.1.0", more=more)
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def change(folder: Path, name: str, **fields: Any) -> bytes:
    """Write other values into fields of one package of a lock, active or deactivated; return the text before."""
    honest, lock = text_of(folder), read_lock(folder, Limits())
    assert lock
    source = parse_source(at(name))
    where = "packages" if source in lock.packages else "deactivated"
    known = getattr(lock, where)
    edited: dict[str, Any] = {where: {**known, source: replace(known[source], **fields)}}
    write_lock(folder, format_lock(replace(lock, **edited)))
    assert text_of(folder) != honest
    return honest


OTHER = Digest("sha256:" + "ab" * 32)
FACTS: dict[str, tuple[str, dict[str, Any]]] = {
    "dependencies of an orphan": ("tool", {"dependencies": (LockedDependency(BASE, "*", "Configuration"),)}),
    "objects of an orphan": ("tool", {"objects": {"CustomResourceDefinition": 7}}),
    "list of objects of an orphan": ("tool", {"objects_digest": OTHER}),
    "definitions of an orphan": ("tool", {"definitions_digest": OTHER}),
    "family of an orphan": ("tool", {"family": "evil"}),
    "list of objects of a deactivated package": ("net", {"objects_digest": OTHER}),
    "groups of a deactivated package": ("net", {"groups": ()}),
    "dependants of a deactivated package": ("net", {"required_by": (BASE,)}),
    "request of a deactivated package": ("net", {"root": "v1.0.0"}),
    "Crossplane of a deactivated package": ("net", {"crossplane": ">=v9"}),
}


@pytest.mark.parametrize("edit", FACTS.values(), ids=FACTS)
def test_the_facts_of_a_leaving_package_are_those_of_its_bytes(
    moved: Path, edit: tuple[str, dict[str, Any]]
) -> None:
    name, fields = edit
    honest = change(moved, name, **fields)

    codes = [run(["lock", *more, str(moved)]) for more in (["--check"], ["--check", "--offline"], [])]

    assert (codes, text_of(moved)) == ([3, 3, 0], honest)


@pytest.mark.parametrize("name", ["tool", "net"])
def test_another_kind_of_a_leaving_package_is_an_error(
    moved: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(moved, name, kind=Kind.FUNCTION)
    edited = text_of(moved)

    codes = run(["lock", str(moved)]), run(["lock", "--check", str(moved)])

    assert (codes, text_of(moved)) == ((3, 3), edited)
    assert f"{at(name)} v1.0.0 is leaving, and has another kind\n" in capsys.readouterr().err


def test_the_bytes_of_a_leaving_package_may_be_gone(world: World, moved: Path) -> None:
    honest = text_of(moved)
    shutil.rmtree(world.layout / "acme" / "tool", ignore_errors=True)

    assert (run(["lock", "--check", str(moved)]), text_of(moved)) == (0, honest)


def test_the_tag_of_a_leaving_package_that_is_not_there_is_told(
    moved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(moved, "tool", version="v9.9.9")

    assert run(["lock", str(moved)]) == 0

    assert f"{at('tool')} v9.9.9: " in capsys.readouterr().err


PINS = {
    "another tag": KeptPin("v0.0.1", OTHER),
    "a tag without these bytes": KeptPin("v1.1.0", OTHER),
}


@pytest.mark.parametrize("pin", PINS.values(), ids=PINS)
@pytest.mark.parametrize("name", ["base", "app", "tool", "net"])
def test_a_kept_pin_that_leads_nowhere_goes_and_is_named(
    moved: Path, name: str, pin: KeptPin, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = read_lock(moved, Limits())
    assert lock
    source = parse_source(at(name))
    package = lock.packages.get(source) or lock.deactivated[source]
    honest = change(moved, name, kept_pins=(*package.kept_pins, replace(pin, tag=f"{pin.tag}-x")))

    checked = run(["lock", "--check", str(moved)])
    repaired = run(["lock", str(moved)])

    assert (checked, repaired, text_of(moved)) == (3, 0, honest)
    assert f"the kept pin {at(name)}:{pin.tag}-x@{OTHER} goes" in capsys.readouterr().err


DOUBLED: dict[str, tuple[str, Callable[[LockedPackage], dict[str, Any]]]] = {
    "a kept pin": ("base", lambda p: {"kept_pins": p.kept_pins * 2}),
    "its own pin": ("base", lambda p: {"kept_pins": (KeptPin(p.version, p.digest), *p.kept_pins)}),
    "the pin of an orphan": ("tool", lambda p: {"kept_pins": (KeptPin(p.version, p.digest),)}),
    "the pin of a deactivated package": ("net", lambda p: {"kept_pins": (KeptPin(p.version, p.digest),)}),
    "dependants": ("base", lambda p: {"required_by": p.required_by * 2}),
    "groups": ("new/net", lambda p: {"groups": p.groups * 2}),
    "a move": ("new/net", lambda p: {"replaces": p.replaces * 2}),
    "a successor": ("net", lambda p: {"replaced_by": p.replaced_by * 2}),
}


@pytest.mark.parametrize("edit", DOUBLED.values(), ids=DOUBLED)
def test_what_is_doubled_is_written_once_again(
    moved: Path, edit: tuple[str, Callable[[LockedPackage], dict[str, Any]]]
) -> None:
    name, double = edit
    lock = read_lock(moved, Limits())
    assert lock
    source = parse_source(at(name))
    honest = change(moved, name, **double(lock.packages.get(source) or lock.deactivated[source]))

    codes = [run([*command, str(moved)]) for command in (["render"], ["lock", "--check"], ["lock"])]

    assert (codes, text_of(moved)) == ([3, 3, 0], honest)
