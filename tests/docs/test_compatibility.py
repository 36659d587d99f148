"""The record of the end-to-end tests, the versions that they know, the README and deploy/ name the same versions."""

import os
import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
from rig.builds.matrix import read_runs
from rig.builds.recipes import ARGOCDS, CROSSPLANES, KUBERNETES
from rig.docs.compatibility import versions_of

from render.crossplane import NEWEST_RUN

TOP = Path(__file__).parents[2]
README = (TOP / "README.md").read_text()


def test_every_pair_of_versions_was_run_those_of_one_age_with_all_tests_and_the_mixed_ones_in_short() -> None:
    runs = {(run.crossplane, run.argocd): run for run in read_runs()}
    of_one_age = list(zip(CROSSPLANES, ARGOCDS, strict=True))

    assert list(runs) == list(product(CROSSPLANES, ARGOCDS))
    assert [pair for pair in of_one_age if not runs[pair].is_whole] == []
    short = short_form()
    assert {pair: short - run.passed.keys() for pair, run in runs.items() if short - run.passed.keys()} == {}
    assert {run.kubernetes for run in runs.values()} == {KUBERNETES.version}


def short_form() -> set[str]:
    """Return the files that `make e2e SHORT=1` runs."""
    done = subprocess.run(
        ["make", "--no-print-directory", "--eval", "named: ; @echo $(E2E)", "SHORT=1", "named"],
        cwd=TOP,
        # Not what a make says that runs this test.
        env={name: text for name, text in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return {Path(name).name for name in done.stdout.split()}


@pytest.mark.parametrize(
    ("software", "versions"),
    [
        ("Crossplane", versions_of("crossplane")),
        ("Argo CD", versions_of("argocd")),
        ("Kubernetes", versions_of("kubernetes")),
    ],
)
def test_the_readme_names_the_versions_that_were_run(software: str, versions: list[str]) -> None:
    (row,) = re.findall(rf"^\| {software} \|.*$", README, re.MULTILINE)

    assert f"real {' and '.join(versions)}, in `make e2e`" in row


def test_the_page_about_the_proof_names_the_newest_versions() -> None:
    text = " ".join((TOP / "docs/proof.md").read_text().split())

    for software in ("Crossplane", "Argo CD"):
        newest = versions_of(software.lower().replace(" ", ""))[0]
        assert f"{software} {newest}" in text


def test_the_newest_crossplane_that_xplock_knows_is_the_newest_that_was_run() -> None:
    assert list(NEWEST_RUN) == _numbers(versions_of("crossplane")[0])[:2]


def test_what_is_deployed_asks_for_no_version_that_was_not_run() -> None:
    texts = [path.read_text() for path in (TOP / "deploy").rglob("*") if path.is_file()]

    for software, versions in (("Crossplane", CROSSPLANES), ("Argo CD", ARGOCDS)):
        named = {found for text in texts for found in re.findall(rf"{software}[^\n]*? v(\d+\.\d+)", text)}
        newest = _numbers(versions[0])[:2]
        assert [version for version in named if _numbers(version) > newest] == []


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.removeprefix("v").split(".")]
