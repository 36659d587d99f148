"""Modules that tests name in a string, for another process: no import and no type checker looks at those."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
IMPORTED = re.compile(r"\b(?:from|import) (render(?:\.\w+)*)")


@pytest.mark.parametrize("folder", ["tests", "bench"])
def test_every_module_that_is_named_exists(folder: str) -> None:
    texts = {path: path.read_text() for path in sorted((TOP / folder).rglob("*.py"))}
    named = {name for text in texts.values() for name in IMPORTED.findall(text)}

    missing = [name for name in sorted(named) if not exists(name)]

    assert "render.lock.model" in named
    assert {name: [str(path) for path, text in texts.items() if name in text] for name in missing} == {}


def exists(module: str) -> bool:
    """Return whether a module can be found; importing what is above it is all it takes."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
