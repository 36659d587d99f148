"""One wave for packages, or one for each level of the dependency graph."""

from render.manifests.sync_annotations import EARLY, instance_wave, package_wave


def test_flat_waves_leave_everything_but_settings_in_wave_0() -> None:
    assert package_wave(0, graph=False) is None
    assert package_wave(5, graph=False) is None
    assert instance_wave(6, graph=False) is None


def test_graph_waves_follow_the_levels_and_end_with_instances() -> None:
    assert package_wave(0, graph=True) == "0"
    assert package_wave(5, graph=True) == "5"
    assert instance_wave(6, graph=True) == "6"


def test_settings_come_before_everything() -> None:
    assert int(EARLY) < 0
