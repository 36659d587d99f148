"""Blobs on their way: every byte is hashed, and the last one is passed on only if all of them are right."""

import hashlib
from collections.abc import Callable, Iterator

from render.references import Digest, Source
from render.registry.http.bodies import SizeMismatch
from render.registry.http.troubles import Transient
from render.registry.oci import Descriptor, TamperedContent


def checked(
    source: Source, descriptor: Descriptor, chunks: Iterator[bytes], advance: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield the pieces of a blob; raise before the last one if they are not what its descriptor says."""
    hashed, total, held = hashlib.sha256(), 0, b""
    for chunk in chunks:
        hashed.update(chunk)
        total += len(chunk)
        if total > descriptor.size:
            raise SizeMismatch(f"{source} sent too much", said=descriptor.size, sent="more")
        # Held back, so that a receiver never has all bytes of something wrong.
        if held:
            yield held
            advance(len(held))
        held = chunk
    if total < descriptor.size:
        problem = f"a blob of {source} is incomplete: {total:,} of {descriptor.size:,} bytes"
        raise Transient(problem, answered=True)
    found = Digest(f"sha256:{hashed.hexdigest()}")
    if found != descriptor.digest:
        raise TamperedContent(source, descriptor.digest, found)
    if held:
        yield held
        advance(len(held))
