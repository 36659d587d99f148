"""Diagnosing a large stuck cluster, and one with 100 MB of definitions: seconds and memory, beside a bare interpreter."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from rig.builders.live_objects import Object, format_objects, live_objects
from rig.builders.projects import at
from rig.builders.stuck import lock_of, provider, unhealthy

from bench.measure import best_seconds, peak_megabytes, print_ratio, python

_PACKAGES, _OBJECTS = 500, 1_000
_SECONDS, _MEGABYTES = 2.0, 300
_DEFINITIONS = 100_000_000


def main() -> None:
    """Print a line for each form that kubectl prints, and one for definitions with their schemas."""
    what = f"doctor of {_PACKAGES} packages with {_OBJECTS:,} objects each"
    for form in ("json", "yaml"):
        _measure(f"{what}, {form.upper()}", form, code=3)
    _measure("doctor of 100 MB of ManagedResourceDefinitions, YAML", "definitions", code=0)


def _measure(what: str, form: str, code: int) -> None:
    this = ["-m", "bench.doctor"]
    with tempfile.TemporaryDirectory() as name:
        path = str(Path(name) / "cluster")
        subprocess.run(python(*this, "write", form, path), check=True)
        bare, doctor = best_seconds(
            [python("-c", "pass"), python(*this, "diagnose", path, str(code))], rounds=3
        )
        done = subprocess.run(
            python(*this, "diagnose", path, str(code)), check=True, capture_output=True, text=True
        )
    print_ratio(what, doctor, bare, goal=100)
    verdict = "ok" if doctor < _SECONDS and float(done.stdout) < _MEGABYTES else "MISSED"
    print(f"  {done.stdout.strip()} MB resident (goal {_SECONDS:g} s, {_MEGABYTES} MB)  {verdict}")


def _write(form: str, path: str) -> None:
    with Path(path).open("w") as file:
        if form == "definitions":
            file.writelines(_definitions())
        else:
            file.write(format_objects(_poisoned(), form))


def _diagnose(path: str, code: str) -> None:
    from render.cli.run import run

    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["-q", "doctor", path]) == int(code)
    print(round(peak_megabytes()))


def _poisoned() -> Sequence[Object]:
    """Return a cluster with one source under two names, in which every package says so."""
    text = (
        f"cannot initialize dependency graph from the packages in the lock: node {at('p-0')} already exists"
    )
    objects = [f"things{i}.cloud.example.org" for i in range(_OBJECTS)]
    running = [provider(f"p-{i} v1.0.0", objects=objects) for i in range(_PACKAGES)]
    running.append(provider("p-0 v1.0.0", name="again", digest="e" * 64))
    entries = [one.as_entry() for one in running]
    return [lock_of(*entries), *(made for one in running for made in unhealthy(one, text))]


def _definitions() -> Iterator[str]:
    """Yield the text of a healthy cluster whose definitions have large schemas."""
    yield format_objects(live_objects([provider("p-0 v1.0.0")]))
    yield "---\napiVersion: v1\nitems:\n"
    properties = {
        f"field{i}": {"type": "string", "description": f"{i}: the desired state of this\n\nresource " * 8}
        for i in range(900)
    }
    schema = {"openAPIV3Schema": {"properties": properties}}
    value = {
        "apiVersion": "apiextensions.crossplane.io/v1alpha1",
        "kind": "ManagedResourceDefinition",
        "metadata": {"name": "NAME.example.org", "uid": "NAME"},
        "spec": {
            "state": "Active",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    text = yaml.dump([json.loads(json.dumps(value))], Dumper=yaml.CSafeDumper)
    for i in range(_DEFINITIONS // len(text) + 1):
        yield text.replace("NAME", f"r{i}")
    yield "kind: List\n"


if __name__ == "__main__":
    {"write": _write, "diagnose": _diagnose}[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:] else main()
