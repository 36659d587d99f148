"""xplock explain: what a rule of `check`, or one about definitions, finds, why that matters, and what to do."""

import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from textwrap import fill

import click
from click.shell_completion import CompletionItem

from render.checks.explaining import Explanation, read_definition_explanations, read_explanations
from render.cli.options import output_option
from render.cli.output import Output
from render.commands import xplock
from render.errors import InvalidInput


class UnknownRule(InvalidInput):
    """A rule does not exist; the error suggests one of a similar name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        # Imported late: only a mistyped name needs it.
        from difflib import get_close_matches

        near = get_close_matches(name, list(known), n=1)
        super().__init__(
            f"there is no rule {name!r}",
            next=[*(f"did you mean {rule}?" for rule in near), f"see them all: {xplock('explain')}"],
        )


def _complete(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    rules = [rule for rule in _read_all() if rule.name.startswith(incomplete)]
    return [CompletionItem(rule.name, help=rule.summary) for rule in rules]


def _read_all() -> list[Explanation]:
    return [*read_explanations(), *read_definition_explanations()]


@click.command(epilog="Examples: xplock explain; xplock explain lock-stale; xplock explain field-gone")
@click.argument("name", metavar="[RULE]", required=False, shell_complete=_complete)
@output_option("text", "json")
@click.pass_obj
def explain(output: Output, name: str | None, form: str) -> None:
    """Explain a RULE: what it finds, why that matters, and what to do. Without one, list all.

    Rules without a class are those of `xplock check`. The others compare the definitions of two locks: CRDs, XRDs, MRDs
    and Compositions.
    """
    rules = {rule.name: rule for rule in _read_all()}
    if name is not None and name not in rules:
        raise UnknownRule(name, rules)
    asked = list(rules.values()) if name is None else [rules[name]]
    if form == "json":
        output.result_json([_document(rule) for rule in asked])
    else:
        output.result(_format_list(asked) if name is None else _wrap_paragraphs(asked[0].text))


def _format_list(rules: list[Explanation]) -> str:
    width = max(len(rule.name) for rule in rules) + 2
    return "".join(f"{_wrap(f'{rule.name:<{width}}{_summarize(rule)}', indent=width)}\n" for rule in rules)


def _summarize(rule: Explanation) -> str:
    return f"{rule.risk}: {rule.summary}" if rule.risk else rule.summary


def _wrap_paragraphs(text: str) -> str:
    # What is indented is an example.
    blocks = text.removesuffix("\n").split("\n\n")
    return "\n\n".join(block if block.startswith("  ") else _wrap(block) for block in blocks) + "\n"


def _wrap(text: str, *, indent: int = 0) -> str:
    """Break lines between words where a terminal would break them anywhere; programs get them as they are."""
    columns = get_terminal_size().columns
    if not sys.stdout.isatty() or max(map(len, text.split("\n"))) <= columns:
        return text
    return fill(text, columns, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _document(rule: Explanation) -> dict[str, str]:
    known = {"class": str(rule.risk)} if rule.risk else {}
    return {"rule": rule.name, **known, "summary": rule.summary, "explanation": rule.text}
