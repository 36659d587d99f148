"""The commands that errors and reports print, run as a person pastes them."""

import re
import shlex
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path

from rig.commands.run import Outcome, run_command

_COMMAND = re.compile(r"(?:^|[\s(`])(xplock [a-z]+(?: .*)?)$")
# The text that may stand behind a command in a sentence.
_REST = re.compile(r"[`)].*$")


def printed_commands(lines: Iterable[str]) -> list[str]:
    """Return the commands of xplock in some lines, in their order; a comment of the shell stays."""
    found = [match[1] for line in lines if (match := _COMMAND.search(line))]
    return [_REST.sub("", command).strip() for command in found]


def paste(command: str, folder: Path) -> Outcome:
    """Run a command with the words that a shell makes of it, in this folder and without a cache."""
    # `tests/test_commands.py` asks a real shell for the words.
    _, *words = shlex.split(command, comments=True)
    with chdir(folder):
        return run_command(*words)
