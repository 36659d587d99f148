"""Cosign of both generations, with keys of our own and without any server but a registry."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig.builds.go_builds import build
from rig.builds.recipes import COSIGNS, Recipe
from rig.processes import dying_with_us

_SECONDS = 120
_OPEN = ("--allow-insecure-registry", "--allow-http-registry")


@dataclass(frozen=True, slots=True)
class Cosign:
    """One release; its private key has no password."""

    program: Path
    folder: Path

    @property
    def public_key(self) -> Path:
        """The file with the public key."""
        return self.folder / "cosign.pub"

    def make_keys(self) -> None:
        """Make a pair of keys."""
        self._run("generate-key-pair")

    def sign(self, reference: str, *, legacy: bool) -> None:
        """Sign an image by its digest, without a log entry."""
        self._run("sign", *self._signing(legacy=legacy), "--yes", reference)

    def verify(self, reference: str, key: Path, root: Path, *, legacy: bool) -> str:
        """Verify the signatures of an image without a log; fail if there is no good one."""
        form = ("--new-bundle-format=false",) if legacy else ("--new-bundle-format", f"--trusted-root={root}")
        options = ("--key", str(key), "--insecure-ignore-tlog", *form)
        return self._run("verify", *_OPEN, *options, reference)

    def _signing(self, *, legacy: bool) -> tuple[str, ...]:
        form = f"--new-bundle-format={str(not legacy).lower()}"
        # Version 3 would ask a service for how to sign.
        alone = ("--tlog-upload=false", "--use-signing-config=false")
        return (*_OPEN, "--key", str(self.folder / "cosign.key"), form, *alone)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            dying_with_us([str(self.program), *arguments]),
            cwd=self.folder,
            env={"PATH": os.defpath, "HOME": str(self.folder), "COSIGN_PASSWORD": ""},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"cosign {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout


def build_cosigns(folder: Path) -> tuple[Cosign, Cosign]:
    """Return the older and the newer one, each with a folder of its own; the first time they are built."""
    older, newer = (_prepare(recipe, folder) for recipe in COSIGNS)
    return older, newer


def _prepare(recipe: Recipe, folder: Path) -> Cosign:
    own = folder / recipe.version
    own.mkdir(parents=True)
    cosign = Cosign(build(recipe) / recipe.name, own)
    cosign.make_keys()
    return cosign
