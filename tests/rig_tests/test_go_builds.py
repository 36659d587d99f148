"""Building the servers of the end-to-end tests: once, by one, and with one line where it cannot be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rig.builds.recipes import ARGOCDS, CROSSPLANES, RECIPES
from rig.git.repositories import write_program

SECONDS = 60
TESTS = Path(__file__).parents[1]
FOLDERS = {recipe.name: f"{recipe.name}-{recipe.version}" for recipe in RECIPES}
ALL = len(RECIPES)
# Writes down what it is asked for, and makes something of it.
GO = """\
echo "$*" >> {folder}/asked
case "$1 $2" in
  "env GOVERSION") echo "${{version:-go1.26.3}}" ;;
  "mod download") echo '"Dir": "{folder}/module"' ;;
  "mod edit") ;;
  build*)
    if [ -n "$broken" ]; then echo "main.go:1: no such thing" >&2; exit 2; fi
    while [ "$1" != -o ]; do shift; done
    echo program > "$2" ;;
esac
"""


class Machine:
    """A machine with a Go that takes no time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        write_program(folder / "bin/go", "#!/bin/sh\n" + GO.format(folder=folder))
        for name in ("manifests/crds", "cluster/crds"):
            (folder / "module" / name).mkdir(parents=True)
        (folder / "module/hack").mkdir()
        (folder / "module/hack/git-verify-wrapper.sh").write_text("#!/bin/sh\n")
        for name in ("go.mod", "go.sum"):
            (folder / "module" / name).write_text("module example.org/made-up\n")

    def start(self, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        """Start building."""
        usual = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHONPATH": str(TESTS),
            "XPLOCK_E2E_CACHE": str(self.cache),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "rig.builds.go_builds", *arguments],
            env={**usual, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def build(self, *arguments: str, code: int = 0, **environ: str) -> str:
        """Build, and return what went wrong."""
        with self.start(*arguments, **environ) as process:
            _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == code, errors
        return errors

    def builds(self) -> int:
        """Return how many programs were built so far."""
        asked = (self.folder / "asked").read_text().splitlines()
        return sum(line.startswith("build ") for line in asked)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing was built yet."""
    return Machine(tmp_path)


def test_everything_is_built_once(machine: Machine) -> None:
    machine.build()
    assert machine.builds() == ALL
    assert (machine.cache / FOLDERS["argocd"] / "argocd-repo-server").read_text() == "program\n"

    machine.build()

    assert machine.builds() == ALL


def test_the_newest_versions_are_built_unless_others_are_named(machine: Machine) -> None:
    kubernetes = FOLDERS["kubernetes"]

    machine.build(XPLOCK_E2E_CROSSPLANE="", XPLOCK_E2E_ARGOCD="")
    newest = folders(machine)
    machine.build(XPLOCK_E2E_CROSSPLANE=CROSSPLANES[-1], XPLOCK_E2E_ARGOCD=ARGOCDS[-1])

    first, last = (f"crossplane-{version}" for version in (CROSSPLANES[0], CROSSPLANES[-1]))
    assert newest >= {first, f"argocd-{ARGOCDS[0]}", kubernetes} and last not in newest
    assert folders(machine) - newest == {last, f"package_parser-{CROSSPLANES[-1]}", f"argocd-{ARGOCDS[-1]}"}


@pytest.mark.parametrize("variable", ["XPLOCK_E2E_CROSSPLANE", "XPLOCK_E2E_ARGOCD"])
def test_of_a_version_that_is_unknown_one_line_tells_which_are_known(machine: Machine, variable: str) -> None:
    known = {"XPLOCK_E2E_CROSSPLANE": CROSSPLANES, "XPLOCK_E2E_ARGOCD": ARGOCDS}[variable]

    told = machine.build(code=1, **{variable: "v0.1.0"})

    assert told == f"{variable} is v0.1.0; the end-to-end tests know {', '.join(known)}\n"
    assert not machine.cache.exists()


def folders(machine: Machine) -> set[str]:
    """Return what was built."""
    return {path.name for path in machine.cache.iterdir() if path.is_dir()}


def test_a_script_that_a_server_runs_is_beside_it(machine: Machine) -> None:
    machine.build()

    script = machine.cache / f"argocd-{ARGOCDS[0]}" / "git-verify-wrapper.sh"
    assert os.access(script, os.X_OK)


def test_what_was_made_by_another_recipe_is_built_again(machine: Machine) -> None:
    machine.build()
    complete = machine.cache / FOLDERS["crossplane"] / "complete"
    recipe = complete.read_text()
    complete.write_text("another one")

    machine.build()

    assert (machine.builds(), complete.read_text()) == (ALL + 1, recipe)


def test_what_killed_builds_left_is_removed(machine: Machine) -> None:
    (machine.cache / "new-left/source").mkdir(parents=True)

    machine.build()

    assert {path.name for path in machine.cache.iterdir()} == {*FOLDERS.values(), "lock"}


def test_several_at_once_build_once(machine: Machine) -> None:
    several = [machine.start() for _ in range(4)]
    for process in several:
        with process:
            _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors

    assert machine.builds() == ALL


def test_without_go_one_line_tells_what_is_missing(machine: Machine) -> None:
    # Everything else that is needed, and nothing more.
    needed = machine.folder / "needed"
    needed.mkdir()

    for arguments in ((), ("--check",)):
        told = machine.build(*arguments, code=1, PATH=str(needed))
        assert told == "the end-to-end tests need Go 1.26.3 or newer: https://go.dev/dl\n"

    assert not machine.cache.exists()


def test_a_go_that_is_too_old_is_told_before_anything_is_built(machine: Machine) -> None:
    told = machine.build(code=1, version="go1.24.9")

    assert told == "the end-to-end tests need Go 1.26.3 or newer: https://go.dev/dl; this is go1.24.9\n"
    assert (machine.builds(), machine.cache.exists()) == (0, False)


def test_what_is_built_needs_no_go(machine: Machine) -> None:
    machine.build()

    assert machine.build("--check", PATH="") == ""


def test_where_go_fails_the_last_line_tells_what_was_tried(machine: Machine) -> None:
    reason, last = machine.build(code=1, broken="yes").splitlines()

    assert reason == "main.go:1: no such thing"
    assert last.startswith(f"failed with 2: {machine.folder / 'bin/go'} build ")
    assert [path.name for path in machine.cache.iterdir()] == ["lock"]
