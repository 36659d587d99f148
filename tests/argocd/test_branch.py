"""Texts about a checked-out branch name files as seen from the Application's folder."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from render.argocd.branch import Branch

ROOT = Path("/tmp/xplock-0123/tree")


def relative(text: str, prefix: str) -> str:
    """Return a text as seen from a folder below the root."""
    branch: Any = SimpleNamespace(root=ROOT, folder=ROOT / prefix)
    return Branch.relative(branch, text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("{}/clusters/shop has no lock", ". has no lock"),
        ("{}/clusters/shop/app.yaml: line 3", "app.yaml: line 3"),
        ("{}/clusters/platform is used", "../platform is used"),
        ("{}/clusters/shop-two/a.yaml and {}/clusters/shop.yaml", "../shop-two/a.yaml and ../shop.yaml"),
        ("{}/base/x.yaml", "../../base/x.yaml"),
        ("in {}", "in ../.."),
        ("nothing of it", "nothing of it"),
    ],
)
def test_a_path_below_the_root_is_seen_from_the_folder(text: str, seen: str) -> None:
    assert relative(text.format(*[ROOT] * text.count("{}")), "clusters/shop") == seen


def test_at_the_root_the_folder_is_the_root() -> None:
    assert relative(f"{ROOT} has {ROOT}/app.yaml", "") == ". has app.yaml"


@pytest.mark.parametrize("name", ["a b", "x'y", "-", "é", "shop.old"])
def test_no_name_of_a_folder_leaves_a_part_of_the_root(name: str) -> None:
    texts = [f"{ROOT}/{name}", f"{ROOT}/{name} ", f"'{ROOT}/{name}/x', {ROOT}/{name}2/y, {ROOT}"]

    assert not [text for text in texts if "xplock-0123" in relative(text, name)]
