"""Reading a cluster and finding what is stuck in it; nothing is ever written to it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from render.errors import InvalidInput
from render.inputs.projects import read_settings
from render.limits import Limits
from render.live.doctor.case import Case
from render.live.doctor.diagnose import diagnose
from render.live.doctor.model import Diagnosis
from render.live.kubectl import Kubectl
from render.live.model import Cluster
from render.live.read import ClusterReader
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.versions.version import Version

Read = Callable[[int], bytes]


class UnreadableFile(InvalidInput):
    """A file that cannot be opened."""


@dataclass(frozen=True, slots=True)
class ClusterInput:
    """Where the objects of a cluster come from: files, stdin, or kubectl."""

    files: Sequence[Path] = ()
    # The reader of stdin, if that is asked for.
    stdin: Read | None = None
    context: str | None = None
    kubeconfig: Path | None = None

    @property
    def kubectl(self) -> tuple[str, ...]:
        """The first words of commands for this cluster."""
        return (
            "kubectl",
            *(["--kubeconfig", str(self.kubeconfig)] if self.kubeconfig else []),
            *(["--context", self.context] if self.context else []),
        )


def diagnose_cluster(
    given: ClusterInput,
    folder: Path | None,
    crossplane: Version | None,
    limits: Limits,
    environ: Mapping[str, str],
) -> Diagnosis:
    """Diagnose a cluster, with what the lock of a folder says if one is given."""
    ours: Lock | None = None
    if folder is not None:
        ours = read_lock(folder, limits)
        crossplane = crossplane or read_settings(folder, limits).crossplane_version
    cluster = _read_cluster(given, limits, environ)
    if folder is not None and ours is None:
        cluster = replace(
            cluster, notes=(*cluster.notes, f"{folder} has no lock, so nothing is compared with it")
        )
    asked = not given.files and given.stdin is None
    return diagnose(Case(cluster, ours=ours, crossplane=crossplane, kubectl=given.kubectl, complete=asked))


def _read_cluster(given: ClusterInput, limits: Limits, environ: Mapping[str, str]) -> Cluster:
    reader = ClusterReader(limits)
    if given.stdin:
        reader.add(given.stdin)
    for path in given.files:
        _add_file(reader, path)
    if not given.files and given.stdin is None:
        kubectl = Kubectl(environ, limits, given.context, given.kubeconfig)
        for part in kubectl.read(everything=True):
            reader.note(part) if isinstance(part, str) else reader.add(BytesIO(part).read)
    return reader.cluster()


def _add_file(reader: ClusterReader, path: Path) -> None:
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(path.open("rb"))
        except OSError as error:
            raise UnreadableFile(
                f"{path} cannot be read",
                why=error.strerror or str(error),
                next="give files with what `kubectl get ... -o yaml` printed, - for stdin, or nothing to run kubectl",
            ) from None
        reader.add(stream.read)
