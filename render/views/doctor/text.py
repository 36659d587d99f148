"""A diagnosis as text of 80 columns: one block per cause, with the command that helps."""

from collections.abc import Iterator, Sequence

from render.live.doctor.model import Diagnosis, Finding, ObjectKey
from render.texts import counted, first_names, visible
from render.views.fitting import fold

_SHOWN = 5
_LINE = 1_000
# A command has to stay whole.
_COMMAND = 50_000


def format_diagnosis(diagnosis: Diagnosis) -> str:
    """Write it all: what is stuck first, then notes."""
    lines = [line for finding in diagnosis.findings for line in _finding(finding)]
    return "".join(f"{line}\n" for line in [*lines, *_summary(diagnosis)])


def format_object(key: ObjectKey) -> str:
    """Write kind and name."""
    return "/".join(key)


def _finding(finding: Finding) -> Iterator[str]:
    yield from _part("stuck  " if finding.is_stuck else "note   ", [finding.what])
    yield from _part("  why:   ", finding.why)
    if finding.touch:
        yield from _part("  touch: ", [format_object(finding.touch)])
    # A command stays in one line, so that it can be pasted.
    yield from _labelled("  run:   ", [visible(line, limit=_COMMAND) for line in finding.run])
    yield from _part("  care:  ", [finding.care] if finding.care else [])
    yield from _part("  then:  ", [*([finding.then] if finding.then else []), *_consequences(finding)])


def _part(label: str, lines: Sequence[str]) -> Iterator[str]:
    indent = " " * len(label)
    for i, line in enumerate(lines):
        yield from fold(visible(line, limit=_LINE), first=indent if i else label, rest=indent)


def _labelled(label: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{label}{line}"
        label = " " * len(label)


def _consequences(finding: Finding) -> list[str]:
    names = [format_object(key) for key in finding.consequences]
    if not names:
        return []
    verbs = (
        "waits for this and recovers by itself"
        if len(names) == 1
        else "wait for this and recover by themselves"
    )
    return [f"{counted(len(names), 'more package')} {verbs}: {first_names(names, _SHOWN)}"]


def _summary(diagnosis: Diagnosis) -> Iterator[str]:
    notes = len(diagnosis.findings) - len(diagnosis.stuck)
    stuck = counted(len(diagnosis.stuck), "cause") if diagnosis.stuck else "nothing"
    yield (
        f"{counted(diagnosis.packages, 'package')}, {counted(diagnosis.revisions, 'revision')}: {stuck} stuck"
        + (f", {counted(notes, 'note')}" if notes else "")
    )
