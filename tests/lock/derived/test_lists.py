"""Lists without an order of their own are sorted and name nothing twice; anything else is a lock that was edited."""

from dataclasses import replace
from pathlib import Path

import pytest
from rig.builders.locks import digest, lock, package, provided, replaced, source
from rig.builders.projects import World, text_of
from rig.commands.refusals import edit_lock

from render.cli.run import run
from render.lock.derived.lists import check_lists
from render.lock.model import KeptPin, Lock, LockedPackage, Provided, State

NET = package("net v1.0.0")
PIN = KeptPin("v0.9.0", digest("ab"))
WRONG: dict[str, tuple[LockedPackage, str]] = {
    "requiredBy": (replace(NET, required_by=("a", "b", "b")), "requiredBy has b twice"),
    "replaces": (replace(NET, replaces=(replaced("b"), replaced("a"))), "replaces has "),
    "replaces in two ways": (replace(NET, replaces=(replaced("a"), replaced("a", "plain"))), "replaces has "),
    "detached": (replace(NET, detached=("b", "a")), "detached has a after b, and is sorted"),
    "detached twice": (replace(NET, detached=("a", "a")), "detached has a twice"),
    "staleEntry": (replace(NET, stale_entry=("b", "a")), "staleEntry has a after b"),
    "groups": (replace(NET, groups=("b", "a")), "groups has a after b"),
    "keptPins": (replace(NET, kept_pins=(PIN, PIN)), f"keeps a second pin of {NET.source}:v0.9.0"),
    "its own pin": (replace(NET, kept_pins=(replace(PIN, tag="v1.0.0"),)), "keeps a second pin of "),
}


@pytest.mark.parametrize(("wrong", "text"), WRONG.values(), ids=WRONG)
def test_a_list_is_sorted_and_names_nothing_twice(wrong: LockedPackage, text: str) -> None:
    active = list(check_lists(Lock({wrong.source: wrong})))
    off = replace(wrong, state=State.DEACTIVATED)
    leaving = list(check_lists(replace(lock([package("new v1.0.0")]), deactivated={off.source: off})))

    assert [len(active), len(leaving)] == [1, 1]
    assert text in active[0]


def test_so_are_successors_and_what_other_folders_replaced() -> None:
    off = replace(NET, state=State.DEACTIVATED, replaced_by=(source("a"), source("a")))
    used: Provided = provided("dns v1.0.0", replaces=(source("b"), source("a")))

    found = list(check_lists(replace(lock([], provided=[used]), deactivated={off.source: off})))

    assert [problem.partition(" ")[0] for problem in found] == [str(NET.source), str(used.source)]


def test_lists_as_they_are_written_pass() -> None:
    fine = replace(
        NET,
        required_by=("a", "b"),
        replaces=(replaced("a"), replaced("b")),
        detached=("a", "b"),
        stale_entry=("a", "b"),
        groups=("a", "b"),
        kept_pins=(replace(PIN, tag="v0.9.1"), PIN),
    )

    assert list(check_lists(lock([fine]))) == []


@pytest.mark.parametrize("command", ["render", "check"])
def test_a_doubled_dependant_is_refused_where_it_would_be_rendered(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    world.publish("base v1.0.0")
    world.publish("app v1.0.0", {"base": ">=v1"})
    folder = world.project("shop", "app")
    assert run(["-q", "lock", str(folder)]) == 0
    monkeypatch.chdir(folder)
    line = "  requiredBy:\n  - xpkg.example.org/acme/app\n"
    honest = text_of(folder)
    edit_lock(folder, line, f"{line}  - xpkg.example.org/acme/app\n")
    capsys.readouterr()

    code = run([command])
    said = capsys.readouterr()
    repaired = run(["-q", "lock"])

    assert code in (1, 3)
    assert "requiredBy has xpkg.example.org/acme/app twice" in said.out + said.err
    assert (repaired, text_of(folder)) == (0, honest)
