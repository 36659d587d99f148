"""The operator's settings, as a value: entry points make it once, from the environment and from options."""

from collections.abc import Mapping

from render.lean import dataclass, field
from render.limits import Limits

_CACHE = "XPLOCK_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """The limits, and the variables that registries, git and child processes are given."""

    # Never shown: variables hold secrets.
    environ: Mapping[str, str] = field(repr=False)
    limits: Limits

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "OperatorSettings":
        """Return the settings of an environment; raise for a limit that is not one."""
        return cls(environ, Limits.from_environment(environ))

    def without_cache(self) -> "OperatorSettings":
        """Return the same settings, without a cache."""
        return OperatorSettings({**self.environ, _CACHE: ""}, self.limits)
