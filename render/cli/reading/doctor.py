"""xplock doctor: what is stuck in a cluster, why, and which object to touch."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import click

from render.app.clusters.doctor import diagnose_cluster
from render.app.live_input import LiveInput
from render.cli.operator_options import operator_settings
from render.cli.options import live_options, output_option
from render.cli.output import Output
from render.errors import Differs
from render.system.files import is_folder
from render.versions.version import Version, parse_version
from render.views.doctor.document import diagnosis_document
from render.views.doctor.text import format_diagnosis

_STDIN = "-"


def _parse_crossplane(_context: click.Context, _option: click.Parameter, text: str | None) -> Version | None:
    return parse_version(text) if text else None


@click.command(
    epilog="Examples: xplock doctor; xplock doctor platform/ --context production; xplock doctor cluster.yaml crds.json"
)
@click.argument("inputs", nargs=-1, metavar="[FILE|-|DIR]...")
@live_options
@click.option(
    "--crossplane-version",
    "crossplane",
    callback=_parse_crossplane,
    metavar="VERSION",
    help="The cluster's Crossplane, where its objects do not tell.",
)
@output_option("text", "json")
@click.pass_context
def doctor(
    click_context: click.Context,
    /,
    inputs: tuple[str, ...],
    context: str | None,
    kubeconfig: Path | None,
    save: Path | None,
    crossplane: Version | None,
    form: str,
) -> None:
    """Find what is stuck in a cluster, why, and which object to touch.

    Without a FILE it runs `kubectl get`; a FILE has what that printed, and - is stdin. With the DIR of a project it
    also knows what the lock says. Nothing is written to the cluster: each finding has commands to paste. It exits with 3
    if anything is stuck.
    """
    output: Output = click_context.obj
    folders, files = _sort_inputs(inputs)
    operator = operator_settings()
    given = LiveInput([_open(click_context, name) for name in files], context, kubeconfig, save)
    with output.busy("reading the cluster"):
        found = diagnose_cluster(given, folders[0] if folders else None, crossplane, operator)
    if form == "json":
        output.result_json(diagnosis_document(found))
    else:
        output.result(format_diagnosis(found))
        for line in found.missing:
            output.say(f"note: {line}")
    if found.stuck:
        click_context.exit(Differs.exit_code)


def _open(context: click.Context, name: str) -> IO[bytes]:
    return click.File("rb").convert(name, None, context)


def _sort_inputs(inputs: Sequence[str]) -> tuple[list[Path], list[str]]:
    folders = [Path(name) for name in inputs if name != _STDIN and is_folder(Path(name))]
    if len(folders) > 1:
        raise click.UsageError("one DIR at most: its lock says what should be there")
    return folders, [name for name in inputs if name == _STDIN or Path(name) not in folders]
