"""The first requests of a cold lock go out before the rest of the program is imported."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package

from render.cli.run import run
from render.limits import Limits
from render.lock.text.file import read_lock

# Prints which of these modules were imported when the first request went out.
SCRIPT = """
import sys
LATER = ("git", "semver", "render.lifecycle.update", "render.resolve.solver", "render.views.report")
found = []
def note(event, _):
    if event == "socket.connect" and not found:
        found.append([name for name in LATER if name in sys.modules])
sys.addaudithook(note)
from render.cli.run import run
assert run(["-q", "lock"]) == 0
assert all(name in sys.modules for name in LATER[2:])
print(found)
"""
APP = "xpkg.example.org/acme/app"


@pytest.fixture
def mini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MiniRegistry]:
    with MiniRegistry() as running:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", running.host)
        monkeypatch.setenv("XPLOCK_CACHE_DIR", str(tmp_path / "cache"))
        yield running


def project(folder: Path, mini: MiniRegistry, place: str, package: str = f"{APP}:v1.0.0") -> Path:
    """A folder that asks for one package, found below a path of the registry."""
    folder.mkdir()
    (folder / "xplock.yaml").write_text(
        f"roots:\n  - package: {package}\nrewrites:\n  - from: xpkg.example.org\n    to: {mini.host}/{place}\n"
    )
    return folder


def locked_digest(folder: Path) -> str:
    lock = read_lock(folder, Limits())
    assert lock
    [package] = lock.packages.values()
    return package.digest


@pytest.mark.parametrize("package", [f"{APP}:v1.0.0", APP])
def test_the_first_request_waits_for_no_import_that_it_does_not_need(
    package: str, mini: MiniRegistry, tmp_path: Path
) -> None:
    add_package(mini, "one/acme/app", "v1.0.0")
    folder = project(tmp_path / "shop", mini, "one", package)

    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[[]]\n", "")


@pytest.mark.parametrize(("package", "questions"), [(f"{APP}:v1.0.0", 2), (APP, 3)])
def test_every_question_is_asked_once(
    package: str, questions: int, mini: MiniRegistry, tmp_path: Path
) -> None:
    add_package(mini, "one/acme/app", "v1.0.0")

    code = run(["-q", "lock", str(project(tmp_path / "shop", mini, "one", package))])

    paths = [request.path for request in mini.requests]
    assert (code, len(paths), len(set(paths))) == (0, questions, questions)


def test_another_folder_gets_the_bytes_of_its_own_rewrites(mini: MiniRegistry, tmp_path: Path) -> None:
    first = add_package(mini, "one/acme/app", "v1.0.0", name="first")
    second = add_package(mini, "two/acme/app", "v1.0.0", name="second")
    folders = [project(tmp_path / place, mini, place) for place in ("one", "two")]

    code = run(["-q", "lock", *map(str, folders)])

    assert code == 0
    assert [locked_digest(folder) for folder in folders] == [first.digest, second.digest]
    assert first.digest != second.digest


def test_a_package_that_does_not_exist_is_the_usual_error(
    mini: MiniRegistry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["-q", "lock", str(project(tmp_path / "shop", mini, "one"))])

    assert (code, APP in capsys.readouterr().err) == (1, True)


def test_a_folder_with_a_lock_or_without_the_network_asks_nothing_ahead(
    mini: MiniRegistry, tmp_path: Path
) -> None:
    add_package(mini, "one/acme/app", "v1.0.0")
    folder = project(tmp_path / "shop", mini, "one")

    assert run(["-q", "lock", "--offline", str(folder)]) != 0
    assert mini.requests == ()
    assert run(["-q", "lock", str(folder)]) == 0
    asked = len(mini.requests)
    assert run(["-q", "lock", str(folder)]) == 0
    assert len(mini.requests) == asked


def test_an_error_in_the_folder_is_reported_once(
    mini: MiniRegistry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project(tmp_path / "shop", mini, "one")
    (folder / "xplock.yaml").write_text("rots: []\n")

    code = run(["-q", "lock", str(folder)])

    assert code == 2
    assert capsys.readouterr().err.count("rots") == 1
    assert mini.requests == ()
