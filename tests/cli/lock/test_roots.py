"""xplock add and xplock remove: roots by command."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at, locked
from rig.commands.run import Outcome, files_below, run_command

from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry with an app that needs a base, both with two versions, and a net provider."""
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0", "v2.0.0-rc.1"):
        world.publish(f"base {version}")
    world.publish("net v2.3.0", kind="Provider")
    world.publish("net v2.4.0", kind="Provider")
    world.publish("app v1.0.0", {"base": "<v1.1"})
    world.publish("app v2.0.0", {"base": ">=v1"})
    return world


def empty_project(world: World) -> Path:
    """Return a folder that knows the registry and asks for nothing."""
    return world.project("shop")


def add(folder: Path, *arguments: str) -> Outcome:
    """Run add for a folder."""
    return run_command("-C", str(folder), "add", *arguments)


def remove(folder: Path, *arguments: str) -> Outcome:
    """Run remove for a folder."""
    return run_command("remove", *arguments, "-C", str(folder))


def snapshot(folder: Path) -> dict[Path, bytes]:
    """Return every file of a folder."""
    return {path: path.read_bytes() for path in files_below(folder)}


def test_the_newest_release_is_asked_for_by_its_tag(world: World) -> None:
    folder = empty_project(world)

    done = add(folder, at("app"))

    assert done.code == 0, done
    assert (folder / "acme-app.yaml").read_text() == (
        "apiVersion: pkg.crossplane.io/v1\n"
        "kind: Configuration\n"
        "metadata:\n"
        "  name: acme-app\n"
        "spec:\n"
        f"  package: {HOME}/app:v2.0.0\n"
    )
    assert locked(folder) == {"app": "v2.0.0", "base": "v1.1.0"}


def test_an_added_root_is_what_lock_would_make_of_its_file(world: World) -> None:
    folder = empty_project(world)
    add(folder, at("app"))
    made = (folder / LOCK_FILE).read_bytes()
    (folder / LOCK_FILE).unlink()

    run_command("lock", str(folder))

    assert (folder / LOCK_FILE).read_bytes() == made


@pytest.mark.parametrize(
    ("wanted", "package", "annotation"),
    [
        (":v1.0.0", "app:v1.0.0", None),
        ("@v1.0.0", "app:v1.0.0", None),
        ("@latest", "app:v2.0.0", None),
        ("@<v2", "app", "<v2"),
        ("@>=v1, <v2", "app", ">=v1, <v2"),
    ],
)
def test_versions_are_written_as_in_other_tools(
    world: World, wanted: str, package: str, annotation: str | None
) -> None:
    folder = empty_project(world)

    done = add(folder, at("app") + wanted)

    assert done.code == 0, done
    text = (folder / "acme-app.yaml").read_text()
    assert text.endswith(f"  package: {HOME}/{package}\n")
    assert (f'xplock.dev/version: "{annotation}"' in text) == (annotation is not None)


def test_the_newest_version_is_one_that_suits_everyone(world: World) -> None:
    folder = world.project("shop", "app:v1.0.0")

    add(folder, at("base"))

    assert f"{HOME}/base:v1.0.0\n" in (folder / "acme-base.yaml").read_text()


def test_a_locked_dependency_becomes_a_root_by_its_short_name(world: World) -> None:
    folder = world.project("shop", "app:v2.0.0")
    run_command("lock", str(folder))

    done = add(folder, "base")

    assert done.code == 0, done
    assert f"{HOME}/base:v1.1.0\n" in (folder / "acme-base.yaml").read_text()


def test_a_named_file_gets_the_manifest_at_its_end(world: World) -> None:
    folder = empty_project(world)
    (folder / "packages.yaml").write_text("# ours\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}")

    add(folder, at("net"), "--file", "packages.yaml")

    text = (folder / "packages.yaml").read_text()
    assert text.startswith(
        "# ours\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n---\napiVersion: pkg"
    )
    assert locked(folder) == {"net": "v2.4.0"}


