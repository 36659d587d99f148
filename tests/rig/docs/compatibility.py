"""The tables of the page about compatibility: what the end-to-end tests ran, and which versions settings need."""

from collections.abc import Iterable, Sequence

from render.crossplane import FIRST_VERSIONS, first_version
from rig.live.matrix import Run, read_runs


def format_matrix() -> str:
    """Return one row for each set of versions that was run together."""
    rows = [
        (
            run.crossplane,
            run.argocd,
            run.kubernetes,
            run.python,
            f"{sum(run.passed.values())} tests: {_form(run)}",
        )
        for run in read_runs()
    ]
    return _table(("Crossplane", "Argo CD", "Kubernetes", "Python", "passed"), rows)


def format_needs() -> str:
    """Return one row for each setting that needs a version of Crossplane."""
    return _table(("setting", "Crossplane"), [(f"`{one}`", _from(one)) for one in FIRST_VERSIONS])


def versions_of(software: str) -> list[str]:
    """Return the versions of crossplane or argocd in the record, the newest first."""
    return list(dict.fromkeys(getattr(run, software) for run in read_runs()))


def _form(run: Run) -> str:
    names = [name.removeprefix("test_").removesuffix(".py") for name in run.passed]
    return "all" if run.is_whole else ", ".join(f"`{name}`" for name in names)


def _from(setting: str) -> str:
    return f"{first_version(setting)} or newer"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(line)} |" if line[0] != "---" else "|---" * len(head) + "|" for line in lines
    )
