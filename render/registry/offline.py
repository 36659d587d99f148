"""Working offline: the tags that registries listed before, and the images that were fetched then.

Tags move and appear, so online they are always asked for again. What is kept here is only for `--offline`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from render.errors import Unavailable
from render.nearest import nearest_tags
from render.references import Digest, Reference, Source, is_digest, is_tag
from render.registry.cache import Cache
from render.registry.oci import Content, Descriptor, digest_of
from render.texts import first_names

# How many tags an error names.
_SHOWN = 6
_MANIFEST, _TAGS, _TAG = "manifest", "tags", "tag"


class Offline(Unavailable):
    """Something that neither a layout nor the cache has, while registries must not be asked."""

    def __init__(self, what: Source | Reference, why: str = "neither a layout nor the cache has it") -> None:
        super().__init__(
            f"{what} is not available offline",
            why=f"{why}, and registries are not asked",
            next="run the command once without --offline, or add a layout that contains it",
        )


class CachedTags(tuple[str, ...]):
    """The tags of a source that the cache has packages for; a registry may have more."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SeenTags:
    """The answers of registries about tags, in the cache; the newest answer replaces an older one."""

    cache: Cache

    def put_tags(self, source: Source, tags: Sequence[str]) -> None:
        """Store the list of tags of a source."""
        self.cache.put_facts(_key(source), _TAGS, json.dumps(list(tags)).encode())

    def tags(self, source: Source) -> list[str] | None:
        """Return the list of tags that was seen last."""
        stored = self.cache.get_facts(_key(source), _TAGS)
        try:
            tags = json.loads(stored) if stored else None
        except ValueError:
            return None
        return (
            [tag for tag in tags if isinstance(tag, str) and is_tag(tag)] if isinstance(tags, list) else None
        )

    def put_digest(self, reference: Reference, digest: Digest) -> None:
        """Store the digest that a tag names."""
        self.cache.put_facts(_key(reference), _TAG, digest.encode())

    def digest(self, reference: Reference) -> Digest | None:
        """Return the digest that a tag named when it was seen last."""
        stored = self.cache.get_facts(_key(reference), _TAG)
        text = stored.decode(errors="replace") if stored else ""
        return Digest(text) if is_digest(text) else None


@dataclass(frozen=True, slots=True)
class CachedImages:
    """The images in the cache, by their digests or by the tags that they had."""

    cache: Cache

    def tags(self, source: Source) -> CachedTags:
        """Return the tags whose packages are in the cache, as the registry listed them last."""
        listed = SeenTags(self.cache).tags(source)
        if listed is None:
            raise Offline(source)
        found = CachedTags(tag for tag in listed if self._find(Reference(source, tag)))
        if not found:
            raise Offline(
                source, f"none of its {len(listed):,} tags that were seen has a package in the cache"
            )
        return found

    def content(self, reference: Reference) -> Content:
        """Return the manifest or index that a reference names, or named when it was seen last."""
        found = self._find(reference)
        if found is None:
            raise Offline(reference, self._why_not(reference))
        return found

    def _why_not(self, reference: Reference) -> str:
        """Return why a reference is not available, with the tags that are."""
        try:
            tags = nearest_tags(reference.tag or "", self.tags(reference.source))
        except Offline:
            tags = []
        known = f", which has {first_names(tags, _SHOWN)}" if tags and not reference.digest else ""
        return (
            f"neither a layout nor the cache{known}, has it"
            if known
            else "neither a layout nor the cache has it"
        )

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        """Return a blob."""
        found = self.cache.get_blob(descriptor.digest, descriptor.size)
        if found is None:
            raise Offline(Reference(source, digest=descriptor.digest), "a part of it is not in the cache")
        return found

    def _find(self, reference: Reference) -> Content | None:
        digest = reference.digest or SeenTags(self.cache).digest(reference)
        return cached_content(self.cache, digest) if digest else None


def cached_content(cache: Cache, digest: Digest) -> Content | None:
    """Return the manifest or index of a digest, if it was fetched before."""
    kept = cache.get_facts(digest, _MANIFEST)
    if kept is None:
        return None
    media_type, _, data = kept.partition(b"\n")
    return Content(data, media_type.decode(errors="replace"), digest) if digest_of(data) == digest else None


def keep_content(cache: Cache, content: Content) -> None:
    """Store a manifest or index."""
    cache.put_facts(content.digest, _MANIFEST, content.media_type.encode() + b"\n" + content.data)


def _key(name: Source | Reference) -> Digest:
    """Return the place of a name in the cache, which stores everything by digest."""
    return digest_of(f"tags of {name}".encode())
