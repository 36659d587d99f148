"""Every rule has a name, a sentence and an explanation."""

from pathlib import Path

import pytest

from render.checks.explaining import Explanation, read_definition_explanations, read_explanations
from render.checks.rules import load_rules
from render.definitions.rules import RULES
from render.lock.freshness import StaleLock

FOLDER = Path(__file__).parents[2]
OF_CHECK, OF_DEFINITIONS = read_explanations(), read_definition_explanations()
HEADINGS = ["## Why it matters", "## What to do", "## Example"]


def test_every_rule_has_an_explanation_and_no_explanation_is_without_a_rule() -> None:
    folder = FOLDER / "render/checks/explanations"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}

    assert [one.name for one in OF_CHECK] == list(load_rules())
    assert [one.name for one in OF_DEFINITIONS] == list(RULES)
    assert files == {
        *(f"{name}.md" for name in load_rules()),
        *(f"{one.risk}/{one.name}.md" for one in RULES.values()),
    }


def test_a_rule_is_named_for_its_function() -> None:
    assert [rule.__name__.replace("_", "-") for rule in load_rules().values()] == list(load_rules())


def _summary(one: Explanation) -> str | None:
    meaning = RULES[one.name].meaning if one.risk else ""
    return f"{meaning[0].upper()}{meaning[1:]}." if meaning else load_rules()[one.name].__doc__


@pytest.mark.parametrize("one", [*OF_CHECK, *OF_DEFINITIONS], ids=lambda one: one.name)
def test_an_explanation_tells_what_is_found_why_it_matters_and_what_to_do(one: Explanation) -> None:
    lines = one.text.splitlines()

    assert lines[0] == f"# {one.name}"
    assert lines[2] == one.summary == _summary(one)
    assert [line for line in lines if line.startswith("## ")] == HEADINGS
    assert max(len(line) for line in lines) <= 120
    assert one.text.endswith("\n")
    # Below each heading there is something.
    sections = one.text.split("\n## ")[1:]
    assert all(section.partition("\n")[2].strip() for section in sections)


def test_the_example_of_a_stale_lock_is_what_is_printed() -> None:
    [one] = [one for one in OF_CHECK if one.name == "lock-stale"]
    reasons = ["root xpkg.example.org/acme/provider-store changed"]
    error = StaleLock("clusters/production/crossplane.lock.yaml", reasons)

    printed = f"clusters/production: lock-stale: {error}"

    assert one.text.endswith("".join(f"    {line}\n" for line in printed.splitlines()))
