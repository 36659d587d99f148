"""What a cluster holds at one moment, and the questions that one asks about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rig.live.application import WELL, conditions_of, package_of
from rig.live.platform import LiveCluster
from rig.servers.client import Client, Object
from rig.servers.kinds import APPLICATIONS, CRDS, DEPLOYMENTS, IMAGE_CONFIGS, MANAGED_DEFINITIONS, Resource


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything by its name; of the kinds that packages install, one object each by the name of its definition."""

    packages: Mapping[str, Object]
    revisions: Mapping[str, Object]
    definitions: Mapping[str, Object]
    # The revision that controls each definition which packages install.
    controllers: Mapping[str, str]
    deployments: Mapping[str, Object]
    image_configs: Mapping[str, Object]
    applications: Mapping[str, Object]
    objects: Mapping[str, Object]
    entries: list[Object]

    def controller(self, crd: str) -> str:
        """Return the package whose revision controls a definition."""
        return self.package_of(self.controllers[crd])

    def applied_revisions(self) -> set[str]:
        """Return the packages of which Argo CD applies a revision."""
        return {
            self.package_of(one["name"])
            for application in self.applications.values()
            for one in application["status"]["resources"]
            if one["kind"].endswith("Revision")
        }

    def digest(self, package: str) -> str:
        """Return the bytes of a package's current revision."""
        revision = self.revisions[self.packages[package]["status"]["currentRevision"]]
        return str(revision["status"]["resolvedImage"].partition("@")[2])

    def running(self) -> dict[str, str]:
        """Return what each package runs as a program: the source of its image."""
        return {self.package_of(name): _image(value) for name, value in self.deployments.items()}

    def unhealthy(self) -> set[str]:
        """Return the packages that are not installed or not healthy."""
        return {name for name, value in self.packages.items() if conditions_of(value) != WELL}

    def active(self) -> list[str]:
        """Return the packages with an active revision, twice if they have two."""
        active = [n for n, value in self.revisions.items() if value["spec"]["desiredState"] == "Active"]
        return sorted(map(self.package_of, active))

    def package_of(self, revision: str) -> str:
        """Return the package that a revision belongs to."""
        return package_of(self.revisions[revision])


def take_snapshot(cluster: LiveCluster, crds: Iterable[str]) -> Snapshot:
    """Return what is in a cluster now."""
    client, crds = cluster.client, list(crds)
    return Snapshot(
        packages=cluster.packages(),
        revisions=cluster.revisions(),
        definitions=_by_name(client.objects(CRDS)),
        controllers={crd: controlling_revision(client, crd) for crd in crds},
        deployments=_by_name(client.objects(DEPLOYMENTS)),
        image_configs=_by_name(client.objects(IMAGE_CONFIGS)),
        applications=_by_name(client.objects(APPLICATIONS)),
        objects={crd: value for crd in crds for value in client.objects(resource_of(crd))},
        entries=cluster.locked(),
    )


def controlling_revision(client: Client, crd: str) -> str:
    """Return the revision that controls a definition: itself, or by the ManagedResourceDefinition that it comes from."""
    owner = _controller(client.get(CRDS, crd))
    if owner.get("kind") == "ManagedResourceDefinition":
        owner = _controller(client.get(MANAGED_DEFINITIONS, owner["name"]))
    return str(owner.get("name", ""))


def resource_of(crd: str) -> Resource:
    """Return where the objects of a definition are."""
    plural, _, group = crd.partition(".")
    return Resource(f"{group}/v1", plural)


def image_source(image: str) -> str:
    """Return the source of an image, without the registry that stands in for its host, and without the digest."""
    return image.partition("/")[2].partition("@")[0]


def _by_name(values: Iterable[Object]) -> dict[str, Object]:
    return {value["metadata"]["name"]: value for value in values}


def _controller(value: Object) -> Object:
    owners: list[Object] = value["metadata"].get("ownerReferences", [])
    return next((owner for owner in owners if owner.get("controller")), {})


def _image(deployment: Object) -> str:
    return image_source(deployment["spec"]["template"]["spec"]["containers"][0]["image"])
