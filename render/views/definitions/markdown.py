"""What a comparison of definitions found, as Markdown for a pull request: one table for each class."""

from collections.abc import Iterator, Sequence

from render.definitions.model import Comparison
from render.definitions.rules import MEANINGS, Risk
from render.texts import counted
from render.views.definitions.groups import Groups, count_by_risk, format_steps, group_findings
from render.views.definitions.missing import format_not_compared
from render.views.definitions.phrases import format_phrase
from render.views.diff import code


def format_comparison_markdown(comparison: Comparison, advice: Sequence[str] = ()) -> str:
    """Write a comparison as tables; texts of packages are never markup."""
    by_risk: dict[Risk, list[Groups]] = {}
    for groups in group_findings(comparison.findings):
        by_risk.setdefault(groups.shown[0].risk, []).append(groups)
    counts = count_by_risk(comparison.findings)
    parts = [
        "\n".join(
            [
                f"**{risk}** in {counted(counts[risk], 'definition')}: {MEANINGS[risk]}",
                "",
                "| rule | what | package |",
                "|---|---|---|",
                *(row for groups in some for row in _rows(groups)),
            ]
        )
        for risk, some in by_risk.items()
    ]
    missing = format_not_compared(comparison, advice)
    parts += ["\n".join(f"- {code(line)}" for line in missing)] if missing else []
    return "\n\n".join(parts or ["No definition changes."]) + "\n"


def _rows(groups: Groups) -> Iterator[str]:
    for group in groups.shown:
        yield f"| {group.rule} | {format_phrase(group, code)} | {code(format_steps(group))} |"
    if groups.hidden:
        names = {name for group in groups.hidden for name in group.names}
        more = counted(len(groups.hidden), "more change")
        yield f"| {groups.hidden[0].rule} | {more} in {counted(len(names), 'definition')} | |"
