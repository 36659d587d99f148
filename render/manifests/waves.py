"""The order in which Argo CD applies: what packages are pulled and run by comes before them."""

# Pins, and everything else that says how images are pulled and run.
EARLY = "-1"


def package_wave(level: int, *, graph: bool) -> str | None:
    """Return the wave of a package; without one it is wave 0."""
    # A Provider is degraded while it installs, and only the last wave may be: one wave unless asked for more.
    return str(level) if graph else None


def instance_wave(levels: int, *, graph: bool) -> str | None:
    """Return the wave of objects whose kinds come with packages, where those are on so many levels."""
    return str(levels) if graph else None
