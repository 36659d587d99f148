"""Test files that take most of the time: they start servers, git and xplock many times, or wait for time limits."""

from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
SLOW = (
    "argocd/test_commit_policy_*.py",
    "argocd/test_lock_policies.py",
    "argocd/test_plugin*.py",
    "cli/reading/test_render*.py",
    "cli/test_completion.py",
    "cli/test_run.py",
    "cli/test_streams.py",
    "cli/writing/test_commit*.py",
    "deploy/*.py",
    "docs/test_*examples.py",
    "docs/test_s*.py",
    "ecosystem/test_build_and_push.py",
    "ecosystem/test_roots.py",
    "git/test_checkout.py",
    "git/test_landing.py",
    "git/test_pre_commit.py",
    "lock/derived/test_edits.py",
    "manifests/test_out_folder.py",
    "mirror/*.py",
    "registry/test_credentials.py",
    "registry/test_push.py",
    "rig_tests/test_go_builds.py",
    "rig_tests/test_registries.py",
    "threats/*.py",
)


@cache
def is_slow(file: Path) -> bool:
    """Return whether `make quick` leaves out a file."""
    return any(file.match(pattern) for pattern in SLOW)
