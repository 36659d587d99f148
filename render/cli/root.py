"""The command line's root: global flags, and where each command lives."""

import click

from render import __version__
from render.cli.lazy import LazyGroup
from render.cli.output import Output

_COMMANDS = {
    "package": ("render.cli.package", "Build, push and inspect packages."),
    "completion": ("render.cli.completion", "Print the completion script for a shell."),
}


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: xplock package inspect xpkg.example.org/acme/platform:v1.0.0",
)
@click.option("-v", "--verbose", is_flag=True, help="Tell every request on stderr.")
@click.option("-q", "--quiet", is_flag=True, help="Tell only warnings and errors on stderr.")
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.pass_obj
def xplock(output: Output, verbose: bool, quiet: bool) -> None:
    """Lock Crossplane packages ahead of time, and render what is locked."""
    output.verbosity = int(verbose) - int(quiet)
