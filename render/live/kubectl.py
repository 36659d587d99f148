"""kubectl as a program: it reads objects of packages out of a cluster, and nothing else."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO

from render.commands import shell
from render.errors import InvalidInput, RenderError, Unavailable, in_one_line
from render.limits import LimitExceeded, Limits, setting
from render.system.programs import (
    NotStarted,
    Program,
    TooMuchOutput,
    TooSlow,
    decode_log,
    find_program,
)
from render.texts import first_lines, redact, visible

_STDERR_BYTES = 1 << 14
_KEPT_IN_MEMORY = 1 << 22
_SHOWN = 3
_GROUP = "pkg.crossplane.io"
# Short names clash with those of other groups.
_PACKAGES = tuple(
    f"{kind}.{_GROUP}"
    for kind in (
        *("providers", "configurations", "functions"),
        *("providerrevisions", "configurationrevisions", "functionrevisions", "locks"),
    )
)
_CONFIGS = (f"imageconfigs.{_GROUP}", f"deploymentruntimeconfigs.{_GROUP}")
_DEFINITIONS = (
    "compositeresourcedefinitions.apiextensions.crossplane.io",
    "managedresourcedefinitions.apiextensions.crossplane.io",
    "customresourcedefinitions.apiextensions.k8s.io",
)
_WORKLOADS = ("deployments.apps", "pods")
# The objects of packages, and Crossplane itself.
_SELECTORS = ("pkg.crossplane.io/revision", "app=crossplane")
_NOT_SERVED = "the server doesn't have a resource type"
_FORBIDDEN = re.compile(r"is forbidden|\(Forbidden\)")


class KubectlMissing(RenderError):
    """No kubectl on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "the cluster cannot be read",
            why="kubectl is not in PATH",
            next="install it, or give files with what `kubectl get ... -o yaml` printed elsewhere",
        )


class ClusterUnreadable(Unavailable):
    """A cluster that kubectl cannot read."""


class NoPackageManager(InvalidInput):
    """A cluster without Crossplane."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """How to ask a cluster."""

    # The whole environment: a kubeconfig may name programs that log in.
    environ: Mapping[str, str] = field(repr=False)
    limits: Limits
    # What closes the files with its output.
    files: ExitStack
    # Those that choose the cluster.
    options: Sequence[str] = ()

    def read(self, *, everything: bool = False) -> Iterator[IO[bytes] | str]:
        """Yield what kubectl prints, as files; and a note, as text, for each kind that it cannot read.

        With everything, definitions, workloads and events are asked for, too; otherwise of workloads only Crossplane's
        own Deployment, which names its version.
        """
        yield self._require(_PACKAGES)
        yield from self._ask_for(_CONFIGS)
        if not everything:
            yield from self._ask_for(_WORKLOADS[:1], "--all-namespaces", "--selector", _SELECTORS[-1])
        else:
            for kind in _DEFINITIONS:
                yield from self._ask_for([kind])
            for selector in _SELECTORS:
                yield from self._ask_for(_WORKLOADS, "--all-namespaces", "--selector", selector)
            yield from self._ask_for(["events"], "--all-namespaces")

    def read_kinds(self, kinds: Sequence[str]) -> Iterator[IO[bytes] | str]:
        """Yield what kubectl prints of other kinds in all namespaces, or notes."""
        if kinds:
            yield from self._ask_for(kinds, "--all-namespaces")

    def _require(self, kinds: Sequence[str]) -> IO[bytes]:
        output, errors = self._get(kinds)
        if output:
            return output
        command = f"make this work: {shell(*self._command('kubectl', kinds))}"
        if _NOT_SERVED in errors:
            raise NoPackageManager(
                "the cluster has no package manager of Crossplane",
                why=_lines(errors),
                next=f"check which cluster this is: {shell('kubectl', *self.options, 'cluster-info')}",
            )
        what = "packages of the cluster may not be read" if _FORBIDDEN.search(errors) else None
        raise ClusterUnreadable(what or "the cluster cannot be read", why=_lines(errors), next=command)

    def _ask_for(self, kinds: Sequence[str], *options: str) -> Iterator[IO[bytes] | str]:
        try:
            output, errors = self._get(kinds, *options)
        except (ClusterUnreadable, LimitExceeded) as error:
            yield f"{' and '.join(kinds)} were not read: {in_one_line(error)}"
            return
        if output:
            yield output
        elif len(kinds) > 1:
            # One kind that is not served, and kubectl prints none of them.
            for kind in kinds:
                yield from self._ask_for([kind], *options)
        else:
            reason = "the cluster does not have them" if _NOT_SERVED in errors else _lines(errors)[0]
            yield f"{kinds[0]} were not read: {reason}"

    def _command(self, program: str, kinds: Sequence[str], *options: str) -> list[str]:
        return [
            program,
            *self.options,
            *("get", ",".join(kinds), *options, "--output", "json"),
            f"--request-timeout={self.limits.kubectl_seconds}s",
        ]

    def _get(self, kinds: Sequence[str], *options: str) -> tuple[IO[bytes] | None, str]:
        """Return what kubectl printed, or why it printed nothing."""
        path = find_program("kubectl", self.environ)
        if path is None:
            raise KubectlMissing
        limits = self.limits
        program = Program(
            self._command(path, kinds, *options),
            self.environ,
            limits.kubectl_seconds,
            limits.live_bytes,
            error_bytes=_STDERR_BYTES,
        )
        # All definitions of a cluster take more room than memory should give.
        spooled = tempfile.SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY)  # noqa: SIM115 - the stack closes it
        output = self.files.enter_context(spooled)
        try:
            done = program.run(output)
        except NotStarted as error:
            raise RenderError(f"{path} cannot be started", why=str(error), next="install it again") from None
        except TooSlow:
            raise ClusterUnreadable(
                "the cluster takes too long to answer",
                why=f"kubectl was not done after {limits.kubectl_seconds} s with: {', '.join(kinds)}",
                next=f"try again, or raise {setting('kubectl_seconds')}",
            ) from None
        except TooMuchOutput:
            raise LimitExceeded("what the cluster has is too large", "live_bytes", limits) from None
        output.seek(0)
        return (output, "") if done.status == 0 else (None, decode_log(done.errors))


def _lines(errors: str) -> list[str]:
    lines = [visible(redact(line.strip())) for line in errors.splitlines() if line.strip()]
    return first_lines(list(dict.fromkeys(lines)), _SHOWN) or ["kubectl says nothing about it"]
