"""`diff --matrix`: the locks of several folders side by side."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World
from rig.commands.run import run_command


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three folders of which the last is behind, and has a package of its own."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    for package in ("net v1.0.0", "net v1.1.0", "dns v1.0.0", "lone v1.0.0"):
        world.publish(package)
    world.project("dev", "net:v1.1.0", "dns")
    world.project("staging", "net:v1.1.0", "dns")
    world.project("production", "net:v1.0.0", "dns", "lone")
    assert run_command("lock", "dev", "staging", "production").code == 0
    return world


@pytest.mark.usefixtures("world")
def test_there_is_a_row_for_each_source_and_a_column_for_each_folder() -> None:
    done = run_command("diff", "--matrix", "dev", "staging", "production")

    assert (done.code, done.stderr) == (0, "3 packages in 3 folders, 2 not alike\n")
    assert done.stdout.splitlines() == [
        "        dev     staging  production",
        f"{HOME}/",
        "  dns   v1.0.0  =        =",
        "  lone  -       -        v1.0.0",
        "  net   v1.1.0  =        v1.0.0",
    ]


@pytest.mark.usefixtures("world")
def test_a_folder_behind_the_reference_is_exit_3_with_the_command_that_helps() -> None:
    behind = run_command("diff", "--matrix", "--reference", "staging", "dev", "production")
    run_command("promote", "staging", "production")
    after = run_command("diff", "--matrix", "--reference", "staging", "dev", "production")

    assert behind.code == 3
    assert "why:  production in 1 package\n" in behind.stderr
    assert "xplock promote staging production\n" in behind.stderr
    assert after.code == 0


@pytest.mark.usefixtures("world")
def test_json_has_the_standing_of_every_package() -> None:
    done = run_command("diff", "--matrix", "-R", ".", "--reference", "dev", "-o", "json")

    document = json.loads(done.stdout)
    rows = {row["source"].rpartition("/")[2]: row["folders"] for row in document["packages"]}
    assert (document["reference"], document["behind"]) == ("dev", {"production": 1})
    assert {name: cell and cell["standing"] for name, cell in rows["net"].items()} == {
        "dev": "equal",
        "production": "behind",
        "staging": "equal",
    }
    assert rows["lone"]["dev"] is None


@pytest.mark.usefixtures("world")
def test_markdown_marks_what_is_behind() -> None:
    done = run_command("diff", "--matrix", "dev", "production", "-o", "markdown")

    assert f"| `{HOME}/net` | `v1.1.0` | **`v1.0.0`** |" in done.stdout.splitlines()


@pytest.mark.usefixtures("world")
def test_a_folder_without_a_usable_lock_has_no_column_and_the_worst_exit_code() -> None:
    Path("staging/crossplane.lock.yaml").write_text("nonsense")

    done = run_command("diff", "--matrix", "dev", "staging", "production", "-o", "json")

    document = json.loads(done.stdout)
    assert (done.code, document["folders"]) == (2, ["dev", "production"])
    assert document["errors"]["staging"]["error"]["exitCode"] == 2
    assert "in staging:\nerror: " in done.stderr


def test_many_folders_are_divided_into_tables_of_80_columns(world: World) -> None:
    names = [f"clusters/region-{i}" for i in range(12)]
    for name in names:
        world.project(name, "net:v1.1.0", "dns")
    assert run_command("lock", *names).code == 0

    done = run_command("diff", "--matrix", *names)

    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(f"region-{i}" in done.stdout for i in range(12))
    assert done.stdout.count("region-0 ") == done.stdout.count(f"{HOME}/")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--matrix", "dev"),
        ("--reference", "dev", "dev"),
        ("-R", "."),
        ("a", "b", "c"),
        ("--matrix", "dev", "nowhere"),
    ],
)
@pytest.mark.usefixtures("world")
def test_other_calls_are_wrong_usage(arguments: tuple[str, ...]) -> None:
    done = run_command("diff", *arguments)

    assert (done.code, done.stdout) == (2, "")
