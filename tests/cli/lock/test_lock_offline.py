"""xplock lock --offline: what the cache knows of tags and packages, and nothing else."""

from pathlib import Path

import pytest
from rig.builders.projects import locked
from rig.commands.run import run_command
from rig.commands.served import Served, serve
from rig.registry.docker import RunningRegistry


@pytest.fixture
def served(open_registry: RunningRegistry, tmp_path: Path) -> Served:
    """A locked project: app needs net."""
    served = serve(open_registry, tmp_path, "offline")
    served.push("net v1.0.0")
    served.push("app v1.0.0", net=">=v1")
    served.ask("app")
    assert served.run("lock").code == 0
    return served


def test_a_root_that_another_project_fetched_is_locked_without_the_network(
    served: Served, tmp_path: Path
) -> None:
    other = served.beside(tmp_path / "other")
    other.ask("net")

    done = other.run("-vv", "lock", "--offline")

    assert (done.code, locked(other.folder)) == (0, {"net": "v1.0.0"})
    assert "GET" not in done.stderr
    assert (
        f"warning: offline: of {served.source('net')} only versions in the lock and in the cache were considered; "
        "a registry may have others\n"
    ) in done.stderr


def test_offline_only_versions_that_were_fetched_are_chosen(served: Served, tmp_path: Path) -> None:
    served.push("net v1.1.0")
    outdated = served.run("outdated")
    other = served.beside(tmp_path / "other")
    other.ask("net")

    offline, online = other.run("lock", "--offline"), other.run("lock", "-U")

    assert "v1.1.0" in outdated.stdout
    assert (offline.code, online.code, locked(other.folder)) == (0, 0, {"net": "v1.1.0"})
    assert "Updated" in online.stdout
    # The name of the server may leave no place for the versions in its line.
    assert "v1.0.0 -> v1.1.0" in " ".join(online.stdout.split())


def test_online_a_list_of_tags_is_never_taken_from_the_cache(served: Served) -> None:
    served.push("net v1.1.0")
    served.push("net v1.2.0")

    done = served.run("lock", "-U")

    assert (done.code, locked(served.folder)["net"]) == (0, "v1.2.0")


def test_offline_a_package_that_was_never_fetched_is_named(served: Served, tmp_path: Path) -> None:
    served.push("tool v1.0.0")
    other = served.beside(tmp_path / "other")
    other.ask("tool")
    by_tag = served.beside(tmp_path / "tagged")
    by_tag.ask("tool:v1.0.0")

    done, tagged = other.run("lock", "--offline"), by_tag.run("lock", "--offline")

    assert (done.code, tagged.code) == (1, 1)
    assert f"error: {served.source('tool')} is not available offline\n" in done.stderr
    assert f"error: {served.source('tool')}:v1.0.0 is not available offline\n" in tagged.stderr
    for stderr in (done.stderr, tagged.stderr):
        assert "why:  neither a layout nor the cache has it, and registries are not asked\n" in stderr


def test_a_lock_that_needs_no_list_of_tags_says_nothing_of_it(served: Served) -> None:
    done = served.run("lock", "--check", "--offline")

    assert (done.code, done.stderr) == (0, "")


def test_offline_a_version_that_the_cache_does_not_have_is_answered_with_those_that_it_has(
    served: Served,
) -> None:
    served.ask("net:v1.9.0")

    done = served.run("lock", "--offline")

    assert done.code == 1
    assert "which has v1.0.0" in done.stderr
    assert "xplock.yaml: roots[0] asks for it" in done.stderr


def test_a_version_that_a_registry_does_not_have_is_inspected_as_the_nearest_one(served: Served) -> None:
    environ = {"XPLOCK_PLAIN_HTTP": served.host}

    done = run_command("package", "inspect", f"{served.source('net')}:v1.9.0", environ=environ)

    assert done.code == 1
    assert "the nearest that it has: v1.0.0" in done.stderr
    assert f"did you mean {served.source('net')}:v1.0.0?" in done.stderr
