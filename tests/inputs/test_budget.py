"""A whole folder is bounded: its bytes, and its values with every alias written out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from render.errors import RenderError
from render.inputs.budget import Budget
from render.inputs.projects import read_inputs
from render.limits import LimitExceeded, Limits

ROOT = """
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: store
spec:
  package: xpkg.example.org/acme/provider-store:v1.0.0
"""
OBJECT = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"


def read(folder: Path, **limits: int) -> RenderError | None:
    (folder / "store.yaml").write_text(ROOT)
    try:
        read_inputs(folder, Limits(**limits), {})
    except RenderError as error:
        return error
    return None


def many_files(folder: Path) -> None:
    for i in range(10):
        (folder / f"m{i}.yaml").write_text(OBJECT + "data: " + "x" * 1_000)


def many_values(folder: Path) -> None:
    for i in range(10):
        (folder / f"m{i}.yaml").write_text(OBJECT + "data: [" + "a," * 100 + "]")


def many_aliases(folder: Path) -> None:
    (folder / "m.yaml").write_text((OBJECT + "a: &a [1, 2, 3, 4, 5]\nb: [*a, *a, *a, *a]\n") * 40)


def long_texts(folder: Path) -> None:
    (folder / "m.yaml").write_text((OBJECT + f"a: &a {'x' * 500}\nb: [*a, *a, *a, *a]\n") * 4)


def deep_values(folder: Path) -> None:
    (folder / "m.yaml").write_text(OBJECT + f"data: {'[' * 90}{'a,' * 100}{']' * 90}\n")


def rare_characters(folder: Path) -> None:
    (folder / "m.yaml").write_text(f"{OBJECT}data: {'x' * 3_000}\n# \U0001f600\n")


def escapes(folder: Path) -> None:
    (folder / "m.yaml").write_text(OBJECT + 'data: "' + "\\0" * 2_000 + '"\n')


@pytest.mark.parametrize(
    ("make", "limit", "most"),
    [
        (deep_values, "folder_bytes", 9_000),
        (rare_characters, "folder_bytes", 9_000),
        (escapes, "folder_bytes", 9_000),
        (many_files, "folder_bytes", 9_000),
        (long_texts, "folder_bytes", 9_000),
        (many_values, "folder_nodes", 1_000),
        (many_aliases, "folder_nodes", 1_000),
    ],
)
def test_a_folder_that_is_too_large_is_refused_with_the_limit(
    make: Callable[[Path], None], limit: str, most: int, tmp_path: Path
) -> None:
    make(tmp_path)

    error = read(tmp_path, **{limit: most})

    assert isinstance(error, LimitExceeded)
    assert f"XPLOCK_LIMIT_{limit.upper()}" in str(error.next)
    assert str(tmp_path) in error.what
    assert read(tmp_path, **{limit: 3 * most}) is None


def test_settings_count_as_well(tmp_path: Path) -> None:
    (tmp_path / "xplock.yaml").write_text("families: free\n" + "#" * 5_000)

    assert isinstance(read(tmp_path, folder_bytes=5_000), LimitExceeded)


def test_the_output_of_a_kustomization_counts(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [store.yaml]")
    (tmp_path / "store.yaml").write_text(ROOT)
    tool = tmp_path / "bin" / "kustomize"
    tool.parent.mkdir()
    tool.write_text(
        f"#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <<'E'\n{OBJECT}b: [{'a,' * 2_000}]\nE\n"
    )
    tool.chmod(0o755)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_FOLDER_NODES"):
        read_inputs(tmp_path, Limits(folder_nodes=1_000), {"PATH": str(tool.parent)})


def test_an_alias_counts_as_often_as_it_is_written_out() -> None:
    shared = ["a"] * 9

    Budget(Path("f"), Limits(folder_nodes=31)).take_value([shared, shared, shared])
    with pytest.raises(LimitExceeded):
        Budget(Path("f"), Limits(folder_nodes=30)).take_value([shared, shared, shared])
