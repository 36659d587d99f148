"""The permissions that Packages v1 granted by itself are written for a person to apply."""

from rig.builders.first_format import INSTALL, converted, package

from render.crd_dependencies import parse_crd
from render.packages_v1.permissions import access_objects, access_rules

CORE = {"apiGroups": [""], "resources": ["configmaps", "events", "secrets"], "verbs": ["*"]}


def test_a_controller_may_use_config_maps_events_and_secrets() -> None:
    assert access_rules([]) == [CORE]


def test_a_controller_may_use_the_crds_that_its_package_depends_on() -> None:
    crds = [parse_crd("*.yours.example.org/v1alpha1"), parse_crd("mytypes.mine.example.org")]

    assert access_rules(crds) == [
        CORE,
        {"apiGroups": ["mine.example.org"], "resources": ["mytypes"], "verbs": ["*"]},
        {"apiGroups": ["yours.example.org"], "resources": ["*"], "verbs": ["*"]},
    ]


def test_the_role_is_bound_to_the_service_account_of_the_runtime_config() -> None:
    found = converted(package({"install.yaml": INSTALL}))

    role, binding = found.access

    account = found.runtime_config["spec"]["serviceAccountTemplate"]["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": account, "namespace": "crossplane-system"}
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert list(found.access) == access_objects("sample-stack", [])
