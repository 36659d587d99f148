"""What an upgrade does to definitions, in the picture of two locks."""

from collections.abc import Iterable
from dataclasses import replace

from render.definitions.model import Comparison, Finding
from render.texts import visible
from render.views.definitions.groups import count_by_risk, group_findings
from render.views.definitions.phrases import format_phrase
from render.views.graph.model import Graph, Node


def with_findings(graph: Graph, comparison: Comparison) -> Graph:
    """Return the picture with the findings about the definitions of each package."""
    by_package: dict[str, list[Finding]] = {}
    for one in comparison.findings:
        by_package.setdefault(one.package, []).append(one)
    unknown = sorted({f"{one.package} {one.version}: {one.reason}" for one in comparison.not_compared})
    return replace(
        graph,
        nodes=tuple(_judged(node, by_package.get(node.key, ())) for node in graph.nodes),
        not_compared=tuple(map(visible, unknown)),
    )


def _judged(node: Node, findings: Iterable[Finding]) -> Node:
    lines = [
        visible(f"{group.risk} {group.rule}: {format_phrase(group)}")
        for groups in group_findings(findings)
        for group in (*groups.shown, *groups.hidden)
    ]
    worst = next(iter(count_by_risk(findings)), None)
    return replace(node, risk=worst.value if worst else None, findings=tuple(lines))
