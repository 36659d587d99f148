"""xplock diff: what the definitions of the new packages do to those of the old ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from render.app.definitions import ContentPlaces, compare_lock_definitions
from render.app.diff import LockPair
from render.app.live_definitions import read_live_definitions
from render.cli.operator_options import given_words, operator_settings
from render.cli.options import layout_words
from render.cli.output import Output
from render.commands import as_path, shell
from render.definitions.model import Comparison
from render.definitions.rules import MEANINGS, RISKS, RULES, Risk
from render.errors import Differs, InvalidInput, RenderError
from render.lock.diff import LockDiff
from render.texts import counted, first_names
from render.views.definitions.document import comparison_document
from render.views.definitions.groups import count_by_risk, format_counts
from render.views.definitions.markdown import format_comparison_markdown
from render.views.definitions.missing import format_packages
from render.views.definitions.text import format_comparison

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_SHOWN = 5


class UnknownRule(InvalidInput):
    """A rule about definitions does not exist; the error suggests one of a similar name."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, list(RULES), n=1)
        super().__init__(
            f"there is no rule {name!r} about definitions",
            why=f"the rules are {', '.join(sorted(RULES))}",
            next=[f"did you mean {rule}?" for rule in near],
        )


class NotJudged(RenderError):
    """Packages whose definitions are not compared, where a comparison has to be free of a class."""


def _check_rules(
    _context: click.Context, _option: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        if name not in RULES:
            raise UnknownRule(name)
    return names


_OPTIONS = (
    click.option(
        "--definitions/--no-definitions",
        default=True,
        help="Compare the definitions of packages, which may read them from the cache or a registry; the default.",
    ),
    click.option(
        "--rule",
        "rules",
        multiple=True,
        metavar="RULE",
        callback=_check_rules,
        help="Only findings by this rule, such as field-gone; may be repeated.",
    ),
    click.option(
        "--live",
        "live_files",
        multiple=True,
        metavar="FILE",
        type=click.File("rb"),
        help="All definitions of the cluster, as `kubectl get crd -o json` and `kubectl get mrd -o json` print them: "
        "findings know what it stores; may be repeated.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice([risk.value for risk in RISKS]),
        help="Exit 3 if a definition changes in a way of this class or a worse one.",
    ),
)


def _named(file: IO[bytes]) -> str:
    return "-" if file.name == "<stdin>" else as_path(file.name)


def definition_options(command: Decorated) -> Decorated:
    """Add the options about definitions, for the fields of DefinitionOptions."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class DefinitionOptions:
    """Whether and how definitions are compared."""

    wanted: bool
    rules: tuple[str, ...]
    fail_on: str | None
    layouts: tuple[tuple[str, Path], ...]
    offline: bool
    # The words of the call that say which locks are compared.
    places: tuple[str, ...] = ()
    live: tuple[IO[bytes], ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the call wants to know something about definitions."""
        return bool(self.rules or self.fail_on or self.live)

    def check(self, *, has_cluster: bool) -> None:
        """Raise if the call wants to know what is not compared."""
        if not self.wanted and self.is_given:
            raise click.UsageError(
                "--rule, --live and --fail-on are about definitions: leave out --no-definitions"
            )
        if has_cluster and self.is_given:
            raise InvalidInput(
                "the definitions of a cluster's Lock cannot be compared",
                why="it names versions, and not the bytes that they had",
                next="compare with the lock that the cluster was synced from: a file, a folder or a revision",
            )

    def compare(self, pair: LockPair | None, output: Output) -> "Compared":
        """Compare the definitions of two locks; a cluster's Lock has no digests to compare by."""
        if not self.wanted:
            return Compared(self)
        if pair is None:
            output.say("note: definitions are not compared: a cluster's Lock has no digests")
            return Compared(self)
        places = ContentPlaces(pair.folders, self.layouts, self.offline)
        operator = operator_settings()
        live = read_live_definitions(self.live, operator.limits)
        found = compare_lock_definitions(pair.old, pair.new, places, operator, output, live)
        if self.rules:
            found = replace(found, findings=tuple(one for one in found.findings if one.rule in self.rules))
        return Compared(self, found, everything=output.verbosity > 0)


@dataclass(frozen=True, slots=True)
class Compared:
    """The definitions of two locks, compared if that was wanted."""

    options: DefinitionOptions
    comparison: Comparison | None = None
    everything: bool = False

    def text(self, packages: LockDiff) -> str:
        """Return the findings as text below those about packages."""
        if self.comparison is None or not self._says_something(packages):
            return ""
        return format_comparison(self.comparison, self._advice, everything=self.everything)

    def markdown(self, packages: LockDiff) -> str:
        """Return the findings as Markdown below those about packages."""
        if self.comparison is None or not self._says_something(packages):
            return ""
        return "\n" + format_comparison_markdown(self.comparison, self._advice)

    def document(self) -> dict[str, Any]:
        """Return the findings as JSON values; none, if definitions are not compared."""
        return {} if self.comparison is None else comparison_document(self.comparison)

    def require(self) -> None:
        """Raise if there is a finding of a class that must not be there, or if that cannot be told."""
        if self.options.fail_on is None or self.comparison is None:
            return
        risk = Risk(self.options.fail_on)
        found = self.comparison.at_least(risk)
        if found:
            rules = list(dict.fromkeys(one.rule for one in found))
            raise Differs(
                f"definitions change in a way of class {risk} or worse: {format_counts(count_by_risk(found))}",
                why=MEANINGS[found[0].risk],
                next=f"read about it: {shell('xplock', 'explain', rules[0])}",
            )
        if self.comparison.not_compared:
            packages = format_packages(self.comparison.not_compared)
            raise NotJudged(
                f"the definitions of {counted(len(packages), 'package')} are not compared",
                why=(first_names(packages, _SHOWN), f"they may change in a way of class {risk} or worse"),
                next=self._advice,
            )

    def _says_something(self, packages: LockDiff) -> bool:
        """Return whether definitions differ, or might, since packages do."""
        found = self.comparison or Comparison()
        return bool(
            packages.added or packages.removed or packages.changed or found.findings or found.not_compared
        )

    @property
    def _advice(self) -> list[str]:
        """Return the command that may get the content that is missing, or else shows what registries answer."""
        given = given_words(click.get_current_context())
        files = [word for file in self.options.live for word in ("--live", _named(file))]
        words = [*layout_words(self.options.layouts), *files, *given, *self.options.places]
        shown = [] if self.options.offline else ["-v"]
        return [shell("xplock", "diff", *shown, *words)]
