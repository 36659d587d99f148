"""Where findings are: the file at fault, and a line in it."""

from pathlib import Path

import pytest
from rig.builders.projects import World, small_world

from render.checks.model import CheckedFolder, Place
from render.checks.positions import find_told_place, read_entry_place, read_marked_place
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.cli.run import run
from render.errors import RenderError
from render.limits import Limits
from render.system.files import LOCK_FILE

PLATFORM = "uses:\n  - ../platform\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


def places(*folders: str) -> dict[str, Place]:
    found = find_findings(read_checked([Path(name) for name in folders], Limits(), {}))
    return {finding.rule: finding.place for finding in found}


def test_broken_yaml_is_found_at_its_line(world: World) -> None:
    world.project("app", "app:v1.0.0")
    Path("app/broken.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: [\n")

    assert places("app")["inputs-invalid"] == Place(Path("app/broken.yaml"), 4)


def test_a_missing_lock_is_found_where_something_is_asked_for(world: World) -> None:
    world.project("app")
    Path("app/shop.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: app\n"
        "spec:\n  package: xpkg.example.org/acme/app:v1.0.0\n"
    )

    assert places("app")["lock-missing"] == Place(Path("app/shop.yaml"), 6)


def test_a_merge_conflict_is_found_at_its_line(world: World) -> None:
    world.project("app", "app:v1.0.0")
    run(["-q", "lock", "app"])
    lock = Path("app") / LOCK_FILE
    lock.write_text(lock.read_text().replace("packages:\n", "<<<<<<< ours\npackages:\n", 1))

    [line] = [i for i, text in enumerate(lock.read_text().splitlines(), 1) if text == "<<<<<<< ours"]
    assert places("app") == {"lock-invalid": Place(lock, line)}


def test_a_stale_lock_is_itself_at_fault(world: World) -> None:
    world.project("app", "app:v1.0.0")
    run(["-q", "lock", "app"])
    world.project("app", "app:v2.0.0")

    assert places("app") == {"lock-stale": Place(Path("app") / LOCK_FILE)}


def test_what_is_used_is_found_where_it_is_named(world: World) -> None:
    world.project("platform", "base:v1.0.0")
    settings = world.project("app", "app:v1.0.0", more=PLATFORM) / "xplock.yaml"
    run(["-q", "lock", "platform", "app"])
    world.project("platform", "base:v1.1.0")
    run(["-q", "lock", "platform"])

    line = settings.read_text().splitlines().index("uses:") + 1
    assert places("platform", "app") == {"provided-changed": Place(Path("app/xplock.yaml"), line)}


def test_an_overlay_that_does_not_build_is_found_where_it_is_named(world: World) -> None:
    world.project("app", "app:v1.0.0", more="overlay: overlay\n")
    Path("app/overlay").mkdir()
    Path("app/overlay/kustomization.yaml").write_text("resources: [missing.yaml]\n")
    run(["-q", "lock", "app"])

    line = Path("app/xplock.yaml").read_text().splitlines().index("overlay: overlay") + 1
    assert places("app") == {"not-renderable": Place(Path("app/xplock.yaml"), line)}


@pytest.mark.parametrize(
    ("mark", "line"), [("one", 1), ("\none", 1), ("two", 2), ("\nwo", 1), ("three", 3), ("none", 1), ("", 1)]
)
def test_a_mark_is_found_on_its_line_and_what_is_not_there_on_the_first(
    tmp_path: Path, mark: str, line: int
) -> None:
    file = tmp_path / "file"
    file.write_text("one\ntwo\nthree\n")

    assert read_marked_place(file, mark) == Place(file, line)


def test_a_file_that_cannot_be_read_has_a_first_line(tmp_path: Path) -> None:
    assert read_marked_place(tmp_path / "none", "x") == Place(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("line 7: odd", ("other", 7)),
        ("real.yaml: line 3: odd", ("real.yaml", 3)),
        ("real.yaml: spec.package: odd", ("real.yaml", 1)),
        ("gone.yaml: line 3: odd", ("other", 1)),
        ("a\0b: line 3: odd", ("other", 1)),
        (f"{'x' * 5000}: odd", ("other", 1)),
        ("", ("other", 1)),
    ],
)
def test_an_error_tells_its_place_by_what_it_begins_with(
    tmp_path: Path, text: str, expected: tuple[str, int]
) -> None:
    (tmp_path / "real.yaml").touch()
    (tmp_path / "other").touch()
    one = CheckedFolder(tmp_path, RenderError("unread"), None)

    assert find_told_place(one, [text], "other") == Place(tmp_path / expected[0], expected[1])


