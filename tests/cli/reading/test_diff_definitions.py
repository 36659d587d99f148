"""xplock diff: what new packages do to the definitions of the old ones, as people, pull requests and programs see it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.definitions import a_composition, a_crd, a_schema, a_version, an_mrd, an_xrd
from rig.builders.projects import HOME, World
from rig.registry.http_server import RecordingServer
from rig.registry.layout_server import serve_layout

from render.cli.run import run
from render.system.files import LOCK_FILE
from render.yaml.writer import format_document

TEXT = {"type": "string"}
SIZE = {"type": "integer"}
OTHERS = "others.example.org"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RecordingServer]:
    """A registry that counts what it is asked."""
    with serve_layout(tmp_path / "registry", "xpkg.example.org") as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, server: RecordingServer, monkeypatch: pytest.MonkeyPatch) -> World:
    """A provider in versions that differ in their definitions, and a cache."""
    world = World(tmp_path)
    world.host = server.host
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
    first = a_crd(a_version("v1", a_schema({"size": SIZE, "name": TEXT})))
    publish(world, "v1.0.0", first, a_crd(name=OTHERS))
    publish(world, "v1.1.0", first, a_crd(name=OTHERS))
    publish(world, "v2.0.0", a_crd(a_version("v1")), a_crd(name=OTHERS, scope="Namespaced"))
    publish(world, "v3.0.0", a_crd(a_version("v2")))
    monkeypatch.setenv("XPLOCK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return world


def publish(world: World, version: str, *objects: dict[str, object], name: str = "things") -> None:
    """Put a version of a provider with some definitions into the registry."""
    world.publish(f"{name} {version}", kind="Provider", objects=objects)


def lock(world: World, folder: str, *roots: str) -> str:
    """Lock a folder that asks for packages, and return its name."""
    assert run(["-q", "lock", str(world.project(folder, *roots))]) == 0
    return folder


@pytest.fixture
def folders(world: World) -> tuple[str, str]:
    """Two folders: in the second one, a field is gone and a scope has changed."""
    return lock(world, "old", "things:v1.0.0"), lock(world, "new", "things:v2.0.0")


def forget(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """Take an empty cache."""
    monkeypatch.setenv("XPLOCK_CACHE_DIR", str(world.folder / "empty"))


def rows(output: str) -> list[tuple[str, str, str]]:
    """Return class, rule and definition of the findings in a JSON result."""
    return [(one["class"], one["rule"], one["definition"]) for one in json.loads(output)["definitions"]]


def test_findings_stand_below_the_packages_by_class_rule_and_path(
    folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", *folders]) == 0

    text = capsys.readouterr().out
    assert text.startswith(f"Updated {HOME}/things v1.0.0 -> v2.0.0")
    assert text.split("Definitions: ")[1].splitlines() == [
        "1 blocked, 1 lost",
        f"blocked  scope  Cluster -> Namespaced in {OTHERS}",
        "         things v1.0.0 -> v2.0.0; the new revision of the package stays",
        "         unhealthy, and the old controller is off by then",
        "lost     field-gone  .spec.name in things.example.org",
        "         things v1.0.0 -> v2.0.0",
    ]


def test_programs_get_every_finding_and_pull_requests_a_table_for_each_class(
    folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["diff", *folders, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    run(["diff", *folders, "-o", "markdown"])
    markdown = capsys.readouterr().out

    assert document["notCompared"] == []
    assert document["definitions"][1] == {
        "rule": "field-gone",
        "class": "lost",
        "definition": "things.example.org",
        "kind": "CustomResourceDefinition",
        "version": "v1",
        "path": ".spec.name",
        "before": "",
        "after": "",
        "package": f"{HOME}/things",
        "from": "v1.0.0",
        "to": "v2.0.0",
        "detail": "",
    }
    assert "**lost** in 1 definition: stored objects lose data, or no update to them passes\n" in markdown
    assert "| field-gone | `.spec.name` in `things.example.org` | `things v1.0.0 -> v2.0.0` |" in markdown


@pytest.mark.parametrize(("risk", "code"), [("blocked", 3), ("lost", 3), ("writers", 3), ("note", 3)])
def test_a_class_can_fail_the_call_and_the_worse_ones_with_it(
    folders: tuple[str, str], capsys: pytest.CaptureFixture[str], risk: str, code: int
) -> None:
    assert run(["diff", *folders, "--fail-on", risk]) == code
    assert "error: definitions change in a way of class" in capsys.readouterr().err


def test_a_class_that_is_not_there_fails_nothing(
    world: World, folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    only_field = ["diff", *folders, "--rule", "field-gone"]

    assert run([*only_field, "--fail-on", "blocked"]) == 0
    assert run([*only_field, "--fail-on", "lost"]) == 3
    same = lock(world, "same", "things:v1.1.0")
    capsys.readouterr()

    assert run(["diff", folders[0], same, "--fail-on", "note"]) == 0
    assert capsys.readouterr().out.endswith("No definition changes.\n")


def test_rules_narrow_the_findings_and_an_unknown_one_is_an_error(
    folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["diff", *folders, "--rule", "scope", "-o", "json"])
    found = rows(capsys.readouterr().out)

    assert found == [("blocked", "scope", OTHERS)]
    assert run(["diff", *folders, "--rule", "scop"]) == 2
    assert "did you mean scope?" in capsys.readouterr().err


def test_equal_definitions_need_neither_cache_nor_registry(
    world: World,
    server: RecordingServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    old, new = lock(world, "old", "things:v1.0.0"), lock(world, "new", "things:v1.1.0")
    forget(monkeypatch, world)
    asked = len(server.requests)

    assert run(["diff", old, new, "--fail-on", "note", "-o", "json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert (document["definitions"], document["notCompared"]) == ([], [])
    assert len(server.requests) == asked
    assert not (world.folder / "empty").exists()


def test_content_that_cannot_be_had_is_said_with_the_command_that_helps(
    world: World,
    folders: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forget(monkeypatch, world)

    code = run(["diff", *folders, "--offline"])
    text = capsys.readouterr().out
    failed = run(["diff", *folders, "--offline", "--fail-on", "blocked"])
    error = capsys.readouterr().err
    run(["diff", *folders, "--offline", "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    helped = run(["diff", "old", "new", "--fail-on", "blocked"])

    assert (code, failed, helped) == (0, 1, 3)
    assert "not compared: 2 packages (things v1.0.0, things v2.0.0): " in " ".join(text.split())
    assert "No definition changes" not in text
    assert "         next: xplock diff old new\n" in text
    assert "error: the definitions of 2 packages are not compared" in error
    assert [(one["version"], one["missing"]) for one in document["notCompared"]] == [
        ("v1.0.0", True),
        ("v2.0.0", True),
    ]


def test_the_cache_answers_without_a_registry(
    server: RecordingServer, folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = len(server.requests)

    for options in (["--offline"], []):
        run(["diff", *folders, *options, "-o", "json"])
        assert {row[1] for row in rows(capsys.readouterr().out)} == {"scope", "field-gone"}
    assert len(server.requests) == asked


def test_a_registry_that_cannot_be_reached_is_named(
    world: World,
    server: RecordingServer,
    folders: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forget(monkeypatch, world)
    monkeypatch.setenv("XPLOCK_ALLOWED_REGISTRIES", "registry.example.org")

    assert run(["diff", *folders]) == 0

    text = capsys.readouterr().out
    assert "not compared: 2 packages" in text
    assert server.host in text
    assert "next: xplock diff -v old new\n" in text


def test_a_layout_of_the_call_answers_where_files_have_no_settings(
    world: World, folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name in folders:
        file = world.folder / f"{name}.yaml"
        (world.folder / name / LOCK_FILE).rename(file)
        files.append(str(file))

    run(["diff", *files, "--layout", f"xpkg.example.org={world.layout}", "-o", "json"])

    assert {row[1] for row in rows(capsys.readouterr().out)} == {"scope", "field-gone"}


def test_definitions_are_compared_across_the_whole_lock(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(world, "v1.0.0", a_crd(name=OTHERS), name="others")
    old = lock(world, "old", "things:v1.0.0")
    new = lock(world, "new", "things:v3.0.0", "others:v1.0.0")

    run(["diff", old, new, "-o", "json"])

    assert rows(capsys.readouterr().out) == [
        ("blocked", "stored-version-gone", "things.example.org"),
        ("note", "definition-moved", OTHERS),
        ("note", "no-way-back", "things.example.org"),
    ]


def test_definitions_can_be_left_out(folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(["diff", *folders, "--no-definitions"])
    text = capsys.readouterr().out
    run(["diff", *folders, "--no-definitions", "-o", "json"])

    assert "Definitions" not in text
    assert "definitions" not in json.loads(capsys.readouterr().out)
    assert run(["diff", *folders, "--no-definitions", "--fail-on", "lost"]) == 2


def test_many_changes_are_counted_and_shown_if_asked_for(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = {f"field{number}": TEXT for number in range(9)}
    many = [
        a_crd(a_version("v1", a_schema(fields | {"size": SIZE})), name=f"k{n}.example.org") for n in range(8)
    ]
    publish(world, "v4.0.0", *many)
    publish(world, "v5.0.0", *(a_crd(name=f"k{n}.example.org") for n in range(8)))
    folders = lock(world, "old", "things:v4.0.0"), lock(world, "new", "things:v5.0.0")

    run(["diff", *folders])
    short = capsys.readouterr().out.splitlines()
    run(["diff", *folders, "-v"])
    full = capsys.readouterr().out

    assert "lost     field-gone  .spec.field0 in 8 definitions (k0.example.org," in short
    assert "lost     field-gone  6 more changes in 8 definitions: -v shows all" in short
    assert max(map(len, short[short.index("Definitions: 8 lost") :])) <= 80
    assert all(f".spec.field{number} in" in full for number in range(9))
    assert full.count("k7.example.org") == 9


def test_a_lock_of_a_cluster_names_no_bytes_to_compare(
    folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", "-", folders[1], "--fail-on", "lost"]) == 2
    assert "the definitions of a cluster's Lock cannot be compared" in capsys.readouterr().err


def test_a_composition_in_the_folder_is_compared_with_the_xrd_of_its_package(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = a_version("v1"), a_version("v2", storage=False)
    world.publish("api v1.0.0", objects=[an_xrd(older, newer)])
    world.publish("api v2.0.0", objects=[an_xrd({**older, "storage": False}, {**newer, "storage": True})])
    old, new = lock(world, "old", "api:v1.0.0"), lock(world, "new", "api:v2.0.0")
    Path(new, "composition.yaml").write_text(format_document(a_composition("example.org/v1", name="mine")))
    capsys.readouterr()

    assert run(["diff", old, new, "--rule", "composition-target"]) == 0
    assert capsys.readouterr().out.split("Definitions: ")[1].splitlines() == [
        "1 writers",
        "writers  composition-target  mine: for example.org/v1 Thing, and the XRD refers",
        "         to v2",
        "         it is no part of a package: change it together with the upgrade",
    ]


def live(world: World, **stored: list[str]) -> str:
    """Write what kubectl prints of the CRDs of a cluster, with their stored versions, and of an inactive MRD."""
    crds = [
        {**a_crd(name=f"{name}.example.org"), "status": {"storedVersions": versions}}
        for name, versions in stored.items()
    ]
    inactive = an_mrd(name=OTHERS, state="Inactive")
    file = world.folder / "live.json"
    document = {"apiVersion": "v1", "kind": "List", "items": [*crds, inactive]}
    file.write_text(json.dumps(document))
    return str(file)


def test_a_cluster_makes_findings_exact(
    world: World, folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    newest = lock(world, "newest", "things:v3.0.0")
    capsys.readouterr()

    run(["diff", *folders, "--live", live(world, things=["v1"]), "-o", "json"])
    without_inactive = rows(capsys.readouterr().out)
    run(["diff", folders[1], newest, "--live", live(world, things=["v2"]), "-o", "json"])
    migrated = rows(capsys.readouterr().out)
    run(["diff", folders[1], newest, "--live", live(world, things=["v1", "v2"]), "-o", "json"])
    stored = rows(capsys.readouterr().out)

    assert without_inactive == [("lost", "field-gone", "things.example.org")]
    assert {row[:2] for row in migrated} == {("writers", "version-gone"), ("note", "no-way-back")}
    assert ("blocked", "stored-version-gone", "things.example.org") in stored
    assert run(["diff", *folders, "--live", live(world), "--no-definitions"]) == 2
