"""The tables of the page about compatibility: what the end-to-end tests ran, and which versions settings need."""

from collections.abc import Iterable, Sequence

from render.crossplane import ANY_VERSION, FIRST_VERSIONS, first_version
from rig.builds.matrix import Run, read_runs

# The end-to-end tests that use a setting of xplock, or a feature of Argo CD.
_SETTINGS = {
    "pin: digest": "test_closure.py",
    "pin: tag": "test_moved_tag.py",
    "pin: native": "test_names_and_pins.py",
    "rewrites": "test_moves.py",
    "mirror": "test_mirror.py",
    "overrides: runtimeConfig": "test_sync.py",
}
_ARGOCD = {
    "guard `Prune=false`: a package that a commit does not have stays": "test_sync.py",
    "guard `Delete=confirm`: to delete an Application with its packages takes a consent": "test_deletion.py",
    "waves: pins first, and `waves: graph`": "test_sync.py",
    "health checks of `deploy/health`": "test_sync.py",
    "`ignore-healthcheck` of deactivated packages": "test_moves.py",
}


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
    """Return one row for each setting that needs a version of Crossplane, and for those beside which it is chosen."""
    settings = sorted([*FIRST_VERSIONS, *ANY_VERSION], key=list(_SETTINGS).index)
    rows = [(f"`{one}`", _from(one), *_shown("crossplane", _SETTINGS[one])) for one in settings]
    return _table(("setting", "Crossplane", "run with", "shown by"), rows)


def format_argocd() -> str:
    """Return one row for each feature of Argo CD that the rendered manifests use."""
    rows = [(feature, *_shown("argocd", file)) for feature, file in _ARGOCD.items()]
    return _table(("feature", "run with", "shown by"), rows)


def versions_of(software: str) -> list[str]:
    """Return the versions of crossplane or argocd in the record, the newest first."""
    return list(dict.fromkeys(getattr(run, software) for run in read_runs()))


def _form(run: Run) -> str:
    names = [name.removeprefix("test_").removesuffix(".py") for name in run.passed]
    return "all" if run.is_whole else ", ".join(f"`{name}`" for name in names)


def _from(setting: str) -> str:
    return f"{first_version(setting)} or newer" if setting in FIRST_VERSIONS else "any"


def _shown(software: str, file: str) -> tuple[str, str]:
    """Return with which versions a test passed, and the test."""
    runs = [run for run in read_runs() if run.passed.get(file)]
    versions = dict.fromkeys(getattr(run, software) for run in runs)
    return ", ".join(versions), f"`tests/e2e/{file}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(line)} |" if line[0] != "---" else "|---" * len(head) + "|" for line in lines
    )
