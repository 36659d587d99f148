"""install.yaml becomes a DeploymentRuntimeConfig."""

from typing import Any

import pytest
from rig.builders.first_format import INSTALL, INSTALL_OWN_IMAGE, converted, package, problems

PLACE = ".registry/install.yaml"


def config(install: str, **wanted: Any) -> Any:
    return converted(package({"install.yaml": install}), **wanted).runtime_config


def test_the_spec_of_the_deployment_becomes_that_of_the_runtime_config() -> None:
    assert config(INSTALL) == {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "DeploymentRuntimeConfig",
        "metadata": {"name": "sample-stack"},
        "spec": {
            "deploymentTemplate": {
                "spec": {
                    "replicas": 2,
                    "selector": {},
                    "template": {
                        "metadata": {"annotations": {"example.org/scrape": "true"}},
                        "spec": {
                            "volumes": [{"name": "cache", "emptyDir": {}}],
                            "containers": [
                                {
                                    "name": "package-runtime",
                                    "image": "xpkg.example.org/samples/controller:v1",
                                    "args": ["--debug"],
                                    "env": [{"name": "POD_NAME", "value": "one"}],
                                }
                            ],
                        },
                    },
                }
            },
            "serviceAccountTemplate": {"metadata": {"name": "sample-stack"}},
        },
    }


def test_a_package_without_install_yaml_runs_nothing_and_says_so() -> None:
    found = converted(package())

    assert found.runtime_config["spec"] == {
        "deploymentTemplate": {"spec": {"replicas": 0, "selector": {}, "template": {}}}
    }
    assert found.access == ()
    assert found.warnings[-1].startswith("install.yaml: the package has none")


def test_an_image_without_a_registry_gets_the_source_as_an_install_object_gave_it() -> None:
    install = INSTALL.replace("xpkg.example.org/samples/controller", "samples/controller")

    [container] = config(install, source="mirror.example.org")["spec"]["deploymentTemplate"]["spec"][
        "template"
    ]["spec"]["containers"]

    assert container["image"] == "mirror.example.org/samples/controller:v1"


def test_an_image_with_a_registry_keeps_it() -> None:
    assert "xpkg.example.org/samples/controller:v1" in str(config(INSTALL, source="mirror.example.org"))


def test_an_image_of_its_own_is_in_no_lock_and_that_is_said() -> None:
    [warning] = converted(package({"install.yaml": INSTALL})).warnings

    assert warning == (
        f"{PLACE}: spec.template.spec.containers[0].image: no lock holds xpkg.example.org/samples/controller:v1; "
        "write it with its digest, and mirror it yourself"
    )


def test_a_controller_in_the_image_of_its_package_needs_to_know_that_image() -> None:
    files = package({"install.yaml": INSTALL_OWN_IMAGE})

    [problem] = problems(files)

    assert problem.startswith(f"{PLACE}: spec.template.spec.containers[0].image: it is missing")
    assert "--runtime-image" in problem
    assert converted(files, has_runtime=True).own_image


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("kind: Deployment", "kind: Job"), "kind: expected a Deployment"),
        (("apiVersion: apps/v1", "apiVersion: batch/v1"), "kind: expected a Deployment"),
        (
            ("containers:", "initContainers: [{name: a}]\n      containers:"),
            "spec.template.spec.initContainers[0].image",
        ),
        (
            ("containers:\n      - name: controller", "others:\n      - name: controller"),
            "spec.template.spec.containers",
        ),
    ],
)
def test_an_install_yaml_that_no_provider_can_run_is_refused(change: tuple[str, str], problem: str) -> None:
    [found] = problems(package({"install.yaml": INSTALL.replace(*change)}))

    assert found.startswith(f"{PLACE}: {problem}")


def test_only_the_first_container_may_lack_an_image() -> None:
    install = INSTALL.replace("      volumes", "      - name: side\n      volumes")

    assert problems(package({"install.yaml": install})) == [
        f"{PLACE}: spec.template.spec.containers[1].image: it is missing; "
        "only the first container runs the image of the package"
    ]


def test_several_install_files_are_refused() -> None:
    assert problems(package({"install.yaml": INSTALL, "a/install.yaml": INSTALL}))[0].startswith(
        "install.yaml: "
    )


def test_several_documents_in_install_yaml_are_refused() -> None:
    assert problems(package({"install.yaml": f"{INSTALL}---\n{INSTALL}"})) == [
        f"{PLACE}: expected one document, found 2",
        f"{PLACE}: it contains no Deployment",
    ]
