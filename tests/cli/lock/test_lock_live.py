"""xplock lock --live: what a cluster has that was installed before anybody locked it."""

import io
import sys
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World

from render.cli.run import run
from render.system.files import LOCK_FILE

LIVE = f"""\
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata:
  name: lock
packages:
- name: my-base-0123456789ab
  apiVersion: pkg.crossplane.io/v1
  kind: Configuration
  source: {HOME}/base
  version: v1.0.0
  dependencies: []
- name: acme-app-0123456789ab
  apiVersion: pkg.crossplane.io/v1
  kind: Configuration
  source: {HOME}/app
  version: v1.0.0
  dependencies:
  - package: {HOME}/base
    type: Configuration
    constraints: "*"
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry with two packages, of which one needs the other."""
    made = World(tmp_path)
    made.publish("base v1.0.0")
    made.publish("app v1.0.0", {"base": "*"})
    return made


@pytest.fixture
def shop(world: World) -> Path:
    """A folder that has a name of its own for what its other package needs."""
    project = world.project("shop", "app")
    (project / "base.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: my-base\n"
        f"spec:\n  package: {HOME}/base\n"
    )
    return project


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_what_kubectl_prints_is_read_from_stdin(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, LIVE)

    assert run(["lock", "--live", "-", str(shop)]) == 0

    assert f"  staleEntry:\n  - {HOME}/base\n" in (shop / LOCK_FILE).read_text()


def test_a_lock_that_is_up_to_date_gets_it_too(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "live.yaml").write_text(LIVE)
    assert run(["lock", str(shop)]) == 0
    assert f"xplock adopt --to {shop}" in capsys.readouterr().err

    assert run(["lock", "--live", str(tmp_path / "live.yaml"), str(shop)]) == 0

    assert f"  staleEntry:\n  - {HOME}/base\n" in (shop / LOCK_FILE).read_text()


def test_what_is_named_there_is_upgraded_after_what_names_it(
    world: World, shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "live.yaml").write_text(LIVE)
    assert run(["lock", "--live", str(tmp_path / "live.yaml"), str(shop)]) == 0
    world.publish("base v1.1.0")
    world.publish("app v1.1.0", {"base": "*"})
    capsys.readouterr()

    assert run(["lock", "-U", str(shop)]) == 0
    first = capsys.readouterr().out
    assert run(["lock", "-U", str(shop)]) == 0
    second = capsys.readouterr().out

    assert f"Updated  {HOME}/app v1.0.0 -> v1.1.0" in first
    assert f"Held     {HOME}/base stays at v1.0.0" in first
    assert f"Updated  {HOME}/base v1.0.0 -> v1.1.0" in second


@pytest.mark.parametrize(
    "text", ["", "kind: Provider\napiVersion: pkg.crossplane.io/v1\n", "[", "packages: 1"]
)
def test_something_else_is_refused_and_nothing_is_written(
    shop: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give(monkeypatch, text)

    assert run(["lock", "--live", "-", str(shop)]) == 2

    assert "error: this is not the Lock of a cluster" in capsys.readouterr().err
    assert not (shop / LOCK_FILE).exists()
