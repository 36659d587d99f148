"""The messages of commits, and the texts of pull requests."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from render import __version__
from render.commands import xplock
from render.definitions.model import Comparison
from render.git.trailers import Trailers, digest_inputs, format_trailers
from render.lock.changes import find_changes
from render.lock.diff import diff_locks
from render.lock.model import Lock
from render.system.files import LOCK_FILE
from render.texts import first_lines, redact, visible
from render.versions.semantic import Step
from render.views.definitions.markdown import format_comparison_markdown
from render.views.diff import code, format_markdown
from render.views.graph.languages import format_mermaid
from render.views.graph.make import make_graph
from render.views.report import count_changes, format_counts, format_report
from render.views.templating import fill_template

_SUBJECT_CHARACTERS = 72
# How many lines a message has about packages, and how many at least about the packages of one folder.
_REPORT_LINES, _FEWEST_LINES = 200, 10
_NOTES = 50
# The limit of the strictest of the well-known Git servers, with room to spare.
_PULL_REQUEST_CHARACTERS = 60_000
# A picture of more packages is too small to read in the width of a pull request.
_DRAWN_PACKAGES = 30
# Text without markup.
_UNMARKED = re.compile(r"[A-Za-z0-9 .,:;/()-]*")


@dataclass(frozen=True, slots=True)
class LockChange:
    """A lock on the branch, before and after; the folder is its path in the repository, "." for the root."""

    folder: str
    before: Lock
    after: Lock
    # What it does to definitions, if they were compared.
    compared: Comparison | None = None

    @property
    def path(self) -> str:
        """The lock's path in the repository."""
        return LOCK_FILE if self.folder == "." else f"{self.folder}/{LOCK_FILE}"


def format_subject(changes: Sequence[LockChange]) -> str:
    """Write one line: the folders, and how many of their packages change."""
    counts = ", ".join(_count(changes))
    folders = [visible(change.folder) for change in changes]
    full = f"lock: {counts}" if folders == ["."] else f"lock {' and '.join(folders)}: {counts}"
    short = f"lock {len(folders)} folders: {counts}" if len(folders) > 1 else f"lock: {counts}"
    return full if len(full) <= _SUBJECT_CHARACTERS else short


def format_message(
    changes: Sequence[LockChange],
    subject: str,
    notes: Sequence[str] = (),
    *,
    base: str = "",
    origin: str = "",
) -> str:
    """Write the message of a commit: the report of every folder, warnings, and trailers with the inputs of the locks."""
    room = max(_REPORT_LINES // len(changes), _FEWEST_LINES)
    reports = [_report(change, room, several=len(changes) > 1) for change in changes]
    inputs = {change.path: digest_inputs(change.after.inputs) for change in changes}
    trailers = Trailers(inputs=inputs, base=base, origin=visible(origin))
    return fill_template(
        "commit-message.txt.j2",
        subject=subject,
        reports=[*reports, *([_format_notes(notes)] if notes else [])],
        trailers=format_trailers(trailers),
    )


def format_pull_request(changes: Sequence[LockChange], title: str = "") -> str:
    """Write the text of a pull request, with a table for every folder."""
    heading = title if _UNMARKED.fullmatch(title) else code(title)
    return fill_template(
        "pull-request.md.j2", title=title and heading, folders=list(_tables(changes)), version=__version__
    )


def _tables(changes: Sequence[LockChange]) -> Iterator[Mapping[str, str]]:
    room = _PULL_REQUEST_CHARACTERS
    for change in changes:
        table = _table(change)
        if len(table) > room:
            counts = ", ".join(_count([change]))
            command = xplock("diff", "-o", "markdown", folder=change.folder, option="-C")
            table = f"{counts}: the table is too long for a pull request; {code(command)} shows it."
        room -= len(table)
        picture = _draw(change)
        if len(picture) > room:
            picture = ""
        room -= len(picture)
        yield {"name": code(change.folder), "table": table, "picture": picture}


def _table(change: LockChange) -> str:
    if change.before == change.after:
        return "The packages are the same; the lock is written as xplock writes it."
    text = format_markdown(diff_locks(change.before, change.after))
    if change.compared is not None:
        text += f"\n{format_comparison_markdown(change.compared)}"
    return text.rstrip("\n")


def _draw(change: LockChange) -> str:
    """Return a picture in Mermaid, which Git servers draw; empty, if there are too many packages."""
    graph = make_graph(change.after, change.before)
    return format_mermaid(graph).rstrip("\n") if 1 < len(graph.nodes) <= _DRAWN_PACKAGES else ""


def _format_notes(notes: Sequence[str]) -> str:
    return "\n".join(first_lines([f"Note     {visible(redact(note))}" for note in notes], _NOTES))


def _report(change: LockChange, room: int, *, several: bool) -> str:
    text = format_report(change.folder, change.before, change.after, several=several, rewritten=True)
    *lines, summary = text.splitlines()
    head, lines = (lines[:1], lines[1:]) if several else ([], lines)
    return "\n".join([*head, *first_lines(lines, room), summary])


def _count(changes: Sequence[LockChange]) -> list[str]:
    """Write the counts of all folders together."""
    totals: Counter[str | Step] = Counter()
    for change in changes:
        totals.update(count_changes(find_changes(change.before, change.after)))
    return format_counts(totals) or ["no other packages"]
