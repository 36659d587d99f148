"""The README tells the truth: every command in it is run, and what it shows is what comes out."""

import ast
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from rig.builders.projects import small_world
from rig.deploy.kustomize import read_one
from rig.docs.examples import EXAMPLES, RENDERED
from rig.docs.move_examples import begin_step, read_steps
from rig.docs.readme import (
    README,
    SECONDS,
    SHELL,
    TOP,
    Block,
    Machine,
    Ran,
    copy_clone,
    read_blocks,
    run_blocks,
)

from render.argocd.commit_policy import LockCommitted
from render.argocd.parameters import KNOWN
from render.cli.main import xplock
from render.cli.operator_options import CACHE, GIT_TOKEN, REGISTRIES
from render.inputs.settings import KEYS
from render.limits import Limits, setting
from render.system.alarm import OutOfTime
from render.system.files import LOCK_FILE

Scene = Callable[[Path, Path, Machine], Path]


# Where the commands of a block are run


def shop(examples: Path, folder: Path, _: Machine) -> Path:
    """A project that asks for the shop and was never locked."""
    (folder / "registry").symlink_to(examples / "registry")
    shutil.copytree(EXAMPLES / "shop", folder / "shop", ignore=shutil.ignore_patterns(LOCK_FILE))
    return folder / "shop"


def contradiction(_: Path, folder: Path, __: Machine) -> Path:
    """A project that asks for two packages which do not go together."""
    return small_world(folder).project("shop", "app:v2.0.0", "old:v1.0.0")


def provider(examples: Path, folder: Path, _: Machine) -> Path:
    """A project with one provider, and its lock."""
    (folder / "registry").symlink_to(examples / "registry")
    shutil.copytree(examples / "provider", folder / "provider")
    return folder / "provider"


def replaced(examples: Path, folder: Path, _: Machine) -> Path:
    """A project at the commit with which one of its packages moves."""
    moved = next(step for step in read_steps("replaces") if step.name == "2-moved")
    (folder / "registry").symlink_to(examples / "registry")
    begin_step(moved, folder / "moving/replaces/now")
    return folder / "moving/replaces/now"


def cloned(_: Path, folder: Path, machine: Machine) -> Path:
    """A clone of this repository, whose .venv make takes for a new one."""
    clone = copy_clone(folder / "xplock")
    (clone / ".venv").mkdir()
    (clone / ".venv/bin").symlink_to(machine.folder / "venv/bin")
    (clone / ".venv/runtime").touch()
    return clone


def platform(_: Path, folder: Path, machine: Machine) -> Path:
    """A new repository that knows its server."""
    machine.run("git", "init", "--quiet", folder)
    machine.run("git", "-C", folder, "remote", "add", "origin", "https://git.example.org/acme/platform.git")
    return folder


# One entry for every block with commands, by its heading: where it is run. What cannot be run as it is says so in the
# block itself; the tests that stand here instead of a place do as much of it as can be done.
GOES_ON = "where the block before it ended"
CLUSTER, ENGINE = "tests/deploy/test_manifests.py", "tests/deploy/test_dockerfile.py"
FIRST_STEPS = "First steps"
PLACES: dict[str, list[Scene | str]] = {
    "xplock": [cloned, shop, cloned],
    "What it is for": [shop, contradiction],
    FIRST_STEPS: [cloned, *[GOES_ON] * 6, CLUSTER],
    "Install": [cloned, ENGINE, platform],
    "What is rendered": [provider],
    "When a package moves": [replaced, GOES_ON],
}
BLOCKS = [block for block in read_blocks() if block.language in SHELL]


def sessions() -> list[tuple[str, Scene, list[Block]]]:
    """Return which blocks are run together, and where."""
    found: list[tuple[str, Scene, list[Block]]] = []
    for section, blocks in groupby(BLOCKS, lambda block: block.section):
        for block, place in zip(blocks, PLACES.get(section, []), strict=False):
            if not isinstance(place, str):
                found.append((section, place, [block]))
            elif place == GOES_ON:
                found[-1][2].append(block)
    return found


def test_every_block_is_run_or_says_what_it_needs() -> None:
    counts = {section: len(list(blocks)) for section, blocks in groupby(BLOCKS, lambda block: block.section)}

    run_anywhere = [block for _, _, blocks in sessions() for block in blocks]

    assert counts == {section: len(places) for section, places in PLACES.items()}
    assert {block.language for block in read_blocks()} <= {*SHELL, "yaml", ""}
    assert [block.need for block in BLOCKS if block not in run_anywhere] == [
        "a cluster with Argo CD",
        "a container engine and a registry of yours",
    ]
    assert [block for block in run_anywhere if block.need] == []


def test_nothing_is_copied_that_asks_an_index_for_what_is_not_released() -> None:
    lines = [line.partition("#")[0] for block in BLOCKS for line in block.text.splitlines()]

    assert [line for line in lines if re.search(r"\bpip install .*xplock", line)] == []
    assert "pip install xplock" in README


def follow(place: Scene, blocks: list[Block], examples: Path, machine: Machine, folder: Path) -> list[Ran]:
    """Do what some blocks say, and see that it works and that what they show comes out."""
    (folder / "place").mkdir()
    start = place(examples, folder / "place", machine)
    ran = run_blocks(blocks, start, machine.environ, folder / "ran")
    failed = [(each.step.command, each.output) for each in ran if each.step.shown is None and each.code]
    assert failed == []
    assert len(ran) == sum(len(block.steps) for block in blocks)
    for each in ran:
        assert each.step.shown in (None, each.output.strip())
        assert bool(each.code) == each.output.startswith("error: ")
    return ran


OTHERS = [session for session in sessions() if session[0] != FIRST_STEPS]


