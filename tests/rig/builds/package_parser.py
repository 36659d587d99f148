"""Packages as Crossplane's own parser reads them."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.builds.go_builds import build
from rig.builds.recipes import PACKAGE_PARSER
from rig.processes import dying_with_us


@dataclass(frozen=True, slots=True)
class ParsedPackage:
    """What Crossplane reads from a package, or why it refuses the package."""

    error: str = ""
    lint: str = ""
    kind: str = ""
    name: str = ""
    crossplane: str = ""
    dependencies: tuple[tuple[str, str], ...] = ()
    objects: tuple[tuple[str, str, str], ...] = ()


@dataclass(slots=True)
class PackageParser:
    """A running program that answers one line per line."""

    process: subprocess.Popen[str] = field(repr=False)

    def parse(self, package_yaml: bytes) -> ParsedPackage:
        """Parse a package.yaml."""
        return _parsed(self._ask({"packageYaml": base64.b64encode(package_yaml).decode()}))

    def extract(self, layout: Path, digest: str) -> ParsedPackage:
        """Find package.yaml in an image of an OCI layout, and parse it."""
        return _parsed(self._ask({"layout": str(layout), "digest": digest}))

    def kinds(self) -> set[tuple[str, str]]:
        """Return apiVersion and kind of every object that Crossplane can decode from a package."""
        return {(api_version, kind) for api_version, kind in self._ask({})["kinds"]}

    def _ask(self, question: dict[str, str]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def running_package_parser() -> Iterator[PackageParser]:
    """Build the program if need be, and run it."""
    program = build(PACKAGE_PARSER) / PACKAGE_PARSER.name
    with subprocess.Popen(
        dying_with_us([str(program)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield PackageParser(process)
        assert process.stdin is not None
        process.stdin.close()


def _parsed(answer: dict[str, Any]) -> ParsedPackage:
    dependencies = answer.pop("dependencies", ())
    return ParsedPackage(
        **{name: text for name, text in answer.items() if isinstance(text, str)},
        dependencies=tuple((one["package"], one["constraint"]) for one in dependencies),
        objects=tuple((one[0], one[1], one[2]) for one in answer.get("objects", ())),
    )
