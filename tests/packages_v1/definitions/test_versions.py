"""API versions are ordered as Kubernetes orders them."""

from render.packages_v1.definitions.versions import version_order

HIGHEST_FIRST = [
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v10beta3",
    "v3beta1",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
]


def test_stable_versions_come_before_beta_and_alpha_and_all_other_names() -> None:
    assert sorted(sorted(HIGHEST_FIRST), key=version_order) == HIGHEST_FIRST
