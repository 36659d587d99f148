"""Two branches, one lock: Git merges it, or both sides are read, and nothing is lost."""

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import digest, lock, package, source
from rig.properties import examples

from render.errors import Unsatisfiable
from render.limits import Limits
from render.lock.freshness import check_closure
from render.lock.merge import ContradictingLocks, MergedLock, merge_sides
from render.lock.model import Lock, LockedPackage
from render.lock.text.format import NewerRevision, format_lock
from render.lock.text.parse import ConflictedLock, DoubledLock, InvalidLock, parse_lock

PLACE = "crossplane.lock.yaml"
STYLES = [[], ["--diff3"], ["--zdiff3"]]
BASE = [package("app v1.0.0", "net >=v1.0.0"), package("net v1.2.0"), package("store v1.0.0")]


def merge(data: bytes) -> MergedLock:
    return merge_sides(data, Limits(), place=PLACE)


def is_conflicted(data: bytes) -> bool:
    """Tell whether Git left a conflict in a lock."""
    return b"<<<<<<< " in data


def git_merge(folder: Path, ours: str, base: str, theirs: str, *style: str) -> bytes:
    names = ("ours", "base", "theirs")
    for name, text in zip(names, (ours, base, theirs), strict=True):
        (folder / name).write_text(text)
    command = ["git", "merge-file", "-p", *style, *names]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


def with_more(packages: Iterable[LockedPackage], *more: LockedPackage) -> Lock:
    return lock([*packages, *more])


def conflict(ours: Lock, theirs: Lock) -> bytes:
    return f"<<<<<<< HEAD\n{format_lock(ours)}=======\n{format_lock(theirs)}>>>>>>> theirs\n".encode()


def test_branches_that_add_packages_far_from_each_other_merge_by_themselves(tmp_path: Path) -> None:
    base = [package(f"net-{i} v1.0.0") for i in range(6)]
    ours = with_more(base, package("net-1b v1.0.0"))
    theirs = with_more(base, package("net-4b v1.0.0"))

    merged = git_merge(tmp_path, format_lock(ours), format_lock(lock(base)), format_lock(theirs))

    assert not is_conflicted(merged)
    read = parse_lock(merged, Limits(), place=PLACE)
    assert read.packages == {**ours.packages, **theirs.packages}
    assert check_closure(read) == []


@pytest.mark.parametrize("style", STYLES)
def test_branches_that_add_packages_at_one_place_lose_nothing(tmp_path: Path, style: list[str]) -> None:
    ours = with_more(BASE, package("mesh v1.0.0", "net >=v1.1.0", object_name="my-mesh"))
    theirs = with_more(BASE, package("mail v2.0.0", "net >=v1.2.0"))

    data = git_merge(tmp_path, format_lock(ours), format_lock(lock(BASE)), format_lock(theirs), *style)

    assert is_conflicted(data)
    merged = merge(data).lock
    assert merged.packages.keys() == ours.packages.keys() | theirs.packages.keys()
    for name, side in (("mesh", ours), ("mail", theirs), ("store", ours)):
        assert merged.packages[source(name)] == side.packages[source(name)]
    assert format_lock(merged).count("object: my-mesh") == 1


@pytest.mark.parametrize("style", STYLES)
def test_where_versions_differ_the_higher_one_is_tried_first(tmp_path: Path, style: list[str]) -> None:
    texts = [
        format_lock(lock([BASE[0], package(f"net {version}"), BASE[2]]))
        for version in ("v1.10.0", "v1.2.0", "v1.9.0")
    ]

    merged = merge(git_merge(tmp_path, *texts, *style))

    assert merged.lock.packages[source("net")].version == "v1.10.0"
    assert merged.lock.packages[source("net")].digest == digest("1a10a0")
    (note,) = merged.notes
    assert "v1.10.0" in note
    assert "v1.9.0" in note


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        ("v1.0.0", "v1.0.1", "v1.0.1"),
        ("v2.0.0-rc.1", "v1.9.0", "v2.0.0-rc.1"),
        ("v2.0.0", "v2.0.0-rc.1", "v2.0.0"),
        ("latest", "v0.1.0", "v0.1.0"),
        (digest("ff"), "v0.1.0", "v0.1.0"),
    ],
)
def test_the_order_of_the_sides_does_not_matter(one: str, other: str, first: str) -> None:
    locks = [lock([package(f"net {version}", digest=_digest(version))]) for version in (one, other)]

    chosen = [
        merge(conflict(*sides)).lock.packages[source("net")].version for sides in (locks, reversed(locks))
    ]

    assert chosen == [first, first]