@pytest.mark.parametrize(
    ("place", "blocks"), [session[1:] for session in OTHERS], ids=[session[0] for session in OTHERS]
)
def test_what_is_typed_works_and_what_is_shown_comes_out(
    place: Scene, blocks: list[Block], examples: Path, machine: Machine, tmp_path: Path
) -> None:
    follow(place, blocks, examples, machine, tmp_path)


def test_the_first_steps_lead_from_pip_to_what_argo_cd_applies(
    examples: Path, machine: Machine, tmp_path: Path
) -> None:
    [(_, place, blocks)] = [session for session in sessions() if session[0] == FIRST_STEPS]

    ran = follow(place, blocks, examples, machine, tmp_path)

    # Argo CD has no shell, and says more than anybody who types.
    checkout = tmp_path / "place/checkout/clusters/production"
    plugin = read_one(checkout / "argocd/plugin.yaml")["spec"]["generate"]
    called = subprocess.run(
        plugin["command"] + plugin["args"],
        cwd=checkout,
        env={"PATH": f"{tmp_path}/place/xplock-venv/bin", "ARGOCD_APP_SOURCE_PATH": "clusters/production"},
        capture_output=True,
        timeout=SECONDS,
    )
    expected = (EXAMPLES / "shop" / RENDERED).read_text()
    assert "pip install ." in blocks[0].text.splitlines()
    assert ran[-1].step.command.splitlines()[-1] == shlex.join(plugin["command"] + plugin["args"])
    assert ran[-1].output == expected
    assert (called.returncode, called.stdout.decode(), called.stderr) == (0, expected, b"")


def test_what_argo_cd_says_is_what_the_plugin_says(machine: Machine, tmp_path: Path) -> None:
    world = small_world(tmp_path)
    folder = world.project("shop", "app:v1.0.0")

    # In processes of their own: the plugin's clock would go on ticking in this one.
    def refusal() -> str:
        command = ["xplock", "plugin", "generate"]
        done = subprocess.run(
            command, cwd=folder, env=machine.environ, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stderr.partition("\n")[0]

    missing = refusal()
    machine.run("xplock", "lock", folder)
    world.project("shop", "app:v2.0.0")
    said = [missing, refusal()]

    others = [str(LockCommitted("")).partition(";")[0].strip(), str(OutOfTime(50)).partition("\n")[0]]
    for text in (*said, *(f"error: {text}" for text in others)):
        assert f"`{text}`" in README


# Tables


def names_in_table(heading: str) -> list[str]:
    """Return every name in the first column of a table."""
    table = README.partition(f"\n{heading}\n|---")[2].partition("\n\n")[0]
    return [name for row in table.splitlines()[1:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_every_command_and_every_setting_is_in_the_readme() -> None:
    commands = xplock.list_commands(xplock.make_context("xplock", [], resilient_parsing=True))

    missing = [name for name in commands if not re.search(rf"^\| `{name}\b", README, re.MULTILINE)]
    unset = [key.name for key in KEYS if f"| `{key.name}` |" not in README]

    assert (missing, unset) == ([], [])


VARIABLE = re.compile(r"_?[A-Z]+(?:_[A-Z]+)+")
# Git's own, which operators know from git; Argo CD's; and files of git that look like variables.
NOT_OURS = re.compile(r"GIT_.*|ARGOCD_.*|.*_HEAD")
# Set for programs that we start, or by a shell that completes a command.
INNER = {"XPLOCK_GIT_HEADER", "XPLOCK_NOTHING", "_XPLOCK_COMPLETE", "LC_ALL", "HTTP_PROXY", "XDG_DATA_HOME"}
# Read by libraries or put together from parts, and one that looks like no variable of ours.
READ_ELSEWHERE = {"HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "TMPDIR"}


def variables_in_code() -> set[str]:
    """Return every text in the code that is a variable's name."""
    trees = [ast.parse(path.read_text()) for path in (TOP / "render").rglob("*.py")]
    values = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {value for value in values if isinstance(value, str) and VARIABLE.fullmatch(value)}


def test_the_operators_table_has_every_variable_that_is_read_and_no_other() -> None:
    told = set(names_in_table("| variable | option | meaning |"))

    read = {name for name in variables_in_code() - INNER if not NOT_OURS.fullmatch(name)}

    limits = setting("*")
    assert told - {limits} == read | READ_ELSEWHERE
    assert limits in told
    assert {setting(name) for name in Limits.__annotations__} & told == set()


def test_the_operators_table_has_every_option_beside_its_variable() -> None:
    rows = re.findall(r"^\| `(XPLOCK_\w+)` \| (`--[^|]+`) \|", README, re.MULTILINE)
    policy = {("XPLOCK_LOCK_POLICY", "--lock-policy")}

    told = {(variable, option) for variable, text in rows for option in re.findall(r"`([^`]+)`", text)}

    assert told - policy == {(option.variable, option.opts[0]) for option in (*CACHE, *REGISTRIES, GIT_TOKEN)}
    assert policy <= told


def test_every_claim_about_a_real_cluster_names_a_test_that_is_there() -> None:
    section = README.partition("\n## What was proved, and how to see it yourself\n")[2].partition("\n## ")[0]

    claims = re.findall(r"^\| .+ \| `(tests/e2e/test_\w+\.py)` \|$", section, re.MULTILINE)
    named = re.findall(r"tests/e2e/test_\w+\.py", section)

    assert len(set(claims)) == 10
    assert [name for name in named if not (TOP / name).is_file()] == []


def test_the_parameters_of_an_application_are_told_with_their_variables() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(XPLOCK_\w+)` \|", README, re.MULTILINE)

    assert rows == [(parameter.name, parameter.variable) for parameter in KNOWN]
