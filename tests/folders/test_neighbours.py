"""Other folders of the same cluster: reading what they have locked, and counting those that need something of here."""

from dataclasses import replace
from pathlib import Path

import pytest
from rig.builders.locks import deactivated, digest, lock, package, source

from render.errors import RenderError
from render.folders.members import CircularUses, Member
from render.folders.neighbours import (
    Neighbours,
    ProvidedTwice,
    StaleNeighbour,
    UnlockedNeighbour,
    gather_neighbours,
    read_neighbours,
)
from render.inputs.projects import read_settings
from render.limits import LimitExceeded, Limits
from render.lock.model import Lock, Replaced
from render.lock.text.file import LinkedLock, write_lock
from render.lock.text.format import format_lock
from render.moves import Consent, Move, Strategy
from render.versions.constraints import parse_constraint
from render.versions.requests import Request

BASE = lock([package("base v1.0.0", "net >=v1"), package("net v1.0.0")])


def folder(path: Path, *uses: str, locked: Lock | None = None) -> Path:
    """Make a folder that uses others, with its lock."""
    path.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"  - {text}\n" for text in uses)
    (path / "xplock.yaml").write_text(f"uses:\n{lines}" if uses else "{}\n")
    if locked is not None:
        write_lock(path, format_lock(locked))
    return path


def read(path: Path, known: dict[Path, Member] | None = None, limits: Limits | None = None) -> Neighbours:
    limits = limits or Limits()
    return read_neighbours(path, read_settings(path, limits).uses, limits, known)


def by_folder(found: Neighbours) -> dict[str, str]:
    return {source.name: package.folder for source, package in found.provided.items()}


def test_everything_active_in_a_used_folder_is_provided_under_the_name_that_the_settings_give_it(
    tmp_path: Path,
) -> None:
    folder(tmp_path / "platform", locked=BASE)
    app = folder(tmp_path / "app", "../platform/")

    found = read(app)

    assert by_folder(found) == {"base": "../platform/", "net": "../platform/"}
    assert found.provided[source("base")].version == "v1.0.0"


def test_a_folder_that_uses_none_has_no_neighbours(tmp_path: Path) -> None:
    assert read(folder(tmp_path / "app")) == Neighbours()


def test_what_used_folders_use_is_provided_as_well_and_named_from_here(tmp_path: Path) -> None:
    folder(tmp_path / "shared/base", locked=lock([package("net v1.0.0")]))
    folder(tmp_path / "shared/platform", "../base", locked=lock([package("base v1.0.0")]))
    app = folder(tmp_path / "teams/app", "../../shared/platform")

    found = read(app)

    assert by_folder(found) == {"base": "../../shared/platform", "net": "../../shared/base"}


def test_a_folder_that_is_reached_in_two_ways_counts_once_and_by_its_own_name(tmp_path: Path) -> None:
    folder(tmp_path / "base", locked=lock([package("net v1.0.0")]))
    folder(tmp_path / "platform", "../base", locked=lock([package("base v1.0.0")]))
    app = folder(tmp_path / "app", "../platform", "../base/")

    assert by_folder(read(app)) == {"base": "../platform", "net": "../base/"}


def test_behind_a_link_a_folder_keeps_the_way_that_leads_there(tmp_path: Path) -> None:
    folder(tmp_path / "far/base", locked=lock([package("net v1.0.0")]))
    folder(tmp_path / "far/platform", "../base", locked=lock([package("base v1.0.0")]))
    (tmp_path / "near").mkdir()
    (tmp_path / "near/platform").symlink_to("../far/platform")
    app = folder(tmp_path / "near/app", "../platform")

    found = read(app)

    assert by_folder(found) == {"base": "../platform", "net": "../platform/../base"}
    assert (app / "../platform/../base").resolve() == tmp_path / "far/base"


def test_a_used_folder_without_a_lock_has_to_be_locked_first(tmp_path: Path) -> None:
    folder(tmp_path / "platform")
    app = folder(tmp_path / "app", "../platform")

    with pytest.raises(UnlockedNeighbour) as caught:
        read(app)

    assert caught.value.exit_code == 3
    assert caught.value.next == (f"lock it first: xplock lock {tmp_path}/platform",)


def test_a_used_folder_is_named_so_that_the_command_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path / "platform")
    monkeypatch.chdir(folder(tmp_path / "app", "../platform"))

    with pytest.raises(UnlockedNeighbour) as caught:
        read(Path())

    assert caught.value.next == ("lock it first: xplock lock ../platform",)


def test_a_used_lock_that_contradicts_itself_is_out_of_date(tmp_path: Path) -> None:
    folder(tmp_path / "platform", locked=lock([package("base v1.0.0", "net >=v2"), package("net v1.0.0")]))
    app = folder(tmp_path / "app", "../platform")

    with pytest.raises(StaleNeighbour) as caught:
        read(app)

    assert caught.value.exit_code == 3
    assert caught.value.why == (f"{source('base')} v1.0.0 accepts >=v2 of {source('net')}; locked is v1.0.0",)


def test_of_many_contradictions_in_a_used_lock_the_first_are_shown(tmp_path: Path) -> None:
    needy = [package(f"app{number} v1.0.0", "net >=v2") for number in range(30)]
    folder(tmp_path / "platform", locked=lock([*needy, package("net v1.0.0")]))

    with pytest.raises(StaleNeighbour) as caught:
        read(folder(tmp_path / "app", "../platform"))

    assert caught.value.why[20:] == ("… and 10 more",)


