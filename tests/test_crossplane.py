"""What depends on the version of Crossplane, at the versions where it changes."""

from dataclasses import replace

import pytest

from render.crossplane import (
    FIRST_VERSIONS,
    assumed_version,
    first_version,
    has_predictable_revisions,
    keeps_stale_entries,
    needs_inactive_revision,
    unfit_settings,
)
from render.mirrors import Mirror
from render.overrides import Override
from render.rewrites import Rewrite
from render.settings import PinMode, Settings
from render.versions.version import parse_version

NATIVE = Settings(pin=PinMode.NATIVE)
USED = {
    "pin: digest": Settings(),
    "rewrites": replace(NATIVE, rewrites=(Rewrite("a.example", "b.example", "here"),)),
    "mirror": replace(NATIVE, mirror=Mirror("mirror.example")),
    "overrides: runtimeConfig": replace(NATIVE, overrides=(Override("a.example", runtime_config="x"),)),
}


@pytest.mark.parametrize("setting", FIRST_VERSIONS)
def test_a_setting_fits_from_its_first_version_on(setting: str) -> None:
    major, minor = FIRST_VERSIONS[setting]
    before, first = (
        replace(USED[setting], crossplane_version=parse_version(f"v{major}.{n}.9"))
        for n in (minor - 1, minor)
    )

    assert first_version(setting) == f"v{major}.{minor}"
    assert (unfit_settings(before), unfit_settings(first)) == ([setting], [])


@pytest.mark.parametrize("setting", FIRST_VERSIONS)
def test_without_a_version_the_first_one_is_assumed_that_every_setting_fits(setting: str) -> None:
    assert unfit_settings(USED[setting]) == []
    assert assumed_version(USED[setting]) == f"Crossplane {first_version(setting)} or newer"
    assert assumed_version(replace(USED[setting], pin=PinMode.DIGEST)) == "Crossplane v2.2 or newer"


def test_what_needs_no_version_assumes_none() -> None:
    assert assumed_version(NATIVE) == "any Crossplane"


@pytest.mark.parametrize(("version", "is_old"), [("v2.3.4", True), ("v2.4.0-rc.1", False), ("v2.4.0", False)])
def test_from_v2_4_on_a_revision_is_named_after_the_generation_of_its_package(
    version: str, is_old: bool
) -> None:
    crossplane = parse_version(version)

    for question in (keeps_stale_entries, needs_inactive_revision, has_predictable_revisions):
        assert question(crossplane) is is_old


def test_of_an_unknown_version_the_safer_answer_is_taken() -> None:
    assert (keeps_stale_entries(None), needs_inactive_revision(None)) == (True, True)
    assert not has_predictable_revisions(None)
