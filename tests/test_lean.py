"""Values behave like the dataclasses that type checkers take them for."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from render.lean import dataclass, field, replace


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something is."""

    file: str
    line: int = 1


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with every kind of field."""

    name: str
    value: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)

    @property
    def shout(self) -> str:
        return self.name.upper()

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True, slots=True)
class StandardThing:
    """The same, from the standard library."""

    name: str
    value: int = 0
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    note: str = dataclasses.field(default="", compare=False)
    secret: str = dataclasses.field(default="", repr=False)


@dataclass(slots=True)
class Tally:
    """Something that changes."""

    count: int = 0
    seen: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Counter:
    """Something that changes, and of which every part could be a key."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Sorted:
    """Something that is completed while it is made."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(sorted(self.names)))


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 1), {}),
    (("a",), {"labels": {"b": "c"}}),
    ((), {"value": 2, "name": "a", "note": "d", "secret": "e"}),
    (("a", 1, {}, "n", "s"), {}),
]


@pytest.mark.parametrize(("args", "named"), ARGUMENTS)
def test_fields_are_filled_and_shown_as_the_standard_library_does_it(
    args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    ours, standard = Thing(*args, **named), StandardThing(*args, **named)

    assert {name: getattr(ours, name) for name in Thing.__match_args__} == dataclasses.asdict(standard)
    assert f"Standard{ours!r}" == repr(standard)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((), {}),
        (("a", 1, {}, "", "", 5), {}),
        (("a",), {"name": "b"}),
        (("a",), {"size": 1}),
        ((), {"value": 1}),
    ],
)
def test_fields_that_are_missing_unknown_or_given_twice_are_an_error(
    args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    for made in (Thing, StandardThing):
        with pytest.raises(TypeError):
            made(*args, **named)


@pytest.mark.parametrize("replaced", [replace, dataclasses.replace])
def test_a_value_is_completed_whenever_it_is_made(replaced: Any) -> None:
    made = Sorted(("b", "a"))

    assert made == Sorted(names=("a", "b"))
    assert replaced(made, names=("d", "c")).names == ("c", "d")


def test_values_are_equal_if_they_are_of_one_class_and_all_that_counts_is_equal() -> None:
    assert Thing("a", note="one") == Thing("a", note="two")
    assert Thing("a") != Thing("a", 1)
    assert Thing("a") != Thing("a", labels={"b": "c"})
    others: list[object] = [StandardThing("a"), ("a", 0, {}, ""), "a"]
    assert Thing("a") not in others


def test_equal_values_are_one_key() -> None:
    assert {Place("a"): 1, Place("a", 1): 2, Place("b"): 3} == {Place("a"): 2, Place("b"): 3}


def test_values_are_ordered_by_their_fields_if_they_are_to_have_an_order() -> None:
    first, second = Place("a", 2), Place("b", 1)

    assert sorted([second, first]) == [first, second]
    assert first < second and first <= second and second > first and second >= first
    with pytest.raises(TypeError):
        sorted([Thing("a"), Thing("b")])  # type: ignore[type-var]  # that is the point
    with pytest.raises(TypeError):
        assert first < ("b", 1)  # type: ignore[operator]  # that is the point


def test_a_frozen_value_cannot_be_changed() -> None:
    thing = Thing("a")

    for change in ("name", "other"):
        with pytest.raises(AttributeError):
            setattr(thing, change, "b")
    with pytest.raises(AttributeError):
        del thing.name

    assert thing == Thing("a")
    assert not hasattr(thing, "__dict__")


def test_a_value_that_is_not_frozen_can_be_changed_and_is_no_key() -> None:
    tally, other = Tally(), Tally()
    tally.count += 1
    tally.seen.append("a")

    assert (tally.count, tally.seen, other) == (1, ["a"], Tally(0, []))
    with pytest.raises(TypeError):
        hash(Counter())
    with pytest.raises(AttributeError):
        tally.size = 1  # type: ignore[attr-defined]  # that is the point


def test_what_the_class_defines_itself_stays() -> None:
    assert (Thing("a").shout, str(Thing("a")), Thing.__doc__) == (
        "A",
        "a",
        "Something with every kind of field.",
    )
    assert (Thing.__module__, Thing.__qualname__) == (__name__, "Thing")


@pytest.mark.parametrize("replaced", [replace, dataclasses.replace])
def test_some_fields_are_replaced(replaced: Any) -> None:
    thing = Thing("a", 1, {"b": "c"})

    assert replaced(thing, value=2) == Thing("a", 2, {"b": "c"})
    assert thing == Thing("a", 1, {"b": "c"})
    with pytest.raises(TypeError):
        replaced(thing, size=1)


def test_the_standard_library_takes_it_for_a_dataclass() -> None:
    ours, standard = dataclasses.fields(Thing), dataclasses.fields(StandardThing)

    assert dataclasses.is_dataclass(Thing)
    assert [
        (item.name, item.type, item.default, item.default_factory, item.compare, item.repr) for item in ours
    ] == [
        (item.name, item.type, item.default, item.default_factory, item.compare, item.repr)
        for item in standard
    ]
    assert dataclasses.asdict(Thing("a", labels={"b": "c"})) == dataclasses.asdict(
        StandardThing("a", labels={"b": "c"})
    )


def test_a_value_is_matched_by_position() -> None:
    match Place("a", 7):
        case Place(file, line):
            found = (file, line)

    assert found == ("a", 7)


def test_a_value_can_be_copied_and_pickled() -> None:
    thing = Thing("a", 1, {"b": "c"})

    copies = [copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))]

    assert copies == [thing] * 3
    assert copies[1].labels is not thing.labels


def test_a_value_has_slots() -> None:
    with pytest.raises(TypeError, match="slots"):
        dataclass(slots=False)


def test_neither_dataclasses_nor_inspect_is_imported() -> None:
    script = "import sys, render.limits; print(sorted({'dataclasses', 'inspect'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
