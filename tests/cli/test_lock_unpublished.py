"""xplock lock and lock --check: facts of a lock that the registry does not have are an error, or become a change."""

from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, small_world, text_of
from rig.commands.refusals import edit_lock
from rig.commands.served import Served, serve
from rig.registry.docker import RunningRegistry

from render.cli.run import run
from render.limits import Limits
from render.lock.file import read_lock

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
