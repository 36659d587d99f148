"""The files that pages show and no command there uses: parsed, compared with deploy/, and built."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.deploy.kustomize import DEPLOY, kubectl, parsed, read_one
from rig.docs.examples import EXAMPLES
from rig.docs.pages import TOP, read_blocks

from render.cli.run import run

ARGO_CD, FLUX, CI = (TOP / f"docs/{name}.md" for name in ("argo-cd", "flux", "ci"))
PACKAGES = {"Provider", "Configuration", "Function"}


def snippet(page: Path, section: str, language: str = "yaml") -> str:
    """Return the only file that a section shows."""
    [block] = [block for block in read_blocks(page) if (block.section, block.language) == (section, language)]
    return block.text


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    """An example that was rendered to a folder."""
    assert run(["-q", "render", str(EXAMPLES / "shop"), "--out", str(tmp_path / "rendered")]) == 0
    return tmp_path / "rendered"


def kinds(objects: list[dict[str, Any]]) -> set[str]:
    return {value["kind"] for value in objects}


def test_the_application_set_makes_the_application_that_is_shipped() -> None:
    [found] = parsed(snippet(ARGO_CD, "Many Applications with an ApplicationSet").encode())
    template = found["spec"]["template"]["spec"]
    application = read_one(DEPLOY / "examples/application.yaml")

    folder = application["spec"]["source"]["path"]
    [generator] = found["spec"]["generators"]
    assert Path(folder).match(generator["git"]["directories"][0]["path"])
    assert generator["git"]["repoURL"] == application["spec"]["source"]["repoURL"]
    assert template["source"].pop("path") == "{{ .path.path }}"
    del application["spec"]["source"]["path"]
    assert template == application["spec"]


def test_the_values_of_the_chart_are_the_sidecar_its_volumes_and_the_plugin() -> None:
    values = yaml.safe_load(snippet(ARGO_CD, "With the Helm chart argo-cd"))
    pod = read_one(DEPLOY / "repo-server.yaml")["spec"]["template"]["spec"]

    [plugin] = values["extraObjects"]
    assert values["repoServer"] == {"extraContainers": pod["containers"], "volumes": pod["volumes"]}
    assert yaml.safe_load(plugin["data"]["plugin.yaml"]) == read_one(DEPLOY / "plugin.yaml")
    # The name that the volume asks for. The chart reads such objects as templates.
    assert {"name": "xplock-plugin", "configMap": {"name": plugin["metadata"]["name"]}} in pod["volumes"]
    assert "{{" not in str(plugin)


def test_the_command_for_health_makes_values_with_every_health_check(tmp_path: Path) -> None:
    command = snippet(ARGO_CD, "With the Helm chart argo-cd", "sh")

    subprocess.run(["sh", "-ec", f"cd {tmp_path} && ln -s {DEPLOY} deploy\n{command}"], check=True)

    values = yaml.safe_load((tmp_path / "health-values.yaml").read_text())
    assert values == {"configs": {"cm": read_one(DEPLOY / "argocd-cm.yaml")["data"]}}


def test_flux_applies_the_folder_that_is_rendered() -> None:
    [found] = parsed(snippet(FLUX, "Apply the folder").encode())
    [block] = [block for block in read_blocks(FLUX) if block.language == "console"]

    assert (found["apiVersion"], found["kind"]) == ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
    assert f"--out {found['spec']['path'].removeprefix('./')}\n" in block.text


def test_two_kustomizations_of_flux_apply_every_object_once_and_the_pins_first(rendered: Path) -> None:
    pins, packages = parsed(snippet(FLUX, "Pins first").encode())
    every = parsed(kubectl("kustomize", rendered))

    built = []
    for each in (pins, packages):
        # As Flux does: its patches are those of a kustomization around the folder.
        folder = rendered.parent / each["metadata"]["name"]
        folder.mkdir()
        around = {"resources": [f"../{rendered.name}"], "patches": each["spec"]["patches"]}
        (folder / "kustomization.yaml").write_text(json.dumps(around))
        built.append(parsed(kubectl("kustomize", folder)))

    first, second = built
    assert kinds(first) == {"ImageConfig"}
    assert kinds(second) == PACKAGES
    assert len(first) + len(second) == len(every)
    assert packages["spec"]["dependsOn"] == [{"name": pins["metadata"]["name"]}]


def test_renovate_finds_manifests_and_leaves_locks_alone() -> None:
    config = json.loads(snippet(CI, "Renovate", "json"))

    [pattern] = config["crossplane"]["managerFilePatterns"]
    assert re.search(pattern.strip("/"), "clusters/production/shop.yaml")
    assert config["ignorePaths"] == ["**/crossplane.lock.yaml"]
