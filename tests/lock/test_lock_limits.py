"""How large a lock may be, and the locks of all used folders together."""

from pathlib import Path

import pytest
from rig.builders.locks import lock, package

from render.folders.neighbours import read_neighbours
from render.lean import replace
from render.limits import LimitExceeded, Limits
from render.lock.text.format import format_lock
from render.lock.text.parse import parse_lock
from render.system.files import LOCK_FILE

SMALL = format_lock(lock([package("app v1.0.0")]))


@pytest.mark.parametrize("text", ["a: [" + "1," * 5_000 + "]\n", "- a\n" * 5_000, SMALL + "# \n" * 5_000])
def test_a_lock_with_too_many_values_is_not_built(text: str) -> None:
    limits = replace(Limits(), lock_nodes=1_000)

    if text.startswith(SMALL):
        assert parse_lock(text, limits, place="lock") == parse_lock(SMALL, Limits(), place="lock")
        return
    with pytest.raises(LimitExceeded) as caught:
        parse_lock(text, limits, place="lock")

    assert "XPLOCK_LIMIT_LOCK_NODES" in str(caught.value)


def test_the_locks_of_used_folders_have_a_limit_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / LOCK_FILE).write_text(format_lock(lock([package(f"{name} v1.0.0")])))
    size = sum((tmp_path / name / LOCK_FILE).stat().st_size for name in ("one", "two"))
    uses = [("../one", tmp_path / "one"), ("../two", tmp_path / "two")]

    found = read_neighbours(tmp_path / "shop", uses, replace(Limits(), used_locks_bytes=size))
    with pytest.raises(LimitExceeded) as caught:
        read_neighbours(tmp_path / "shop", uses, replace(Limits(), used_locks_bytes=size - 1))

    assert len(found.provided) == 2
    assert "XPLOCK_LIMIT_USED_LOCKS_BYTES" in str(caught.value)
