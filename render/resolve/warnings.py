"""Notes on a valid resolution that a reviewer should see."""

from collections import defaultdict
from collections.abc import Iterator

from render.references import Source
from render.resolve.model import Resolution


def notes(resolution: Resolution) -> tuple[str, ...]:
    """Return one line for each note."""
    return (
        *_wrong_kinds(resolution),
        *_completed(resolution),
        *_lookalikes(resolution),
    )


def _wrong_kinds(resolution: Resolution) -> Iterator[str]:
    for source, chosen in resolution.packages.items():
        for edge in chosen.dependencies:
            said, target = edge.dependency and edge.dependency.kind, resolution.packages.get(edge.source)
            if target and said not in (None, target.kind):
                yield f"{source} declares {edge.source} as a {said}, but it is a {target.kind}"


def _completed(resolution: Resolution) -> Iterator[str]:
    for source, chosen in resolution.packages.items():
        for edge in chosen.dependencies:
            if edge.completed and edge.dependency:
                yield f"{source} depends on {edge.dependency.package}, completed to {edge.source}"


def _lookalikes(resolution: Resolution) -> Iterator[str]:
    """Yield sources that end alike: one package in two registries, or a deceptive copy."""
    ends: dict[tuple[str, ...], list[Source]] = defaultdict(list)
    for source in resolution.packages:
        ends[tuple(source.repository.split("/")[-2:])].append(source)
    for sources in ends.values():
        if len(sources) > 1:
            yield f"{' and '.join(map(str, sources))} look like the same package in {len(sources)} registries or organisations"
