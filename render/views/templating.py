"""Our own templates, filled with values; what comes from outside is only ever a value."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def fill_template(name: str, **values: Any) -> str:
    """Fill one of the templates that come with xplock."""
    # What is made is plain text or Markdown, whose values are made safe where they are made.
    environment = Environment(
        loader=PackageLoader("render.views"),
        autoescape=False,  # noqa: S701 - nothing here is HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name).render(**values)
