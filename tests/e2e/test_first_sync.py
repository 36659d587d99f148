"""A folder's first sync does not fail, although Crossplane creates its packages as dependencies at the same time."""

import os
from collections.abc import Callable

from rig.live.first_syncs import first_syncs
from rig.live.platform import Platform

FIRST_SYNCS = int(os.environ.get("XPLOCK_FIRST_SYNCS", "3"))
# More would make a small machine slow, and Crossplane's Lock large.
AT_ONCE = 5


def test_no_first_sync_fails_and_is_tried_again(
    platform: Platform, record_property: Callable[[str, object], None]
) -> None:
    failures: dict[str, list[str]] = {}
    for first in range(0, FIRST_SYNCS, AT_ONCE):
        names = [f"team-{number}" for number in range(first, min(first + AT_ONCE, FIRST_SYNCS))]
        with platform.cluster(f"first-syncs-{first}") as cluster:
            failures |= first_syncs(cluster, names)
        print(told(failures))

    record_property("first syncs", told(failures))
    assert {name: texts for name, texts in failures.items() if texts} == {}


def told(failures: dict[str, list[str]]) -> str:
    """Tell how many first syncs there were, and how many of them failed and were tried again."""
    return f"{sum(map(bool, failures.values()))} of {len(failures)} failed and were tried again"
