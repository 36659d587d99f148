"""Reading a cluster and finding what is stuck in it; nothing is ever written to it."""

from dataclasses import replace
from pathlib import Path

from render.app.live_input import LiveInput, read_cluster
from render.app.operator_settings import OperatorSettings
from render.inputs.projects import read_settings
from render.live.doctor.case import Case
from render.live.doctor.diagnose import diagnose
from render.live.doctor.model import Diagnosis
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.versions.version import Version


def diagnose_cluster(
    given: LiveInput, folder: Path | None, crossplane: Version | None, operator: OperatorSettings
) -> Diagnosis:
    """Diagnose a cluster, with what the lock of a folder says if one is given."""
    ours: Lock | None = None
    if folder is not None:
        ours = read_lock(folder, operator.limits)
        crossplane = crossplane or read_settings(folder, operator.limits).crossplane_version
    cluster = read_cluster(given, operator, everything=True)
    if folder is not None and ours is None:
        cluster = replace(
            cluster, notes=(*cluster.notes, f"{folder} has no lock, so nothing is compared with it")
        )
    kubectl = ("kubectl", *given.commands.options)
    return diagnose(
        Case(cluster, ours=ours, crossplane=crossplane, kubectl=kubectl, complete=not given.files)
    )
