"""The command line's root: global flags, and where each command lives."""

import click

from render import __version__
from render.cli.lazy import LazyGroup
from render.cli.output import Output

# What a shell sets to ask for completions.
COMPLETE_VARIABLE = "_XPLOCK_COMPLETE"

_COMMANDS = {
    "lock": ("render.cli.lock", "Resolve what a folder asks for, and write the lock."),
    "retire": ("render.cli.retire", "Let go of packages that are leaving."),
    "render": ("render.cli.render", "Render manifests from the lock."),
    "check": ("render.cli.check", "Find what is wrong with folders and their locks, offline."),
    "explain": ("render.cli.explain", "Explain what a rule of check finds, and what to do."),
    "tree": ("render.cli.tree", "Show the locked packages as a tree."),
    "why": ("render.cli.why", "Show who needs a package, and which versions they accept."),
    "outdated": ("render.cli.outdated", "Show which locked packages have newer versions."),
    "verify": ("render.cli.verify", "Ask registries whether they still have what was locked."),
    "diff": ("render.cli.diff", "Compare two locks, or a lock with the one in a cluster."),
    "commit": ("render.cli.commit", "Commit the lock, and nothing else, to a branch."),
    "plugin": ("render.cli.plugin", "Render for Argo CD; plugin.yaml calls it."),
    "package": ("render.cli.package", "Build, push and inspect packages."),
    "init": ("render.cli.init", "Write what a project and its Argo CD start with."),
    "completion": ("render.cli.completion", "Print the completion script for a shell."),
}


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: xplock lock && xplock tree",
)
@click.option("-v", "--verbose", is_flag=True, help="Tell every request on stderr.")
@click.option("-q", "--quiet", is_flag=True, help="Tell only warnings and errors on stderr.")
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.pass_obj
def xplock(output: Output, verbose: bool, quiet: bool) -> None:
    """Lock Crossplane packages ahead of time, and render what is locked."""
    output.verbosity = int(verbose) - int(quiet)
