"""An image and everything that belongs to it: all platforms, other children, and what is attached to any of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from render.limits import LimitExceeded, Limits
from render.references import Digest, Reference, Source
from render.registry.copying.attached import artifact_type_of, attached_prefix, subject_of
from render.registry.copying.model import Mapped, Origin, Part, Role, Tree
from render.registry.oci import Content, Index, parse_content


def read_tree(
    origin: Origin, source: Source, digest: Digest, limits: Limits, *, attached: bool, mapped: Mapped
) -> Tree:
    """Read all manifests of an image; blobs are not read."""
    return _Reader(origin, source, limits, mapped).read(digest, attached=attached)


@dataclass(slots=True)
class _Reader:
    """Reads one image."""

    origin: Origin
    source: Source
    limits: Limits
    mapped: Mapped
    _count: int = 0

    def read(self, digest: Digest, *, attached: bool) -> Tree:
        *children, image = self._with_children(self._fetch(digest), Role.IMAGE)
        tree = Tree(image, children=tuple(children))
        return self._with_attached(tree) if attached else tree

    def _with_attached(self, tree: Tree) -> Tree:
        tags = self.origin.tags(self.source)
        found: list[Part] = []
        subjects = [tree.image, *tree.children]
        for _ in range(self.limits.attached_depth):
            new = [*self._tagged(subjects, tags), *self._referring(subjects, tags)]
            found += new
            subjects = new
            if not subjects:
                break
        else:
            raise LimitExceeded(
                f"{self.source}@{tree.image.digest} has attachments of attachments",
                "attached_depth",
                self.limits,
            )
        # A referrer of a referrer comes after its subject; what has a tag, before the image.
        named = [part for part in found if part.role is not Role.REFERRER]
        return replace(
            tree,
            attached=tuple(named),
            referrers=tuple(part for part in found if part.role is Role.REFERRER),
        )

    def _tagged(self, subjects: Sequence[Part], tags: Sequence[str]) -> Iterator[Part]:
        named = [tag for part in subjects for tag in tags if tag.startswith(attached_prefix(part.digest))]
        self._bound(len(named))
        contents = self.mapped(lambda tag: self.origin.content(Reference(self.source, tag)), named)
        for tag, content in zip(named, contents, strict=True):
            *children, part = self._with_children(content, Role.ATTACHED)
            yield from children
            yield replace(part, tag=tag)

    def _referring(self, subjects: Sequence[Part], tags: Sequence[str]) -> Iterator[Part]:
        lists = self.mapped(lambda part: self.origin.referrers(self.source, part.digest, tags), subjects)
        pairs = [
            (part.digest, digest) for part, listed in zip(subjects, lists, strict=True) for digest in listed
        ]
        pairs = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
        self._bound(len(pairs))
        contents = self.mapped(self._fetch, [digest for _, digest in pairs])
        for (subject, _), content in zip(pairs, contents, strict=True):
            # Some registries answer for the tag of the list with the image itself, and its platforms are no referrers.
            if subject_of(content) == subject:
                *children, part = self._with_children(content, Role.REFERRER)
                yield from children
                yield replace(part, subject=subject)

    def _with_children(self, content: Content, role: Role, depth: int = 0) -> list[Part]:
        """Return a manifest after all that an index names, which a registry wants first."""
        parsed = parse_content(content, self.limits)
        if content.media_type.partition(";")[0].strip().lower() != parsed.media_type:
            # A layout knows no types, and some servers send others; what is pushed needs the right one.
            content = replace(content, media_type=parsed.media_type)
        if not isinstance(parsed, Index):
            kind = artifact_type_of(content) if role in (Role.ATTACHED, Role.REFERRER) else ""
            return [Part(content, role, (parsed.config, *parsed.layers), artifact_type=kind)]
        if depth >= self.limits.index_depth:
            raise LimitExceeded(f"an index of {self.source} is nested too deep", "index_depth", self.limits)
        digests = list(dict.fromkeys(child.digest for child in parsed.manifests))
        inside = role if role in (Role.ATTACHED, Role.REFERRER) else Role.CHILD
        contents = self.mapped(self._fetch, digests)
        parts = chain.from_iterable(self._with_children(child, inside, depth + 1) for child in contents)
        return [*parts, Part(content, role, artifact_type=artifact_type_of(content))]

    def _fetch(self, digest: Digest) -> Content:
        return self.origin.content(Reference(self.source, digest=digest))

    def _bound(self, more: int) -> None:
        self._count += more
        if self._count > self.limits.attached:
            raise LimitExceeded(f"too much is attached to an image of {self.source}", "attached", self.limits)
