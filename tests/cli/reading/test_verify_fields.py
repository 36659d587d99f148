"""xplock verify: whatever only the packages themselves can contradict is found, field by field."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rig.builders.packages import build
from rig.builders.projects import HOME, World, format_metadata, moves

from render.app.packages.package import build_into_layout
from render.cli.run import run
from render.limits import Limits
from render.lock.model import KeptPin, Lock, LockedDependency, LockedPackage
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import format_lock
from render.packages import Kind
from render.references import Digest, parse_reference, parse_source
from render.registry.layout import Layout

OTHER = Digest("sha256:" + "ab" * 32)
CRDS = ["databases.sql.example.org", "tables.sql.example.org"]
# By the name of a package: one field, another value, and the text of the finding.
Edit = Mapping[str, Any]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world with one of each: families, dependencies, moves, earlier versions."""
    world = World(tmp_path_factory.mktemp("fields"))
    for version in ("v1.0.0", "v1.0.1", "v1.1.0"):
        world.publish(f"sql {version}", kind="Provider", crds=CRDS, family="sql")
    world.publish("old v1.0.0", kind="Provider", crds=["nets.net.example.org", "routes.net.example.org"])
    world.publish("new v2.0.0", kind="Provider", crds=["nets.net.example.org"])
    world.publish("site v1.0.0", {"sql": ">=v1"})
    world.publish("tool v1.0.0", {"sql": ">=v1"})
    world.publish("app v1.0.0", {"sql": ">=v1"})
    return world


