"""The page of 1,000 packages: how long it takes to write, to paint in a real browser, and to search."""

import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.measure import best_seconds, print_ratio, python
from bench.registry import FakeCatalog, chromium
from bench.render import HOME, made_up, make_project

_NUMBER = 1_000
_SECONDS, _PAINT, _SEARCH = 1.5, 1_000, 100
_ROUNDS = 5
# The time until a page has painted; and of a key in the search, until the picture has its new look.
_PAINTED = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
_SEARCHED = """
const before = performance.now();
search.value = arguments[0];
search.dispatchEvent(new Event("input"));
picture.getBoundingClientRect();
getComputedStyle(nodes.values().next().value).opacity;
return performance.now() - before;
"""


def main() -> None:
    """Print the lines of a closure that is deep, and of one as wide as fleets have it."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        shapes = {"deep": made_up(_NUMBER), "wide": FakeCatalog(_wide())}
        for shape, catalog in shapes.items():
            project = make_project(scratch / shape, [f"{HOME}/p0:v1.0.0"], catalog)
            _measure(f"graph -o html of {_NUMBER:,} packages, {shape}", project, scratch)


def _measure(what: str, project: Path, scratch: Path) -> None:
    xplock = str(Path(sys.executable).with_name("xplock"))
    command = [xplock, "graph", str(project), "-o", "html"]
    bare, graph = best_seconds([python("-c", "pass"), command], _ROUNDS)
    print_ratio(what, graph, bare, goal=75)
    print(f"  {graph:.2f} s (goal {_SECONDS:g} s)  {'ok' if graph < _SECONDS else 'MISSED'}")
    page = scratch / "page.html"
    page.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    profile = scratch / f"{project.name}-browser"
    profile.mkdir()
    with chromium(profile) as browser:
        painted, searched = [], []
        for _ in range(_ROUNDS):
            browser.open(page)
            # A frame later, so that the first one is painted.
            browser.wait("return performance.getEntriesByName('first-contentful-paint').length > 0")
            painted.append(browser.run(_PAINTED))
            searched.append(max(browser.run(_SEARCHED, text) for text in ("p", "p9", "p99", "p999", "")))
    for label, found, goal in (
        ("first paint", painted, _PAINT),
        ("search, the slowest key", searched, _SEARCH),
    ):
        best = min(found)
        print(f"  {label}: {best:.0f} ms (goal {goal:,} ms)  {'ok' if best < goal else 'MISSED'}")
    print(f"  {page.stat().st_size / 1e6:.1f} MB")


def _wide() -> Mapping[str, Mapping[str, str]]:
    """Return packages in six layers, the lowest of which most others need."""
    chance = random.Random(_NUMBER)
    ends = [1, 11, 100, 400, 900, _NUMBER]
    layers = [range(1), *(range(a, b) for a, b in itertools.pairwise(ends))]
    found: dict[str, dict[str, str]] = {f"p{i} v1.0.0": {} for i in range(_NUMBER)}
    for upper, lower in itertools.pairwise(layers):
        for i in lower:
            found[f"p{chance.choice(upper)} v1.0.0"][f"p{i}"] = ">=v1.0.0"
        for i in upper:
            found[f"p{i} v1.0.0"] |= {f"p{j}": ">=v1.0.0" for j in chance.sample(layers[-1], 2)}
    return found


if __name__ == "__main__":
    main()
