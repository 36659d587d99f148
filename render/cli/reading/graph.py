"""xplock graph: the closure as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from render.cli.operator_options import operator_settings
from render.cli.options import default_folder, output_option
from render.cli.output import Output
from render.cli.reading.places import find_places, place_folder
from render.errors import RenderError

if TYPE_CHECKING:
    from render.app.diff import LockPair
    from render.definitions.model import Comparison
    from render.views.graph.model import Graph


@click.command(
    epilog="Examples: xplock graph -o html > closure.html; xplock graph platform/ -o svg > closure.svg; "
    "xplock graph main platform/ -o html > changes.html"
)
@click.argument("places", metavar="[A] [B]", nargs=-1)
@output_option("mermaid", "dot", "svg", "html", "json")
@click.pass_context
def graph(context: click.Context, places: tuple[str, ...], form: str) -> None:
    """Draw what is locked: packages, what they need, and which versions they accept.

    A and B are folders, lock files or Git revisions. With one, or none for the current folder, its lock is drawn; with
    two, the picture also shows what was added, updated, moved and removed from A to B, and the page what happens to
    definitions, as far as packages are cached; `xplock diff A B -o html` also asks registries for them. The page of -o html is one file
    without anything from elsewhere: search with /, filter by kind and state, click a package for its facts. mermaid is
    drawn by Git servers, dot by Graphviz.
    """
    # Imported late: a picture needs templates, and help does not.
    from render.app.diff import read_lock_pair, read_named_lock
    from render.views.graph.make import make_graph
    from render.views.graph.model import graph_document
    from render.views.graph.safety import with_findings

    if len(places) > 2:
        raise click.UsageError("one lock is drawn, or two that are compared", context)
    output: Output = context.obj
    default, limits = default_folder(context), operator_settings().limits
    names = find_places(context, places) or [str(default)]
    if len(names) == 1:
        found = make_graph(read_named_lock(names[0], default, limits))
        title = f"Packages locked in {names[0]}"
    else:
        old, new = names
        _, folder = place_folder(old, new, default if default != Path() else None)
        pair = read_lock_pair(old, new, folder, limits)
        for note in pair.notes:
            output.say(f"note: {note}")
        found = make_graph(pair.new, pair.old)
        if form in ("html", "json"):
            found = with_findings(found, _compare_definitions(pair, output))
        title = f"{new} since {old}"
    if form == "json":
        output.result_json(graph_document(found))
    else:
        output.result(_FORMS[form](found, title))


def _compare_definitions(pair: "LockPair", output: Output) -> "Comparison":
    """Compare what is cached: a picture asks no registry, and is drawn without this as well."""
    from render.app.definitions import ContentPlaces, compare_lock_definitions
    from render.definitions.model import Comparison

    content = ContentPlaces(pair.folders, offline=True)
    try:
        return compare_lock_definitions(pair.old, pair.new, content, operator_settings(), output)
    except RenderError as error:
        output.say(f"note: definitions are not compared: {str(error).splitlines()[0]}")
        return Comparison()


def _mermaid(found: "Graph", _title: str) -> str:
    from render.views.graph.languages import format_mermaid

    return format_mermaid(found)


def _dot(found: "Graph", _title: str) -> str:
    from render.views.graph.languages import format_dot

    return format_dot(found)


def _svg(found: "Graph", _title: str) -> str:
    from render.views.graph.picture import format_svg

    return format_svg(found)


def _html(found: "Graph", title: str) -> str:
    from render.views.graph.picture import format_page

    return format_page(found, title)


_FORMS = {"mermaid": _mermaid, "dot": _dot, "svg": _svg, "html": _html}
