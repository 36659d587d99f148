"""The record of what the end-to-end tests ran: runs of the same versions add up, the newest versions come first."""

from pathlib import Path

import pytest
from rig.builds import matrix
from rig.builds.matrix import Run, read_runs, record, this_run


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of nothing."""
    monkeypatch.setattr(matrix, "_RECORD", tmp_path / "record.json")


def run(crossplane: str, argocd: str, **passed: int) -> Run:
    """Return a run in which so many tests of files passed."""
    return Run(crossplane, argocd, "v1.34.4", "3.11", {f"{name}.py": count for name, count in passed.items()})


def test_the_newest_versions_come_first() -> None:
    for argocd in ("v3.9.1", "v3.10.0"):
        for crossplane in ("v2.9.0", "v2.10.0"):
            record(run(crossplane, argocd, test_sync=1))

    assert [(one.crossplane, one.argocd) for one in read_runs()] == [
        ("v2.10.0", "v3.10.0"),
        ("v2.10.0", "v3.9.1"),
        ("v2.9.0", "v3.10.0"),
        ("v2.9.0", "v3.9.1"),
    ]


def test_files_that_ran_apart_add_up_and_the_last_count_of_a_file_stays() -> None:
    record(run("v2.4.0", "v3.5.6", test_sync=1, test_moves=2))
    record(run("v2.4.0", "v3.5.6", test_moves=3, test_closure=1))

    (one,) = read_runs()
    assert one.passed == {"test_closure.py": 1, "test_moves.py": 3, "test_sync.py": 1}
    assert not one.is_whole


def test_a_run_is_whole_with_every_file() -> None:
    files = (Path(matrix.__file__).parents[2] / "e2e").glob("test_*.py")

    assert run("v2.4.0", "v3.5.6", **{file.stem: 1 for file in files}).is_whole


def test_what_needs_no_cluster_is_no_part_of_a_run() -> None:
    one = this_run(
        ["tests/e2e/test_sync.py", "tests/e2e/test_sync.py", "tests/e2e/renovate/test_renovate.py"]
    )

    assert one.passed == {"test_sync.py": 2}
