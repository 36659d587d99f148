"""Which images the rendered manifests of a lock can make Crossplane pull."""

from dataclasses import replace
from typing import Any

from render.lock.model import KeptPin, Lock, LockedPackage, State
from render.manifests.pulled import PulledImage, find_pulled
from render.packages import Kind
from render.references import Digest, parse_source

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
