"""The world outside of a folder, opened by tests: silent, and any warning is a failure."""

from collections.abc import Mapping

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.world import World, open_world


class _NoWarnings(SilentReporter):
    """A reporter that takes a warning for a failure."""

    def warn(self, text: str) -> None:
        """Fail."""
        raise AssertionError(text)


def open_quiet_world(environ: Mapping[str, str]) -> World:
    """Open registries and the cache as the environment says."""
    return open_world(OperatorSettings.from_environment(environ), _NoWarnings())
