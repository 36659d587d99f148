"""The screenshot of docs/pictures.md: the page of an example in a real browser. `make screenshot` takes it."""

import tempfile
from pathlib import Path

from render.app.diff import read_named_lock
from render.limits import Limits
from render.views.graph.make import make_graph
from render.views.graph.picture import format_page
from rig.browser.chromium import chromium

_TOP = Path(__file__).parents[3]
_EXAMPLE = _TOP / "examples/shop"
_PICTURE = _TOP / "docs/closure.png"


def take() -> None:
    """Write the picture, with one package chosen."""
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "closure.html"
        lock = read_named_lock(str(_EXAMPLE / "crossplane.lock.yaml"), _EXAMPLE, Limits())
        page.write_text(format_page(make_graph(lock), "Packages locked in ."), encoding="utf-8")
        with chromium(Path(scratch)) as browser:
            browser.open(page)
            browser.click('.node[data-key$="/configuration-network"]')
            browser.screenshot(_PICTURE)


if __name__ == "__main__":
    take()
