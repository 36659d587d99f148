"""README and docs/ hang together: each block has its check, generated parts are up to date, links lead somewhere."""

import re
import shlex
from pathlib import Path

import click
import pytest
from rig.docs.generated import PARTS, commands, generate, parts_of
from rig.docs.pages import (
    DOCS,
    PAGES,
    README,
    SHELL,
    TOP,
    Block,
    anchors,
    links,
    prose,
    read_blocks,
)

from render.cli.fast import HELP_OPTIONS
from render.cli.main import xplock

BLOCKS = [block for page in PAGES for block in read_blocks(page)]
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
        context = click.Context(command, help_option_names=[*HELP_OPTIONS])
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
def test_a_page_is_linked_from_the_readme(page: Path) -> None:
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


def test_a_heading_of_the_troubleshooting_page_is_a_text_that_is_shown_below_it() -> None:
    blocks = [block for block in read_blocks(TOP / "docs/troubleshooting.md") if block.language == "console"]

    for block in blocks:
        parts = [re.escape(part) for part in block.section.split("…")]
        assert re.search(".*".join(parts), block.text), block.section


# Tables


def test_every_claim_about_a_real_cluster_names_a_test_that_exists() -> None:
    text = (TOP / "docs/proof.md").read_text()

    claims = re.findall(r"^\| .+ \| `(tests/e2e/[\w/]+\.py)` \|$", text, re.MULTILINE)

    assert len(set(claims)) == 23
    assert [name for name in claims if not (TOP / name).is_file()] == []
