"""The explanations of rules: one Markdown file each, whose first sentence is what the rule finds."""

from pathlib import Path

from render.checks.rules import load_rules
from render.definitions.rules import MEANINGS, RULES, Risk
from render.lean import dataclass

_FOLDER = Path(__file__).parent / "explanations"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a rule finds, why that matters and what to do."""

    name: str
    summary: str
    text: str
    # The worst class that a rule about definitions finds.
    risk: Risk | None = None


def read_explanations() -> list[Explanation]:
    """Return the explanations of the rules of `check`, in their order."""
    return [_read(_FOLDER / f"{name}.md") for name in load_rules()]


def read_definition_explanations() -> list[Explanation]:
    """Return the explanations of the rules about definitions, in their order."""
    return [_read(_FOLDER / rule.risk / f"{rule.name}.md", rule.risk) for rule in RULES.values()]


def _read(path: Path, risk: Risk | None = None) -> Explanation:
    text = path.read_text(encoding="utf-8")
    # The summary is the line below the heading.
    summary = text.split("\n")[2]
    if risk:
        text = text.replace(f"{summary}\n", f"{summary}\n\nClass *{risk}*: {MEANINGS[risk]}.\n", 1)
    return Explanation(path.stem, summary, text, risk)
