"""What the plugin says when nothing comes out: the same text in whatever folder Argo CD has put the files."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from rig.argocd.plugin_calls import Ending
from rig.builders.projects import at, small_world

from render.cli.run import run
from render.system.files import LOCK_FILE

SECONDS = 60
SHOP = "clusters/shop"
PATCH = "patches: [{target: {kind: Odd}, patch: '[{op: remove, path: /a}]'}]\n"
OF_NOTHING = "patches: [{patch: '{apiVersion: v1, kind: Odd, metadata: {name: nobody}}'}]\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a project that is locked, and beside it one that is not."""
    tree = tmp_path_factory.mktemp("template") / "tree"
    world = small_world(tree, relative=True)
    world.project(SHOP, "app:v1.0.0")
    world.project("platform", "base:v1.1.0")
    assert run(["-q", "lock", str(tree / SHOP)]) == 0
    shutil.rmtree(tree / "build")
    return tree


def write(path: str, text: str) -> Callable[[Path], None]:
    """Return what writes a file of the repository."""

    def change(tree: Path) -> None:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)

    return change


def add(text: str, path: str = SHOP) -> Callable[[Path], None]:
    """Return what adds settings to a project."""

    def change(tree: Path) -> None:
        with (tree / path / "xplock.yaml").open("a") as file:
            file.write(text)

    return change


def link(name: str, target: str) -> Callable[[Path], None]:
    """Return what puts a link into the project."""
    return lambda tree: (tree / SHOP / name).symlink_to(target)


def unlock(tree: Path) -> None:
    """Take the project's lock away."""
    (tree / SHOP / LOCK_FILE).unlink()


def build_on_base(tree: Path) -> None:
    """Let the project build on a folder that is two above it."""
    write("base/odd.yaml", "apiVersion: v1\nkind: Odd\nmetadata:\n  name: odd\n")(tree)
    write("base/kustomization.yaml", "resources: [odd.yaml]\n")(tree)
    write(f"{SHOP}/kustomization.yaml", "resources: [../../base]\n")(tree)


def forbidden_overlay(tree: Path) -> None:
    """Let the project have an overlay that changes locked packages or pins."""
    patch = json.dumps([{"op": "replace", "path": "/spec/package", "value": f"{at('app')}:v9.9.9"}])
    overlay = {"patches": [{"target": {"kind": "Configuration", "name": "acme-app"}, "patch": patch}]}
    write(f"{SHOP}/over/kustomization.yaml", json.dumps(overlay))(tree)
    add("overlay: over\n")(tree)


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that is wrong, and what has to be said about it."""

    code: int
    says: str
    changes: tuple[Callable[[Path], None], ...]
    policy: str = "frozen"


OVERLAY = f"{SHOP}/over/kustomization.yaml"
FAILURES = {
    "a patch in a base": Failure(
        2,
        "the kustomization in . does not build",
        (build_on_base, write("base/kustomization.yaml", f"resources: [odd.yaml]\n{PATCH}")),
    ),
    "a base that is no YAML": Failure(
        2, "../../base", (build_on_base, write("base/odd.yaml", "kind: Odd\n  a: b\n"))
    ),
    "a base with a file outside of it": Failure(
        2,
        "'../../secret.yaml'",
        (
            build_on_base,
            write("secret.yaml", "a: b\n"),
            write("base/kustomization.yaml", "resources: [../secret.yaml]\n"),
        ),
    ),
    "a base without a kustomization": Failure(
        2,
        "../../base: expected one kustomization, found none",
        (build_on_base, lambda tree: (tree / "base/kustomization.yaml").unlink()),
    ),
    "a base with an unknown key": Failure(
        2, "../../base/kustomization.yaml: odd: ", (build_on_base, write("base/kustomization.yaml", "odd: 1"))
    ),
    "a patch of nothing": Failure(2, "nobody", (write(f"{SHOP}/kustomization.yaml", OF_NOTHING),)),
    "an overlay that does not build": Failure(
        2, "the kustomization in over does not build", (write(OVERLAY, OF_NOTHING), add("overlay: over\n"))
    ),
    "an overlay that changes a package": Failure(2, "changes locked packages or pins", (forbidden_overlay,)),
    "an overlay with a link": Failure(
        2,
        "over/link is not copied",
        (write(OVERLAY, "{}"), add("overlay: over\n"), link("over/link", "../xplock.yaml")),
    ),
    "an overlay that is not there": Failure(2, "overlay: 'over' is not a folder", (add("overlay: over\n"),)),
    "an overlay outside": Failure(
        2,
        "overlay: '../../..' is outside of the repository",
        (lambda tree: (tree / ".git").mkdir(), add("overlay: ../../..\n")),
    ),
    "a link to nothing": Failure(2, "it is a broken link", (link("a.yaml", "gone.yaml"),)),
    "a link to itself": Failure(2, "it is a broken link", (link("a.yaml", "a.yaml"),)),
    "a link out of the folder": Failure(
        2, "it is a link to a path outside of its folder", (link("a.yaml", "../../platform/xplock.yaml"),)
    ),
    "an unknown setting": Failure(2, "xplock.yaml: wave: unknown key", (add("wave: graph\n"),)),
    "a lock that is a link": Failure(
        1, f"{LOCK_FILE} is neither read nor written", (unlock, link(LOCK_FILE, "xplock.yaml"))
    ),
    "a layout that is not there": Failure(
        2,
        "nowhere",
        (
            unlock,
            write(
                f"{SHOP}/xplock.yaml",
                f"roots: [{{package: {at('app')}}}]\nlayouts: [{{prefix: xpkg.example.org, folder: nowhere}}]\n",
            ),
        ),
        "resolve",
    ),
    "a folder that is used and not locked": Failure(
        3, f"../../platform is used, and has no {LOCK_FILE}", (add("uses: [../../platform]\n"),), "resolve"
    ),
    "folders that use each other": Failure(
        2,
        ". uses ../../platform uses .",
        (add("uses: [../../platform]\n"), add(f"uses: [../{SHOP}]\n", "platform")),
        "resolve",
    ),
    "a folder that is used and has no settings to read": Failure(
        2,
        "the files in ../../platform have one problem",
        (add("uses: [../../platform]\n"), write("platform/xplock.yaml", "a: [")),
        "resolve",
    ),
    "a folder that is used and is not there": Failure(
        2, "nowhere", (add("uses: [../../nowhere]\n"),), "resolve"
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_is_wrong_is_told_in_the_same_words_wherever_the_files_are(
    template: Path, tmp_path: Path, name: str
) -> None:
    failure = FAILURES[name]
    folders = [tmp_path / "_cmp_server" / str(uuid4()), tmp_path / "_another_server" / "short"]
    for folder in folders:
        shutil.copytree(template, folder)
        for change in failure.changes:
            change(folder)

    first, second = (generate(folder / SHOP, failure.policy) for folder in folders)

    assert first == second
    assert (first.code, first.output) == (failure.code, "")
    assert failure.says in first.errors
    assert "_server" not in first.errors and "xplock-" not in first.errors


def generate(folder: Path, policy: str) -> Ending:
    """Call the plugin in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "render", "plugin", "generate", "--lock-policy", policy],
        cwd=folder,
        env={**os.environ, "ARGOCD_APP_SOURCE_PATH": SHOP},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Ending(done.returncode, done.stdout, done.stderr)
