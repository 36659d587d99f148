"""The operator's settings as options: each counts instead of its variable, for one call of a command that uses it."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

Check = Callable[[Mapping[str, str], str], object]

_GIVEN = f"{__name__}.given"


class Setting(click.Option):
    """An option that stands for a variable; what is wrong with its text is told under the option's own name."""

    def __init__(self, flag: str, variable: str, help: str, check: Check | None = None, **more: Any) -> None:
        super().__init__([flag], help=f"{help} [{variable}]", expose_value=False, callback=_remember, **more)
        self.variable = variable
        self.check = check

    def text(self, value: Any) -> str:
        """Return what the variable would hold."""
        if self.multiple:
            return ",".join(value)
        return "" if self.is_flag else str(value)


class OperatedCommand(click.Command):
    """A command with settings of the operator's, which its help lists apart from what people choose every day."""

    def __init__(self, *args: Any, settings: Sequence[Setting], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with what was given in the place of variables."""
        with _environment(given_settings(ctx)):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the settings under a heading of their own, with their variables."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        usual = [option for option in options if not isinstance(option, Setting)]
        settings = [option for option in options if isinstance(option, Setting)]
        for heading, listed in (("Options", usual), ("Operator's settings", settings)):
            with formatter.section(heading):
                formatter.write_dl([record for option in listed if (record := option.get_help_record(ctx))])


def given_settings(context: click.Context) -> dict[str, str]:
    """Return the variables that options were given for, and their texts."""
    given: dict[str, str] = context.meta.setdefault(_GIVEN, {})
    return given


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    # Not given: no text, nothing repeated, no flag. A text may be empty.
    if not isinstance(option, Setting) or value in (None, (), False):
        return
    flag, text, given = option.opts[0], option.text(value), given_settings(context)
    if option.variable in given:
        # No other two stand for one variable.
        raise click.UsageError("--cache-dir and --no-cache contradict each other", context)
    if option.check:
        option.check({flag: text}, flag)
    given[option.variable] = text


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    """Put variables into the environment, which everything reads settings from, and take them out again."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = text


# Only who gives an option pays for what reads it.


def _check_hosts(environ: Mapping[str, str], name: str) -> None:
    from render.registry.access import read_hosts

    read_hosts(environ, name)


def _check_realms(environ: Mapping[str, str], name: str) -> None:
    from render.registry.access import read_realms

    read_realms(environ, name)


def _check_seconds(environ: Mapping[str, str], name: str) -> None:
    from render.deadline import parse_seconds

    parse_seconds(environ, 0, name=name)


CACHE = (
    Setting(
        "--cache-dir",
        "XPLOCK_CACHE_DIR",
        "Where the cache is; empty: none.",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
    ),
    Setting("--no-cache", "XPLOCK_CACHE_DIR", "Neither read nor write the cache.", is_flag=True),
)
DEADLINE = Setting(
    "--deadline", "XPLOCK_DEADLINE", "How long the whole run may take.", _check_seconds, metavar="SECONDS"
)
GIT_TOKEN = Setting(
    "--git-token-file",
    "XPLOCK_GIT_TOKEN_FILE",
    "A file with the token for an https remote, instead of what git is configured with.",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
)
CA_BUNDLE = Setting(
    "--ca-bundle",
    "XPLOCK_CA_BUNDLE",
    "Extra certificate authorities.",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
)
REGISTRIES = (
    Setting(
        "--plain-http",
        "XPLOCK_PLAIN_HTTP",
        "A host that may be spoken to without TLS; may be repeated.",
        _check_hosts,
        metavar="HOST[:PORT]",
        multiple=True,
    ),
    CA_BUNDLE,
    Setting(
        "--trusted-realm",
        "XPLOCK_TRUSTED_REALMS",
        "A token server that may see a registry's credentials; may be repeated.",
        _check_realms,
        metavar="REGISTRY=HOST",
        multiple=True,
    ),
    Setting(
        "--allowed-registry",
        "XPLOCK_ALLOWED_REGISTRIES",
        "If given, the only host that is ever asked; may be repeated.",
        _check_hosts,
        metavar="HOST[:PORT]",
        multiple=True,
    ),
    DEADLINE,
)