def _digest(version: str) -> str:
    return (
        version
        if version.startswith("sha256:")
        else digest("".join(c for c in version if c in "0123456789abcdef"))
    )


def test_one_version_with_two_digests_is_told() -> None:
    ours, theirs = (lock([package("net v1.0.0", digest=digest(seed))]) for seed in ("aa", "bb"))

    merged = merge(conflict(ours, theirs))

    assert merged.lock.packages[source("net")].digest == digest("aa")
    assert digest("bb") in merged.notes[0]


def test_equal_sides_leave_no_note() -> None:
    made = lock(BASE)

    assert merge(conflict(made, made)) == MergedLock(made)


def test_two_names_for_one_source_contradict_each_other() -> None:
    ours, theirs = (lock([package("net v1.0.0", object_name=name)]) for name in ("net", "my-net"))

    with pytest.raises(ContradictingLocks) as caught:
        merge(conflict(ours, theirs))

    assert isinstance(caught.value, Unsatisfiable)
    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{source('net')} is the object my-net and also net",)


def test_a_side_may_be_wrong_as_a_closure() -> None:
    ours = lock([package("app v1.0.0", "net >=v9")])
    theirs = lock([package("net v1.0.0")])

    assert set(merge(conflict(ours, theirs)).lock.packages) == {source("app"), source("net")}


def test_git_may_merge_one_document_and_leave_the_other_in_conflict(tmp_path: Path) -> None:
    # Ours gives net another dependant, which only the second document shows beside net; theirs upgrades net.
    ours = with_more([replace(BASE[0]), BASE[1], BASE[2]], package("web v1.0.0", "net >=v1.0.0"))
    theirs = lock([BASE[0], package("net v1.3.0", family="f"), BASE[2]])

    data = git_merge(tmp_path, format_lock(ours), format_lock(lock(BASE)), format_lock(theirs))

    merged = merge(data).lock if is_conflicted(data) else parse_lock(data, Limits(), place=PLACE)
    assert merged.packages[source("net")].version == "v1.3.0"
    assert merged.packages[source("net")].digest == digest("1a3a0")
    assert source("web") in merged.packages


def test_a_package_of_which_only_half_is_left_is_not_guessed(tmp_path: Path) -> None:
    # Theirs renames nothing and upgrades nothing, but changes what the second document says; ours drops net.
    base = lock([package("net v1.2.0", root=">=v1.0.0"), package("store v1.0.0")])
    ours = lock([package("store v1.0.0")])
    theirs = lock([package("net v1.2.0", root=">=v1.1.0"), package("store v1.0.0")])

    data = git_merge(tmp_path, format_lock(ours), format_lock(base), format_lock(theirs))

    with pytest.raises(ContradictingLocks) as caught:
        merge(data)
    assert caught.value.why == (f"{source('net')}: what Git left of its two entries does not fit together",)


