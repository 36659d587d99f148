"""How many examples a property test tries: all of them in CI, a part of them at the desk."""

import os

from hypothesis import HealthCheck, settings

# At the desk, one in so many examples is tried.
_SHARE = 4


def examples(count: int, *, derandomize: bool = False) -> settings:
    """Return the settings of a test that tries `count` examples in CI, and a part of them elsewhere."""
    in_ci = os.environ.get("CI", "false") not in ("", "false")
    # How long an example takes depends on what else the machine does, so neither deadline nor too_slow counts.
    return settings(
        max_examples=count if in_ci else max(count // _SHARE, 1),
        deadline=None,
        derandomize=derandomize or in_ci,
        suppress_health_check=[HealthCheck.too_slow],
    )
