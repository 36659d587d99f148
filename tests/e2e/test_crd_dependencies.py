"""A published package that depends on CRDs, which Crossplane itself would refuse: resolved, detached, healthy."""

from rig.builders.projects import at
from rig.live.application import WELL, conditions_of
from rig.live.lock_files import attached_entries
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster


def test_a_package_that_depends_on_crds_is_healthy_beside_the_packages_that_define_them(
    cluster: LiveCluster,
) -> None:
    cluster.registry.publish("provider-mygroup v1.0.0", kind="Provider", crds=["mytypes.mygroup.example.org"])
    cluster.registry.publish(
        "provider-yourstack v1.0.0", kind="Provider", crds=["yours.yourstack.example.org"]
    )
    crds = [{"crd": "mytype.mygroup.example.org"}, {"crd": "*.yourstack.example.org"}]
    cluster.registry.publish("mystack v1.0.0", written=crds, xrds=["stacks.mystack.example.org"])
    team = cluster.team("crds")
    team.write("mystack.yaml", package_manifest("Configuration", "mystack", f"{at('mystack')}:v1.0.0"))
    sources = [{"source": at("provider-mygroup")}, {"source": at("provider-yourstack")}]
    team.write_settings({"catalog": sources})

    team.lock()
    team.application.wait_synced(team.commit_and_push("install"))

    packages = cluster.packages()
    assert sorted(packages) == ["acme-provider-mygroup", "acme-provider-yourstack", "mystack"]
    for value in packages.values():
        assert conditions_of(value) == WELL
    assert packages["mystack"]["spec"]["skipDependencyResolution"] is True
    assert [entry["source"] for entry in cluster.locked()] == [
        at("provider-mygroup"),
        at("provider-yourstack"),
    ]
    assert cluster.locked() == attached_entries(team.folder)
