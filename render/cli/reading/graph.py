"""xplock graph: the closure as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from render.cli.operator_options import operator_settings
from render.cli.options import default_folder, output_option
from render.cli.output import Output

if TYPE_CHECKING:
    from render.views.graph.model import Graph


@click.command(
    epilog="Examples: xplock graph -o html > closure.html; xplock graph platform/ -o svg > closure.svg; "
    "xplock graph main platform/ -o html > changes.html"
)
@click.argument("old", metavar="[A]", required=False)
@click.argument("new", metavar="[DIR]", required=False)
@output_option("mermaid", "dot", "svg", "html", "json")
@click.pass_context
def graph(context: click.Context, old: str | None, new: str | None, form: str) -> None:
    """Draw what is locked in DIR: packages, what they need, and which versions they accept.

    With A, a folder, a lock file or a Git revision, the picture shows what was added, updated and removed since then.
    The page of -o html is one file without anything from elsewhere: search with /, filter by kind and state, click a
    package for its facts. mermaid is drawn by Git servers, dot by Graphviz.
    """
    # Imported late: a picture needs templates, and help does not.
    from render.app.diff import read_named_lock
    from render.views.graph.model import graph_document, make_graph

    output: Output = context.obj
    default, limits = default_folder(context), operator_settings().limits
    name = str(default / (new or old or ""))
    folder = Path(name) if Path(name).is_dir() else default
    lock = read_named_lock(name, folder, limits)
    before = read_named_lock(old, folder, limits) if old and new else None
    found = make_graph(lock, before)
    title = f"{name} since {old}" if new else f"Packages locked in {name}"
    if form == "json":
        output.result_json(graph_document(found))
    else:
        output.result(_FORMS[form](found, title))


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
