"""What `check` finds by the locks of two commits: upgrades that the definitions of their packages make unsafe."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from render.app.definitions import ContentPlaces, compare_lock_definitions
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.checks.model import CheckedFolder, Finding
from render.checks.positions import read_lock_place
from render.commands import as_path, shell, xplock
from render.definitions.model import Comparison
from render.definitions.model import Finding as Change
from render.definitions.rules import MEANINGS, RULES, Risk
from render.errors import Differs, RenderError
from render.git.revisions import read_at
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.parse import parse_lock
from render.system.files import LOCK_FILE
from render.texts import counted, first_lines
from render.views.definitions.groups import Group, format_steps, group_findings
from render.views.definitions.missing import format_not_compared
from render.views.definitions.phrases import format_phrase

_SHOWN = 20


class UnknownUpgrade(RenderError):
    """Packages that changed cannot be compared without network, so their upgrade may be unsafe."""

    def __init__(self, unknown: dict[str, Comparison], revision: str) -> None:
        lines = [line for one in unknown.values() for line in format_not_compared(one, ())]
        super().__init__(
            f"upgrades since {revision} cannot be judged in {counted(len(unknown), 'folder')}",
            why=first_lines(list(dict.fromkeys(lines)), _SHOWN),
            next=first_lines(
                [f"get what is missing: {_diff(folder, revision)}" for folder in unknown], _SHOWN
            ),
        )


def find_upgrades(
    folders: Iterable[CheckedFolder],
    revision: str,
    risk: Risk,
    operator: OperatorSettings,
    reporter: Reporter,
) -> tuple[list[Finding], UnknownUpgrade | None]:
    """Return what makes upgrades unsafe, by what is cached or in a layout; and an error for what is not."""
    found: list[Finding] = []
    unknown: dict[str, Comparison] = {}
    for one in folders:
        old = _read_lock(one.folder, revision, operator.limits)
        if old is None or not isinstance(one.lock, Lock):
            continue
        places = ContentPlaces((one.folder,), offline=True)
        comparison = compare_lock_definitions(old, one.lock, places, operator, reporter)
        found += _find(one, comparison.at_least(risk), revision)
        if comparison.not_compared:
            unknown[one.name] = comparison
    return found, UnknownUpgrade(unknown, revision) if unknown else None


def _read_lock(folder: Path, revision: str, limits: Limits) -> Lock | None:
    data = read_at(folder, revision, LOCK_FILE, limits=limits)
    return None if data is None else parse_lock(data, limits, place=f"{revision}:{LOCK_FILE}")


def _find(one: CheckedFolder, found: Iterable[Change], revision: str) -> Iterator[Finding]:
    for groups in group_findings(found, everything=True):
        yield _finding(one, groups.shown, revision)


def _finding(one: CheckedFolder, groups: Sequence[Group], revision: str) -> Finding:
    first = groups[0]
    lines = [f"{format_phrase(group)}; {format_steps(group)}" for group in groups]
    places = tuple(read_lock_place(one, f"source: {group.first.package}\n") for group in groups[:_SHOWN])
    several = len(groups) <= _SHOWN
    return Finding(
        first.rule,
        one.name,
        f"an upgrade since {revision} is {first.risk}: {RULES[first.rule].meaning}",
        tuple(first_lines(lines, _SHOWN)),
        (
            f"{MEANINGS[first.risk]}: {xplock('explain', first.rule)}",
            f"see every place: {_diff(one.name, revision, '-v', '--rule', first.rule)}",
        ),
        Differs.exit_code,
        places[0],
        places if several else (),
        f"{first.risk}: " if several else "",
    )


def _diff(folder: str, revision: str, *options: str) -> str:
    return shell("xplock", "diff", *options, revision, "-C", as_path(folder))
