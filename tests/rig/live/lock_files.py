"""What a folder's lock says that a cluster has."""

from pathlib import Path
from typing import Any

import yaml

from render.system.files import LOCK_FILE
from rig.live.revisions import known_ahead
from rig.servers.client import Object


def read_documents(folder: Path) -> tuple[Object, Object]:
    """Return both documents of a folder's lock: the Lock, and its details."""
    lock, details = yaml.safe_load_all((folder / LOCK_FILE).read_text())
    return lock, details


def attached_entries(*folders: Path) -> list[Object]:
    """Return what the Lock of a cluster holds that has these folders, sorted by source: nothing of what is detached."""
    found = [entry for folder in folders for entry in _attached_entries(folder)]
    return sorted(found, key=lambda entry: str(entry["source"]))


def locked_digests(folder: Path) -> dict[str, str]:
    """Return the digest of each package that a folder's lock holds, by the name of its object."""
    _, details = read_documents(folder)
    return {package["object"]: package["digest"] for package in details["packages"]}


def stale_sources(*folders: Path) -> set[str]:
    """Return the detached packages that the Lock of a cluster still holds from before, as these folders' locks say."""
    packages = [package for folder in folders for package in read_documents(folder)[1]["packages"]]
    return {_cluster_source(package) for package in packages if "staleEntry" in package}


def _attached_entries(folder: Path) -> list[Any]:
    lock, details = read_documents(folder)
    detached = {_cluster_source(package) for package in details["packages"] if "detached" in package}
    return [known_ahead(entry) for entry in lock["packages"] if entry["source"] not in detached]


def _cluster_source(package: Object) -> str:
    # Of an alias, the source that its object names.
    return str(package.get("installedAs", package["source"]))
