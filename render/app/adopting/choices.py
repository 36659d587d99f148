"""The options of `adopt`, and the packages of a cluster that they select."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from render.errors import InvalidInput
from render.live.adopting.commands import Commands
from render.live.adopting.digests import proving_rule
from render.live.adopting.found import Found
from render.live.adopting.roots import reach_from
from render.lock.lookup import NameIndex
from render.references import Digest, is_digest, parse_digest
from render.settings import PinMode
from render.texts import first_names

_SHOWN = 10
_INSTALLED = "installed="
_REGISTRY = "registry"


@dataclass(frozen=True, slots=True)
class AdoptChoices:
    """How a cluster is adopted."""

    folder: Path
    # None: by tag in a new folder, and as it is in one that has settings or a lock.
    pin: PinMode | None = None
    # Sources, in full or shortened; none: everything.
    only: Sequence[str] = ()
    # Digests of what runs, for packages whose tags have moved.
    installed: Sequence[Digest] = ()
    # Whether moved tags are locked as the registry has them.
    take_registry: bool = False
    # How advice names the cluster.
    commands: Commands = Commands()  # noqa: RUF009 - it is frozen


class UnknownPackage(InvalidInput):
    """A name that no package of the cluster has, or several."""


class UnprovenDigest(InvalidInput):
    """A digest that no revision of the cluster is named after."""

    def __init__(self, digest: Digest) -> None:
        super().__init__(
            f"no package of the cluster runs {digest}",
            why="the name of no revision proves it",
            next="give the digest of a package whose tag has moved, as its registry or your mirror knows it",
        )


def parse_take(texts: Sequence[str]) -> tuple[list[Digest], bool]:
    """Parse the values of --take: digests that run, and whether the registry decides about the other moved tags."""
    digests = []
    for text in texts:
        digest = text.removeprefix(_INSTALLED)
        if text.startswith(_INSTALLED) and is_digest(digest):
            digests.append(parse_digest(digest))
        elif text != _REGISTRY:
            raise InvalidInput(
                f"--take {text} is neither a digest nor the registry",
                why="it says which bytes to lock where a tag has moved: those that run, or those of the registry",
                next="write --take installed=sha256:DIGEST, or --take registry",
            )
    return digests, _REGISTRY in texts


def select_packages(names: Sequence[str], packages: Sequence[Found]) -> list[Found]:
    """Return the packages that are named, with all that they depend on; without names, all of them."""
    if not names:
        return list(packages)
    index = NameIndex((one.source, one) for one in packages)
    return reach_from([_find(name, index, packages) for name in names], packages)


def match_digests(digests: Sequence[Digest], packages: Sequence[Found]) -> dict[str, Digest]:
    """Return the digests that run, by the titles of their packages; raise for one that runs nowhere."""
    found: dict[str, Digest] = {}
    for digest in digests:
        proven = [one for one in packages if proving_rule(one, digest)]
        if not proven:
            raise UnprovenDigest(digest)
        found |= {one.title: digest for one in proven}
    return found


def _find(name: str, index: NameIndex[Found], packages: Sequence[Found]) -> Found:
    found = index.find(name)
    if len(found) == 1:
        return found[0]
    raise UnknownPackage(
        f"{name} names {len(found) or 'no'} packages of the cluster",
        why=f"it has {first_names(sorted(str(one.source) for one in packages), _SHOWN)}",
        next="write the source in full",
    )