def test_folders_that_use_each_other_are_shown_in_their_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, used in (("a", "b"), ("b", "c"), ("c", "a")):
        folder(Path(name), f"../{used}", locked=BASE)

    for start in ("a", "b", "c"):
        with pytest.raises(CircularUses) as caught:
            read(Path(start))

        assert caught.value.exit_code == 2
        assert caught.value.why == ("a uses b uses c uses a",)


def test_a_circle_among_others_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder(Path("b"), "../c", locked=BASE)
    folder(Path("c"), "../b", locked=BASE)

    with pytest.raises(CircularUses) as caught:
        read(folder(Path("a"), "../b"))

    assert caught.value.why == ("b uses c uses b",)


def test_one_package_in_two_used_folders_is_refused_with_both(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder(tmp_path / name, locked=lock([package("net v1.0.0"), package(f"{name} v1.0.0")]))
    app = folder(tmp_path / "app", "../one", "../two")

    with pytest.raises(ProvidedTwice) as caught:
        read(app)

    assert caught.value.exit_code == 4
    assert str(source("net")) in caught.value.what
    assert "../one and ../two" in caught.value.why[0]
    assert caught.value.next[1:] == ("  uses:", "    - ../one")


def test_an_alias_in_one_folder_and_its_old_source_in_another_are_one_package() -> None:
    alias = package(
        "new v1.0.0",
        installed_as=source("old"),
        replaces=(Replaced(source("old"), Strategy.ALIAS, Consent.MOVES),),
    )

    with pytest.raises(ProvidedTwice, match="acme/old"):
        gather_neighbours([("../one", lock([alias])), ("../two", lock([package("old v1.0.0")]))])


def test_wrong_settings_of_a_used_folder_are_told_with_their_place(tmp_path: Path) -> None:
    folder(tmp_path / "platform", locked=BASE)
    (tmp_path / "platform/xplock.yaml").write_text("use: []\n")
    app = folder(tmp_path / "app", "../platform")

    with pytest.raises(RenderError, match="platform") as caught:
        read(app)

    assert caught.value.exit_code == 2
    assert "did you mean uses?" in caught.value.why[0]


def test_a_link_in_the_place_of_a_used_lock_is_not_followed(tmp_path: Path) -> None:
    folder(tmp_path / "secret", locked=BASE)
    folder(tmp_path / "platform")
    (tmp_path / "platform/crossplane.lock.yaml").symlink_to("../secret/crossplane.lock.yaml")
    app = folder(tmp_path / "app", "../platform")

    with pytest.raises(LinkedLock):
        read(app)


def test_settings_of_a_used_folder_that_lead_out_of_it_are_not_read(tmp_path: Path) -> None:
    folder(tmp_path / "platform", locked=BASE)
    (tmp_path / "outside.yaml").write_text("password: hidden\n")
    (tmp_path / "platform/xplock.yaml").unlink()
    (tmp_path / "platform/xplock.yaml").symlink_to("../outside.yaml")
    app = folder(tmp_path / "app", "../platform")

    with pytest.raises(RenderError, match="platform") as caught:
        read(app)

    assert "it is a link to a path outside of its folder" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_how_many_folders_are_used_is_bounded(tmp_path: Path) -> None:
    for i in range(4):
        folder(tmp_path / f"f{i}", f"../f{i + 1}")
    folder(tmp_path / "f4")

    with pytest.raises(LimitExceeded) as caught:
        read(tmp_path / "f0", limits=replace(Limits(), used_folders=3))

    assert "XPLOCK_LIMIT_USED_FOLDERS" in caught.value.next[0]


def test_a_lock_that_is_known_already_is_not_read(tmp_path: Path) -> None:
    platform = folder(tmp_path / "platform", locked=BASE)
    app = folder(tmp_path / "app", "../platform")
    new = lock([package("net v2.0.0")])

    found = read(app, {platform: Member(platform, (), new)})

    assert {s.name: p.version for s, p in found.provided.items()} == {"net": "v2.0.0"}


def test_a_lock_is_read_once_for_all_who_use_it(tmp_path: Path) -> None:
    platform = folder(tmp_path / "platform", locked=BASE)
    one, two = folder(tmp_path / "one", "../platform"), folder(tmp_path / "two", "../platform")
    known: dict[Path, Member] = {}
    first = read(one, known)
    (platform / "crossplane.lock.yaml").unlink()

    second = read(two, known)

    assert first.provided == second.provided


def test_a_package_by_its_digest_is_provided_with_the_tag_that_carries_it() -> None:
    exact = package(f"base {digest('ab')}", tag="v1.0.0")

    found = gather_neighbours([("../platform", lock([exact]))])

    record = found.provided[source("base")]
    assert (record.version, record.tag, record.version_tag) == (digest("ab"), "v1.0.0", "v1.0.0")
    assert found.candidates[source("base")].answers(Request.of(parse_constraint(">=v1")))
    assert found.candidates[source("base")].answers(Request(digest=digest("ab")))


def test_moves_of_used_folders_are_taken_with_their_consent() -> None:
    replaced = Replaced(source("old"), Strategy.DEACTIVATE, Consent.CLAIM)
    old = deactivated("old v1.0.0", replaced_by=(source("new"), source("newer")))
    successors = [package(f"{name} v1.0.0", replaces=(replaced,)) for name in ("newer", "new")]
    there = replace(lock(successors), deactivated={source("old"): old})

    found = gather_neighbours([("../platform", there)])

    assert found.moves == (
        Move(source("old"), (source("new"), source("newer")), Consent.CLAIM, place="the lock of ../platform"),
    )
    assert found.provided[source("new")].replaces == (source("old"),)
    assert found.deactivated == [old]
    assert source("old") not in found.provided
