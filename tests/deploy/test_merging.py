"""deploy/ on top of an Argo CD that others have changed: everything of theirs stays as it was."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rig.deploy.kustomize import ARGOCD, BUSY, DEPLOY, SECONDS, kubectl, link_components, parsed

from render.cli.run import run

HEALTH = "resource.customizations.health.pkg.crossplane.io_"
KINDS = ("Configuration", "Function", "Provider")
BARE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n"


def build(folder: Path, resource: str, *components: str) -> bytes:
    """Return what kustomize makes of an Argo CD with some components of deploy/."""
    folder.mkdir()
    (folder / "argocd.yaml").write_text(resource)
    link_components(folder, components)
    return kubectl("kustomize", folder)


def lacking(before: bytes, after: bytes) -> list[str]:
    """Return the lines of a text that another one does not have in the same order."""
    rest = iter(after.decode().splitlines())
    return [line for line in before.decode().splitlines() if line not in rest]


def without_ours(value: Any) -> Any:
    """Return an object without the entries of lists that are named after xplock."""
    if isinstance(value, dict):
        return {key: without_ours(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_ours(item) for item in value if not str(_name(item)).startswith("xplock")]
    return value


def _name(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else None


def by_id(objects: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"{value['kind']}/{value['metadata']['name']}": value for value in objects}


@pytest.mark.parametrize("base", [ARGOCD, BUSY], ids=["plain", "busy"])
def test_the_sidecar_is_added_and_every_line_of_others_stays(base: Path, tmp_path: Path) -> None:
    before = build(tmp_path / "before", base.read_text())

    after = build(tmp_path / "after", base.read_text(), "xplock")

    now = by_id(parsed(after))
    assert lacking(before, after) == []
    assert {name: without_ours(now[name]) for name in by_id(parsed(before))} == by_id(parsed(before))
    [added] = now.keys() - by_id(parsed(before)).keys()
    assert added.startswith("ConfigMap/xplock-plugin-")


def test_the_sidecar_sees_no_token_although_the_pod_has_one(tmp_path: Path) -> None:
    after = by_id(parsed(build(tmp_path / "after", BUSY.read_text(), "xplock")))

    pod = after["Deployment/argocd-repo-server"]["spec"]["template"]["spec"]
    [sidecar] = [container for container in pod["containers"] if container["name"] == "xplock"]
    [mount] = [m for m in sidecar["volumeMounts"] if m["mountPath"].startswith("/var/run/secrets")]
    [volume] = [volume for volume in pod["volumes"] if volume["name"] == mount["name"]]
    # Kubernetes mounts a token at this path, unless a container has something else there.
    assert mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert mount["readOnly"] is True
    assert "emptyDir" in volume
    assert pod["automountServiceAccountToken"] is True


@pytest.mark.parametrize("base", [ARGOCD.read_text(), BARE], ids=["with data", "without data"])
def test_health_checks_are_added_where_there_are_none(base: str, tmp_path: Path) -> None:
    before = build(tmp_path / "before", base)

    after = build(tmp_path / "after", base, "xplock/health")

    then, now = by_id(parsed(before)), by_id(parsed(after))
    data = now["ConfigMap/argocd-cm"].get("data", {})
    assert lacking(before, after) == []
    assert {name: value for name, value in now.items() if "argocd-cm" not in name} == {
        name: value for name, value in then.items() if "argocd-cm" not in name
    }
    assert data.keys() == then["ConfigMap/argocd-cm"].get("data", {}).keys() | {HEALTH + k for k in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_health_check_of_others_is_never_replaced(kind: str, tmp_path: Path) -> None:
    theirs = f"{BARE}data:\n  url: https://argocd.acme.example\n  {HEALTH}{kind}: return {{}}\n"
    (tmp_path / "argocd").mkdir()
    (tmp_path / "argocd/argocd.yaml").write_text(theirs)
    link_components(tmp_path / "argocd", ["xplock/health"])

    done = subprocess.run(
        ["kubectl", "kustomize", tmp_path / "argocd"], capture_output=True, text=True, timeout=SECONDS
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{HEALTH}{kind}" in done.stderr


def test_a_health_check_that_is_patched_in_beside_the_component_counts_more(tmp_path: Path) -> None:
    folder = tmp_path / "argocd"
    folder.mkdir()
    (folder / "argocd.yaml").write_text(ARGOCD.read_text())
    link_components(folder, ["xplock", "xplock/health"])
    (folder / "own.yaml").write_text(f"{BARE}data:\n  {HEALTH}Provider: return {{}}\n")
    with (folder / "kustomization.yaml").open("a") as file:
        file.write("patches: [{path: own.yaml}]\n")

    data = by_id(parsed(kubectl("kustomize", folder)))["ConfigMap/argocd-cm"]["data"]

    assert data[f"{HEALTH}Provider"] == "return {}"
    assert "patience" in data[f"{HEALTH}Function"]


def test_two_folders_and_one_install_are_one_kustomization(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = "https://git.example.org/acme/platform.git"
    for name in ("one", "two"):
        assert run(["-q", "init", f"clusters/{name}", "--repo", url, "--cron-job"]) == 0
    assert run(["-q", "init", "--argocd", "argocd/xplock"]) == 0
    (tmp_path / "argocd/argocd.yaml").write_text(BUSY.read_text())
    lines = [
        "resources: [argocd.yaml, ../clusters/one/argocd, ../clusters/two/argocd]",
        "components: [xplock]",
    ]
    (tmp_path / "argocd/kustomization.yaml").write_text("\n".join(lines))

    built = by_id(parsed(kubectl("kustomize", tmp_path / "argocd")))

    mine = {name for name in built if "vault" not in name and "argocd" not in name}
    assert {name for name in mine if "xplock-plugin" not in name} == {
        "Application/one",
        "Application/two",
        "CronJob/xplock-one",
        "CronJob/xplock-two",
    }
    assert len([name for name in mine if "xplock-plugin" in name]) == 1


def test_an_install_is_the_component_that_is_deployed(tmp_path: Path) -> None:
    assert run(["-q", "init", "--argocd", str(tmp_path)]) == 0

    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {
        "health/argocd-cm.yaml",
        "health/kustomization.yaml",
        "kustomization.yaml",
        "plugin.yaml",
        "repo-server.yaml",
    }
    assert {name: (tmp_path / name).read_text() for name in written} == {
        name: (DEPLOY / name).read_text() for name in written
    }
