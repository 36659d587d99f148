"""What the end-to-end tests passed with: a committed record, from which the page about compatibility is generated."""

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rig.builds.recipes import ARGOCD, CROSSPLANE, KUBERNETES

_TESTS = Path(__file__).parents[2]
_RECORD = _TESTS / "data" / "e2e-matrix.json"


@dataclass(frozen=True, slots=True)
class Run:
    """Versions that were run together, and how many tests of each file passed."""

    crossplane: str
    argocd: str
    kubernetes: str
    python: str
    passed: Mapping[str, int]

    @property
    def is_whole(self) -> bool:
        """Whether every file was run that belongs to the matrix: those below, such as Renovate's, need no cluster."""
        return self.passed.keys() >= {path.name for path in (_TESTS / "e2e").glob("test_*.py")}


def this_run(files: Iterable[str]) -> Run:
    """Return a run with the versions of now, by the file of each test that passed."""
    python = ".".join(platform.python_version_tuple()[:2])
    passed = Counter(path.name for path in map(Path, files) if path.parent.name == "e2e")
    return Run(CROSSPLANE.version, ARGOCD.version, KUBERNETES.version, python, passed)


def read_runs() -> list[Run]:
    """Return what was recorded, the newest versions first."""
    return [Run(**values) for values in json.loads(_RECORD.read_text())]


def record(run: Run) -> None:
    """Add a run to what was recorded of its versions."""
    runs = {_key(one): one for one in read_runs()} if _RECORD.exists() else {}
    known = runs.get(_key(run), run)
    runs[_key(run)] = replace(run, passed=dict(sorted({**known.passed, **run.passed}.items())))
    newest_first = sorted(runs.values(), key=_age, reverse=True)
    _RECORD.write_text(json.dumps([asdict(one) for one in newest_first], indent=2) + "\n")


def _key(run: Run) -> tuple[str, str]:
    return run.crossplane, run.argocd


def _age(run: Run) -> list[tuple[int, ...]]:
    return [tuple(map(int, version.removeprefix("v").split("."))) for version in _key(run)]
