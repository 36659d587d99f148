"""Two releases of 2,000 definitions of real size: what hashes settle, beside sha256 of both, and what is left to parse."""

import hashlib
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.measure import peak_megabytes, print_ratio, python
from render.definitions import content as contents_of_definitions
from render.definitions.compare import compare_definitions
from render.limits import Limits
from render.lock.model import Lock, LockedPackage
from render.packages import Kind, PackagedObject
from render.references import Digest, Source
from render.xpkg import outline
from render.xpkg.contents import read_contents, split_documents
from render.xpkg.definitions import Definitions, parse_definitions
from render.xpkg.identity import identify
from render.xpkg.version_schemas import parse_schema

_COUNT, _NEW = 2_000, 28
# How many definitions move their storage version, and of how many the schema of a version differs.
_MOVED, _CHANGED = 310, 6
# Sizes of the definitions of a large provider: half of them are below 28 KB, one in twenty is above 158 KB.
_MEDIAN, _SPREAD, _LARGEST, _SMALLEST = 28_000, 1.05, 1_690_000, 4_000
_ROUNDS = 5
_STARTED = time.process_time()
_CHUNK = 1 << 20
_SOURCE = Source("xpkg.example.org", "bench/provider")
_META = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: provider-bench\n"
_WORDS = [
    "the", "desired", "state", "of", "this", "resource", "identifier", "region", "policy", "observed", "network", "tags",
    "a", "reference", "to", "retrieve", "selector", "optional", "field", "default", "immutable", "encryption", "subnet",
]  # fmt: skip


def main() -> None:
    """Print how long the facts about both releases take, and what a comparison by them costs."""
    with tempfile.TemporaryDirectory() as folder:
        old, moved, changed = (str(Path(folder) / f"{name}.yaml") for name in ("old", "moved", "changed"))
        _write_releases(Path(old), Path(moved), Path(changed))
        size = Path(old).stat().st_size + Path(changed).stat().st_size
        print(
            f"two releases of {_COUNT:,} definitions, {size / 1e6:.0f} MB, all of which differ in an annotation"
        )
        _measure_facts(old, changed)
        _run("facts", moved)
        _measure_comparison(f"by facts, {_MOVED} storage versions moved", old, moved)
        _measure_comparison(f"and the schemas of {_CHANGED} definitions changed", old, changed)


def _measure_facts(*files: str) -> None:
    modes = ("hash", "list", "facts")
    best, peak = dict.fromkeys(modes, math.inf), 0.0
    for _ in range(_ROUNDS):
        for mode in modes:
            told = _run(mode, *files)
            best[mode], peak = min(best[mode], told["seconds"]), told["peak"]
    base = best["hash"]
    print(f"{'sha256 of both':<58} {base * 1000:9.1f} ms")
    print(f"{'listing the objects of both':<58} {best['list'] * 1000:9.1f} ms  {best['list'] / base:6.2f} x")
    print_ratio(
        "digests of all definitions and schemas, nothing parsed", best["facts"] - best["list"], base, goal=6
    )
    _print_peak(peak)


def _measure_comparison(what: str, *files: str) -> None:
    told = min((_run("compare", *files) for _ in range(_ROUNDS)), key=lambda one: float(one["seconds"]))
    seconds = told["seconds"]
    print(f"{what:<58} {seconds * 1000:9.1f} ms  {_verdict(seconds <= 2)} (goal 2 s)")
    print(f"  {told['parsed']} schemas parsed; {told['found']}")
    _print_peak(told["peak"])


def _print_peak(megabytes: float) -> None:
    print(f"{'  memory':<58} {megabytes:9.1f} MB  {_verdict(megabytes <= 200)} (goal 200 MB)")


def _verdict(holds: bool) -> str:
    return "ok" if holds else "MISSED"


def _run(mode: str, *files: str) -> dict[str, Any]:
    command = python("-m", "bench.definitions", mode, *files)
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return told


# Measured, each in a process of its own


def _measure(mode: str, files: Sequence[Path]) -> None:
    acts = {"hash": _hash, "list": _list, "facts": _write_facts, "compare": _compare}
    told = acts[mode](files)
    # Not the time on the clock: whatever else the machine does counts there. Storing facts is not what is measured.
    print(json.dumps({"seconds": time.process_time() - _STARTED, "peak": peak_megabytes(), **told}))


def _hash(files: Sequence[Path]) -> dict[str, Any]:
    for file in files:
        hashed = hashlib.sha256()
        for chunk in _chunks(file):
            hashed.update(chunk)
    return {}


def _list(files: Sequence[Path]) -> dict[str, Any]:
    for file in files:
        found = [identify(one.data, Limits()) for one in split_documents(_chunks(file), Limits())]
        assert len(found) > _COUNT
    return {}


def _write_facts(files: Sequence[Path]) -> dict[str, Any]:
    """Store the facts about packages, none of which may need the parser."""
    with patch.object(outline, "parse_documents", side_effect=AssertionError("parsed")):
        found = [read_contents(_chunks(file), Limits()).definitions for file in files]
    seconds = time.process_time() - _STARTED
    for file, definitions in zip(files, found, strict=True):
        _facts_file(file).write_bytes(definitions.format())
    return {"seconds": seconds}


