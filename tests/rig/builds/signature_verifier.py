"""The verdict of Crossplane's own code on a signed package, without a cluster."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.builds.go_builds import build
from rig.builds.recipes import SIGNATURE_VERIFIER
from rig.processes import dying_with_us


@dataclass(frozen=True, slots=True)
class Got:
    """What Crossplane gets for a package: an error, or where it came from and which ImageConfigs were applied."""

    error: str = ""
    resolved: str = ""
    applied: tuple[str, ...] = ()


@dataclass(slots=True)
class SignatureVerifier:
    """A running program that answers one line per line."""

    process: subprocess.Popen[str] = field(repr=False)

    def get(self, reference: str, objects: str) -> Got:
        """Get a package in a cluster with some ImageConfigs and Secrets, as YAML documents."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"objects": objects, "reference": reference}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return Got(answer.get("error", ""), answer.get("resolved", ""), tuple(answer.get("applied", ())))


@contextmanager
def running_signature_verifier(root: Path, folder: Path) -> Iterator[SignatureVerifier]:
    """Build the program if need be, and run it with the TUF repository of a root; `folder` is for what it keeps."""
    program = build(SIGNATURE_VERIFIER) / SIGNATURE_VERIFIER.name
    environment = {"TUF_ROOT": str(folder), "HOME": str(folder)}
    with subprocess.Popen(
        dying_with_us([str(program), f"file://{root.parent}", str(root)]),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield SignatureVerifier(process)
        assert process.stdin is not None
        process.stdin.close()
