"""The parts of pages that are made from the code: commands, settings, rules, limits, values for a Helm chart."""

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import yaml

from render.checks.explaining import read_explanations
from render.cli.main import xplock
from render.cli.run import run
from render.inputs.settings.keys import KEYS
from render.inputs.settings.table import (
    Choice,
    Entries,
    Flag,
    Group,
    Key,
    Number,
    OneOrMore,
    Shape,
    Text,
    TextMap,
    Texts,
)
from render.limits import Limits, format_bytes, setting
from rig.deploy.kustomize import DEPLOY, read_one
from rig.docs.compatibility import format_argocd, format_matrix, format_needs

_PART = re.compile(
    r"(?P<open>^<!-- generated: (?P<name>[\w-]+) -->\n).*?(?P<close>^<!-- end of (?P=name) -->$)",
    re.DOTALL | re.MULTILINE,
)
# Wide enough for every page, and the same in every terminal.
_COLUMNS = "80"


def generate(text: str) -> str:
    """Return the text of a page with every generated part made again."""
    return _PART.sub(lambda match: f"{match['open']}{PARTS[match['name']]()}\n{match['close']}", text)


def parts_of(page: Path) -> set[str]:
    """Return the names of the generated parts of a page."""
    return {match["name"] for match in _PART.finditer(page.read_text())}


# Commands


def commands() -> list[str]:
    """Return every command as it is typed, groups of commands aside."""
    context = click.Context(xplock)
    found = []
    for name in xplock.list_commands(context):
        command = xplock.get_command(context, name)
        inner = command.list_commands(context) if isinstance(command, click.Group) else []
        found.extend([f"{name} {each}" for each in inner] or [name])
    return found


def _commands() -> str:
    return "\n\n".join(f"## {name}\n\n```text\n{_help(name)}\n```" for name in commands())


def _help(command: str) -> str:
    output = io.StringIO()
    with patch.dict(os.environ, COLUMNS=_COLUMNS), redirect_stdout(output):
        assert run([*command.split(), "--help"]) == 0
    return output.getvalue().strip()


# Settings


def _settings() -> str:
    return "\n\n".join("\n\n".join(_setting(key)) for key in KEYS)


def _setting(key: Key) -> Iterator[str]:
    yield f"### {key.name}"
    yield _described(key)
    if isinstance(key.shape, Entries | Group):
        rows = list(_rows(key.shape.keys))
        is_list = isinstance(key.shape, Entries)
        yield "A list. Each entry has these keys:" if is_list else "A mapping with these keys:"
        yield _table(("key", "value", "meaning"), rows)
    else:
        yield f"Value: {_value(key)}."


def _rows(keys: Sequence[Key], above: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield a row for each key and for each key below it."""
    for each in keys:
        value = _value(each)
        yield f"`{above}{each.name}`", value, _cell(each.description)
        if isinstance(each.shape, Group):
            yield from _rows(each.shape.keys, f"{above}{each.name}.")
        elif isinstance(each.shape, Entries):
            yield from _rows(each.shape.keys, f"{above}{each.name}[].")


def _described(key: Key) -> str:
    """Return the description; where it explains one word after the other, each has a line."""
    match key.shape:
        case Choice():
            words = key.shape.words
        case Flag():
            words = ("true", "false")
        case _:
            return key.description
    explained = re.sub(rf"(?:^| )({'|'.join(words)}): ", r"\n- `\1`: ", key.description)
    return explained.strip()


def _value(key: Key) -> str:
    needed = ", required" if key.required else ""
    examples = f", such as {' or '.join(f'`{each}`' for each in key.examples)}" if key.examples else ""
    return _shape(key.shape) + needed + examples


def _shape(shape: Shape | Entries | Group) -> str:
    match shape:
        case Entries():
            return "list of mappings"
        case Group():
            return "mapping"
        case Text():
            return "text"
        case Texts():
            return "list of texts"
        case OneOrMore():
            return "text, or list of texts"
        case TextMap():
            return "mapping of names to texts"
        case Flag():
            return f"`true` or `false` (default: `{str(shape.default).lower()}`)"
        case Number():
            return f"whole number from {shape.least:,} to {shape.most:,}"
        case Choice():
            default = f" (default: `{shape.default}`)" if shape.default else ""
            return " or ".join(f"`{word}`" for word in shape.words) + default


# Tables


def _rules() -> str:
    return _table(("rule", "finds"), [(f"`{each.name}`", each.summary) for each in read_explanations()])


def _limits() -> str:
    amounts = {name: getattr(Limits(), name) for name in Limits.__annotations__}
    rows = [(f"`{setting(name)}`", _amount(name, amount)) for name, amount in amounts.items()]
    return _table(("variable", "limit"), rows)


def _amount(name: str, amount: int) -> str:
    if name.endswith("_bytes"):
        return format_bytes(amount)
    return f"{amount:,} s" if name.endswith("_seconds") else f"{amount:,}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = f"|{'---|' * len(head)}"
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# Argo CD by its Helm chart


def _helm_values() -> str:
    pod = read_one(DEPLOY / "repo-server.yaml")["spec"]["template"]["spec"]
    plugin = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "xplock-plugin"},
        "data": {"plugin.yaml": _without_comments((DEPLOY / "plugin.yaml").read_text())},
    }
    values = {
        "repoServer": {"extraContainers": pod["containers"], "volumes": pod["volumes"]},
        "extraObjects": [plugin],
    }
    return f"{_CHECKED}\n```yaml\n{yaml.dump(values, Dumper=_Blocks, sort_keys=False, width=1_000)}```"


# As every block has, that is not run.
_CHECKED = "<!-- shown: tests/docs/test_snippets.py -->"


def _without_comments(text: str) -> str:
    return re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE)


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""

    def represent_str(self, data: str) -> Any:
        style = "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Blocks.add_representer(str, _Blocks.represent_str)

PARTS: dict[str, Callable[[], str]] = {
    "commands": _commands,
    "settings": _settings,
    "rules": _rules,
    "limits": _limits,
    "helm-values": _helm_values,
    "matrix": format_matrix,
    "needs": format_needs,
    "argocd": format_argocd,
}
