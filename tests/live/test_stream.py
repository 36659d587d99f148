"""kubectl's text is read object by object, in bounded memory, and what is cut off or mixed up is an error."""

import json
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
import yaml
from rig.builders.live_objects import Running, format_objects, live_objects

from render.limits import MIB, LimitExceeded, Limits
from render.live.read import ClusterReader
from render.live.stream import InvalidLiveObjects, iterate_objects

OBJECTS = live_objects(
    [Running("base v1.0.0", objects=("a.example.org", "b.example.org")), Running("app v2.0.0")]
)


def read(text: str, limits: Limits | None = None) -> list[Any]:
    return list(iterate_objects(BytesIO(text.encode()).read, limits or Limits()))


class Pieces:
    """A stream that gives a few bytes at a time, as a pipe does."""

    def __init__(self, text: str, size: int) -> None:
        self._stream, self._size = BytesIO(text.encode()), size

    def read(self, _: int) -> bytes:
        return self._stream.read(self._size)


def without_lists(objects: list[Any]) -> list[Any]:
    """Leave out what a revision has installed, which is a number out of YAML."""
    made = json.loads(json.dumps(objects))
    for one in made:
        one.get("status", {}).pop("objectRefs", None)
    return list(made)


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_size_of_the_pieces_changes_nothing(form: str, size: int) -> None:
    text = format_objects(OBJECTS, form)

    found = list(iterate_objects(Pieces(text, size).read, Limits()))

    assert without_lists(found) == without_lists(OBJECTS)


@pytest.mark.parametrize(
    "text",
    [
        format_objects(OBJECTS) + "---\n" + format_objects([], "json"),
        format_objects(OBJECTS, "json") + "\n---\n" + format_objects([]),
        "---\n" + format_objects(OBJECTS),
        format_objects(OBJECTS).replace("\n", "\r\n"),
        "\ufeff" + format_objects(OBJECTS),
        json.dumps({"kind": "List", "items": [{"kind": "List", "items": OBJECTS}]}),
        yaml.safe_dump({"kind": "List", "items": [{"kind": "List", "items": OBJECTS}]}),
    ],
    ids=[
        "YAML, JSON",
        "JSON, YAML",
        "marker",
        "CRLF",
        "byte order mark",
        "List of Lists",
        "the same in YAML",
    ],
)
def test_every_mixture_of_calls_is_read(text: str) -> None:
    assert without_lists(read(text)) == without_lists(OBJECTS)


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_text_that_was_cut_off_is_refused(form: str) -> None:
    text = format_objects(OBJECTS, form)
    if form == "yaml":
        # Without the lines behind the items, nothing else says that some are missing.
        text = text[: text.index("\nkind: List")]

    with pytest.raises(InvalidLiveObjects) as caught:
        read(text[:-5])

    assert "cut off" in str(caught.value) or "ends in the middle" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("apiVersion: v1\nitems:\n- kind: [\n- a: b\nkind: List\n", "line 4"),
        ("apiVersion: v1\nitems:\n- kind: Lock\n  kind: Lock\nkind: List\n", "line 4"),
        ('{"items": [\n{},\n{"a": tru}]}', "line 3"),
        ('{"items": [{}, ', "ends in the middle"),
        ('{"a": 1} {', "ends in the middle"),
        ("[" * 100_000, "line 1"),
        ('{"a":' * 100_000, "this is not JSON"),
    ],
)
def test_an_error_has_its_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidLiveObjects) as caught:
        read(text)

    assert problem in str(caught.value)


def test_lists_do_not_nest_for_ever() -> None:
    value: Any = {}
    for _ in range(20):
        value = {"items": [value]}

    with pytest.raises(InvalidLiveObjects):
        read(json.dumps(value))


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("limits", [Limits(live_bytes=100), Limits(live_objects=2)], ids=["bytes", "objects"])
def test_there_are_limits(form: str, limits: Limits) -> None:
    with pytest.raises(LimitExceeded):
        read(format_objects(OBJECTS, form), limits)


def test_one_object_has_a_limit_too() -> None:
    with pytest.raises(LimitExceeded):
        read('{"a": "' + "x" * (3 * MIB), Limits(lock_bytes=MIB))


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_definitions_take_little_memory_however_many_there_are(form: str) -> None:
    reader = ClusterReader(Limits())
    reader.add(BytesIO(format_objects(live_objects([])).encode()).read)
    chunks = _definitions(form, 40 * MIB)

    tracemalloc.start()
    reader.add(lambda _: next(chunks, b""))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    cluster = reader.cluster()
    assert len(cluster.definitions) > 20
    assert cluster.definitions[0].state == "Active"
    assert cluster.definitions[0].versions[0].storage
    assert most < 30 * MIB


def _definitions(form: str, size: int) -> Iterator[bytes]:
    """Yield a List of ManagedResourceDefinitions with large schemas."""
    properties = {
        f"field{i}": {"type": "string", "description": f"{i}: what 'it' is\n\nfor - " * 20}
        for i in range(900)
    }
    value = {
        "apiVersion": "apiextensions.crossplane.io/v1alpha1",
        "kind": "ManagedResourceDefinition",
        "metadata": {"name": "NAME.example.org", "uid": "NAME"},
        "spec": {
            "state": "Active",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"properties": properties}},
                }
            ],
        },
    }
    text = json.dumps(value, indent=4) if form == "json" else yaml.dump([value], Dumper=yaml.CSafeDumper)
    opening = '{"items": [{}' if form == "json" else "apiVersion: v1\nitems:\n"
    yield opening.encode()
    for i in range(size // len(text) + 1):
        yield (("," if form == "json" else "") + text.replace("NAME", f"r{i}")).encode()
    yield b'], "kind": "List"}' if form == "json" else b"kind: List\n"
