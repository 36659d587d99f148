"""The explanations of rules: one Markdown file each, whose first sentence is the docstring of the rule."""

from pathlib import Path

from render.checks.rules import load_rules
from render.lean import dataclass

_FOLDER = Path(__file__).parent / "explanations"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a rule finds, why that matters and what to do."""

    name: str
    summary: str
    text: str


def read_explanations() -> list[Explanation]:
    """Return the explanations of all rules, in their order."""
    return [_read(name) for name in load_rules()]


def _read(name: str) -> Explanation:
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    # The summary is the line below the heading.
    return Explanation(name, text.split("\n")[2], text)
