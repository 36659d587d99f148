"""Dependencies on CRDs in a closure that defines 2,000 of them: making the index, and asking one question."""

import timeit
from collections.abc import Callable
from functools import partial

from render.crd_dependencies import parse_crd
from render.references import Source
from render.resolve.crds.index import Index, Row

_GROUPS, _KINDS = 200, 10
_ROUNDS = 20_000


def main() -> None:
    """Print how long each takes, beside sorting the same rows and looking up one key of a dictionary."""
    rows = _rows()
    index, known = Index(rows), {str(row): row for row in rows}
    print(f"{len(rows):,} CRDs in {_GROUPS} groups")
    sort = _seconds(lambda: sorted(rows), 20)
    print(f"{'sorting the rows':<58} {sort * 1000:9.2f} ms")
    make = _seconds(lambda: Index(rows), 20)
    print(f"{'making the index':<58} {make * 1000:9.2f} ms  {make / sort:6.1f} x")
    name, every = parse_crd("kind7s.group42.example.org/v1beta1"), parse_crd("*.group42.example.org/v1beta1")
    base = _seconds(lambda: known.get("kind7s.group42.example.org"), _ROUNDS)
    print(f"{'looking up one key':<58} {base * 1e6:9.2f} us")
    for what, crd in (("one question", name), ("one question for every kind of a group", every)):
        seconds = _seconds(partial(index.find, crd), _ROUNDS)
        print(f"{what:<58} {seconds * 1e6:9.2f} us  {seconds / base:6.1f} x")


def _rows() -> list[Row]:
    source = Source("xpkg.example.org", "bench/provider")
    return [
        Row(
            source,
            f"group{group}.example.org",
            f"kind{kind}s",
            f"kind{kind}",
            f"Kind{kind}",
            ("v1beta1", "v1"),
        )
        for group in range(_GROUPS)
        for kind in range(_KINDS)
    ]


def _seconds(call: Callable[[], object], number: int) -> float:
    return min(timeit.repeat(call, number=number, repeat=5)) / number


if __name__ == "__main__":
    main()
