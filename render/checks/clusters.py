"""Which of the folders of a call are of one cluster."""

from collections.abc import Sequence
from pathlib import Path

from render.checks.model import Checked
from render.hints import TypeAlias
from render.lock.model import Lock

# The names of folders, with their locks.
Group: TypeAlias = Sequence[tuple[str, Lock]]


def number_clusters(checked: Checked) -> dict[Path, int]:
    """Return a number for each folder and for all that it uses; those of one cluster have the same one."""
    # Only folders that use each other need it.
    from render.lock.cluster import find_clusters

    clusters = find_clusters(checked.members)
    return dict.fromkeys(clusters, 0) if checked.same_cluster else clusters


def find_groups(checked: Checked) -> list[Group]:
    """Return the locks of each cluster; those that are missing or do not hold are left out."""
    if not checked.members:
        return [[(one.name, lock)] for one in checked.folders if (lock := one.fresh_lock)]
    groups: dict[int, list[tuple[str, Lock]]] = {}
    for path, number in number_clusters(checked).items():
        member = checked.members[path]
        if member.lock is not None:
            groups.setdefault(number, []).append((str(member.folder), member.lock))
    return list(groups.values())
