"""One platform for all end-to-end tests, and for each test a cluster that nobody used before."""

import itertools
import os
import shutil
from collections.abc import Iterator

import pytest
from rig.builds.matrix import record, this_run
from rig.environment import hidden_settings
from rig.live.platform import LiveCluster, Platform, prepare_platform

_NUMBERS = itertools.count(1)
_IS_RECORDED = bool(os.environ.get("XPLOCK_E2E_RECORD"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Tell at the end what tests have measured, wherever they ran; record the files that passed if that is asked for."""
    passed = terminalreporter.stats.get("passed", [])
    for report in passed:
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and _IS_RECORDED:
        wrong = {
            report.fspath for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])
        }
        record(this_run(report.fspath for report in passed if report.fspath not in wrong))


@pytest.fixture(scope="session", autouse=True)
def empty_user_settings_for_fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the settings of the user who runs the tests from session fixtures, too."""
    with hidden_settings(tmp_path_factory.mktemp("empty")):
        yield


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """What all clusters of a session have in common."""
    platform = prepare_platform(tmp_path_factory.mktemp("live"))
    yield platform
    shutil.rmtree(platform.data)


@pytest.fixture
def cluster(platform: Platform) -> Iterator[LiveCluster]:
    """A cluster with Crossplane and Argo CD in which nothing was installed yet."""
    with platform.cluster(f"c{next(_NUMBERS)}") as running:
        yield running
