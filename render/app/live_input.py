"""Where the objects of a cluster come from: files, standard input, or kubectl."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from render.app.operator_settings import OperatorSettings
from render.errors import InvalidInput
from render.live.kubectl import Kubectl
from render.live.model import Cluster
from render.live.read import ClusterReader
from render.system.files import replace_file

_SEPARATOR = b"---\n"


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

    files: Sequence[BinaryIO] = ()
    context: str | None = None
    kubeconfig: Path | None = None
    # A file that gets what kubectl printed, so that another call can read it.
    save: Path | None = None


def read_cluster(given: LiveInput, operator: OperatorSettings, *, everything: bool = False) -> Cluster:
    """Read the objects of one cluster; kubectl is asked for definitions, workloads and events only with everything."""
    reader = ClusterReader(operator.limits)
    if given.files:
        _check_options(given)
        for file in given.files:
            reader.add(file.read)
        return reader.cluster()
    kubectl = Kubectl(operator.environ, operator.limits, given.context, given.kubeconfig)
    answers = []
    for answer in kubectl.read(everything=everything):
        if isinstance(answer, str):
            reader.note(answer)
            continue
        reader.add(BytesIO(answer).read)
        if given.save:
            answers.append(answer)
    if given.save:
        replace_file(given.save, _SEPARATOR.join(answers))
    return reader.cluster()


def _check_options(given: LiveInput) -> None:
    options = {"--context": given.context, "--kubeconfig": given.kubeconfig, "--save": given.save}
    named = [option for option, value in options.items() if value is not None]
    if named:
        raise KubectlNotAsked(named)
