"""Real servers, built once from the Go module proxy and kept below a cache folder."""

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.builds.recipes import MAINS, MORE, RECIPES, Recipe
from rig.processes import dying_with_us

# Read before a test hides the user's settings: builds are kept across runs and clones.
_ENVIRON = dict(os.environ)
_CACHE = Path(os.environ.get("XPLOCK_E2E_CACHE") or Path.home() / ".cache" / "xplock-e2e")
# The newest that a go.mod of these servers asks for.
_GO = (1, 26, 3)


def build(recipe: Recipe) -> Path:
    """Return the folder with the programs of a recipe and its `crds`; the first time, a few minutes pass."""
    folder = _folder(recipe)
    if not is_built(recipe):
        go = find_go()
        _CACHE.mkdir(parents=True, exist_ok=True)
        with _alone():
            # Another process may have built it in the meantime.
            if not is_built(recipe):
                _replace(go, recipe, folder)
    return folder


def is_built(recipe: Recipe) -> bool:
    """Return whether all files exist and were built by this recipe."""
    try:
        made_by = (_folder(recipe) / "complete").read_text()
    except FileNotFoundError:
        return False
    return made_by == recipe.digest


def find_go() -> str:
    """Return where Go is, which has to be new enough, or able to get one that is."""
    needed = ".".join(map(str, _GO))
    missing = f"the end-to-end tests need Go {needed} or newer: https://go.dev/dl"
    go = shutil.which("go")
    if go is None:
        raise SystemExit(missing)
    with tempfile.TemporaryDirectory() as name:
        # An older one may fetch a newer one for a module that asks for it.
        (Path(name) / "go.mod").write_text(f"module example.org/servers\n\ngo {needed}\n")
        found = _run([go, "env", "GOVERSION"], Path(name)).strip()
    if tuple(map(int, re.findall(r"\d+", found)[:3])) < _GO:
        raise SystemExit(f"{missing}; this is {found}")
    return go


def _folder(recipe: Recipe) -> Path:
    return _CACHE / f"{recipe.name}-{recipe.version}"


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process builds here; a killed process holds no lock."""
    with (_CACHE / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another build", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _replace(go: str, recipe: Recipe, folder: Path) -> None:
    for left in _CACHE.glob("new-*"):
        # Of a build that was killed.
        shutil.rmtree(left, ignore_errors=True)
    print(f"building {recipe.name} {recipe.version}; the first time this takes minutes", flush=True)
    # Finished under another name, so that an interrupted build is not taken for a whole one.
    with tempfile.TemporaryDirectory(prefix="new-", dir=_CACHE) as scratch:
        _build(go, recipe, Path(scratch) / "source", Path(scratch) / "made")
        shutil.rmtree(folder, ignore_errors=True)
        (Path(scratch) / "made").rename(folder)


def _build(go: str, recipe: Recipe, sources: Path, made: Path) -> None:
    sources.mkdir()
    made.mkdir()
    module = _download(go, recipe, sources)
    (sources / "go.mod").write_text(_describe((module / "go.mod").read_text(), recipe))
    (sources / "go.sum").write_bytes((module / "go.sum").read_bytes())
    target = f"{recipe.module}/{recipe.package}"
    if not recipe.package:
        (sources / "main.go").write_bytes((MAINS / recipe.name / "main.go").read_bytes())
        target = "."
    _run([go, "mod", "edit", f"-require={recipe.module}@{recipe.version}"], sources)
    # Without tables for debuggers, linking is quicker and the program smaller.
    flags = " ".join(["-s", "-w", *(f"-X {text}" for text in recipe.texts)])
    _run([go, "build", "-ldflags", flags, "-o", str(made / recipe.name), target], sources)
    for server in recipe.servers:
        (made / server).symlink_to(recipe.name)
    for script in recipe.scripts:
        copy = shutil.copyfile(module / script, made / Path(script).name)
        copy.chmod(0o755)
    if recipe.crds:
        # Files of the module cache are read-only, and so would be the copies.
        shutil.copytree(module / recipe.crds, made / "crds", copy_function=shutil.copyfile)
        (made / "crds").chmod(0o755)
    (made / "complete").write_text(recipe.digest)


def _describe(go_mod: str, recipe: Recipe) -> str:
    """Return the versions that a module itself is built with, its replacements included."""
    renamed = re.sub(r"^module .*$", "module example.org/servers", go_mod, flags=re.M)
    return re.sub(r"(\S+) => \./\S+", rf"\1 => \1 {recipe.nested}", renamed)


def _download(go: str, recipe: Recipe, folder: Path) -> Path:
    (folder / "go.mod").write_text("module example.org/servers\n")
    command = [go, "mod", "download", "-json", f"{recipe.module}@{recipe.version}"]
    output = _run(command, folder)
    found = re.search(r'"Dir": "(.*)"', output)
    if found is None:
        raise SystemExit(f"go did not download {recipe.module} {recipe.version}: {output}")
    return Path(found[1])


def _run(command: list[str], folder: Path) -> str:
    environment = {**_ENVIRON, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    done = subprocess.run(
        dying_with_us(command), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        print(done.stdout, end="", flush=True)
        raise SystemExit(f"failed with {done.returncode}: {shlex.join(command)}")
    return done.stdout


def main() -> None:
    """Build the servers, with --all everything; with --check, only see that this could be done."""
    if "--check" not in sys.argv:
        for one in (*RECIPES, *MORE) if "--all" in sys.argv else RECIPES:
            print(build(one))
    elif not all(map(is_built, RECIPES)):
        find_go()


if __name__ == "__main__":
    main()
