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
from rig.edits.lock_edits import EVIL, Edit, edits_of, planted_moves

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.world import open_world
from render.errors import RenderError
from render.inputs.projects import read_inputs
from render.limits import Limits
from render.lock.diff import diff_locks
from render.lock.freshness import find_staleness
from render.lock.model import Lock
from render.lock.online.verify import verify_lock
from render.lock.text.parse import parse_lock
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
# What is history, by the part of LockDetails and the state, so that only the diff shows an edit of it.
HISTORY = {
    "wanted": {"definitionsDigest", "staleEntry", "replaces.strategy"},
    "orphaned": {"definitionsDigest", "fields", "overrides", "detached", "released", "replaces"},
    # A package may be missing as a whole, and be known by another object.
    "deactivated": {"", "definitionsDigest", "object", "fields", "overrides", "released"},
    "provided": {"folder", "replaces"},
}


class Judge:
    """A folder of the examples, and how the edits of its lock end."""

    def __init__(self, folder: Path) -> None:
        operator = OperatorSettings.from_environment(os.environ)
        data = (folder / LOCK_FILE).read_bytes()
        self.documents: list[Any] = parse_documents(data, lock_rules(Limits()))
        self.inputs = read_inputs(folder, operator.limits, {})
        self.lock = self._parse(self.documents)
        world = open_world(operator, SilentReporter())
        layouts = self.inputs.settings.layouts
        elsewhere = [("old.example.org", registry) for _, registry in layouts[:1]]
        self._catalog = world.catalog([*elsewhere, *layouts], self.inputs.rewrites)

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
        _, part, *rest = edit.path
        entries = self.documents[1][str(part)]
        state = entries[rest[0]].get("state", "wanted") if part == "packages" else str(part)
        names = [step for step in rest if isinstance(step, str)]
        if names[:1] == ["keptPins"]:
            # A pin that is added or changed is one that the registry has.
            return names == ["keptPins"] and edit.what == "is removed"
        return bool({".".join(names), *names[:1]} & HISTORY[state]) or (not names and "" in HISTORY[state])

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


@pytest.mark.parametrize("name", LOCKS)
def test_no_pin_of_another_package_is_believed_whatever_move_is_planted_with_it(
    judges: dict[str, Judge], name: str
) -> None:
    judge = judges[name]
    found = [(edit, judge.judge(edit)) for edit in planted_moves(judge.documents)]

    assert found
    assert [str(edit) for edit, end in found if end in ("shown", "unseen", "same")] == []
    # One of a foreign package is refused without the network.
    assert {end for edit, end in found if EVIL in edit.what} <= {"invalid", "stale"}


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
