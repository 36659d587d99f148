"""A package.yaml of 100 MB: reading it beside gunzip and sha256 of the same bytes."""

import hashlib
import random
import sys
import tempfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from bench.measure import best_seconds, peak_megabytes, print_ratio, python
from render.limits import Limits
from render.xpkg.building.packing import compress, pack_tar
from render.xpkg.contents import read_contents
from render.xpkg.layers import read_entries, unpack

_SIZE = 100_000_000
_WORDS = [
    "the", "desired", "state", "of", "this", "resource", "identifier", "region", "policy", "observed", "network", "tags",
    "a", "reference", "to", "retrieve", "selector", "optional", "field", "default", "immutable", "encryption", "subnet",
]  # fmt: skip


def main() -> None:
    """Print the ratio and the memory of both, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        layer = Path(folder) / "layer.tar.gz"
        layer.write_bytes(compress(pack_tar([("package.yaml", _make_package_yaml())])))
        print(f"package.yaml of {_SIZE / 1e6:.0f} MB, {layer.stat().st_size / 1e6:.1f} MB compressed")
        this = ["-m", "bench.large_package"]
        base, ours = best_seconds(
            [python(*this, "hash", str(layer)), python(*this, "read", str(layer))], rounds=3
        )
        print(f"{'gunzip and sha256':<58} {base * 1000:9.1f} ms")
        print_ratio("meta document and list of objects", ours, base, goal=6)


def _make_package_yaml() -> bytes:
    words = random.Random(1)
    documents = ["apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: provider-large\n"]
    size = 0
    while size < _SIZE:
        documents.append(_make_crd(len(documents), words))
        size += len(documents[-1]) + 4
    return "---\n".join(documents).encode()[:_SIZE]


def _make_crd(number: int, words: random.Random) -> str:
    lines = [
        "apiVersion: apiextensions.k8s.io/v1",
        "kind: CustomResourceDefinition",
        "metadata:",
        "  annotations:",
        "    controller-gen.kubebuilder.io/version: v0.16.0",
        f"  name: things{number}.example.org",
        "spec:",
        "  group: example.org",
        "  versions:",
        "  - name: v1beta1",
        "    schema:",
        "      openAPIV3Schema:",
        "        properties:",
    ]
    for field in range(400):
        lines += [
            f"          {words.choice(_WORDS)}{field}:",
            "            description: |-",
            f"              {' '.join(words.choices(_WORDS, k=12))}",
            "            type: string",
        ]
    return "\n".join(lines) + "\n"


def _hash(file: IO[bytes]) -> None:
    hashed, gunzip = hashlib.sha256(), zlib.decompressobj(31)
    data = file.read()
    while data:
        hashed.update(gunzip.decompress(data, 1 << 20))
        data = gunzip.unconsumed_tail


def _read(file: IO[bytes]) -> None:
    limits = Limits()

    def package_yaml() -> Iterator[bytes]:
        for _, stream in read_entries(unpack(file, limits), limits):
            yield from stream.content()

    contents = read_contents(package_yaml(), limits)
    print(
        f"  {len(contents.objects):,} objects, {peak_megabytes():.0f} MB resident (goal 150 MB)",
        file=sys.stderr,
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        {"hash": _hash, "read": _read}[sys.argv[1]](BytesIO(Path(sys.argv[2]).read_bytes()))
    else:
        main()
