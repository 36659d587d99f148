"""States of what a package runs: certificates, Deployments, and silence."""

from collections.abc import Iterator

from render.live.doctor.case import Case
from render.live.doctor.commands import kubectl, patch_spec
from render.live.doctor.entering import shorten
from render.live.doctor.messages import DEPLOYMENT, NO_RUNTIME_CONFIG, NOT_HEALTHY_YET, WEBHOOK, find_config
from render.live.doctor.model import Finding, ObjectKey, State, Trouble
from render.live.doctor.said import said_by_events, said_by_pods
from render.texts import counted, first_names

_SHOWN = 5
_RUNTIME = "RuntimeHealthy"
_REVISION_LABEL = "pkg.crossplane.io/revision"
_APP, _CROSSPLANE = "app", "crossplane"


def find_webhooks(case: Case) -> Iterator[Finding]:
    """Find packages whose webhook has no certificate."""
    for trouble in case.open(*WEBHOOK):
        secret = f"{trouble.package[1]}-tls-server"
        yield Finding(
            State.WEBHOOK,
            f"{trouble.package[1]} has no certificate for its webhook",
            (shorten(trouble.message),),
            ("Secret", secret),
            (kubectl(case, "get", "secret", secret, "--namespace", case.namespace, "-o", "name"),),
            "with the package runtime External, Crossplane does not make it: create it where the package runs",
            "without the Secret, Crossplane's own pod says why it does not make it",
            (trouble.package,),
            (trouble, *_rest(case, trouble)),
        )


def find_runtime(case: Case) -> Iterator[Finding]:
    """Find packages whose Deployment does not run."""
    for trouble in case.open(where=_is_about_runtime):
        if case.is_explained(trouble):
            continue
        if NO_RUNTIME_CONFIG in trouble.message:
            yield _without_config(case, trouble)
        else:
            yield _not_running(case, trouble)


def _is_about_runtime(trouble: Trouble) -> bool:
    texts = (*DEPLOYMENT, NO_RUNTIME_CONFIG)
    return trouble.type == _RUNTIME or any(part in trouble.message for part in texts)


def _without_config(case: Case, trouble: Trouble) -> Finding:
    name = find_config(trouble.message)
    return Finding(
        State.RUNTIME,
        f"{trouble.package[1]} asks for a DeploymentRuntimeConfig that is not there",
        (shorten(trouble.message),),
        ("DeploymentRuntimeConfig", name) if name else trouble.package,
        (patch_spec(case, trouble.package, runtimeConfigRef={"name": "default"}),),
        "it runs with the defaults then; to keep its own settings, create the DeploymentRuntimeConfig instead",
        "its Deployment is created",
        (trouble.package,),
        (trouble, *_rest(case, trouble)),
    )


def _not_running(case: Case, trouble: Trouble) -> Finding:
    revision = _revision_of(case, trouble)
    return Finding(
        State.RUNTIME,
        f"the Deployment of {trouble.package[1]} does not run",
        (
            shorten(trouble.message or trouble.reason),
            *said_by_pods(case, _REVISION_LABEL, revision),
            *said_by_events(case, {("Deployment", revision)}),
        ),
        ("Deployment", revision),
        (
            kubectl(
                case,
                *("describe", "pods", "--namespace", case.namespace),
                *("--selector", f"{_REVISION_LABEL}={revision}"),
            ),
        ),
        "the kubelet pulls this image, not Crossplane: an ImageConfig or a mirror for Crossplane does not count here",
        "it is healthy when its pods run",
        (trouble.package,),
        (trouble, *_rest(case, trouble)),
    )


def _revision_of(case: Case, trouble: Trouble) -> str:
    if trouble.object != trouble.package:
        return trouble.object[1]
    package = case.packages.get(trouble.package)
    return package.current_revision if package else trouble.package[1]


def _rest(case: Case, trouble: Trouble) -> list[Trouble]:
    """Return what follows on the same package: it is not healthy yet, and says nothing else."""
    return case.open(
        where=lambda one: (
            one.package == trouble.package and (NOT_HEALTHY_YET in one.message or not one.message)
        )
    )


def find_followers(case: Case) -> Iterator[Finding]:
    """Find packages that only say that they are not healthy yet."""
    found = case.open(NOT_HEALTHY_YET)
    if found:
        packages = sorted({one.package for one in found})
        yield Finding(
            State.FOLLOWS,
            f"{counted(len(packages), 'package')} not healthy yet: {_list(packages)}",
            (shorten(found[0].message),),
            then="this follows from something else on the same revision; if it stays, give more objects: pods, events",
            objects=tuple(packages),
            troubles=tuple(found),
        )


def find_silent(case: Case) -> Iterator[Finding]:
    """Find packages that say nothing at all: nothing works on them."""
    silent = [
        key
        for key, one in case.packages.items()
        if not one.metadata.is_paused
        and not one.metadata.is_deleted
        and not case.is_found(key)
        and (not one.conditions or _is_unknown(case, key))
    ]
    if silent:
        yield Finding(
            State.SILENT,
            f"{counted(len(silent), 'package')} without any news: {_list(silent)}",
            (
                "no condition says whether they are installed or healthy",
                *_said_of_crossplane(case),
            ),
            ("Pod", f"crossplane in {case.namespace}"),
            (
                kubectl(
                    case,
                    *("logs", "deployment/crossplane", "--namespace", case.namespace, "--tail", "50"),
                ),
            ),
            then="Crossplane does not run, or ends while it works on them: memory, a slow registry, a definition",
            objects=tuple(silent),
            troubles=tuple(one for one in case.open() if one.package in silent and not one.message),
        )


def _said_of_crossplane(case: Case) -> Iterator[str]:
    for one in case.cluster.deployments:
        if one.metadata.labels.get(_APP) == _CROSSPLANE and not one.available:
            yield f"no pod of Deployment/{one.metadata.name} is available"
    yield from said_by_pods(case, _APP, _CROSSPLANE)


def _is_unknown(case: Case, key: ObjectKey) -> bool:
    package = case.packages[key]
    healthy = package.conditions.get("Healthy")
    installed = package.conditions.get("Installed")
    is_unknown = healthy is not None and healthy.status == "Unknown"
    others = [one for one in case.open_of(package) if one.type != "Healthy"]
    return is_unknown and not others and (installed is None or installed.status != "False")


def _list(keys: list[ObjectKey]) -> str:
    return first_names([f"{kind}/{name}" for kind, name in keys], _SHOWN)
