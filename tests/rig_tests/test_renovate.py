"""The Renovate that end-to-end tests run: npm installs what the lock file says, from wherever this machine gets packages."""

import json
import re
from typing import Any

from rig.deploy.kustomize import TOP

FOLDER = TOP / "tests/e2e/renovate"
LOCKED: dict[str, dict[str, Any]] = json.loads((FOLDER / "package-lock.json").read_text())["packages"]


def test_its_version_is_exact_and_the_locked_one() -> None:
    [(name, version)] = json.loads((FOLDER / "package.json").read_text())["dependencies"].items()

    assert (name, LOCKED["node_modules/renovate"]["version"]) == ("renovate", version)
    assert re.fullmatch(r"39\.\d+\.\d+", version)


def test_everything_is_installed_by_hash_and_from_no_address() -> None:
    packages = {path: entry for path, entry in LOCKED.items() if path}

    assert [path for path, entry in packages.items() if "integrity" not in entry] == []
    assert [path for path, entry in packages.items() if "resolved" in entry] == []
