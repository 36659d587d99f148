"""Which images the rendered manifests of a lock can make Crossplane pull."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.docs.examples import EXAMPLES

from render.inputs.projects import read_settings
from render.limits import Limits
from render.lock.model import KeptPin, Lock, LockedPackage, State
from render.lock.text.file import read_lock
from render.manifests.pulled import PulledImage, find_pulled
from render.packages import Kind
from render.references import Digest, parse_source
from render.system.files import LOCK_FILE

SOURCE = parse_source("xpkg.example.org/acme/app")
OLD = parse_source("xpkg.example.org/labs/app")
A, B = (Digest(f"sha256:{letter * 64}") for letter in "ab")


def package(**more: Any) -> LockedPackage:
    """Return a locked package."""
    given = {"version": "v1.0.0", "digest": A, "kind": Kind.PROVIDER, "object_name": "app"}
    return LockedPackage(SOURCE, **{**given, **more})


def pulled(*packages: LockedPackage, pinned: bool = True) -> list[PulledImage]:
    return list(find_pulled(packages, pinned=pinned))


def test_a_package_and_its_kept_pins_are_pulled() -> None:
    pin = KeptPin("v0.9.0", B)

    assert pulled(package(kept_pins=(pin,))) == [
        PulledImage(SOURCE, A, "v1.0.0", current=True),
        PulledImage(SOURCE, B, "v0.9.0", current=False),
    ]
    assert pulled(package(kept_pins=(pin,)), pinned=False) == [PulledImage(SOURCE, A, "v1.0.0", current=True)]


def test_leaving_packages_are_pulled() -> None:
    orphan = package(state=State.ORPHANED)
    off = replace(package(state=State.DEACTIVATED), source=OLD, digest=B)
    lock = Lock({SOURCE: orphan}, deactivated={OLD: off})

    assert [image.digest for image in find_pulled(lock.installed(), pinned=True)] == [A, B]


def test_after_a_move_by_alias_a_pin_leads_to_the_new_source_and_a_tag_alone_to_the_old_one() -> None:
    alias = package(installed_as=OLD)

    assert [image.source for image in pulled(alias)] == [SOURCE]
    assert [image.source for image in pulled(alias, pinned=False)] == [OLD]


def test_a_package_by_its_digest_has_a_version_only_if_the_lock_knows_one() -> None:
    assert pulled(package(version=A)) == [PulledImage(SOURCE, A, None, current=False)]
    assert pulled(package(version=A, tag="v1.0.0")) == [PulledImage(SOURCE, A, "v1.0.0", current=False)]


LOCKED = sorted(
    file.parent for file in EXAMPLES.rglob(LOCK_FILE) if (file.parent / "expected/rendered.yaml").exists()
)


@pytest.mark.parametrize("folder", LOCKED, ids=lambda folder: str(folder.relative_to(EXAMPLES)))
def test_the_manifests_of_every_example_can_pull_these_images_and_no_others(folder: Path) -> None:
    lock = read_lock(folder, Limits())
    assert lock
    pinned = read_settings(folder, Limits()).pin == "digest"
    found = find_pulled(lock.installed(), pinned=pinned)

    assert can_pull(folder) == {str(image.digest) for image in found}


def can_pull(folder: Path) -> set[str]:
    """Return the digests in what the manifests ask for, and in what their ImageConfigs make of that or of an older tag."""
    values = list(yaml.safe_load_all((folder / "expected/rendered.yaml").read_text()))
    references = [value["spec"]["package"] for value in values if value["kind"] in set(map(str, Kind))]
    rewrites = {
        value["spec"]["matchImages"][0]["prefix"]: value["spec"]["rewriteImage"]["prefix"]
        for value in values
        if value["kind"] == "ImageConfig" and "rewriteImage" in value["spec"]
    }
    for reference in references:
        fitting = [prefix for prefix in rewrites if reference.startswith(prefix)]
        assert "@" in reference or "@" in rewrites[max(fitting, key=len)]
    return {text.partition("@")[2] for text in [*references, *rewrites.values()] if "@" in text}
