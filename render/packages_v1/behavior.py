"""`behavior.yaml`: templates that a controller of that time ran, and nothing of today does."""

from collections.abc import Sequence

from render.limits import Limits
from render.packages_v1.definitions.crds import Crd
from render.packages_v1.documents import read_document
from render.packages_v1.findings import Findings
from render.packages_v1.tree import Tree
from render.yaml.fields import Fields, Problems

BEHAVIOR_FILE = "behavior.yaml"


def check_behavior(tree: Tree, crds: Sequence[Crd], limits: Limits, found: Findings) -> None:
    """Complain about templates, naming the CRD that a CompositeResourceDefinition takes the place of."""
    for file in tree.named(BEHAVIOR_FILE):
        # What else is wrong with it does not matter.
        fields = read_document(file, limits, Findings()) or Fields(None, Problems())
        kind = Fields(fields.value, Problems()).mapping("crd").text("kind")
        templated = [crd.name for crd in crds if crd.kind == kind] or [crd.name for crd in crds]
        found.complain(
            file,
            "Crossplane has no template controller any more; write a CompositeResourceDefinition in the place of "
            f"{', '.join(dict.fromkeys(templated)) or 'its CRD'}, and a Composition with its templates",
        )
