"""`make docs`: makes the generated parts of every page and the output of every command again, for a person to read the diff."""

import os
import sys
import tempfile
from pathlib import Path

from rig.docs.examples import copy_examples
from rig.docs.generated import generate
from rig.docs.machine import Machine, new_machine
from rig.docs.pages import PAGES, Block, is_shown, read_sessions, shown_form
from rig.docs.sessions import run_session
from rig.docs.shell import Ran


def write_pages(pages: list[Path]) -> None:
    """Write pages as they have to be now."""
    for page in pages:
        page.write_text(generate(page.read_text()))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        examples = copy_examples(folder / "examples")
        (folder / "machine").mkdir()
        machine = new_machine(folder / "machine")
        for page in pages:
            _write_outputs(page, examples, machine, folder)


def _write_outputs(page: Path, examples: Path, machine: Machine, folder: Path) -> None:
    texts = {}
    for session in read_sessions(page):
        work = Path(tempfile.mkdtemp(dir=folder))
        ran = iter(run_session(session, examples, machine, work))
        for block in session.blocks:
            done = [step for _, step in zip(block.steps, ran, strict=False)]
            if len(done) < len(block.steps) or (block.language != "console" and done[0].code):
                sys.exit(f"{block} failed:\n{done[-1].output if done else ''}")
            texts[block] = _with_outputs(block, done)
    text = page.read_text()
    for block in sorted(texts, key=lambda block: block.start, reverse=True):
        text = text[: block.start] + texts[block] + text[block.start + len(block.text) :]
    page.write_text(text)


def _with_outputs(block: Block, ran: list[Ran]) -> str:
    if block.language != "console":
        return block.text
    parts = []
    for each in ran:
        shown = each.step.shown or ""
        # A page that leaves lines out keeps its choice as long as the rest is right.
        now = shown if is_shown(shown, each.output) else shown_form(each.output)
        parts.append(f"$ {each.step.command}\n" + (f"{now}\n" if now else ""))
    return "\n".join(parts)


if __name__ == "__main__":
    os.environ["XPLOCK_CACHE_DIR"] = ""
    write_pages([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
