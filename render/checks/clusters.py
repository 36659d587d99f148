"""Which of the checked folders belong to one cluster. Apart from the rules for clusters, which take long to import."""

from collections.abc import Sequence
from pathlib import Path

from render.checks.model import Checked
from render.lean import TypeAlias
from render.lock.model import Lock

# The names of folders and their locks.
Group: TypeAlias = Sequence[tuple[str, Lock]]


def number_clusters(checked: Checked) -> dict[Path, int]:
    """Return the number of the cluster that each folder, and each folder that it uses, belongs to."""
    # Imported late: most calls check folders that use no others.
    from render.folders.members import find_clusters

    clusters = find_clusters(checked.members)
    return dict.fromkeys(clusters, 0) if checked.same_cluster else clusters


def find_groups(checked: Checked) -> list[Group]:
    """Return the locks of each cluster, without those that are missing or stale."""
    if not checked.members:
        return [[(one.name, lock)] for one in checked.folders if (lock := one.fresh_lock)]
    groups: dict[int, list[tuple[str, Lock]]] = {}
    for path, number in number_clusters(checked).items():
        member = checked.members[path]
        if member.lock is not None:
            groups.setdefault(number, []).append((str(member.folder), member.lock))
    return list(groups.values())
