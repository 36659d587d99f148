"""Where a package of the first format comes from: the source of an install object stands in front of its name."""

from render.references import PartialSource, Source, parse_dependency_source, parse_source


def qualified(package: str, source: str) -> Source | PartialSource:
    """Return a package with its registry: the source goes in front, unless the package names a host itself."""
    parsed = parse_dependency_source(package)
    if isinstance(parsed, PartialSource) and source:
        return parse_source(f"{source}/{package}")
    return parsed
