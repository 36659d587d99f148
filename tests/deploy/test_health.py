"""The health that Argo CD shows for packages, by the very script that is deployed."""

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rig.deploy.kustomize import SECONDS, build_component

DRIVER = Path(__file__).parents[1] / "rig/deploy/health.lua"
KEY = "resource.customizations.health.pkg.crossplane.io_"
LONG_AGO, JUST_NOW = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
PACKAGE = "xpkg.example.org/acme/provider-net:v0.4.0"


def condition(kind: str, status: str, reason: str, since: str = LONG_AGO, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": since, **more}


ACTIVE = condition("Installed", "True", "ActivePackageRevision")
INACTIVE = condition("Installed", "False", "InactivePackageRevision", message="Package is inactive")
HEALTHY = condition("Healthy", "True", "HealthyPackageRevision")
WAITING = condition("Healthy", "True", "AwaitingActivation")
UNKNOWN = condition("Healthy", "Unknown", "UnknownPackageRevisionHealth")
PAUSED = condition("Synced", "False", "ReconcilePaused", message="Reconciliation is paused")


def unpacking(since: str) -> dict[str, Any]:
    return condition(
        "Installed", "False", "UnpackingPackage", since, message="cannot unpack package: no such tag"
    )


def unhealthy(since: str) -> dict[str, Any]:
    return condition("Healthy", "False", "UnhealthyPackageRevision", since, message="no Deployment")


def package(*conditions: Any, policy: str = "Automatic", **status: Any) -> dict[str, Any]:
    """Return a package with a status."""
    spec = {"package": PACKAGE, "revisionActivationPolicy": policy}
    return {"kind": "Provider", "spec": spec, "status": {"conditions": list(conditions), **status}}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The scripts by kind, as they are in the ConfigMap that kustomize makes."""
    data = build_component(tmp_path_factory.mktemp("argocd"))["ConfigMap/argocd-cm"]["data"]
    return {key.removeprefix(KEY): script for key, script in data.items() if key.startswith(KEY)}


def lua(value: Any) -> str:
    """Return a value as Lua writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{lua(key)}]={lua(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(map(lua, value)) + "}"
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03}" for byte in value.encode()) + '"'
    return "nil" if value is None else json.dumps(value)


def healths(script: str, folder: Path, *objects: Any, **environ: str) -> list[tuple[str, str]]:
    """Return status and message of each object."""
    (folder / "script.lua").write_text(script)
    (folder / "objects.lua").write_text(f"return {lua(list(objects))}")
    done = subprocess.run(
        ["lua5.1", DRIVER, folder / "script.lua", folder / "objects.lua"],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.partition("\t") for line in done.stdout.splitlines()]
    return [(status, message) for status, _, message in rows]


def test_every_kind_of_package_has_the_same_script(scripts: dict[str, str]) -> None:
    assert sorted(scripts) == ["Configuration", "Function", "Provider"]
    assert len(set(scripts.values())) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Crossplane has reported no condition yet, or not all of them.
        ({"kind": "Provider", "spec": {"package": PACKAGE}}, "Progressing"),
        ({"kind": "Provider", "spec": {"package": PACKAGE}, "status": {}}, "Progressing"),
        (package(), "Progressing"),
        (package(ACTIVE), "Progressing"),
        (package(HEALTHY), "Progressing"),
        (package(ACTIVE, UNKNOWN), "Progressing"),
        # All is well.
        (package(ACTIVE, HEALTHY), "Healthy"),
        (package(HEALTHY, ACTIVE, currentIdentifier=PACKAGE), "Healthy"),
        (package(ACTIVE, WAITING), "Healthy"),
        (package(ACTIVE, HEALTHY, policy="Manual"), "Healthy"),
        # It installs.
        (package(unpacking(JUST_NOW), unhealthy(JUST_NOW)), "Progressing"),
        (package(ACTIVE, unhealthy(JUST_NOW)), "Progressing"),
        (package(unhealthy(JUST_NOW)), "Progressing"),
        # It has been tried for too long.
        (package(unpacking(LONG_AGO), unhealthy(LONG_AGO)), "Degraded"),
        (package(unpacking(LONG_AGO), HEALTHY), "Degraded"),
        (package(ACTIVE, unhealthy(LONG_AGO)), "Degraded"),
        (package(unhealthy(LONG_AGO)), "Degraded"),
        (package(ACTIVE, {"type": "Healthy", "status": "False"}), "Degraded"),
        # It is deactivated; or about to be activated, which Crossplane does by itself.
        (package(INACTIVE, HEALTHY, policy="Manual"), "Healthy"),
        (package(INACTIVE, unhealthy(LONG_AGO), policy="Manual"), "Healthy"),
        (package(INACTIVE, HEALTHY), "Progressing"),
        (package(unpacking(LONG_AGO), unhealthy(LONG_AGO), policy="Manual"), "Degraded"),
        # It is paused.
        (package(PAUSED), "Suspended"),
        (package(ACTIVE, unhealthy(LONG_AGO), PAUSED), "Suspended"),
        # Another version was requested, and its state is unknown, or it was not found.
        (package(ACTIVE, HEALTHY, currentIdentifier="xpkg.example.org/acme/provider-net:v0.3.0"), "Progressing"),
        (package(ACTIVE, unhealthy(LONG_AGO), currentIdentifier="another"), "Progressing"),
        (package(unpacking(LONG_AGO), unhealthy(LONG_AGO), currentIdentifier="another"), "Degraded"),
    ],
)  # fmt: skip
def test_a_package_has_the_health_of_its_state(
    scripts: dict[str, str], tmp_path: Path, value: dict[str, Any], expected: str
) -> None:
    [(status, message)] = healths(scripts["Provider"], tmp_path, value)

    assert status == expected, message
    assert message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (package(unpacking(LONG_AGO), unhealthy(LONG_AGO)), "cannot unpack package: no such tag"),
        (package(ACTIVE, unhealthy(LONG_AGO)), "no Deployment"),
        (package(ACTIVE, unhealthy(JUST_NOW)), "no Deployment"),
        (package(PAUSED), "Reconciliation is paused"),
        (package(INACTIVE, HEALTHY, policy="Manual"), "Switched off"),
    ],
)
def test_the_message_says_what_crossplane_says(
    scripts: dict[str, str], tmp_path: Path, value: dict[str, Any], expected: str
) -> None:
    assert healths(scripts["Provider"], tmp_path, value)[0][1] == expected


