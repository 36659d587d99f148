"""Rules about one folder: what is wrong with its files and its lock."""

from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, small_world

from render.checks.model import Finding, Place
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.cli.run import run
from render.limits import Limits
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


def check(*folders: Path) -> list[Finding]:
    return find_findings(read_checked(folders, Limits(), {}))


def test_nothing_is_found_where_all_is_well(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])

    assert check(project) == []


def test_a_folder_without_a_lock_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")

    [finding] = check(project)

    assert (finding.rule, finding.folder, finding.exit_code) == ("lock-missing", str(project), 3)
    assert finding.next == (f"run: xplock lock {project}",)


def test_a_lock_that_does_not_follow_its_inputs_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])
    world.project("shop", "app:v2.0.0")

    [finding] = check(project)

    assert (finding.rule, finding.exit_code) == ("lock-stale", 3)
    assert finding.why == (f"root {HOME}/app changed",)


def test_a_lock_that_contradicts_itself_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])
    lock = project / LOCK_FILE
    lock.write_text(lock.read_text().replace('constraints: "^1"', 'constraints: "^7"'))

    [finding] = check(project)

    assert (finding.rule, finding.exit_code) == ("lock-stale", 3)
    assert f"accepts ^7 of {HOME}/base; locked is v1.1.0" in finding.why[0]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda text: text[: len(text) // 2], "is not a valid lock"),
        (lambda text: f"<<<<<<< ours\n{text}", "holds a merge conflict"),
    ],
    ids=["cut short", "a merge conflict"],
)
def test_a_lock_that_cannot_be_read_is_found(
    world: World, damage: Callable[[str], str], problem: str
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])
    (project / LOCK_FILE).write_text(damage((project / LOCK_FILE).read_text()))

    [finding] = check(project)

    assert (finding.rule, finding.exit_code) == ("lock-invalid", 2)
    assert problem in finding.message


def test_files_that_cannot_be_understood_are_found_and_the_lock_is_judged_all_the_same(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    (project / "broken.yaml").write_text("kind: [\n")

    findings = check(project)

    assert [(finding.rule, finding.exit_code) for finding in findings] == [
        ("inputs-invalid", 2),
        ("lock-missing", 3),
    ]


def test_a_lock_from_which_nothing_can_be_rendered_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])
    (project / "clash.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
    )

    [finding] = check(project)

    assert (finding.rule, finding.exit_code) == ("not-renderable", 2)
    assert "there are two objects ConfigMap one" in finding.message


def test_each_reason_of_a_stale_lock_is_shown_on_the_line_of_the_file_that_changed(world: World) -> None:
    project = world.project("shop", "base")
    shop = project / "shop.yaml"
    text = (
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: app\nspec:\n"
        f"  package: {HOME}/app:v1.0.0\n"
    )
    shop.write_text(text)
    assert run(["-q", "lock", str(project)]) == 0
    shop.write_text(text.replace("name: app", "name: other"))
    (project / "tool.yaml").write_text(f"---\n{text.replace('app', 'tool')}")
    world.project("shop", "base", more="partialDependencies: refuse\n")

    [finding] = check(project)
    (root, added, setting) = finding.split()

    assert (root.message, root.place) == (
        f"the lock is out of date: root {HOME}/app changed", Place(shop, 6)
    )  # fmt: skip
    assert added.place == Place(project / "tool.yaml", 7)
    assert setting.place.file == project / SETTINGS_FILE
    assert (
        setting.place.file.read_text().splitlines()[setting.place.line - 1] == "partialDependencies: refuse"
    )
    assert finding.place == Place(project / LOCK_FILE)


def test_a_contradiction_is_shown_on_the_line_of_its_package(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])
    lock = project / LOCK_FILE
    lock.write_text(lock.read_text().replace('constraints: "^1"', 'constraints: "^7"'))

    [problem] = check(project)[0].split()

    assert lock.read_text().splitlines()[problem.place.line - 1].strip() == f"source: {HOME}/app"


def test_the_root_that_asks_is_shown_where_a_lock_is_missing(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")

    [finding] = check(project)

    line = finding.place.file.read_text().splitlines()[finding.place.line - 1]
    assert "package: " in line
