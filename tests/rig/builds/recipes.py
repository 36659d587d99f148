"""The servers of the end-to-end tests and their versions: the newest ones, or those that the environment names."""

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

MAINS = Path(__file__).parents[2] / "e2e"
# Everything that the matrix runs, the newest first.
CROSSPLANES = ("v2.4.0", "v2.3.4")
# From v3.3 on, a release takes its module gitops-engine from its own folder: this is the same commit.
_GITOPS_ENGINES = {"v3.5.6": "v0.0.0-20260914071520-c9c369efcc5b", "v3.2.11": ""}
ARGOCDS = tuple(_GITOPS_ENGINES)
# Read once, before a test hides the user's settings.
_ENVIRON = dict(os.environ)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A released Go module, and the program that is made of it."""

    name: str
    module: str
    version: str
    # One of the module's own programs; without it, the main.go in tests/e2e that has this name.
    package: str = ""
    # The program's other names, by which it knows what to be.
    servers: tuple[str, ...] = ()
    # The version of modules that it takes from its own repository, where a release has none of them.
    nested: str = ""
    # Texts that are set while linking.
    texts: tuple[str, ...] = ()
    # The folder of the module with the definitions of its kinds.
    crds: str = ""
    # Files of the module that its servers run as programs.
    scripts: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of this recipe and its main.go."""
        main = "" if self.package else (MAINS / self.name / "main.go").read_text()
        # Scripts came later: what has none was built by the same recipe before.
        values = {name: value for name, value in asdict(self).items() if name != "scripts" or value}
        return hashlib.sha256(json.dumps([values, main]).encode()).hexdigest()[:16]


def crossplane(version: str) -> Recipe:
    """Return how a version of Crossplane is built."""
    return Recipe(
        "crossplane",
        "github.com/crossplane/crossplane/v2",
        version,
        package="cmd/crossplane",
        nested=version,
        # Without its version it refuses every package that asks for one.
        texts=(f"github.com/crossplane/crossplane-runtime/v2/pkg/version.version={version}",),
        crds="cluster/crds",
    )


def argocd(version: str) -> Recipe:
    """Return how a version of Argo CD is built."""
    return Recipe(
        "argocd",
        "github.com/argoproj/argo-cd/v3",
        version,
        servers=(
            "argocd-application-controller",
            "argocd-cmp-server",
            "argocd-git-ask-pass",
            "argocd-repo-server",
        ),
        nested=_GITOPS_ENGINES[version],
        crds="manifests/crds",
        # Since this module is its own, Argo CD calls its script for every commit, verified or not.
        scripts=("hack/git-verify-wrapper.sh",) if _GITOPS_ENGINES[version] else (),
    )


def _choose(variable: str, known: Collection[str]) -> str:
    chosen = _ENVIRON.get(variable) or next(iter(known))
    if chosen not in known:
        raise SystemExit(f"{variable} is {chosen}; the end-to-end tests know {', '.join(known)}")
    return chosen


CROSSPLANE = crossplane(_choose("XPLOCK_E2E_CROSSPLANE", CROSSPLANES))
ARGOCD = argocd(_choose("XPLOCK_E2E_ARGOCD", ARGOCDS))
# What lets Argo CD's repo-server speak without TLS: by default the newer one looks for a client's certificate.
PLAIN_REPO_SERVER = ("--disable-tls", *(("--client-ca-path=",) if ARGOCD.version != "v3.2.11" else ()))
# Reads packages with Crossplane's own code.
PACKAGE_PARSER = Recipe("package_parser", CROSSPLANE.module, CROSSPLANE.version, nested=CROSSPLANE.nested)
# Judges signatures with Crossplane's own code, without a cluster.
SIGNATURE_VERIFIER = Recipe(
    "signature_verifier", CROSSPLANE.module, CROSSPLANE.version, nested=CROSSPLANE.nested
)
# Sign images: the older one in tags beside the image, the newer one in bundles that refer to it.
COSIGNS = (
    Recipe("cosign", "github.com/sigstore/cosign/v2", "v2.6.5", package="cmd/cosign"),
    Recipe("cosign", "github.com/sigstore/cosign/v3", "v3.1.3", package="cmd/cosign"),
)
KUBERNETES = Recipe(
    "kubernetes",
    "k8s.io/kubernetes",
    "v1.34.4",
    servers=("kube-apiserver", "kube-controller-manager"),
    nested="v0.34.4",
    texts=(
        "k8s.io/component-base/version.gitVersion=v1.34.4",
        "k8s.io/component-base/version.gitMajor=1",
        "k8s.io/component-base/version.gitMinor=34",
    ),
)
RECIPES = (KUBERNETES, CROSSPLANE, PACKAGE_PARSER, ARGOCD)
# What only some of the tests need, and takes long.
MORE = (SIGNATURE_VERIFIER, *COSIGNS)
