"""xplock outdated --definitions: what each upgrade that is available would do to definitions."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from rig.builders.definitions import a_crd, a_schema, a_version
from rig.builders.locks import source
from rig.builders.projects import HOME, World
from rig.registry.http_server import RecordingServer
from rig.registry.layout_server import serve_layout

from render.cli.run import run
from render.limits import Limits
from render.references import Reference
from render.registry.layout import Layout

NAMED = a_schema({"name": {"type": "string"}})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RecordingServer]:
    """A registry that counts what it is asked."""
    with serve_layout(tmp_path / "registry", "xpkg.example.org") as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, server: RecordingServer, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two providers with newer versions, a field and a scope of the first one differ; and a package that is newest."""
    world = World(tmp_path)
    world.host = server.host
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
    monkeypatch.setenv("XPLOCK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    things, others = "things.things.example.org", "others.things.example.org"
    publish(world, "things v1.0.0", a_crd(a_version(schema=NAMED), name=things), a_crd(name=others))
    publish(world, "things v1.1.0", a_crd(name=things), a_crd(name=others, scope="Namespaced"))
    publish(world, "things v2.0.0")
    publish(world, "plain v1.0.0", a_crd(name="plains.plain.example.org"))
    publish(world, "plain v1.1.0", a_crd(name="plains.plain.example.org"))
    publish(world, "still v1.0.0", a_crd(name="stills.still.example.org"))
    lock_first(world.project("shop"))
    return world


REQUESTS = {"things": "^1", "plain": "*", "still": "*"}


def lock_first(folder: Path, *more: str) -> None:
    """Lock the first version of each package, in a folder that asks for ranges since."""
    settings = folder / "xplock.yaml"
    others = settings.read_text().replace("roots: []\n", "")
    first = [f"  - package: {HOME}/{name}:v1.0.0\n" for name in REQUESTS]
    ranges = [f"  - package: {HOME}/{name}\n    version: {text!r}\n" for name, text in REQUESTS.items()]
    for roots in (first, ranges):
        settings.write_text(f"roots:\n{''.join(roots)}{others}")
        assert run(["-q", "lock", str(folder), *more]) == 0


def publish(world: World, package: str, *objects: Mapping[str, object]) -> None:
    """Put a version of a provider into the registry."""
    world.publish(package, kind="Provider", objects=objects)


TABLE = f"""\
Can be upgraded now
          LOCKED  TO      STEP
{HOME}/
  plain   v1.0.0  v1.1.0  minor
    definitions: no change
  things  v1.0.0  v1.1.0  minor
    definitions: 1 blocked, 1 lost

Held back
          LOCKED  LATEST  STEP
{HOME}/
  things  v1.0.0  v2.0.0  major
    by you (^1)
"""


@pytest.mark.usefixtures("world")
def test_each_upgrade_has_the_number_of_definitions_for_each_class(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(["outdated", "shop", "--definitions"])

    output = capsys.readouterr()
    assert (code, output.out) == (0, TABLE)
    assert output.err == "something newer for 2 of 3 packages\n"


@pytest.mark.usefixtures("world")
def test_without_the_option_no_package_is_read(
    server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.forget()

    run(["outdated", "shop"])

    assert "definitions" not in capsys.readouterr().out
    assert all("/tags/list" in one.path for one in server.requests)


@pytest.mark.usefixtures("world")
def test_programs_get_the_numbers_of_what_can_be_upgraded(capsys: pytest.CaptureFixture[str]) -> None:
    run(["outdated", "shop", "--definitions", "--all", "-o", "json"])

    found = {one["source"].rpartition("/")[2]: one for one in json.loads(capsys.readouterr().out)["packages"]}
    assert found["things"]["wanted"] == "v1.1.0"
    assert found["things"]["definitionClasses"] == {"blocked": 1, "lost": 1, "writers": 0, "note": 0}
    assert found["things"]["definitionsNotCompared"] == []
    assert "definitionClasses" not in found["still"]


def test_content_that_cannot_be_had_is_said_in_its_row(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    blobs = world.layout / "blobs/sha256"
    known = set(blobs.iterdir())
    publish(world, "plain v1.2.0", a_crd(name="plains.plain.example.org", scope="Namespaced"))
    manifest = Layout(world.layout, Limits()).content(Reference(source("plain"), "v1.2.0")).digest
    for blob in set(blobs.iterdir()) - known:
        if blob.name != manifest.removeprefix("sha256:"):
            blob.unlink()

    assert run(["outdated", "shop", "--definitions"]) == 0

    text = capsys.readouterr().out
    plain, things = text.split("definitions: ")[1:]
    assert plain.startswith("not compared: plain v1.2.0: ")
    assert things.startswith("1 blocked, 1 lost\n")
    assert all(len(line) <= 80 for line in text.splitlines() if "sha256:" not in line)
    run(["outdated", "shop", "--definitions", "-o", "json"])
    document = json.loads(capsys.readouterr().out)["packages"][0]
    assert document["definitionsNotCompared"] == ["plain v1.2.0"]
    assert set(document["definitionClasses"].values()) == {0}


@pytest.mark.usefixtures("world")
def test_offline_only_versions_in_the_cache_are_known_which_is_said(
    server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["outdated", "shop"])
    run(["outdated", "shop", "--offline"])
    before = capsys.readouterr()
    run(["outdated", "shop", "--definitions"])
    capsys.readouterr()
    server.forget()

    code = run(["outdated", "shop", "--definitions", "--offline"])

    after = capsys.readouterr()
    assert (code, server.requests) == (0, ())
    assert after.out == TABLE.partition("\nHeld back")[0]
    assert before.err.splitlines()[-1] == (
        "something newer for 0 of 3 packages; registries were not asked, and may have more"
    )


def test_a_layout_of_the_call_stands_in_for_the_registry(
    world: World, server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, layout = world.folder / "plain", f"--layout=xpkg.example.org={world.layout}"
    folder.mkdir()
    (folder / "xplock.yaml").write_text("")
    lock_first(folder, layout)
    server.forget()

    run(["outdated", "plain", "--definitions", "--no-cache", layout])

    assert capsys.readouterr().out == TABLE
    assert server.requests == ()


@pytest.mark.usefixtures("world")
def test_every_folder_has_its_own_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    run(["outdated", "shop", "shop", "--definitions", "-o", "json"])

    documents = json.loads(capsys.readouterr().out)
    assert [one["packages"][1]["definitionClasses"]["blocked"] for one in documents]