def test_a_dry_run_writes_nothing_and_says_so(world: World) -> None:
    folder = world.project("shop", "app:v2.0.0")
    run_command("lock", str(folder))
    before = snapshot(folder)

    added = add(folder, at("net"), "--dry-run")
    removed = run_command("add", at("net"), str(folder), "--dry-run", "-o", "json")

    assert snapshot(folder) == before
    assert "acme-net.yaml: would be written" in added.stdout
    assert added.stderr == "nothing was written\n"
    assert json.loads(removed.stdout)["written"] is False
    assert list(json.loads(removed.stdout)["files"]) == ["acme-net.yaml"]


def test_a_version_that_suits_nobody_changes_no_file(world: World) -> None:
    folder = world.project("shop", "app:v1.0.0")
    run_command("lock", str(folder))
    before = snapshot(folder)

    done = add(folder, f"{at('base')}:v1.1.0")

    done.assert_refused(4, "base")
    assert snapshot(folder) == before


def test_what_is_asked_for_already_is_not_added(world: World) -> None:
    folder = world.project("shop", "app:v1.0.0")

    done = add(folder, f"{at('app')}:v2.0.0")

    done.assert_refused(2, "asks for", "v1.0.0 in xplock.yaml: roots[0]")


def test_a_file_that_exists_is_never_replaced(world: World) -> None:
    folder = empty_project(world)
    for name in ("acme-net.yaml", "provider-acme-net.yaml"):
        (folder / name).write_text("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n")

    done = add(folder, at("net"))

    assert (done.code, done.stdout) == (2, "")
    assert "--file NAME" in done.stderr
    assert "acme-net.yaml is there already" in done.stderr


@pytest.mark.parametrize("name", ["../net.yaml", "net.txt", ".net.yaml", "sub/net.yaml", "xplock.yaml"])
def test_only_files_that_are_read_are_accepted(world: World, name: str) -> None:
    done = add(empty_project(world), at("net"), "--file", name)

    done.assert_refused(2, "only YAML files in the folder itself")


def test_a_kustomization_gets_no_file_that_it_does_not_read(world: World) -> None:
    folder = empty_project(world)
    (folder / "kustomization.yaml").write_text("resources: []\n")

    done = add(folder, at("net"))

    done.assert_refused(2, "kustomization", "add the manifest to its resources")
    assert not (folder / "acme-net.yaml").exists()


def test_a_package_on_disk_asks_by_its_dependencies(world: World) -> None:
    folder = empty_project(world)
    (folder / "crossplane.yaml").write_text(
        "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: a\nspec:\n  dependsOn: []\n"
    )

    done = add(folder, f"{at('net')}@>=v2")

    done.assert_refused(2, "spec.dependsOn in crossplane.yaml", f"package: {HOME}/net", '">=v2"')


def test_a_manifest_goes_with_its_file(world: World) -> None:
    folder = empty_project(world)
    add(folder, at("app"))
    add(folder, at("net"))

    done = remove(folder, "net")

    assert done.code == 0, done
    assert not (folder / "acme-net.yaml").exists()
    assert "Leaving" in done.stdout


def test_other_documents_of_a_file_stay_byte_for_byte(world: World) -> None:
    folder = empty_project(world)
    first = "# first\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}   # odd\n"
    last = "---\n# last\nkind: ConfigMap\napiVersion: v1\nmetadata:\n    name: b\n...\n"
    manifest = f"---\napiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {{name: net}}\nspec: {{package: '{at('net')}:v2.4.0'}}\n"
    (folder / "all.yaml").write_text(first + manifest + last)
    run_command("lock", str(folder))

    done = remove(folder, "net")

    assert done.code == 0, done
    assert (folder / "all.yaml").read_text() == first + last


def test_what_another_package_requires_cannot_be_removed(world: World) -> None:
    folder = world.project("shop", "app:v2.0.0")
    run_command("lock", str(folder))

    done = remove(folder, "base")

    done.assert_refused(2, "does not ask for base itself", f"is required by {HOME}/app")


def test_a_root_of_the_settings_is_named_with_its_place(world: World) -> None:
    folder = world.project("shop", "app:v2.0.0")

    done = remove(folder, "app")

    done.assert_refused(2, "remove it from xplock.yaml: roots[0]")


def test_adding_and_removing_leaves_the_files_of_before(world: World) -> None:
    folder = world.project("shop", "app:v2.0.0")
    run_command("lock", str(folder))
    before = snapshot(folder)

    add(folder, "base")
    remove(folder, "base")

    assert snapshot(folder) == before
