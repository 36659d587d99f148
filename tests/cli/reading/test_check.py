"""xplock check: what is wrong, in an exit code and in words."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, small_world

from render.cli.run import run
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem: app, tool and old all need base; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


@pytest.fixture
def cluster(world: World, capsys: pytest.CaptureFixture[str]) -> World:
    """A platform with base, and an app that uses it."""
    world.project("platform", "base:v1.0.0")
    world.project("app", "app:v1.0.0", more="uses:\n  - ../platform\n")
    run(["lock", "platform", "app"])
    capsys.readouterr()
    return world


@pytest.mark.usefixtures("cluster")
def test_nothing_found_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["-q", "check", "platform", "app"])

    output = capsys.readouterr()
    assert (code, output.out, output.err) == (0, "2 folders, nothing found\n", "")


@pytest.mark.usefixtures("cluster")
def test_without_folders_the_current_one_is_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("platform")
    Path(LOCK_FILE).unlink()

    code = run(["check"])

    assert code == 3
    assert capsys.readouterr().out.startswith(".: lock-missing: ")


def test_the_gravest_finding_gives_the_exit_code(cluster: World, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.project("platform", "base:v2.0.0")
    run(["lock", "platform"])
    cluster.project("platform", "base:v1.1.0")
    (cluster.folder / "new").mkdir()
    (cluster.folder / "new/broken.yaml").write_text("kind: [\n")
    capsys.readouterr()

    codes = [
        run(["check", *folders]) for folders in (["new"], ["platform"], ["platform", "new"], ["new", "app"])
    ]

    # Broken files also have no lock.
    assert codes == [3, 3, 3, 4]


def test_broken_files_alone_are_exit_2(cluster: World) -> None:
    (cluster.folder / "app/broken.yaml").write_text("kind: [\n")

    assert run(["check", "platform", "app"]) == 2


def test_a_program_gets_the_findings_as_json(cluster: World, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.project("platform", "base:v1.1.0")
    run(["lock", "platform"])
    capsys.readouterr()

    code = run(["check", "-o", "json", "platform", "app"])

    [finding] = json.loads(capsys.readouterr().out)
    assert code == 3
    assert (finding["rule"], finding["folder"], finding["exitCode"]) == ("provided-changed", "app", 3)
    assert finding["why"] == [f"../platform provides {HOME}/base v1.1.0, and not v1.0.0"]


@pytest.mark.usefixtures("cluster")
def test_an_empty_list_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "-o", "json", "platform", "app"])

    assert json.loads(capsys.readouterr().out) == []


def test_nobody_is_asked(cluster: World) -> None:
    shutil.rmtree(cluster.layout)
    cluster.layout.mkdir()

    assert run(["check", "platform", "app"]) == 0


def test_folders_can_be_said_to_be_of_one_cluster(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.project("one", "app:v1.0.0")
    world.project("two", "app:v1.0.0")
    run(["lock", "one", "two"])
    capsys.readouterr()

    codes = run(["check", "one", "two"]), run(["check", "--same-cluster", "one", "two"])

    assert codes == (0, 4)
    assert "one: rendered-twice: one and two render the same objects\n" in capsys.readouterr().out


def test_nothing_is_written(cluster: World) -> None:
    before = {path: path.read_bytes() for path in cluster.folder.rglob("*") if path.is_file()}

    run(["check", "platform", "app"])

    assert {path: path.read_bytes() for path in cluster.folder.rglob("*") if path.is_file()} == before


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "--help"])

    assert code == 0
    assert "Examples: xplock check" in capsys.readouterr().out


def test_the_end_of_an_alias_in_a_used_folder_is_a_change_and_no_loss(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = examples / "moving/folders/4-ended"

    code = run(["check", str(step / "platform"), str(step / "app")])

    assert code == 3
    assert "provided-changed" in capsys.readouterr().out


def _name_it_twice(project: Path) -> None:
    for name in ("one", "two"):
        (project / f"{name}.yaml").write_text(
            "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\n"
            f"metadata:\n  name: {name}\nspec:\n  package: {HOME}/base:v1.1.0\n"
        )


def _rename_in_lock(project: Path) -> None:
    lock = project / LOCK_FILE
    text = lock.read_text().replace("object: acme-base\n", "object: mine\n")
    lock.write_text(text.replace("  name: acme-base-", "  name: mine-"))


def _double_in_lock(project: Path) -> None:
    lock = project / LOCK_FILE
    text = lock.read_text()
    entry = text[text.index("- apiVersion") : text.index("- apiVersion", text.index("- apiVersion") + 1)]
    lock.write_text(text.replace(entry, entry + entry, 1))


@pytest.mark.parametrize(
    ("damage", "code", "rule"),
    [
        (_name_it_twice, 2, "inputs-invalid"),
        (_rename_in_lock, 3, "lock-stale"),
        (_double_in_lock, 2, "lock-invalid"),
    ],
    ids=["two manifests", "another name below an attached dependant", "twice in the lock"],
)
def test_a_set_in_which_one_source_has_two_objects_is_refused_beforehand(
    world: World,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], None],
    code: int,
    rule: str,
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", "shop"])
    damage(project)
    capsys.readouterr()

    found = run(["check", "shop"])

    assert found == code
    assert f"shop: {rule}: " in capsys.readouterr().out


def test_github_gets_a_command_for_each_finding(cluster: World, capsys: pytest.CaptureFixture[str]) -> None:
    (cluster.folder / "app" / LOCK_FILE).unlink()

    code = run(["check", "-o", "github", "platform", "app"])

    command, count = capsys.readouterr().out.splitlines()
    assert code == 3
    assert command.startswith("::error file=app/xplock.yaml,line=2,title=xplock lock-missing::app has no ")
    assert count == "2 folders, 1 finding"


WRONG = """\
roots:
  - package: xpkg.example.org/acme/app
  - package: nohost
    foo: 1
