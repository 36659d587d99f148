"""xplock adopt refuses a cluster that no lock can leave as it is: each reason has its way out, and nothing is written."""

from pathlib import Path
from typing import Any

import pytest
from rig.builders.live_objects import Running, live_objects
from rig.builders.live_worlds import digest_of, running, write_cluster
from rig.builders.projects import World, at
from rig.commands.run import Outcome, files_below, run_command
from rig.live_api import LiveApi


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in which app needs base."""
    made = World(tmp_path)
    made.publish("base v1.0.0", kind="Provider", crds=["bases.example.org"])
    made.publish("app v1.0.0", {"base": ">=v1.0.0"})
    return made


def adopt(world: World, *packages: Running, more: tuple[str, ...] = (), entries: Any = ()) -> Outcome:
    """Adopt a cluster with these packages; a refusal leaves nothing behind."""
    cluster = write_cluster(world.folder, packages, entries=entries)
    folder = world.folder / "platform"
    done = run_command("adopt", str(cluster), "--to", str(folder), *layout_of(world), *more)
    assert (done.code == 0) == bool(folder.exists() and files_below(folder))
    return done


def layout_of(world: World) -> tuple[str, str]:
    return "--layout", f"xpkg.example.org={world.layout}"


def base(world: World, **more: Any) -> Running:
    return running(world, "base v1.0.0", kind="Provider", **more)


@pytest.mark.parametrize(("generation", "has_revision"), [(None, True), (2, False)], ids=["v2.3", "v2.4"])
def test_of_two_copies_the_one_without_objects_is_to_be_switched_off(
    world: World, generation: int | None, has_revision: bool
) -> None:
    mine = base(world, name="my-base", objects=("bases.example.org",), generation=generation)
    copy = base(world, generation=generation)

    done = adopt(world, mine, copy)

    done.assert_refused(
        4,
        f"the Lock has {at('base')} 2 times",
        "Provider my-base has established 1 object\n",
        "switch off Provider acme-base, which controls no objects",
        "kubectl patch provider.pkg.crossplane.io/acme-base --type merge -p",
    )
    inactive = f"kubectl patch providerrevision.pkg.crossplane.io/{copy.revision}"
    assert (inactive in done.stderr) == has_revision
    assert ('"skipDependencyResolution":true' in done.stderr) != has_revision


def test_two_copies_with_objects_are_not_judged(world: World) -> None:
    copies = [base(world, name=name, objects=("bases.example.org",)) for name in ("my-base", "")]

    adopt(world, *copies).assert_refused(4, "deactivate the copy that controls no objects")


OFF = {"revisionActivationPolicy": "Manual"}


@pytest.mark.parametrize(
    ("mine", "derived", "advice"),
    [
        ({}, {}, "kubectl get crd -o 'custom-columns=NAME:.metadata.name,CONTROLLER:"),
        ({"objects": ("bases.example.org",)}, {}, "kubectl patch provider.pkg.crossplane.io/acme-base --type"),
        ({}, {"spec": OFF, "status": {"currentRevision": "gone-123456789abc"}}, "kubectl delete provider.pkg.crossplane.io/acme-base\n"),
    ],
    ids=["both", "one is empty", "one is off"],
)  # fmt: skip
def test_two_names_for_one_source_are_refused_even_if_the_lock_has_it_once(
    world: World, mine: Any, derived: Any, advice: str
) -> None:
    copies = [base(world, name="my-base", attached=False, **mine), base(world, **derived)]

    done = adopt(world, *copies)

    done.assert_refused(4, f"{at('base')} is installed as Provider acme-base and Provider my-base", advice)
    assert "is switched off\n" not in done.stderr


def test_a_dependency_whose_name_another_source_has_is_refused(world: World) -> None:
    world.publish("labs/acme-base v1.0.0", kind="Provider")
    other = running(world, "labs/acme-base v1.0.0", kind="Provider", name="acme-base")
    app = running(world, "app v1.0.0", needs={"base": ">=v1.0.0"})
    # The builder makes Configurations of all dependencies.
    entries = [{**app.as_entry(), "dependencies": [{"package": at("base"), "constraints": ">=v1.0.0", "kind": "Provider"}]}]  # fmt: skip

    done = adopt(world, Running(app.package, attached=False, digest=app.digest), other, entries=entries)

    done.assert_refused(4, f"{at('base')} is not installed, since {other.source} has its name acme-base")


@pytest.mark.parametrize(
    ("spec", "facts"),
    [
        ({"package": f"{at('base')}:v1.0.0@sha256:{'a' * 64}"}, ["both a tag and a digest", "correct it: kubectl patch"]),
        ({"packagePullPolicy": "Never"}, ["is never pulled", '"packagePullPolicy":"IfNotPresent"']),
        ({"package": "base"}, ["has the package base", "no full reference"]),
        ({"package": f"{at('base')}:v2.0.0"}, ["is not installed as its object says", "kubectl describe"]),
    ],
    ids=["tag and digest", "never pulled", "no reference", "not reconciled"],
)  # fmt: skip
def test_a_package_that_cannot_be_locked_is_refused(
    world: World, spec: dict[str, str], facts: list[str]
) -> None:
    world.publish("base v2.0.0", kind="Provider")

    adopt(world, base(world, spec=spec)).assert_refused(4, *facts)


def test_a_tag_that_is_gone_is_refused_unless_its_digest_is_known(world: World) -> None:
    gone = Running("base v9.9.9", kind="Provider")

    adopt(world, gone).assert_refused(4, "base:v9.9.9, which Provider acme-base runs, cannot be had")


def test_the_bytes_that_run_can_be_taken_although_the_tag_has_moved(world: World) -> None:
    before = base(world)
    world.publish("base v1.0.0", kind="Provider", crds=["bases.example.org", "more.example.org"])
    assert digest_of(world, "base v1.0.0") != before.digest

    taken = adopt(world, before, more=("--take", f"installed=sha256:{before.digest}"))

    assert taken.code == 0, taken.stderr
    assert before.digest in (world.folder / "platform/crossplane.lock.yaml").read_text()


@pytest.mark.parametrize(
    ("labels", "annotations", "owner", "advice"),
    [
        (
            {},
            {"argocd.argoproj.io/tracking-id": "shop:pkg.crossplane.io/Provider:/acme-base"},
            "the Argo CD Application shop",
            ["sync-options: Prune=false", "argocd.argoproj.io/tracking-id-"],
        ),
        (
            {"app.kubernetes.io/instance": "shop"},
            {},
            "the Argo CD Application shop",
            ["app.kubernetes.io/instance-"],
        ),
        (
            {"app.kubernetes.io/managed-by": "Helm"},
            {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "a"},
            "the Helm release shop",
            ["helm.sh/resource-policy: keep", "meta.helm.sh/release-name- meta.helm.sh/release-namespace-"],
        ),
        (
            {
                "kustomize.toolkit.fluxcd.io/name": "shop",
                "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
            },
            {},
            "the Flux Kustomization shop",
            ["kustomize.toolkit.fluxcd.io/prune: disabled", "kustomize.toolkit.fluxcd.io/name-"],
        ),
    ],
    ids=["Argo CD", "Argo CD by label", "Helm", "Flux"],
)
def test_what_another_tool_owns_is_refused_with_what_has_to_let_go_first(
    world: World, labels: dict[str, str], annotations: dict[str, str], owner: str, advice: list[str]
) -> None:
    done = adopt(world, base(world, labels=labels, annotations=annotations))

    done.assert_refused(4, f"{owner} owns objects that would be adopted", "--to DIR", *advice)


def test_a_cluster_without_a_lock_is_refused(world: World) -> None:
    cluster = write_cluster(world.folder, [base(world)])
    text = cluster.read_text()
    cluster.write_text(text.replace("kind: Lock", "kind: Other"))

    done = run_command("adopt", str(cluster), "--to", str(world.folder / "platform"))

    done.assert_refused(2, "the input has no Lock of Crossplane")


def test_a_cluster_without_packages_is_refused(world: World) -> None:
    adopt(world).assert_refused(2, "the cluster has no packages", "xplock init")


@pytest.mark.parametrize("text", ["latest", "installed=v1.0.0", "installed="])
def test_bytes_that_are_taken_have_to_be_named(world: World, text: str) -> None:
    adopt(world, base(world), more=("--take", text)).assert_refused(2, "neither a digest nor the registry")


def test_commands_are_for_the_cluster_that_was_read(world: World, tmp_path: Path) -> None:
    owned = {"argocd.argoproj.io/tracking-id": "shop:pkg.crossplane.io/Provider:/acme-base"}
    api = LiveApi(live_objects([base(world, annotations=owned)]))
    with api.server:
        chosen = ["--kubeconfig", str(api.kubeconfig(tmp_path)), "--context", "made-up"]
        done = run_command("adopt", "--to", str(world.folder / "platform"), *chosen, *layout_of(world))

    done.assert_refused(4, f"kubectl {' '.join(chosen)} annotate provider.pkg.crossplane.io/acme-base")


def test_the_diagnosis_of_files_is_asked_of_the_same_files(world: World) -> None:
    copies = [base(world, name=name, objects=("bases.example.org",)) for name in ("my-base", "")]

    adopt(world, *copies).assert_refused(4, f"xplock doctor {world.folder / 'cluster.yaml'}")
