"""Signatures, attestations and SBOMs: how they are found beside an image, in both generations."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from render.errors import RenderError
from render.references import Digest, Source, is_digest
from render.registry.http.troubles import RegistryUnreachable
from render.registry.oci import OCI_INDEX, Content, digest_of


def attached_prefix(digest: Digest) -> str:
    """Return how the tags of everything attached to a digest begin: sha256-<hex>.sig, .att, .sbom, .imgpkg …"""
    return f"{fallback_tag(digest)}."


def fallback_tag(digest: Digest) -> str:
    """Return the tag of the list of referrers, where a registry does not list them (distribution spec)."""
    return digest.replace(":", "-")


def subject_of(content: Content) -> Digest | None:
    """Return the digest that a manifest refers to."""
    subject = _document(content).get("subject")
    digest = subject.get("digest") if isinstance(subject, dict) else None
    return Digest(digest) if isinstance(digest, str) and is_digest(digest) else None


def artifact_type_of(content: Content) -> str:
    """Return the kind of artifact, which a manifest may say by the type of its configuration."""
    document = _document(content)
    config = document.get("config")
    named = document.get("artifactType") or (config.get("mediaType") if isinstance(config, dict) else "")
    return named if isinstance(named, str) else ""


def parse_referrers(source: Source, digest: Digest, data: bytes) -> list[Digest]:
    """Return the digests in a list of referrers."""
    return [Digest(entry["digest"]) for entry in _entries(source, digest, data)]


def is_index(data: bytes) -> bool:
    """Return whether bytes are an index, and not the page of a website."""
    try:
        return isinstance(json.loads(data)["manifests"], list)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def format_referrers(older: Content | None, referrers: Iterable[Content]) -> Content:
    """Return the list of referrers for a registry that keeps none: with those that it has, sorted by digest.

    What is in our hands is described from its manifest: the lists of other tools leave out annotations.
    """
    entries = {entry["digest"]: entry for entry in _document(older).get("manifests") or ()} if older else {}
    entries |= {one.digest: _describe(one) for one in referrers}
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [entries[digest] for digest in sorted(entries)],
    }
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    return Content(data, OCI_INDEX, digest_of(data))


def _describe(referrer: Content) -> dict[str, Any]:
    document = _document(referrer)
    annotations, kind = document.get("annotations"), artifact_type_of(referrer)
    return {
        "mediaType": document.get("mediaType") or referrer.media_type,
        "digest": referrer.digest,
        "size": len(referrer.data),
        **({"artifactType": kind} if kind else {}),
        **(
            {"annotations": dict(sorted(annotations.items()))}
            if isinstance(annotations, dict) and annotations
            else {}
        ),
    }


def _entries(source: Source, digest: Digest, data: bytes) -> Sequence[Mapping[str, Any]]:
    try:
        entries = json.loads(data)["manifests"] or []
        if not all(is_digest(entry["digest"]) for entry in entries):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise unreadable(source, digest, "it is no index of manifests with sha256 digests") from None
    return list(entries)


def unreadable(source: Source, digest: Digest, why: str) -> RenderError:
    """Return the error for a list of referrers that cannot be used: it must not count as an empty one."""
    return RegistryUnreachable(
        f"the list of what refers to {source}@{digest} cannot be read",
        why=why,
        next="try again later, ask the operators of the registry, or copy without it: --no-attached",
    )


def _document(content: Content) -> dict[str, Any]:
    document = json.loads(content.data)
    return document if isinstance(document, dict) else {}