ODD: list[Any] = [None, "text", 7, True, [], ["text"], [7], [[]], {}, {"a": 1}, {"a": {"b": []}}]


def test_the_script_answers_for_objects_of_any_shape(scripts: dict[str, str], tmp_path: Path) -> None:
    objects: list[Any] = [{}]
    objects += [{"spec": odd, "status": odd} for odd in ODD]
    objects += [{"status": {"conditions": odd, "currentIdentifier": odd}} for odd in ODD]
    objects += [
        {"spec": {"package": odd}, "status": {"conditions": [odd, ACTIVE, HEALTHY]}} for odd in ODD[1:]
    ]
    for field in ("type", "status", "reason", "message", "lastTransitionTime"):
        objects += [
            package({**PAUSED, field: odd}, {**ACTIVE, field: odd}, {**HEALTHY, field: odd}) for odd in ODD
        ]

    answers = healths(scripts["Provider"], tmp_path, *objects)

    assert len(answers) == len(objects)
    assert {status for status, _ in answers} <= {"Healthy", "Progressing", "Degraded", "Suspended"}


@pytest.mark.parametrize("zone", ["UTC0", "JST-9", "MST7"])
def test_patience_is_five_minutes_in_every_time_zone(
    scripts: dict[str, str], tmp_path: Path, zone: str
) -> None:
    now = datetime.now(UTC)
    before = [(now - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ") for minutes in (2, 8)]

    answers = healths(
        scripts["Provider"], tmp_path, *[package(ACTIVE, unhealthy(since)) for since in before], TZ=zone
    )

    assert [status for status, _ in answers] == ["Progressing", "Degraded"]
