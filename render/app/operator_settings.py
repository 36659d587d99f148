"""The operator's settings, as a value: entry points make it once, from the environment and from options."""

from collections.abc import Mapping

from render.lean import dataclass, field, replace
from render.limits import Limits
from render.system.boundary import Boundary

_CACHE = "XPLOCK_CACHE_DIR"
_POLICY = "XPLOCK_POLICY"


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """The limits, and the variables that registries, git and child processes are given."""

    # Never shown: variables hold secrets.
    environ: Mapping[str, str] = field(repr=False)
    limits: Limits
    # The repository of another person, if paths and hosts that it names are restricted; None on a user's own machine.
    boundary: Boundary | None = None

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], boundary: Boundary | None = None
    ) -> "OperatorSettings":
        """Return the settings of an environment; raise for a limit that is not one."""
        return cls(environ, Limits.from_environment(environ), boundary)

    @property
    def has_policy(self) -> bool:
        """Whether the operator has a policy for all projects."""
        return bool(self.environ.get(_POLICY))

    def without_cache(self) -> "OperatorSettings":
        """Return the same settings, without a cache."""
        return replace(self, environ={**self.environ, _CACHE: ""})
