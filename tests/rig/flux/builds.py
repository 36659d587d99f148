"""Flux's controllers, built from the Go module proxy: the newest releases of which it has all modules."""

from rig.builds.go_builds import build
from rig.builds.recipes import Recipe

_CRDS = "config/crd/bases"
SOURCE_CONTROLLER = Recipe(
    "source-controller",
    "github.com/fluxcd/source-controller",
    "v1.9.3",
    package=".",
    nested="v1.9.3",
    crds=_CRDS,
)
KUSTOMIZE_CONTROLLER = Recipe(
    "kustomize-controller",
    "github.com/fluxcd/kustomize-controller",
    "v1.9.4",
    package=".",
    nested="v1.9.4",
    crds=_CRDS,
)
CONTROLLERS = (SOURCE_CONTROLLER, KUSTOMIZE_CONTROLLER)

if __name__ == "__main__":
    for one in CONTROLLERS:
        print(build(one))
