"""A real Renovate, installed once by npm from its lock file, and run on a repository of a server."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rig.processes import dying_with_us

_PROJECT = Path(__file__).parents[2] / "e2e/renovate"
_FILES = ("package.json", "package-lock.json", ".npmrc")
# Read before a test hides the user's settings: npm asks the registry that this machine uses, and the result is kept.
_ENVIRON = dict(os.environ)
_CACHE = Path(os.environ.get("XPLOCK_E2E_CACHE") or Path.home() / ".cache" / "xplock-e2e")
_SECONDS = 900


def install_renovate() -> Path:
    """Return the program; the first time, npm downloads it."""
    digest = hashlib.sha256(b"".join((_PROJECT / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    folder = _CACHE / f"renovate-{digest}"
    if not folder.is_dir():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="installing-", dir=_CACHE) as scratch:
            _install(Path(scratch) / "renovate", folder)
    return folder / "node_modules/.bin/renovate"


def _install(made: Path, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(
            "the end-to-end tests need npm and Node 20 or newer: Debian's packages npm and nodejs"
        )
    print("installing renovate; the first time this takes minutes", flush=True)
    made.mkdir()
    for name in _FILES:
        shutil.copy(_PROJECT / name, made)
    # Neither a compiler nor a script of a package is needed: what is left out has a slower way in JavaScript.
    options = [
        "--omit=dev",
        "--omit=optional",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]
    subprocess.run(dying_with_us([npm, "ci", *options]), cwd=made, env=_ENVIRON, check=True)
    # Under another name until it is complete. Whoever was faster has installed the same.
    if not folder.is_dir():
        made.rename(folder)


def run_renovate(folder: Path, platform: Mapping[str, str], *, programs: Path, allowed: str | None) -> str:
    """Run Renovate once, as an operator does who allows one command or none; return what it logged."""
    settings = {
        **platform,
        "RENOVATE_BASE_DIR": str(folder / "base"),
        "RENOVATE_CACHE_DIR": str(folder / "cache"),
        "RENOVATE_ONBOARDING": "false",
        "RENOVATE_REQUIRE_CONFIG": "required",
        "RENOVATE_REPORT_TYPE": "file",
        "RENOVATE_REPORT_PATH": str(folder / "report.json"),
        **({"RENOVATE_ALLOWED_COMMANDS": json.dumps([allowed])} if allowed else {}),
        "LOG_LEVEL": "debug",
        "HOME": str(folder),
        "PATH": f"{programs}{os.pathsep}{_ENVIRON['PATH']}",
    }
    folder.mkdir()
    done = subprocess.run(
        dying_with_us([install_renovate()]),
        cwd=folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    log = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert done.returncode == 0, log[-5_000:]
    return log


if __name__ == "__main__":
    print(install_renovate())
