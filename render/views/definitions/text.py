"""What a comparison of definitions found, as text of 80 columns."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from render.definitions.model import Comparison
from render.texts import counted
from render.views.definitions.groups import (
    Groups,
    count_by_risk,
    format_counts,
    format_steps,
    group_findings,
)
from render.views.definitions.missing import format_not_compared
from render.views.definitions.phrases import format_phrase

_COLUMNS = 80
# Below the name of the rule.
_INDENT = " " * 9
NOTHING = "No definition changes.\n"


def format_comparison(comparison: Comparison, advice: Sequence[str] = (), *, everything: bool = False) -> str:
    """Write a comparison as text, by class, rule and path."""
    lines = []
    if comparison.findings:
        lines.append(f"Definitions: {format_counts(count_by_risk(comparison.findings))}")
    for groups in group_findings(comparison.findings, everything=everything):
        lines += _group_lines(groups, everything=everything)
    for line in format_not_compared(comparison, advice):
        lines += wrap_below(line, "", _INDENT) if not line.startswith("next: ") else [_INDENT + line]
    return "".join(f"{line}\n" for line in lines) or NOTHING


def _group_lines(groups: Groups, *, everything: bool) -> Iterator[str]:
    for group in groups.shown:
        head = f"{group.risk:<9}{group.rule}  "
        yield from wrap_below(head + format_phrase(group, everything=everything), "", _INDENT)
        yield from wrap_below(format_steps(group, everything=everything), _INDENT, _INDENT)
    if groups.hidden:
        names = {name for group in groups.hidden for name in group.names}
        more = counted(len(groups.hidden), "more change")
        first = groups.hidden[0]
        yield f"{first.risk:<9}{first.rule}  {more} in {counted(len(names), 'definition')}: -v shows all"


def wrap_below(text: str, first: str, others: str) -> list[str]:
    """Break a line of 80 columns between words, with what stands before its first line and before the others."""
    return wrap(
        text,
        _COLUMNS,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
