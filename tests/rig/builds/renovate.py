"""A real Renovate, installed once by npm from its lock file, and run on a repository of a server."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from render.versions.constraints import parse_constraint
from render.versions.version import parse_candidate
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
        npm = find_npm()
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="installing-", dir=_CACHE) as scratch:
            _install(npm, Path(scratch) / "renovate", folder)
    return folder / "node_modules/.bin/renovate"


def find_npm() -> str:
    """Return where npm is, beside a Node that Renovate runs on."""
    renovate = json.loads((_PROJECT / "package-lock.json").read_text())["packages"]["node_modules/renovate"]
    needed = renovate["engines"]["node"]
    missing = (
        f"Renovate {renovate['version']}, which the end-to-end tests run, needs npm and Node {needed}: "
        "https://nodejs.org/en/download; without them: make e2e SHORT=1"
    )
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise SystemExit(missing)
    found = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = parse_candidate(found)
    # npm itself only warns, and Renovate then fails in the middle of a test.
    if version is None or not parse_constraint(needed).accepts(version):
        raise SystemExit(f"{missing}; this is Node {found}")
    return npm


def _install(npm: str, made: Path, folder: Path) -> None:
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


def main() -> None:
    """Install it; with --check, only see that it can be installed and run."""
    if "--check" in sys.argv:
        find_npm()
    else:
        print(install_renovate())


if __name__ == "__main__":
    main()
