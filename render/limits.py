"""All limits in one table. Exceeding one is an error that names it; nothing is cut silently."""

import re
from collections.abc import Mapping

from render.errors import InvalidInput, RenderError
from render.lean import dataclass

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

_PREFIX = "XPLOCK_LIMIT_"
_UNITS = {"": 1, "K": KIB, "KIB": KIB, "M": MIB, "MIB": MIB, "G": GIB, "GIB": GIB}
_AMOUNT = r"([0-9]{1,15})\s*([A-Za-z]*)"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits; each can be set as XPLOCK_LIMIT_<FIELD>."""

    # Answers of a registry
    manifest_bytes: int = 4 * MIB
    token_bytes: int = 64 * KIB
    error_bytes: int = 64 * KIB
    tag_page_bytes: int = 16 * MIB
    tag_pages: int = 1_000
    tags: int = 100_000
    redirects: int = 5

    # Images
    layer_bytes: int = 100 * MIB
    unpacked_bytes: int = 512 * MIB
    package_bytes: int = 200 * MIB
    tar_members: int = 10_000
    layers: int = 256
    index_entries: int = 100
    index_depth: int = 2

    # Copies of images
    copied_bytes: int = 20 * GIB
    attached: int = 1_000
    attached_depth: int = 5
    archive_members: int = 100_000

    # Signatures
    signature_bytes: int = 64 * MIB
    trusted_root_bytes: int = 4 * MIB
    public_key_bytes: int = 64 * KIB

    # Documents
    documents: int = 20_000
    document_bytes: int = 16 * MIB
    document_depth: int = 500
    document_nodes: int = 500_000
    meta_bytes: int = 1 * MIB
    meta_depth: int = 50
    file_bytes: int = 10 * MIB
    files: int = 5_000
    file_depth: int = 100
    file_aliases: int = 1_000
    file_nodes: int = 100_000
    folder_bytes: int = 20 * MIB
    folder_nodes: int = 1_000_000
    lock_bytes: int = 32 * MIB
    lock_nodes: int = 2_000_000
    used_locks_bytes: int = 64 * MIB
    kustomizations: int = 500
    kustomize_bytes: int = 10 * MIB
    used_folders: int = 500
    walked_folders: int = 100_000

    # Objects of a cluster
    live_bytes: int = 1 * GIB
    live_objects: int = 100_000

    # Comparisons of definitions
    schema_depth: int = 100
    compared_bytes: int = 128 * MIB
    compared_findings: int = 200_000

    # Git
    git_token_bytes: int = 64 * KIB
    authorities_bytes: int = 4 * MIB
    branch_commits: int = 100
    branch_files: int = 100_000
    branch_bytes: int = 1 * GIB

    # Packages
    dependencies: int = 1_000
    packages: int = 5_000
    constraint_chars: int = 1_024
    version_chars: int = 128
    solver_rounds: int = 20_000
    solver_seconds: int = 20

    # Time, in seconds
    connect_seconds: int = 5
    idle_seconds: int = 15
    request_seconds: int = 30
    retry_after_seconds: int = 60
    run_seconds: int = 300
    mirror_seconds: int = 7_200
    helper_seconds: int = 10
    git_seconds: int = 60
    kustomize_seconds: int = 30
    kubectl_seconds: int = 60

    # Tries and width
    attempts: int = 10
    attempts_unanswered: int = 5
    failures_in_a_row: int = 20
    commit_attempts: int = 100
    push_attempts: int = 5
    parallel: int = 16
    parallel_per_host: int = 16

    # Disk
    cache_bytes: int = 1 * GIB

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Limits":
        """Return the defaults, changed by the operator's XPLOCK_LIMIT_* variables."""
        known = cls.__annotations__.keys()
        given = {name.removeprefix(_PREFIX).lower(): name for name in environ if name.startswith(_PREFIX)}
        unknown = sorted(given[field] for field in given.keys() - known)
        if unknown:
            raise InvalidInput(
                f"unknown limit {unknown[0]}",
                why=f"the limits are {', '.join(setting(name) for name in sorted(known))}",
                next=f"unset {unknown[0]}",
            )
        return cls(**{field: _parse_amount(name, environ[name]) for field, name in given.items()})


class LimitExceeded(RenderError):
    """Input that is larger, longer or deeper than allowed."""

    def __init__(self, what: str, limit: str, limits: Limits, *, found: str = "") -> None:
        amount = format_amount(limit, getattr(limits, limit))
        super().__init__(
            what,
            why=f"the limit is {amount}" + (f"; found {found}" if found else ""),
            next=f"if you trust where it comes from, raise the limit with {setting(limit)}",
        )


def setting(limit: str) -> str:
    """Return the environment variable that sets a limit."""
    return _PREFIX + limit.upper()


def format_amount(limit: str, amount: int) -> str:
    """Return a limit's amount with its unit, as a person would write it."""
    if limit.endswith("_bytes"):
        return format_bytes(amount)
    return f"{amount:,} {limit.replace('_', ' ')}"


def format_bytes(amount: int) -> str:
    """Return a number of bytes in the largest unit that divides it."""
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if amount >= size and amount % size == 0:
            return f"{amount // size} {unit}"
    return f"{amount:,} bytes"


def _parse_amount(name: str, text: str) -> int:
    match = re.fullmatch(_AMOUNT, text.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or int(match[1]) == 0:
        raise InvalidInput(
            f"{name}={text} is not an amount",
            why="a limit is a positive whole number, for bytes with an optional unit: 64KiB, 10MiB, 1GiB",
            next=f"correct or unset {name}",
        )
    return int(match[1]) * unit