@pytest.fixture(scope="module")
def honest(world: World) -> Path:
    """A lock with a kept pin, a deactivated package and an orphan."""
    folder = world.project("shop", "site:v1.0.0", "sql:v1.0.0", "old:v1.0.0", "tool:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    more = "crossplaneVersion: v2.3.4\n" + moves("old", "new", strategy="deactivate")
    world.project("shop", "site:v1.0.0", "sql:v1.1.0", "new:v2.0.0", more=more)
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def find(lock: Lock, name: str) -> LockedPackage:
    """Return a package, active or deactivated."""
    source = parse_source(f"{HOME}/{name}")
    return lock.packages.get(source) or lock.deactivated[source]


def write_edited(lock: Lock, folder: Path, name: str, **fields: Any) -> None:
    """Write a lock in which some fields of one package have other values."""
    package = find(lock, name)
    key, other = package.cluster_source, replace(package, **fields)
    where = "deactivated" if key in lock.deactivated else "packages"
    edited = replace(lock, **{where: {**getattr(lock, where), key: other}})  # type: ignore[arg-type]
    write_lock(folder, format_lock(edited))


def dependency(**fields: Any) -> Callable[[LockedPackage], tuple[LockedDependency, ...]]:
    """Return an edit of the first dependency."""
    return lambda package: (replace(package.dependencies[0], **fields), *package.dependencies[1:])


def pinned(**fields: Any) -> Callable[[LockedPackage], tuple[KeptPin, ...]]:
    """Return an edit of the first kept pin."""
    return lambda package: (replace(package.kept_pins[0], **fields),)


EDITS: Mapping[str, tuple[str, str, Any, str]] = {
    "constraint": ("site", "dependencies", dependency(constraints=">=v0"), "its dependencies: locked"),
    "form of a dependency": ("site", "dependencies", dependency(kind=None), "its dependencies: locked"),
    "dependency of an orphan": (
        "tool",
        "dependencies",
        dependency(constraints="*"),
        "its dependencies: locked",
    ),
    "number of objects": ("sql", "objects", {"CustomResourceDefinition": 3}, "its objects: locked 3"),
    "list of objects": ("sql", "objects_digest", OTHER, "its list of objects: locked"),
    "definitions": ("sql", "definitions_digest", OTHER, "its definitions: locked"),
    "groups": ("sql", "groups", ("dns.example.org",), "its groups: locked dns.example.org"),
    "no groups": ("new", "groups", (), "its groups: locked none, the package has net.example.org"),
    "family": ("sql", "family", "dns", "its family: locked dns, the package has sql"),
    "family of an orphan": ("tool", "family", "dns", "its family: locked dns, the package has none"),
    "Crossplane version": ("new", "crossplane", ">=v9", "its Crossplane version: locked >=v9"),
    "kind": ("new", "kind", Kind.CONFIGURATION, "its kind: locked Configuration, the package has Provider"),
    "version": ("sql", "version", "v1.0.1", "tag moved"),
    "digest": ("sql", "digest", OTHER, "bytes gone"),
    "reason to be detached": (
        "site",
        "detached",
        (f"it needs sql, which the cluster knows as {HOME}/sql",),
        "its reasons to be detached: locked it needs sql",
    ),
    "kept digest": ("sql", "kept_pins", pinned(digest=OTHER), "bytes of a kept pin gone"),
    "kept tag": ("sql", "kept_pins", pinned(tag="v1.0.1"), "its tag now names sha256:"),
    "kept tag that never was": ("sql", "kept_pins", pinned(tag="v0.0.1"), "tag gone"),
    "objects of a deactivated package": (
        "old",
        "objects",
        {"CustomResourceDefinition": 9},
        "its objects: locked 9",
    ),
    "groups of a deactivated package": ("old", "groups", (), "its groups: locked none"),
    "version of a deactivated package": ("old", "version", "v7.0.0", "tag gone"),
    "unclaimed objects": ("old", "unclaimed", {}, "its objects that no active package installs: locked none"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_field_that_a_package_contradicts_is_found(
    edit: str, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, field, value, text = EDITS[edit]
    lock = read_lock(honest, Limits()) or Lock()
    (tmp_path / "xplock.yaml").write_bytes((honest / "xplock.yaml").read_bytes())
    value = value(find(lock, name)) if callable(value) and not isinstance(value, type) else value
    write_edited(lock, tmp_path, name, **{field: value})

    code = run(["verify", str(tmp_path)])

    output = capsys.readouterr()
    assert (code in (1, 3), f"{HOME}/{name} " in output.out, text in output.out) == (True, True, True), output


def test_an_honest_lock_of_everything_is_verified(honest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["verify", str(honest)])

    lock = read_lock(honest, Limits()) or Lock()
    assert find(lock, "sql").kept_pins
    assert find(lock, "old").unclaimed
    assert (code, capsys.readouterr().out) == (0, f"{honest}: 5 of 5 packages as locked\n")


@pytest.mark.parametrize(("tag", "text"), [("v1.0.0", "tag moved"), ("v7.0.0", "tag gone")])
def test_the_tag_of_a_package_that_is_installed_by_digest_is_compared(
    world: World, tag: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project(f"native-{tmp_path.name}", "sql:v1.1.0", more="pin: native\n")
    assert run(["-q", "lock", str(folder)]) == 0
    write_edited(read_lock(folder, Limits()) or Lock(), folder, "sql", tag=tag)

    code = run(["verify", str(folder)])

    assert (code, f": {text}\n" in capsys.readouterr().out) == (3, True)


def test_a_package_that_shortens_a_dependency_has_to_be_detached(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = format_metadata(
        "short v1.0.0",
        "Configuration",
        [{"provider": "acme/sql", "version": ">=v1"}],
        replaces=(),
        family="",
        annotations={},
    )
    built = build(tmp_path / "build", {"crossplane.yaml": meta})
    reference = parse_reference(f"{HOME}/short:v1.0.0")
    build_into_layout(built, Layout(world.layout, Limits()), [reference])
    folder = world.project(f"partial-{tmp_path.name}", "short:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    honest = run(["verify", str(folder)])
    write_edited(read_lock(folder, Limits()) or Lock(), folder, "short", detached=())

    code = run(["verify", str(folder)])

    assert (honest, code) == (0, 1)
    assert (
        "its reasons to be detached: locked none, the package has a dependency without a registry, acme/sql"
        in (capsys.readouterr().out)
    )


@pytest.mark.parametrize(
    ("edit", "text"),
    [({"digest": OTHER}, "bytes gone"), ({"version": "v1.0.0"}, "tag moved")],
    ids=str,
)
def test_a_provided_package_is_compared_as_well(
    world: World, edit: Edit, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    platform = world.project(f"platform-{tmp_path.name}", "sql:v1.1.0")
    app = world.project(f"app-{tmp_path.name}", "app:v1.0.0", more=f"uses: [../{platform.name}]\n")
    assert run(["-q", "lock", str(platform), str(app)]) == 0
    lock = read_lock(app, Limits()) or Lock()
    [provided] = lock.provided.values()
    write_lock(app, format_lock(replace(lock, provided={provided.source: replace(provided, **edit)})))

    code = run(["verify", str(app)])

    output = capsys.readouterr().out
    assert code in (1, 3)
    assert f"(provided by ../{platform.name}): " in output
    assert text in output
