"""Objects of a cluster are read in every form that kubectl prints."""

import json
from typing import Any

import pytest
import yaml

from render.limits import LimitExceeded, Limits
from render.live.objects import InvalidLiveObjects, parse_live_objects

ONE: dict[str, Any] = {"kind": "Provider", "metadata": {"name": "one"}}
TWO: dict[str, Any] = {"kind": "Provider", "metadata": {"name": "two"}}
LISTED: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": [ONE, TWO]}


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        (yaml.safe_dump(ONE), [ONE]),
        (yaml.safe_dump_all([ONE, TWO]), [ONE, TWO]),
        (yaml.safe_dump(LISTED), [ONE, TWO]),
        (yaml.safe_dump_all([LISTED, ONE]), [ONE, TWO, ONE]),
        (json.dumps(ONE), [ONE]),
        (json.dumps(ONE) + "\n" + json.dumps(LISTED, indent=4) + "\n", [ONE, ONE, TWO]),
        (
            '{"kind": "Provider", "metadata": {"name": "\\ud83d\\ude00"}}',
            [{**ONE, "metadata": {"name": "😀"}}],
        ),
        ("", []),
    ],
    ids=["YAML", "documents", "a List", "both", "JSON", "JSON after JSON", "JSON escapes", "nothing"],
)
def test_one_object_several_and_lists_are_read(text: str, objects: list[Any]) -> None:
    assert parse_live_objects(text.encode(), Limits()) == objects


@pytest.mark.parametrize(
    "text",
    [b"kind: [", b"{", b'{"a": 1} x', b"\xff", b'{"a": "\xff"}', yaml.safe_dump(ONE).encode() * 2],
    ids=["YAML", "JSON", "more after JSON", "bytes", "bytes in JSON", "two calls without ---"],
)
def test_what_kubectl_did_not_print_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidLiveObjects) as caught:
        parse_live_objects(text, Limits())

    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "limits"),
    [(b"#" * 11, Limits(lock_bytes=10)), (b"{}{}\n{}", Limits(live_objects=2))],
    ids=["bytes", "objects"],
)
def test_there_is_a_limit_to_it(text: bytes, limits: Limits) -> None:
    with pytest.raises(LimitExceeded):
        parse_live_objects(text, limits)
