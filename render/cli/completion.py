"""xplock completion: scripts for shells."""

import click
from click.shell_completion import get_completion_class

from render.cli.main import COMPLETE_VARIABLE
from render.cli.output import Output


@click.command(epilog='Example: eval "$(xplock completion bash)"')
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish."""
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    output: Output = context.obj
    script = found(context.find_root().command, {}, "xplock", COMPLETE_VARIABLE)
    output.result(script.source() + "\n")