def test_faults_in_a_side_are_told_with_the_line_of_the_file() -> None:
    data = conflict(lock([package("net v1.0.0")]), lock([package("net v1.1.0")])).decode()
    broken = data.replace("version: v1.1.0", "version: v1/1/0")

    with pytest.raises(InvalidLock) as caught:
        merge(broken.encode())

    line = broken.splitlines().index("  version: v1/1/0") + 1
    assert caught.value.why[0].startswith(f"line {line}: Lock.packages[0].version")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<<<<<<< a\n", "line 1: a conflict that is not closed"),
        ("<<<<<<< a\n=======\n", "line 1: a conflict that is not closed"),
        ("a\n=======\n", "line 2: a conflict marker out of place"),
        (">>>>>>> a\n", "line 1: a conflict marker out of place"),
        ("<<<<<<< a\n>>>>>>> b\n", "line 2: a conflict marker out of place"),
        ("<<<<<<< a\n<<<<<<< b\n", "line 2: a conflict marker out of place"),
        ("<<<<<<< a\n=======\n=======\n", "line 3: a conflict marker out of place"),
        ("||||||| a\n", "line 1: a conflict marker out of place"),
    ],
)
def test_markers_that_make_no_conflict_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidLock) as caught:
        merge(text.encode())

    assert caught.value.why == (problem,)


def test_the_ancestor_of_a_recursive_merge_is_left_aside() -> None:
    ours, theirs = (format_lock(lock([package(f"net {version}")])) for version in ("v1.0.0", "v1.1.0"))
    ancestor = "<<<<<<<<< Temporary merge branch 1\na\n=========\nb\n>>>>>>>>> Temporary merge branch 2\n"
    data = f"<<<<<<< HEAD\n{ours}||||||| merged common ancestors\n{ancestor}=======\n{theirs}>>>>>>> b\n"

    assert merge(data.encode()).lock.packages[source("net")].version == "v1.1.0"


def test_line_ends_of_another_system_make_no_difference() -> None:
    data = conflict(lock([package("net v1.0.0")]), lock([package("web v1.0.0")]))

    assert merge(data.replace(b"\n", b"\r\n")) == merge(data)


def test_a_side_that_a_newer_xplock_wrote_is_read_and_not_written() -> None:
    data = conflict(lock(BASE), lock(BASE)).decode()
    head, _, tail = data.rpartition("revision: 0")

    merged = merge(f"{head}revision: 3\nnews: 1{tail}".encode())

    with pytest.raises(NewerRevision):
        format_lock(merged.lock)


_names = st.sampled_from([f"p{i}" for i in range(8)])
_versions = st.sampled_from(["v1.0.0", "v1.1.0", "v1.2.0"])
_locks = st.dictionaries(_names, _versions, max_size=8).map(
    lambda pins: lock([package(f"{name} {version}") for name, version in pins.items()])
)


@examples(60)
@given(base=_locks, ours=_locks, theirs=_locks, style=st.sampled_from(STYLES))
def test_whatever_two_branches_do_no_package_of_either_is_lost(
    tmp_path_factory: pytest.TempPathFactory, base: Lock, ours: Lock, theirs: Lock, style: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("merge")

    data = git_merge(folder, format_lock(ours), format_lock(base), format_lock(theirs), *style)

    merged = read_merged(data)
    if merged is None:
        return
    for key in ours.packages.keys() & theirs.packages.keys():
        pins = {side.packages[key].version for side in (ours, theirs)}
        before = {base.packages[key].version} if key in base.packages else set()
        # Where one side left a version alone, Git takes the other's without asking.
        assert merged.packages[key].version in {max(pins), *(pins - before)}
    added = (ours.packages.keys() ^ theirs.packages.keys()) - base.packages.keys()
    assert added <= merged.packages.keys()


def read_merged(data: bytes) -> Lock | None:
    try:
        return parse_lock(data, Limits(), place=PLACE)
    except (ConflictedLock, InvalidLock):
        pass
    try:
        return merge(data).lock
    except ContradictingLocks:
        return None


def test_what_git_merged_into_the_same_package_twice_is_refused_and_can_be_read_all_the_same(
    tmp_path: Path,
) -> None:
    base, ours, theirs = (
        lock([package(f"{name} v1.0.0") for name in names]) for names in (["a"], ["a", "b"], ["b"])
    )

    data = git_merge(tmp_path, format_lock(ours), format_lock(base), format_lock(theirs))

    assert not is_conflicted(data)
    with pytest.raises(DoubledLock, match="acme/b is listed a second time"):
        parse_lock(data, Limits(), place=PLACE)
    assert merge(data).lock.packages == {source("b"): theirs.packages[source("b")]}
