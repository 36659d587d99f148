"""The files that pages show and no command there uses: parsed, compared with deploy/, and built."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.deploy.kustomize import DEPLOY, kubectl, parsed, read_one
from rig.docs.examples import EXAMPLES
from rig.docs.pages import TOP, read_blocks

from render.cli.run import run
from render.inputs.policies.operator_file import read_operator_policy
from render.limits import Limits

ARGO_CD, FLUX, CI, POLICY = (TOP / f"docs/{name}.md" for name in ("argo-cd", "flux", "ci", "policy"))


def snippet(page: Path, section: str, language: str = "yaml") -> str:
    """Return the only file that a section shows."""
    [block] = [block for block in read_blocks(page) if (block.section, block.language) == (section, language)]
    return block.text


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
    assert values == {"configs": {"cm": read_one(DEPLOY / "health/argocd-cm.yaml")["data"]}}


def test_flux_applies_the_folder_that_is_rendered() -> None:
    pins, packages = flux_kustomizations()
    [block] = [block for block in read_blocks(FLUX) if block.language == "console"]

    assert pins["spec"]["path"] == packages["spec"]["path"]
    assert f"--out {pins['spec']['path'].removeprefix('./')}\n" in block.text


@pytest.mark.parametrize("waves", ["flat", "graph"])
def test_two_kustomizations_of_flux_apply_every_object_once_and_the_pins_first(
    tmp_path: Path, waves: str
) -> None:
    rendered = tmp_path / "rendered"
    folder = shutil.copytree(EXAMPLES / "overrides", tmp_path / "project")
    settings = folder / "xplock.yaml"
    settings.write_text(settings.read_text().replace("waves: graph", f"waves: {waves}"))
    (folder / "more.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n")
    assert run(["-q", "render", str(folder), "--out", str(rendered)]) == 0
    pins, packages = flux_kustomizations()
    every = parsed(kubectl("kustomize", rendered))

    first, second = (build_as_flux(rendered, each) for each in (pins, packages))

    assert kinds(first) == {"DeploymentRuntimeConfig", "ImageConfig"}
    assert kinds(second) == {"ConfigMap", "Provider", "ProviderConfig"}
    assert len(first) + len(second) == len(every)
    assert packages["spec"]["dependsOn"] == [{"name": pins["metadata"]["name"]}]


def flux_kustomizations() -> list[dict[str, Any]]:
    """Return the Kustomizations of the page that apply the rendered folder."""
    blocks = [block.text for block in read_blocks(FLUX) if block.section == "Apply the folder"]
    return [value for value in parsed(blocks[-1].encode()) if value["kind"] == "Kustomization"]


def build_as_flux(rendered: Path, kustomization: dict[str, Any]) -> list[dict[str, Any]]:
    """Build a folder as Flux does: its patches are those of a kustomization around the folder."""
    folder = rendered.parent / kustomization["metadata"]["name"]
    folder.mkdir()
    around = {"resources": [f"../{rendered.name}"], "patches": kustomization["spec"]["patches"]}
    (folder / "kustomization.yaml").write_text(json.dumps(around))
    return parsed(kubectl("kustomize", folder))


def test_the_configuration_of_renovate_is_the_one_that_is_shipped() -> None:
    shipped, operator = [
        block.text for block in read_blocks(CI) if (block.section, block.language) == ("Renovate", "json")
    ]

    config = json.loads(shipped)
    [pattern] = config["crossplane"]["fileMatch"]
    [rule] = config["packageRules"]
    [allowed] = json.loads(operator)["allowedCommands"]
    assert shipped == (DEPLOY / "ci/renovate.json").read_text()
    assert re.search(pattern, "clusters/production/shop.yaml")
    assert config["ignorePaths"] == ["**/crossplane.lock.yaml"]
    assert all(re.search(allowed, command) for command in rule["postUpgradeTasks"]["commands"])
    assert not re.search(allowed, "xplock lock x; id")


@pytest.mark.parametrize("section", ["Licences", "Age", "Provenance", "Exceptions"])
def test_each_rule_of_a_policy_that_is_shown_can_be_used(section: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(snippet(POLICY, section))

    assert read_operator_policy({"XPLOCK_POLICY": str(file)}, Limits())
