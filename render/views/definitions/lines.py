"""What a comparison of definitions found, in a line for each class: for reports of changes that are more than that."""

from collections.abc import Iterator, Sequence
from typing import Any

from render.definitions.model import Comparison, Finding
from render.definitions.rules import RISKS, Risk
from render.texts import counted, first_names, visible
from render.views.definitions.groups import count_by_risk, format_names, format_package_step
from render.views.definitions.missing import format_packages
from render.views.definitions.text import wrap_below

_SHOWN_RULES = 3
_WIDTH = len("Detached")
_INDENT = " " * (_WIDTH + 1)


def format_class_lines(comparison: Comparison, command: str = "") -> str:
    """Write a line for each class above note, one for what is not compared, and the command that shows more."""
    lines = [
        line
        for word, text in _lines(comparison)
        for line in wrap_below(f"{word:<{_WIDTH}} {text}", "", _INDENT)
    ]
    more = [f"{_INDENT}see each: {command}"] if lines and command else []
    return "".join(f"{line}\n" for line in [*lines, *more])


def classes_document(comparison: Comparison) -> dict[str, Any]:
    """Return the number of definitions for each class, and the packages that are not compared, as JSON values."""
    counts = count_by_risk(comparison.findings)
    return {
        "definitionClasses": {risk.value: counts.get(risk, 0) for risk in RISKS},
        "definitionsNotCompared": format_packages(comparison.not_compared),
    }


def _lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for risk in RISKS:
        found = [one for one in comparison.findings if one.risk is risk]
        if found and risk is not Risk.NOTE:
            yield risk.capitalize(), _line(found)
            yield from (("", text) for text in _webhooks(found))
    packages = format_packages(comparison.not_compared)
    if packages:
        yield "Unknown", f"what {first_names(packages, 2)} would do to definitions: not compared"


def _webhooks(found: Sequence[Finding]) -> list[str]:
    """Return a line for the definitions whose webhook a move switches off, which names the strategies that do not."""
    by_detail: dict[str, list[str]] = {}
    for one in found:
        if one.rule == "conversion":
            by_detail.setdefault(one.detail, []).append(one.definition)
    return [
        f"{format_names(sorted(set(names)), 'definition')}: {visible(detail)}"
        for detail, names in sorted(by_detail.items())
    ]


def _line(found: Sequence[Finding]) -> str:
    rules = list(dict.fromkeys(one.rule for one in found))
    packages = sorted({format_package_step(one) for one in found})
    count = counted(sum(count_by_risk(found).values()), "definition")
    return f"{count} ({first_names(rules, _SHOWN_RULES)}) in {first_names(packages, 1)}"
