"""Every command that a text of ours prints is made by `render/commands.py`, so that it can be pasted."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rig.builders.projects import World, small_world
from rig.commands.pasting import paste, printed_commands
from rig.commands.run import run_command

from render.cli.main import xplock
from render.manifests.conflicts import EmptyLock, SameSource
from render.manifests.order import CircularLock

FOLDER = Path("two words")
RENDER = Path(__file__).parents[1] / "render"
# Texts that name a command without asking anyone to paste it, or where no folder is known.
ALLOWED = {
    "argocd/plugin.py: xplock plugin generate": "the grammar of plugin.yaml, with placeholders",
    "app/world.py: xplock package build DIR": "a grammar: what is to be built is unknown",
    "registry/layout.py: xplock package build DIR": "a grammar: what is to be built is unknown",
    "xpkg/building/package_file.py: xplock package build DIR": "a grammar: what is to be built is unknown",
    "xpkg/contents.py: `xplock package build` makes": "names what the command does",
    "app/packages/catalog.py: Written by `xplock catalog build`": "names who wrote a file",
    "inputs/settings/keys.py: that `xplock catalog build` wrote": "names what the command does",
    "inputs/settings/entries.py: a file of `xplock catalog build`": "names what the command does",
    "inputs/projects.py: `xplock catalog build SRC...": "a grammar: the sources are unknown",
    "lock/text/format.py: run `xplock lock`": "a comment in the lock, which can be moved with its folder",
    "app/promoting/mirrored.py: with `xplock mirror`": "names what to do in another repository",
    "definitions/presence.py: `xplock retire` deletes": "names what the command does",
    "manifests/out_folder.py: by xplock render": "names who wrote a file",
    "manifests/out_folder.py: that xplock render": "names who wrote a file",
    "manifests/overlay.py: run xplock render --out": "steps of a work, with more than this command",
    "system/alarm.py: run `xplock lock`": "the plugin's deadline ends any call, whatever its folder is",
    "cli/writing/init.py: xplock lock": "two commands in one line, quoted there",
    "cli/writing/init.py: && xplock render": "two commands in one line, quoted there",
    "lifecycle/retiring/commands.py: xplock retire": "a list of words, quoted there and divided into short commands",
}


def texts_of(path: Path) -> Iterator[str]:
    """Yield the literal texts of a module; documentation and the help of commands are read by people as it is."""
    tree = ast.parse(path.read_text())
    ignored: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            ignored.add(id(node.value))
        if isinstance(node, ast.keyword) and node.arg in ("epilog", "help"):
            ignored |= {id(inner) for inner in ast.walk(node.value)}
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored:
            yield " ".join(node.value.split())


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


def test_every_printed_command_is_made_by_one_file() -> None:
    assert isinstance(xplock, click.Group)
    names = "|".join(sorted(xplock.list_commands(click.Context(xplock))))
    command = re.compile(rf"\bxplock (?:-\S+ )*(?:{names})\b")
    found = [
        f"{path.relative_to(RENDER)}: {text}"
        for path in sorted(RENDER.rglob("*.py"))
        for text in texts_of(path)
        if command.search(text)
    ]

    def allows(entry: str, text: str) -> bool:
        file, _, part = entry.partition(": ")
        return text.startswith(f"{file}: ") and part in text

    assert [text for text in found if not any(allows(entry, text) for entry in ALLOWED)] == []
    # An exception that nothing needs any more is removed.
    assert [entry for entry in ALLOWED if not any(allows(entry, text) for text in found)] == []


def test_advice_on_a_wrong_name_can_be_pasted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = world.project("two words", "app:v1.0.0")
    monkeypatch.chdir(world.folder)
    assert run_command("lock", "two words").code == 0

    for words in (["tree", "two words", "-i", "nop"], ["why", "nop", "two words"], ["lock", "-P", "nop", "two words"],
                  ["retire", "nop", "-C", "two words"]):  # fmt: skip
        [command] = printed_commands(run_command(*words).stderr.splitlines())

        assert command == "xplock tree 'two words'"
        assert paste(command, folder.parent).code == 0


def test_advice_on_a_layout_with_several_images_can_be_pasted(world: World) -> None:
    world.layout.rename(world.folder / "lay out")

    [command] = printed_commands(
        run_command("package", "inspect", str(world.folder / "lay out")).stderr.splitlines()
    )

    assert paste(command, world.folder).code == 0


@pytest.mark.slow
def test_advice_on_a_kustomization_that_does_not_build_can_be_pasted(world: World) -> None:
    folder = world.folder / "prod one"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("namePrefix: a\nresources:\n- other.yaml\n")
    (folder / "other.yaml").write_text("kind: ConfigMap\n")

    stderr = run_command("lock", str(folder)).stderr

    assert f" '{folder}'" in stderr.partition("make this work: ")[2]


def test_advice_on_a_lock_that_cannot_be_rendered_names_its_folder() -> None:
    for error in (
        EmptyLock(FOLDER),
        CircularLock("acme/app", FOLDER),
        SameSource("acme/app", "a", "b", FOLDER),
    ):
        assert printed_commands(error.next) == ["xplock lock 'two words'"]
