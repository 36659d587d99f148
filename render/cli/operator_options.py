"""The operator's settings as options: each replaces its variable for one call."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from render.app.operator_settings import OperatorSettings

Check = Callable[[Mapping[str, str], str], object]

_GIVEN = f"{__name__}.given"
_WORDS = f"{__name__}.words"


class Setting(click.Option):
    """An option that replaces a variable; errors about its text name the option."""

    def __init__(
        self,
        flag: str,
        variable: str,
        help: str,
        check: Check | None = None,
        *,
        whole_path: bool = False,
        **more: Any,
    ) -> None:
        super().__init__([flag], help=f"{help} [{variable}]", expose_value=False, callback=_remember, **more)
        self.variable = variable
        self.check = check
        # Whether the variable has to hold a path from the root, where an option may be relative.
        self.whole_path = whole_path

    def text(self, value: Any) -> str:
        """Return the text that the variable would have."""
        if self.multiple:
            return ",".join(value)
        if self.whole_path and value:
            return str(Path(value).absolute())
        return "" if self.is_flag else str(value)


class OperatedCommand(click.Command):
    """A command with operator's settings, which its help lists apart from the everyday options."""

    def __init__(self, *args: Any, settings: Sequence[Setting], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(settings)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the operator's settings below a heading of their own."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        usual = [option for option in options if not isinstance(option, Setting)]
        settings = [option for option in options if isinstance(option, Setting)]
        for heading, listed in (("Options", usual), ("Operator's settings", settings)):
            with formatter.section(heading):
                formatter.write_dl([record for option in listed if (record := option.get_help_record(ctx))])


def given_settings(context: click.Context) -> dict[str, str]:
    """Return the variables that options replace, with their texts."""
    given: dict[str, str] = context.meta.setdefault(_GIVEN, {})
    return given


def given_words(context: click.Context) -> list[str]:
    """Return these options as they were written, for advice that repeats the command."""
    words: list[str] = context.meta.setdefault(_WORDS, [])
    return words


def operator_settings() -> OperatorSettings:
    """Return the operator's settings for the current command: the environment, and options given instead."""
    return OperatorSettings.from_environment({**os.environ, **given_settings(click.get_current_context())})


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    # These mean that the option was not given; an empty text was.
    if not isinstance(option, Setting) or value in (None, (), False):
        return
    flag, text, given = option.opts[0], option.text(value), given_settings(context)
    if option.variable in given:
        # No other two options replace one variable.
        raise click.UsageError("--cache-dir and --no-cache contradict each other", context)
    if option.check:
        option.check({flag: text}, flag)
    given[option.variable] = text
    texts = value if option.multiple else [str(value)]
    given_words(context).extend([flag] if option.is_flag else [word for one in texts for word in (flag, one)])


# Imported late below: only a command that is given such an option needs them.


def _check_hosts(environ: Mapping[str, str], name: str) -> None:
    from render.registry.access import read_hosts

    read_hosts(environ, name)


def _check_realms(environ: Mapping[str, str], name: str) -> None:
    from render.registry.access import read_realms

    read_realms(environ, name)


def _check_seconds(environ: Mapping[str, str], name: str) -> None:
    from render.system.deadline import parse_seconds

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
POLICY = Setting(
    "--policy",
    "XPLOCK_POLICY",
    "A policy that packages have to satisfy besides that of their folder.",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    whole_path=True,
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
TRUSTED_ROOT = Setting(
    "--trusted-root",
    "XPLOCK_TRUSTED_ROOT",
    "The authorities and logs that signatures are judged by, as cosign writes them.",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
)
