"""Dependencies on CRDs in a closure that defines 2,000 of them: finding the facts, making the index, asking questions."""

import timeit
from collections.abc import Callable, Iterator
from functools import partial

from bench.measure import print_ratio
from render.crd_dependencies import parse_crd
from render.limits import Limits
from render.references import Source
from render.resolve.crds.index import Index, index_packages
from render.xpkg.contents import read_contents, split_documents
from render.xpkg.definitions import Definitions
from render.xpkg.identity import identify

_GROUPS, _KINDS = 200, 10
_FIELDS = 200
_CHUNK = 1 << 20
_ROUNDS = 20_000
_SOURCE = Source("xpkg.example.org", "bench/provider")
_META = b"apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: provider-bench\n"


def main() -> None:
    """Print how long each takes, beside listing the objects, sorting the rows, and looking up one key."""
    package = _package_yaml()
    print(f"{_GROUPS * _KINDS:,} CRDs in {_GROUPS} groups, {len(package) / 1e6:.0f} MB of package.yaml")
    definitions = _measure_pass(package)
    index = _measure_index(definitions)
    _measure_questions(index)


def _measure_pass(package: bytes) -> Definitions:
    """Print what the facts add to the pass that lists the objects, and the size of what is stored."""
    listed = _seconds(
        lambda: [identify(one.data, Limits()) for one in split_documents(_chunks(package), Limits())], 1
    )
    print(f"{'listing the objects':<58} {listed * 1000:9.1f} ms")
    both = _seconds(lambda: read_contents(_chunks(package), Limits()), 1)
    print_ratio("listing the objects, with the facts about CRDs", both, listed, goal=4)
    definitions = read_contents(_chunks(package), Limits()).definitions
    stored = definitions.format()
    print(f"{'stored facts':<58} {len(stored) / len(definitions.definitions):9.0f} bytes for each CRD")
    return definitions


def _measure_index(definitions: Definitions) -> Index:
    index = index_packages({_SOURCE: definitions.definitions})
    sort = _seconds(lambda: sorted(index.rows), 20)
    print(f"{'sorting the rows':<58} {sort * 1000:9.2f} ms")
    make = _seconds(lambda: index_packages({_SOURCE: definitions.definitions}), 20)
    print(f"{'making the index':<58} {make * 1000:9.2f} ms  {make / sort:6.1f} x")
    return index


def _measure_questions(index: Index) -> None:
    known = {str(row): row for row in index.rows}
    base = _seconds(lambda: known.get("kind7s.group42.example.org"), _ROUNDS)
    print(f"{'looking up one key':<58} {base * 1e6:9.2f} us")
    name, every = parse_crd("kind7s.group42.example.org/v1beta1"), parse_crd("*.group42.example.org/v1beta1")
    for what, crd in (("one question", name), ("one question for every kind of a group", every)):
        assert index.find(crd).served == (_SOURCE,)
        seconds = _seconds(partial(index.find, crd), _ROUNDS)
        print(f"{what:<58} {seconds * 1e6:9.2f} us  {seconds / base:6.1f} x")


def _package_yaml() -> bytes:
    fields = b"".join(
        b"              field%d:\n                description: what field %d of this resource is for\n"
        b"                type: string\n" % (i, i)
        for i in range(_FIELDS)
    )
    crds = [_crd(group, kind, fields) for group in range(_GROUPS) for kind in range(_KINDS)]
    return b"---\n".join([_META, *crds])


def _crd(group: int, kind: int, fields: bytes) -> bytes:
    names = {b"kind": kind, b"group": group}
    return (
        (
            b"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
            b"  name: kind%(kind)ds.group%(group)d.example.org\nspec:\n  group: group%(group)d.example.org\n  names:\n"
            b"    kind: Kind%(kind)d\n    listKind: Kind%(kind)dList\n    plural: kind%(kind)ds\n    singular: kind%(kind)d\n"
            b"  scope: Cluster\n  versions:\n  - name: v1beta1\n    schema:\n      openAPIV3Schema:\n        properties:\n"
            b"          spec:\n            properties:\n" % names
        )
        + fields
        + b"            type: object\n        type: object\n    served: true\n    storage: true\n"
    )


def _chunks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


def _seconds(call: Callable[[], object], number: int) -> float:
    return min(timeit.repeat(call, number=number, repeat=5)) / number


if __name__ == "__main__":
    main()