PROVIDER = (
    "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: p\nspec:\n  package: unknown\n"
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"p.yaml": PROVIDER}, "app/p.yaml"),
        ({"a.yaml": "", "kustomization.yaml": "resources: [p.yaml]", "p.yaml": PROVIDER}, "app/kustomization.yaml"),
        ({"a.yaml": "", "xplock.yaml": "unknown: 1"}, "app/xplock.yaml"),
    ],
    ids=["a manifest", "a kustomization", "settings"],
)  # fmt: skip
def test_a_place_is_one_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app").mkdir()
    for name, text in files.items():
        Path("app", name).write_text(text)

    found = {rule: place.file for rule, place in places("app").items()}
    assert found == dict.fromkeys(["inputs-invalid", "lock-missing"], Path(expected))


@pytest.mark.parametrize("name", ["", "notes.txt"])
def test_the_place_of_a_folder_that_asks_for_nothing_is_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app").mkdir()
    if name:
        Path("app", name).write_text("none")

    assert {rule: place.file for rule, place in places("app").items()} == {"inputs-invalid": Path("app")}


def test_what_is_not_used_any_more_is_found_in_a_file_that_exists(world: World) -> None:
    world.project("platform", "base:v1.0.0")
    settings = world.project("app", "app:v1.0.0", more=PLATFORM) / "xplock.yaml"
    run(["-q", "lock", "platform", "app"])
    settings.unlink()

    assert {place.file for place in places("platform", "app").values()} == {Path("app") / LOCK_FILE}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("resources:\n  - crossplane.lock.yaml\n", 2),
        ("# crossplane.lock.yaml is not for here\nresources:\n- a.yaml # not crossplane.lock.yaml\n- crossplane.lock.yaml\n", 4),
        ("resources:\n- ../base/crossplane.lock.yaml\n- crossplane.lock.yaml.md\n- './crossplane.lock.yaml'\n", 1),
        ("resources:\n- ../base/crossplane.lock.yaml\n- 'crossplane.lock.yaml'\n", 3),
        ("configMapGenerator:\n- name: a\n  files: [b.yaml, c=crossplane.lock.yaml]\n", 3),
        ("resources: ['a#b', crossplane.lock.yaml]\n", 1),
    ],
)  # fmt: skip
def test_an_entry_is_found_as_a_whole_and_in_no_comment(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "kustomization.yaml"
    file.write_text(text)

    assert read_entry_place(file, "crossplane.lock.yaml") == Place(file, line)


def test_a_lock_that_is_listed_is_found_at_its_entry(world: World) -> None:
    world.project("app", "app:v1.0.0")
    run(["-q", "lock", "app"])
    text = "# without crossplane.lock.yaml\nresources:\n- xplock.yaml\n- crossplane.lock.yaml\n"
    Path("app/kustomization.yaml").write_text(text)

    assert places("app")["lock-listed"] == Place(Path("app/kustomization.yaml"), 4)


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("a.yaml: document 2: x.y[1].z: it is odd", 7),
        ("a.yaml: document 2: x.y[1].missing: it is odd", 7),
        ("a.yaml: document 2: it is odd", 4),
        ("a.yaml: document 9: x: it is odd", 1),
        ("a.yaml: x: it is odd", 1),
        ("a.yaml: x[y].z[: it is odd", 1),
        (f"a.yaml: x[{'9' * 5000}]: it is odd", 1),
        ("a.yaml: line 5: document 2: x.y[1].z: it is odd", 5),
    ],
)
def test_the_line_of_a_problem_is_found_by_its_document_and_keys(
    tmp_path: Path, told: str, line: int
) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n---\n# Two\nx:\n  y:\n    - z: 1\n    - z: 2\n")
    one = CheckedFolder(tmp_path, RenderError("it is odd"), None)

    assert find_told_place(one, [told], "b.yaml") == Place(tmp_path / "a.yaml", line)
