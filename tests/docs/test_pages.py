"""README and docs/ are right: every command in them is run, and the output that they show is the real one."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from rig.builders.projects import small_world
from rig.deploy.kustomize import read_one
from rig.docs.examples import EXAMPLES, RENDERED
from rig.docs.generated import PARTS, commands, generate, parts_of
from rig.docs.machine import Machine
from rig.docs.pages import (
    DOCS,
    PAGES,
    README,
    SHELL,
    TOP,
    Block,
    Session,
    anchors,
    is_shown,
    links,
    prose,
    read_blocks,
    read_sessions,
)
from rig.docs.sessions import run_session
from rig.docs.shell import SECONDS, Ran

from render.argocd.commit_policy import LockCommitted
from render.cli.main import xplock
from render.system.alarm import OutOfTime

BLOCKS = [block for page in PAGES for block in read_blocks(page)]
FIRST_STEPS = TOP / "docs/first-steps.md"
SESSIONS = [session for page in PAGES if page != FIRST_STEPS for session in read_sessions(page)]
SHOWN, MAKE = "shown: ", "make"
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
every_docs_page = pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)


# Commands


def is_checked(block: Block) -> bool:
    """Say whether a test runs the block, or the block names the test that checks as much of it as it can."""
    if block.mark == MAKE:
        return all(line.startswith("make ") for line in block.text.splitlines())
    if block.mark.startswith(SHOWN):
        is_test = (TOP / block.mark.removeprefix(SHOWN)).is_file()
        return is_test and (block.language not in SHELL or bool(block.need))
    return bool(block.scene) and not block.need


@every_page
def test_every_block_is_run_or_names_what_checks_it(page: Path) -> None:
    blocks = [block for block in read_blocks(page) if block.language != "text"]

    assert {block.language for block in blocks} <= {*SHELL, "yaml", "json"}
    assert [f"{block}: {block.text}" for block in blocks if not is_checked(block)] == []


def follow(session: Session, examples: Path, machine: Machine, folder: Path) -> list[Ran]:
    """Do what a session says, and see that it works and that the output is the one it shows."""
    ran = run_session(session, examples, machine, folder)
    failed = [(each.step.command, each.output) for each in ran if each.step.shown is None and each.code]
    assert failed == []
    assert len(ran) == sum(len(block.steps) for block in session.blocks)
    for each, then in zip(ran, [*ran[1:], None], strict=True):
        if each.step.shown is None:
            continue
        assert is_shown(each.step.shown, each.output), each.output
        # A reader sees by the text whether a command fails, or is told.
        told = then is not None and then.step.command == "echo $?"
        assert told or bool(each.code) == bool(re.search("^error: ", each.output, re.MULTILINE))
    return ran


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_every_command_works_and_its_output_is_the_one_shown(
    session: Session, examples: Path, machine: Machine, tmp_path: Path
) -> None:
    follow(session, examples, machine, tmp_path)


def test_the_first_steps_lead_from_pip_to_what_argo_cd_applies(
    examples: Path, machine: Machine, tmp_path: Path
) -> None:
    [session] = read_sessions(FIRST_STEPS)

    ran = follow(session, examples, machine, tmp_path)

    # Argo CD has no shell.
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
    assert "pip install ." in session.blocks[0].text.splitlines()
    assert ran[-1].step.command.splitlines()[-1] == shlex.join(plugin["command"] + plugin["args"])
    assert ran[-1].output == expected
    assert (called.returncode, called.stdout.decode(), called.stderr) == (0, expected, b"")


def test_every_target_of_make_exists() -> None:
    makefile = (TOP / "Makefile").read_text()
    texts = [prose(page.read_text()) for page in PAGES] + [
        block.text for block in BLOCKS if block.mark == MAKE
    ]

    named = {
        name for text in texts for name in re.findall(r"^make ([\w-]+)|`make ([\w-]+)", text, re.MULTILINE)
    }

    targets = {first or second for first, second in named}
    assert {"demo", "test", "e2e", "bench"} <= targets
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def inline_commands() -> list[tuple[str, str]]:
    """Return every call of xplock in the text of a page, and the page."""
    found = [
        (page.name, " ".join(text.split()).rpartition("| ")[2])
        for page in PAGES
        for text in re.findall(r"`([^`]+)`", prose(page.read_text()))
    ]
    return [(page, text) for page, text in found if re.match(r"xplock [\w-]", text)]


@pytest.mark.parametrize(("page", "text"), inline_commands())
def test_every_call_in_the_text_has_a_command_and_options_that_exist(page: str, text: str) -> None:
    command: click.Command = xplock
    words = shlex.split(text.partition(" > ")[0])[1:]

    # A parser raises for an option that its command does not have.
    while True:
        # A command keeps the help option of its first context.
        context = click.Context(command, help_option_names=["-h", "--help"])
        _, words, _ = command.make_parser(context).parse_args(words)
        if not isinstance(command, click.Group) or not words:
            break
        found = command.get_command(context, words.pop(0))
        assert found, f"{page}: {text}"
        command = found


def test_nothing_is_installed_from_an_index_by_a_name_that_is_not_released() -> None:
    for page in PAGES:
        assert not re.search(r"\b(pip|pipx|tool) install [^`\n]*xplock\b", page.read_text()), page


# Generated parts


@every_page
def test_generated_parts_are_up_to_date(page: Path) -> None:
    # If this fails: make docs
    assert generate(page.read_text()) == page.read_text()


def test_every_generated_part_is_on_one_page() -> None:
    found = [name for page in PAGES for name in parts_of(page)]

    assert sorted(found) == sorted(PARTS)


def test_every_command_has_its_help_on_the_page_of_commands() -> None:
    text = (TOP / "docs/commands.md").read_text()

    for name in commands():
        assert f"\n## {name}\n\n```text\nUsage: xplock {name} " in text


# Pages


def test_the_readme_fits_on_two_hundred_lines() -> None:
    assert len(README.read_text().splitlines()) <= 200


@every_docs_page
def test_a_page_starts_with_what_the_reader_can_do_after_it(page: Path) -> None:
    assert re.match(r"# .+\n\nAfter this page you can ", page.read_text())


@every_docs_page
def test_a_page_is_linked_from_the_readme_and_from_no_other_place_alone(page: Path) -> None:
    assert f"docs/{page.name}" in {link.partition("#")[0] for link in links(README)}


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


@every_page
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = set(
        re.findall(r"`((?:deploy|render|tests|examples|bench|docs)/[\w./-]*\w)", prose(page.read_text()))
    )

    assert [name for name in named if not (TOP / name).exists() and name != "examples/registry"] == []


# Errors


def test_what_argo_cd_shows_is_what_the_plugin_says(machine: Machine, tmp_path: Path) -> None:
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

    page = (TOP / "docs/troubleshooting.md").read_text()
    others = [str(LockCommitted("")).partition(";")[0].strip(), str(OutOfTime(50)).partition("\n")[0]]
    for text in (*said, *(f"error: {text}" for text in others)):
        assert f"`{text}`" in page


def test_a_heading_of_the_troubleshooting_page_is_a_text_that_is_shown_below_it() -> None:
    blocks = [block for block in read_blocks(TOP / "docs/troubleshooting.md") if block.language == "console"]

    for block in blocks:
        parts = [re.escape(part) for part in block.section.split("…")]
        assert re.search(".*".join(parts), block.text), block.section


# Tables


def test_every_claim_about_a_real_cluster_names_a_test_that_exists() -> None:
    text = (TOP / "docs/proof.md").read_text()

    claims = re.findall(r"^\| .+ \| `(tests/e2e/test_\w+\.py)` \|$", text, re.MULTILINE)

    assert len(set(claims)) == 10
    assert [name for name in claims if not (TOP / name).is_file()] == []
