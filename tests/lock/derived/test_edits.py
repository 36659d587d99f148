"""Every edit of a lock that changes its meaning is refused without the network, or by `verify`, or is on a short list.

`docs/protection.md` has the list; `diff` shows everything on it.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rig.docs.examples import EXAMPLES
from rig.edits.lock_edits import Edit, edits_of

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.world import open_world
from render.errors import RenderError
from render.inputs.projects import read_inputs
from render.limits import Limits
from render.lock.diff import diff_locks
from render.lock.freshness import find_staleness
from render.lock.model import Lock
from render.lock.parse import parse_lock
from render.lock.verify import verify_lock
from render.system.files import LOCK_FILE
from render.yaml.documents import lock_rules, parse_documents

# Locks in all states: with overrides, by digest, detached, an alias, deactivated, orphaned, released, provided.
LOCKS = (
    "shop",
    "overrides",
    "native",
    "partial",
    "moving/alias/3-upgraded",
    "moving/function/3-released",
    "moving/replaces/2-moved",
    "moving/folders/4-ended/app",
    "moving/folders/4-ended/platform",
)
# Fields of LockDetails that hold history, so that only the diff shows an edit of them; how a move was done is one, too.
HISTORY = ("keptPins", "staleEntry")


class Judge:
    """A folder of the examples, and how the edits of its lock end."""

    def __init__(self, folder: Path) -> None:
        operator = OperatorSettings.from_environment(os.environ)
        data = (folder / LOCK_FILE).read_bytes()
        self.documents: list[Any] = parse_documents(data, lock_rules(Limits()))
        self.inputs = read_inputs(folder, operator.limits, {})
        self.lock = self._parse(self.documents)
        world = open_world(operator, SilentReporter())
        self._catalog = world.catalog(self.inputs.settings.layouts, self.inputs.rewrites)

    def judge(self, edit: Edit) -> str:
        """Return how an edit ends."""
        try:
            lock = self._parse(edit.documents)
        except RenderError:
            return "invalid"
        if lock == self.lock:
            return "same"
        if find_staleness(lock, self.inputs):
            return "stale"
        if list(verify_lock(lock, self._catalog)):
            return "not verified"
        return "unseen" if diff_locks(self.lock, lock).equal else "shown"

    def is_history(self, edit: Edit) -> bool:
        """Return whether an edit is on the list."""
        if edit.path == (1, "revision"):
            # A newer revision only adds fields that may be ignored.
            return True
        if edit.path[1] in ("deactivated", "provided"):
            return True
        _, _, number, *more = edit.path
        entry = self.documents[1]["packages"][number]
        return entry.get("state") == "orphaned" or more[0] in HISTORY or more[-1] == "strategy"

    @staticmethod
    def _parse(documents: list[Any]) -> Lock:
        # JSON is YAML, and is written faster.
        return parse_lock("\n---\n".join(map(json.dumps, documents)), Limits(), place=LOCK_FILE)


@pytest.fixture(scope="module")
def judges(examples: Path) -> dict[str, Judge]:
    return {name: Judge(examples / name) for name in LOCKS}


def edits(judge: Judge) -> Iterator[tuple[Edit, str]]:
    for edit in edits_of(judge.documents):
        yield edit, judge.judge(edit)


@pytest.mark.parametrize("name", LOCKS)
def test_an_edit_is_refused_or_is_on_the_list_and_shown(judges: dict[str, Judge], name: str) -> None:
    judge = judges[name]
    ends = [
        (edit, end) for edit, end in edits(judge) if end not in ("invalid", "same", "stale", "not verified")
    ]

    unseen = [str(edit) for edit, end in ends if end == "unseen"]
    believed = [str(edit) for edit, end in ends if end == "shown" and not judge.is_history(edit)]

    assert unseen == []
    assert believed == []


def test_the_examples_hold_every_kind_of_history() -> None:
    text = "".join((EXAMPLES / name / LOCK_FILE).read_text() for name in LOCKS)

    for word in (
        "keptPins:",
        "state: orphaned",
        "released: true",
        "deactivated:",
        "provided:",
        "installedAs:",
        "overrides:",
    ):
        assert word in text, word
