"""One image after the other, from an origin to a destination, in an order that never names anything incomplete."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from render.errors import RenderError
from render.limits import Limits
from render.references import Digest, Reference
from render.registry.copying.attached import fallback_tag, format_referrers, subject_of
from render.registry.copying.checked import checked
from render.registry.copying.model import Destination, Job, Mapped, Origin, Part, Report, Tree, Way
from render.registry.copying.trees import read_tree
from render.registry.http.transport import Transport
from render.registry.oci import Content, Descriptor, Index, Manifest, parse_content


class TagMoved(RenderError):
    """A version tag at the destination that names something else."""

    def __init__(self, job: Job, tag: str, found: Digest) -> None:
        super().__init__(
            f"{Reference(job.target, tag)} names other bytes",
            why=[f"to copy: {job.digest}", f"there: {found}"],
            next="find out which is right; to move the tag: --move-tags",
        )


class PartLost(RenderError):
    """A part of an image that the destination took, and does not have."""

    def __init__(self, job: Job, part: Part) -> None:
        super().__init__(
            f"{job.target} lost {part.digest}",
            why=f"it was put there as a part of {job.digest}, and the destination does not have it",
            next="ask the operators of the destination; no tag was set for the image",
        )


class Progress(Protocol):
    """How many bytes were copied."""

    def expect_bytes(self, count: int) -> None: ...
    def advance_bytes(self, count: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Copier:
    """Copies images, or finds out what would be copied."""

    origin: Origin
    destination: Destination
    transport: Transport
    mapped: Mapped
    progress: Progress
    attached: bool = True
    move_tags: bool = False
    # Whether every blob is asked for, and not manifests alone.
    deep: bool = False

    @property
    def _limits(self) -> Limits:
        return self.transport.limits

    def examine(self, job: Job) -> Report:
        """Find what the destination lacks of an image; with the sizes of all blobs that would be copied."""
        report, lacking = self._compare(job, exactly=True)
        blobs = self._lacking_blobs(job, report, lacking)
        report.missing += [f"{job.target}@{blob.digest}" for blob in blobs]
        report.lacking = blobs
        return report

    def copy(self, job: Job) -> Report:
        """Copy what the destination lacks of an image."""
        report, lacking = self._compare(job, exactly=False)
        tree = report.tree
        if tree is None:
            raise AssertionError("an image without a tree")
        report.missing.clear()
        self._copy_blobs(job, report, lacking)
        # Without referrers, which want it first, the image is put once: under its tag.
        first = [tree.image] if tree.referrers or report.named else []
        for part in [*tree.attached, *tree.children, *first]:
            if part in lacking:
                self._put(job, report, part.content, part.tag)
        self._put_referrers(job, report, tree, lacking)
        self._require_children(job, [part for part in tree.children if part in lacking])
        # Last: a version must not name an image that is incomplete, or not signed yet.
        if not report.named:
            self._put(job, report, tree.image.content, report.tag)
        return report

    def _compare(self, job: Job, *, exactly: bool) -> tuple[Report, list[Part]]:
        """Return a report about an image, and the parts that the destination lacks.

        An image without its tag has to be put anyway, so it is only asked for to know it `exactly`.
        """
        report = Report(job)
        named = self._choose_tag(job, report)
        tree = read_tree(
            self.origin, job.place, job.digest, self._limits, attached=self.attached, mapped=self.mapped
        )
        report.tree, report.named = tree, named == job.digest
        # What a tag names is there.
        looked = self.deep if report.named else exactly
        asked = [part for part in tree.parts if part is not tree.image or looked]
        found = self.mapped(lambda part: self._has(job, report, part), asked)
        lacking = [part for part, there in zip(asked, found, strict=True) if not there]
        if not report.named and not looked:
            lacking.append(tree.image)
        # They come from several threads.
        report.notes.sort()
        unlisted = [part for part in self._unlisted(job, tree) if part not in lacking]
        report.missing += [_name(job, part) for part in [*lacking, *unlisted]]
        if not report.named and tree.image not in lacking:
            report.missing.append(str(Reference(job.target, report.tag)))
        lacking += unlisted
        report.put = {part.digest: len(part.content.data) for part in lacking}
        return report, lacking

    def _choose_tag(self, job: Job, report: Report) -> Digest | None:
        """Choose the tag of an image, and return what it names at the destination now."""
        report.tag = job.tag or job.own_tag
        found = self.destination.find(job.target, report.tag)
        if found in (None, job.digest) or self.move_tags:
            return found
        if not job.lax:
            raise TagMoved(job, report.tag, found or job.digest)
        report.notes.append(f"{job.target}:{report.tag} names other bytes, so this is {job.own_tag}")
        report.tag = job.own_tag
        return self.destination.find(job.target, report.tag)

    def _has(self, job: Job, report: Report, part: Part) -> bool:
        found = self.destination.find(job.target, part.tag or part.digest)
        if found == part.digest:
            # An answer to HEAD is only a claim.
            return not self.deep or self.destination.content(job.target, part.digest) is not None
        if part.tag is None or found is None:
            return False
        if self._has_more(job, part):
            report.notes.append(f"{job.target}:{part.tag} has signatures that the original lacks; it stays")
            return True
        return False

    def _has_more(self, job: Job, part: Part) -> bool:
        """Return whether something attached has layers at the destination that are not in the original."""
        there = self.destination.content(job.target, part.tag or "")
        parsed = parse_content(there, self._limits) if there else None
        if not isinstance(parsed, Manifest):
            return isinstance(parsed, Index)
        return bool({layer.digest for layer in parsed.layers} - {blob.digest for blob in part.blobs})

    def _unlisted(self, job: Job, tree: Tree) -> Iterator[Part]:
        """Yield the referrers that the destination has and does not list."""
        for subject, parts in _by_subject(tree.referrers).items():
            listed = self.destination.referrers(job.target, subject)
            yield from (part for part in parts if part.digest not in listed)

    def _lacking_blobs(self, job: Job, report: Report, lacking: Sequence[Part]) -> list[Descriptor]:
        parts = report.tree.parts if self.deep and report.tree else lacking
        blobs = _blobs_of(parts)
        found = self.mapped(lambda blob: self.destination.has_blob(job.target, blob, deep=self.deep), blobs)
        return [blob for blob, there in zip(blobs, found, strict=True) if not there]

    def _copy_blobs(self, job: Job, report: Report, lacking: Sequence[Part]) -> None:
        blobs = self._lacking_blobs(job, report, ()) if self.deep else []
        blobs = _blobs_of(lacking) + [blob for blob in blobs if blob not in _blobs_of(lacking)]
        self.progress.expect_bytes(sum(blob.size for blob in blobs))
        for blob, way in zip(blobs, self.mapped(lambda blob: self._copy_blob(job, blob), blobs), strict=True):
            report.blobs[way] += 1
            report.bytes += blob.size if way is Way.COPIED else 0

    def _copy_blob(self, job: Job, blob: Descriptor) -> Way:
        @contextmanager
        def read() -> Iterator[Iterator[bytes]]:
            with self.origin.stream(job.place, blob) as chunks:
                yield checked(job.place, blob, chunks, self.progress.advance_bytes)

        def put() -> Way:
            return self.destination.put_blob(job.target, blob, read)

        # A failure of the origin in the middle of a blob starts the blob again.
        way = self.transport.retry(job.place.registry, put)
        if way is not Way.COPIED:
            self.progress.advance_bytes(blob.size)
        return way

    def _put(self, job: Job, report: Report, content: Content, tag: str | None) -> bool:
        report.manifests += 1
        return self.destination.put_manifest(job.target, content, tag)

    def _require_children(self, job: Job, put: Sequence[Part]) -> None:
        """Raise if the destination does not have what it took: the image would be incomplete."""
        found = self.mapped(lambda part: self.destination.find(job.target, part.digest), put)
        for part, there in zip(put, found, strict=True):
            if there is None:
                raise PartLost(job, part)

    def _put_referrers(self, job: Job, report: Report, tree: Tree, lacking: Sequence[Part]) -> None:
        """Put what refers to an image, and a list of it where the registry keeps none."""
        kept = True
        for part in tree.referrers:
            if part in lacking:
                listed = self._put(job, report, part.content, None)
                kept = kept and (listed or part.subject is None)
        if kept:
            return
        for subject, parts in _by_subject(tree.referrers).items():
            if any(part in lacking for part in parts):
                self._put_list(job, report, subject, parts)

    def _put_list(self, job: Job, report: Report, subject: Digest, parts: Sequence[Part]) -> None:
        tag = fallback_tag(subject)
        older = self.destination.content(job.target, tag)
        if older is not None and not self._is_list(job, older, subject):
            report.notes.append(
                f"{job.target}:{tag} is no list of referrers; it stays, and hides what refers to it"
            )
            return
        content = format_referrers(older, [part.content for part in parts])
        if older is None or older.digest != content.digest:
            self._put(job, report, content, tag)

    def _is_list(self, job: Job, content: Content, subject: Digest) -> bool:
        """Return whether a tag has a list of referrers of a digest, and not something else of its own."""
        parsed = parse_content(content, self._limits)
        if not isinstance(parsed, Index) or content.digest == subject:
            return False
        entries = self.mapped(lambda one: self.destination.content(job.target, one.digest), parsed.manifests)
        # What is gone says nothing about the others.
        return all(subject_of(entry) == subject for entry in entries if entry)


def _name(job: Job, part: Part) -> str:
    return str(Reference(job.target, part.tag) if part.tag else Reference(job.target, digest=part.digest))


def _blobs_of(parts: Iterable[Part]) -> list[Descriptor]:
    return list({blob.digest: blob for part in parts for blob in part.blobs}.values())


def _by_subject(parts: Iterable[Part]) -> dict[Digest, list[Part]]:
    found: dict[Digest, list[Part]] = {}
    for part in parts:
        if part.subject:
            found.setdefault(part.subject, []).append(part)
    return found
