"""How many random cases a test tries: all in CI, a part of them at the desk."""

import os

from hypothesis import HealthCheck, settings

# At the desk, one in so many is tried.
_SHARE = 4


def in_ci() -> bool:
    """Return whether this is a CI run, which tries everything."""
    return os.environ.get("CI", "false") not in ("", "false")


def tries(count: int) -> int:
    """Return how often to try something random: `count` times in CI, fewer times elsewhere."""
    return count if in_ci() else max(count // _SHARE, 1)


def examples(count: int, *, derandomize: bool = False) -> settings:
    """Return the settings of a property test that tries `count` examples in CI, and fewer elsewhere."""
    # How long an example takes depends on what else the machine does, so neither deadline nor too_slow counts.
    return settings(
        max_examples=tries(count),
        deadline=None,
        derandomize=derandomize or in_ci(),
        suppress_health_check=[HealthCheck.too_slow],
    )
