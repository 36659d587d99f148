"""xplock why: how a package came into the lock."""

from pathlib import Path
from typing import Any

import click

from render.cli.operator_options import operator_settings
from render.cli.options import folder_argument, output_option
from render.cli.output import Output
from render.lock.freshness import require_consistent_lock
from render.lock.lookup import find_known
from render.lock.model import Lock
from render.references import Source
from render.views.closure.crds import PREFIX, askers_document, format_askers
from render.views.closure.replaced import explain_replaced, format_succession, succession_document
from render.views.closure.why import explain, explanation_document, format_explanation


@click.command(
    epilog="Example: xplock why provider-aws-s3 platform/; xplock why crd:buckets.s3.aws.upbound.io"
)
@click.argument("source", metavar="SRC")
@folder_argument
@output_option("text", "json")
@click.pass_obj
def why(output: Output, source: str, folder: Path, form: str) -> None:
    """Show who needs SRC in the lock of DIR, every path to it from what you ask for, and what it has replaced.

    For a replaced package, show its successors; for one that is leaving, what still needs it.

    With crd:NAME, show who needs the CRD of that name, and which package answers.

    The last components of SRC are enough if only one package ends with them. Of many paths the shortest
    are shown, and the others counted.
    """
    lock = require_consistent_lock(folder, operator_settings().limits)
    if source.startswith(PREFIX):
        _explain_crd(output, lock, source.removeprefix(PREFIX), form)
        return
    known = find_known(source, lock, folder=folder)
    if form == "json":
        output.result_json(_document(lock, known, folder))
    else:
        output.result(_text(lock, known, folder))


def _explain_crd(output: Output, lock: Lock, name: str, form: str) -> None:
    if form == "json":
        output.result_json(askers_document(lock, name))
    else:
        output.result(format_askers(lock, name))


def _is_there(lock: Lock, source: Source) -> bool:
    return source in lock.packages or source in lock.provided


def _text(lock: Lock, source: Source, folder: Path) -> str:
    if _is_there(lock, source):
        return format_explanation(explain(lock, source, folder=folder), str(folder))
    return format_succession(explain_replaced(lock, source), str(folder))


def _document(lock: Lock, source: Source, folder: Path) -> dict[str, Any]:
    if _is_there(lock, source):
        return explanation_document(explain(lock, source, folder=folder))
    return succession_document(explain_replaced(lock, source))
