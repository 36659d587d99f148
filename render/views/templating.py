"""The templates that come with xplock, filled with values. Text from outside is only ever a value."""

from typing import Any

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined, select_autoescape


def fill_template(name: str, loader: BaseLoader | None = None, /, **values: Any) -> str:
    """Fill one of the templates that come with xplock, or one of another loader."""
    return _environment(loader or PackageLoader("render.views")).get_template(name).render(**values)


def _environment(loader: BaseLoader) -> Environment:
    return Environment(
        loader=loader,
        # Everything else is text, YAML or Markdown, whose values are made safe before they get here.
        autoescape=select_autoescape(("html.j2", "svg.j2", "xml.j2"), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
