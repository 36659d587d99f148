"""Where the objects of a cluster come from: files, standard input, or kubectl."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from render.app.operator_settings import OperatorSettings
from render.commands import as_path
from render.errors import InvalidInput
from render.live.adopting.commands import Commands
from render.live.kubectl import Kubectl
from render.live.model import Cluster
from render.live.read import ClusterReader
from render.system.files import replace_with

_SEPARATOR = b"---\n"
_BLOCK = 1 << 20
_STDIN = "<stdin>"
_PROVIDER_CONFIGS = ("providerconfigs.", "clusterproviderconfigs.")


class KubectlNotAsked(InvalidInput):
    """Options for kubectl in a call that reads files."""

    def __init__(self, options: Sequence[str]) -> None:
        super().__init__(
            f"{' and '.join(options)} cannot be combined with files",
            why="with files, no cluster is asked",
            next="leave out the files to read the cluster, or leave out the options",
        )


@dataclass(frozen=True, slots=True)
class LiveInput:
    """What a call reads: files, or else what kubectl prints."""

    files: Sequence[IO[bytes]] = ()
    context: str | None = None
    kubeconfig: Path | None = None
    # A file that gets what kubectl printed, so that another call can read it.
    save: Path | None = None

    @property
    def commands(self) -> Commands:
        """How advice names this cluster."""
        kubeconfig = ("--kubeconfig", str(self.kubeconfig)) if self.kubeconfig is not None else ()
        context = ("--context", self.context) if self.context is not None else ()
        names = [getattr(file, "name", _STDIN) for file in self.files]
        files = ["-" if name == _STDIN else as_path(name) for name in names]
        return Commands((*kubeconfig, *context), files)


def read_cluster(given: LiveInput, operator: OperatorSettings, *, everything: bool = False) -> Cluster:
    """Read the objects of one cluster; kubectl is asked for definitions, workloads and events only with everything."""
    reader = ClusterReader(operator.limits)
    if given.files:
        _check_options(given)
        for file in given.files:
            reader.add(file.read)
        return reader.cluster()
    with ExitStack() as files:
        kubectl = Kubectl(operator.environ, operator.limits, files, given.commands.options)
        answers: list[IO[bytes]] = []
        for answer in _answers(kubectl, reader, everything=everything):
            if isinstance(answer, str):
                reader.note(answer)
                continue
            reader.add(answer.read)
            answers.append(answer)
        if given.save:
            replace_with(given.save, _joined(answers))
    return reader.cluster()


def _answers(kubectl: Kubectl, reader: ClusterReader, *, everything: bool) -> Iterator[IO[bytes] | str]:
    yield from kubectl.read(everything=everything)
    # Every provider has its own kind of this name, which its definition shows.
    yield from kubectl.read_kinds(
        [name for name in reader.definitions() if name.startswith(_PROVIDER_CONFIGS)]
    )


def _joined(answers: Sequence[IO[bytes]]) -> Iterator[bytes]:
    for i, answer in enumerate(answers):
        yield _SEPARATOR * bool(i)
        answer.seek(0)
        while block := answer.read(_BLOCK):
            yield block


def _check_options(given: LiveInput) -> None:
    options = {"--context": given.context, "--kubeconfig": given.kubeconfig, "--save": given.save}
    named = [option for option, value in options.items() if value is not None]
    if named:
        raise KubectlNotAsked(named)