def _compare(files: Sequence[Path]) -> dict[str, Any]:
    with patch.object(contents_of_definitions, "parse_schema", wraps=parse_schema) as parsed:
        old, new = (_lock(file) for file in files)
        result = compare_definitions(old, new, _Content(files))
    rules = [one.rule for one in result.findings]
    counts = {rule: rules.count(rule) for rule in dict.fromkeys(rules)}
    assert not result.not_compared
    assert (counts["storage-moved"], counts["definition-new"]) == (_MOVED, _NEW)
    # Both sides of one version, wherever a schema differs, and nothing else.
    assert parsed.call_count == 2 * counts.get("field-gone", 0)
    return {"parsed": parsed.call_count, "found": ", ".join(f"{rule} {n}" for rule, n in counts.items())}


class _Content:
    """The content of packages: the facts that were stored, and documents out of the files."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = {_digest(file): file for file in files}

    def facts(self, _: Source, digest: Digest) -> Definitions:
        found = parse_definitions(_facts_file(self._files[digest]).read_bytes())
        assert found
        return found

    def documents(
        self, _: Source, digest: Digest, wanted: frozenset[PackagedObject]
    ) -> Iterator[tuple[PackagedObject, bytes]]:
        for document in split_documents(_chunks(self._files[digest]), Limits()):
            item = identify(document.data, Limits())
            if item in wanted:
                yield item, document.data


def _lock(file: Path) -> Lock:
    version = f"v1.0.0-{file.stem}"
    return Lock({_SOURCE: LockedPackage(_SOURCE, version, _digest(file), Kind.PROVIDER, "bench-provider")})


def _digest(file: Path) -> Digest:
    return Digest(f"sha256:{file.stem}")


def _facts_file(file: Path) -> Path:
    return file.with_suffix(".json")


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


# Text of the size and shape of a large provider's


def _write_releases(old: Path, moved: Path, changed: Path) -> None:
    """Write a release, one whose storage versions moved, and one in which fields are gone as well."""
    choose = random.Random(1)
    fields = [_field(f"field{number}", choose) for number in range(1_000)]
    sizes = [
        min(max(int(choose.lognormvariate(math.log(_MEDIAN), _SPREAD)), _SMALLEST), _LARGEST)
        for _ in range(_COUNT)
    ]
    sizes[_COUNT // 2] = _LARGEST
    with old.open("w") as before, moved.open("w") as after, changed.open("w") as later:
        for file in (before, after, later):
            file.write(_META)
        for number, size in enumerate(sizes):
            is_moved, is_changed = number < _MOVED, _MOVED <= number < _MOVED + _CHANGED
            versions = ("v1beta1", "v1beta2") if is_moved else ("v1beta1",)
            schema = _schema(size // len(versions), fields, choose)
            before.write(_crd(number, "v0.16.0", versions, "v1beta1", schema))
            text = _crd(number, "v0.17.0", versions, versions[-1], schema)
            after.write(text)
            gone = schema.replace(_GONE, "", 1) if is_changed else schema
            later.write(_crd(number, "v0.17.0", versions, versions[-1], gone))
        for number in range(_COUNT, _COUNT + _NEW):
            text = _crd(number, "v0.17.0", ("v1beta1",), "v1beta1", _schema(_MEDIAN, fields, choose))
            after.write(text)
            later.write(text)


def _schema(size: int, fields: Sequence[str], choose: random.Random) -> str:
    """Return a schema of about a size, with objects in lists, as deep as generators write them."""
    lines, length = [_HEAD], 0
    while length < size:
        start = choose.randrange(len(fields) - 20)
        group = f"                  group{len(lines)}:\n                    items:\n                      properties:\n"
        some = "".join(fields[start : start + 20])
        lines.append(f"{group}{some}                      type: object\n                    type: array\n")
        length += len(lines[-1])
    return "".join([*lines, _TAIL])


def _field(name: str, choose: random.Random) -> str:
    told = "\n".join(" " * 28 + " ".join(choose.choices(_WORDS, k=8)) for _ in range(choose.randint(1, 3)))
    kind = choose.choice(["string", "string", "number", "boolean"])
    return f"{' ' * 24}{name}:\n{' ' * 26}description: |-\n{told}\n{' ' * 26}type: {kind}\n"


_GONE = "                  gone:\n                    description: Gone in the next release.\n                    type: string\n"
_HEAD = f"""\
        description: The schema of the API.
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            description: What is wanted.
            properties:
              forProvider:
                properties:
{_GONE}"""
_TAIL = """\
                type: object
            required:
            - forProvider
            type: object
        required:
        - spec
        type: object
"""


def _crd(number: int, generator: str, versions: Sequence[str], storage: str, schema: str) -> str:
    listed = "".join(
        f"  - name: {name}\n    schema:\n      openAPIV3Schema:\n{schema}"
        f"    served: true\n    storage: {str(name == storage).lower()}\n    subresources:\n      status: {{}}\n"
        for name in versions
    )
    return (
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n"
        f"    controller-gen.kubebuilder.io/version: {generator}\n  name: kind{number}s.group{number // 10}.example.org\n"
        f"spec:\n  group: group{number // 10}.example.org\n  names:\n    categories:\n    - crossplane\n    - managed\n"
        f"    kind: Kind{number}\n    listKind: Kind{number}List\n    plural: kind{number}s\n    singular: kind{number}\n"
        f"  scope: Cluster\n  versions:\n{listed}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _measure(sys.argv[1], [*map(Path, sys.argv[2:])])
    else:
        main()
