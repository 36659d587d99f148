"""The time of day is read in one place: a lock and what is rendered from it are the same at any time."""

import ast
from pathlib import Path

TOP = Path(__file__).parents[2]
# How old a file is, which an interrupted run left behind or a cache may forget.
FILE_AGES = {"render/lock/text/file.py", "render/registry/cache.py", "render/manifests/out_folder.py"}


def reads_clock(node: ast.AST) -> bool:
    """Return whether a call returns the time of day."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    called = ast.unparse(node.func)
    return called in (
        "datetime.now",
        "datetime.utcnow",
        "datetime.today",
        "date.today",
        "time.time",
        "time.time_ns",
    )


def test_one_module_reads_the_clock() -> None:
    found = {
        path.relative_to(TOP).as_posix()
        for path in (TOP / "render").rglob("*.py")
        if any(map(reads_clock, ast.walk(ast.parse(path.read_text()))))
    }

    assert found - FILE_AGES == {"render/system/clock.py"}


def test_the_resolver_alone_takes_that_module() -> None:
    found = {
        path.relative_to(TOP).as_posix()
        for path in (TOP / "render").rglob("*.py")
        if "render.system.clock" in path.read_text()
    }

    assert found == {"render/app/resolving/resolver.py"}
