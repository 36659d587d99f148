"""A group whose commands are imported when they are called: no command pays for another's imports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class UnknownCommand(click.UsageError):
    """A command that does not exist, and those of a similar name that do."""

    def __init__(self, message: str, ctx: click.Context, possibilities: list[str]) -> None:
        super().__init__(message, ctx)
        self.possibilities = possibilities


class LazyGroup(click.Group):
    """Commands given as name → (module, summary); the module has a function of the command's name."""

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order they were given."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _ = self._lazy[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """List the commands from their summaries, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._lazy.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer commands by their summaries, without importing them, and options."""
        # Only a shell that completes pays for it.
        from click.shell_completion import CompletionItem

        offers = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self._lazy.items()
            if name.startswith(incomplete)
        ]
        return offers + super(click.Group, self).shell_complete(ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; a mistyped one is told the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            raise UnknownCommand(error.message, ctx, get_close_matches(args[0], self._lazy, n=1)) from None