rotos: 2
"""
WRONG_MANIFESTS = """\
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: one
spec:
  package: [1]
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: two
spec:
  package: bad
"""


def write_wrong_files(world: World) -> None:
    folder = world.project("wrong")
    (folder / "xplock.yaml").write_text(WRONG)
    (folder / "a.yaml").write_text(WRONG_MANIFESTS)
    (folder / "b.yaml").write_text("a: 1\nb: [\n")


def test_github_gets_each_problem_of_the_files_on_its_line(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wrong_files(world)

    run(["check", "-o", "github", "wrong"])

    told = re.findall(
        "^::error file=wrong/(.+?),line=([0-9]+),title=xplock inputs-invalid::(.*)$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert [(file, int(line)) for file, line, _ in told] == [
        ("a.yaml", 6),
        ("a.yaml", 13),
        ("b.yaml", 3),
        ("xplock.yaml", 4),
        ("xplock.yaml", 3),
        ("xplock.yaml", 5),
    ]
    assert all(text.startswith(f"{file}: ") and "next: correct" in text for file, _, text in told)


def test_code_scanning_gets_each_problem_of_a_lock_on_its_line(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = world.project("shop", "app:v1.0.0") / LOCK_FILE
    run(["-q", "lock", "shop"])
    lock.write_text(lock.read_text().replace(" digest: sha256:", " digest: sha25:"))

    run(["check", "-o", "sarif", "shop"])

    [ran] = json.loads(capsys.readouterr().out)["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in ran["results"]]
    numbers = [i for i, line in enumerate(lock.read_text().splitlines(), start=1) if " sha25:" in line]
    assert [place["region"]["startLine"] for place in places] == numbers
    assert len(numbers) == 2


def test_code_scanning_gets_a_log(cluster: World, capsys: pytest.CaptureFixture[str]) -> None:
    (cluster.folder / "app" / LOCK_FILE).unlink()

    code = run(["check", "-o", "sarif", "platform", "app"])

    [ran] = json.loads(capsys.readouterr().out)["runs"]
    assert (code, [result["ruleId"] for result in ran["results"]]) == (3, ["lock-missing"])


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_no_form_shows_the_password_in_a_url(
    world: World, form: str, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (world.folder / "built").mkdir()
    entry = f"https://robin:{canary}@git.example.org/acme/base?token={canary}"
    (world.folder / "built/kustomization.yaml").write_text(f"resources: ['{entry}']\n")

    run(["check", "built", "-o", form])

    output = capsys.readouterr().out
    assert "https://***@git.example.org/acme/base" in output
    assert canary not in output


def test_options_change_nothing_about_what_is_found(
    cluster: World, capsys: pytest.CaptureFixture[str]
) -> None:
    (cluster.folder / "app" / LOCK_FILE).unlink()

    # Without options click is not imported.
    plain = run(["check", "platform", "app"]), capsys.readouterr().out
    clicked = run(["check", "-o", "text", "platform", "app"]), capsys.readouterr().out

    assert plain == clicked


def test_a_folder_that_does_not_exist_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "nowhere"])

    assert (code, capsys.readouterr().out) == (2, "")


@pytest.mark.parametrize(
    ("settings", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["a terminal", "NO_COLOR", "a dumb terminal"],
)
@pytest.mark.usefixtures("cluster")
def test_the_rule_is_coloured_on_a_terminal_unless_somebody_minds(
    settings: dict[str, str], coloured: bool
) -> None:
    (Path("app") / LOCK_FILE).unlink()

    text = _on_a_terminal(["check", "platform", "app"], settings)

    rule = "\x1b[1;31mlock-missing\x1b[0m" if coloured else "lock-missing"
    assert text.startswith(f"app: {rule}: app has no {LOCK_FILE}")
    assert ("\x1b" in text) is coloured


def _on_a_terminal(arguments: list[str], settings: dict[str, str]) -> str:
    environ = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "render", *arguments], stdout=theirs, env={**environ, **settings}, check=False
    )
    os.close(theirs)
    with os.fdopen(ours, "rb") as terminal:
        return terminal.read1(65_536).decode()


def test_folders_with_the_same_lock_are_each_judged_by_their_own_files(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("one", "app:v1.0.0")
    run(["-q", "lock", "one"])
    world.project("two", "app:v2.0.0")
    shutil.copy(Path("one") / LOCK_FILE, Path("two") / LOCK_FILE)
    shutil.copytree("one", "three")
    capsys.readouterr()

    code = run(["check", "one", "two", "three"])

    output = capsys.readouterr().out
    assert code == 3
    assert output.startswith("two: lock-stale: ")
    assert output.endswith("3 folders, 1 finding\n")
