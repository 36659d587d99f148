"""The Lock of a running cluster, as `kubectl get lock lock -o yaml` or `-o json` prints it."""

import json
from dataclasses import dataclass
from typing import Any

from render.documents import InvalidDocument, lock_rules, parse_documents
from render.errors import InvalidInput
from render.fields import Fields
from render.limits import LimitExceeded, Limits


class InvalidLiveLock(InvalidInput):
    """Something else than the Lock of a cluster."""

    def __init__(self, why: list[str]) -> None:
        super().__init__(
            "this is not the Lock of a cluster",
            why=why,
            next="give the output of: kubectl get lock lock -o yaml",
        )


@dataclass(frozen=True, slots=True)
class LivePackage:
    """An entry of a cluster's Lock, with the texts that Crossplane compares."""

    name: str
    source: str
    version: str
    # Package and constraints of each, sorted.
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveLock:
    """What Crossplane has written."""

    packages: tuple[LivePackage, ...] = ()


def parse_live_lock(data: bytes, limits: Limits) -> LiveLock:
    """Parse the Lock of a cluster; what is not about packages is left aside."""
    problems: list[str] = []
    lock = Fields(_find_lock(_parse(data, limits)), "", problems)
    packages = tuple(_read_package(entry) for entry in lock.mappings("packages"))
    if problems:
        raise InvalidLiveLock(problems)
    return LiveLock(packages)


def _parse(data: bytes, limits: Limits) -> list[Any]:
    if len(data) > limits.lock_bytes:
        raise LimitExceeded("the Lock is too large", "lock_bytes", limits, found=f"{len(data):,} bytes")
    try:
        # JSON is YAML but for its escapes of rare characters.
        return (
            [json.loads(data)]
            if data.lstrip().startswith(b"{")
            else parse_documents(data, lock_rules(limits))
        )
    except InvalidDocument as error:
        raise InvalidLiveLock([str(error)]) from None
    except (ValueError, RecursionError) as error:
        raise InvalidLiveLock([str(error)]) from None


def _find_lock(documents: list[Any]) -> Any:
    objects = [item for document in documents for item in _listed(document)]
    locks = [item for item in objects if isinstance(item, dict) and item.get("kind") == "Lock"]
    if len(locks) != 1 or not str(locks[0].get("apiVersion")).startswith("pkg.crossplane.io/"):
        kinds = sorted({str(item.get("kind")) for item in objects if isinstance(item, dict)})
        raise InvalidLiveLock(
            [f"expected one Lock of pkg.crossplane.io, found {', '.join(kinds) or 'nothing'}"]
        )
    return locks[0]


def _listed(document: Any) -> list[Any]:
    # `kubectl get lock`, without a name, prints a List.
    items = document.get("items") if isinstance(document, dict) else None
    return items if isinstance(items, list) else [document]


def _read_package(entry: Fields) -> LivePackage:
    dependencies = [
        f"{item.text('package')} {item.text('constraints')}" for item in entry.mappings("dependencies")
    ]
    for key in ("name", "source", "version"):
        if not entry.text(key):
            entry.complain(key, "it is missing")
    return LivePackage(
        entry.text("name"), entry.text("source"), entry.text("version"), tuple(sorted(dependencies))
    )
