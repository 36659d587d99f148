"""Two locks and the content of their packages, for comparisons of definitions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from render.definitions.compare import compare_definitions
from render.definitions.model import Comparison, Finding, LiveDefinitions
from render.digests import sha256_hex
from render.errors import RenderError
from render.limits import Limits
from render.lock.model import Lock, LockedPackage, State
from render.packages import Kind, PackagedObject, count_kinds, defined_groups, digest_objects
from render.references import Digest, Source
from render.xpkg.definitions import Definitions, definitions_of
from render.xpkg.outline import describe_definition
from rig.builders.definitions import as_document, item_of

PROVIDER = "xpkg.example.org/example/provider-things"
LIMITS = Limits()
Objects = Sequence[Mapping[str, Any]]


@dataclass
class FakeContent:
    """The content of packages by digest; it counts what it is asked."""

    packages: dict[str, list[tuple[PackagedObject, bytes]]] = field(default_factory=dict)
    errors: dict[str, RenderError] = field(default_factory=dict)
    asked_facts: list[str] = field(default_factory=list)
    asked_documents: list[str] = field(default_factory=list)

    def facts(self, source: Source, digest: Digest) -> Definitions:
        self.asked_facts.append(str(source))
        if digest in self.errors:
            raise self.errors[digest]
        found = [describe_definition(item, data, LIMITS) for item, data in self.packages[digest]]
        return definitions_of(one for one in found if one)

    def documents(
        self, source: Source, digest: Digest, wanted: frozenset[PackagedObject]
    ) -> Iterator[tuple[PackagedObject, bytes]]:
        self.asked_documents.append(str(source))
        yield from ((item, data) for item, data in self.packages[digest] if item in wanted)


class World:
    """Makes locks, and keeps the content of their packages."""

    def __init__(self) -> None:
        self.content = FakeContent()

    def package(
        self,
        *objects: Mapping[str, Any] | tuple[PackagedObject, bytes],
        version: str = "v1.0.0",
        source: str = PROVIDER,
        kind: Kind = Kind.PROVIDER,
        state: State = State.WANTED,
        **more: Any,
    ) -> LockedPackage:
        """Return a locked package that brings some objects."""
        found = [one if isinstance(one, tuple) else (item_of(one), as_document(one)) for one in objects]
        digest = Digest("sha256:" + sha256_hex(f"{source}{version}{found}"))
        self.content.packages[digest] = found
        items = [item for item, _ in found]
        registry, _, repository = source.partition("/")
        facts = self.content.facts(Source(registry, repository), digest)
        self.content.asked_facts.clear()
        known: dict[str, Any] = {
            "objects": count_kinds(items),
            "objects_digest": digest_objects(items),
            "definitions_digest": facts.digest,
            "groups": defined_groups(kind, items),
            "object_name": repository.replace("/", "-"),
        }
        return LockedPackage(
            Source(registry, repository), version, digest, kind, state=state, **{**known, **more}
        )

    def compare(self, old: Lock, new: Lock, live: LiveDefinitions | None = None) -> Comparison:
        """Compare two locks."""
        return compare_definitions(old, new, self.content, live)


def lock_of(*packages: LockedPackage) -> Lock:
    """Return a lock of packages."""
    active = {one.source: one for one in packages if one.state is not State.DEACTIVATED}
    return Lock(active, deactivated={one.source: one for one in packages if one.source not in active})


def compared(
    old: Mapping[str, Any], new: Mapping[str, Any], live: LiveDefinitions | None = None, **more: Any
) -> Comparison:
    """Compare one definition with another one, in two versions of one package."""
    world = World()
    before, after = world.package(old, **more), world.package(new, version="v1.1.0", **more)
    return world.compare(lock_of(before), lock_of(after), live)


def found(
    old: Mapping[str, Any], new: Mapping[str, Any], live: LiveDefinitions | None = None, **more: Any
) -> dict[str, Finding]:
    """Return what a comparison of two definitions finds, by rule; each rule may find one thing."""
    findings = compared(old, new, live, **more).findings
    assert len({one.rule for one in findings}) == len(findings), findings
    return {one.rule: one for one in findings}
