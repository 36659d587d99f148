"""Packages are guarded against pruning, unless the user decided otherwise."""

import pytest

from render.manifests.sync_annotations import add_guards

OPTIONS = "argocd.argoproj.io/sync-options"
FLUX = "kustomize.toolkit.fluxcd.io/prune"


@pytest.mark.parametrize(
    ("own", "options", "flux"),
    [
        ({}, "Prune=false,Delete=confirm", "disabled"),
        ({OPTIONS: "ServerSideApply=true"}, "ServerSideApply=true,Prune=false,Delete=confirm", "disabled"),
        ({OPTIONS: "Prune=confirm"}, "Prune=confirm,Delete=confirm", "disabled"),
        ({OPTIONS: "Delete=false, Prune=true"}, "Delete=false, Prune=true", "disabled"),
        ({OPTIONS: "Prune=false"}, "Prune=false,Delete=confirm", "disabled"),
        ({OPTIONS: "PruneLast=true"}, "PruneLast=true,Prune=false,Delete=confirm", "disabled"),
        ({FLUX: "enabled"}, "Prune=false,Delete=confirm", "enabled"),
    ],
)
def test_each_guard_is_added_unless_it_is_there_with_any_value(
    own: dict[str, str], options: str, flux: str
) -> None:
    annotations = dict(own)

    add_guards(annotations)

    assert annotations == {OPTIONS: options, FLUX: flux}


def test_guarding_twice_is_guarding_once() -> None:
    annotations: dict[str, str] = {}
    add_guards(annotations)
    once = dict(annotations)

    add_guards(annotations)

    assert annotations == once
