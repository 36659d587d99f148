"""The folder of a team in the end-to-end tests: it says which Crossplane runs, unless a test leaves that out."""

import json
from pathlib import Path
from typing import cast

import pytest
from rig.builds.recipes import CROSSPLANE
from rig.live.team import Team
from rig.servers.client import Client

from render.settings import SETTINGS_FILE

NO_CLUSTER = cast(Client, None)


def test_the_settings_of_a_folder_name_the_crossplane_that_runs(tmp_path: Path) -> None:
    team = Team(tmp_path / "team", "platform", NO_CLUSTER, {})
    assert settings_of(team) == {"crossplaneVersion": CROSSPLANE.version}

    team.write_settings({"pin": "tag"})

    assert settings_of(team) == {"crossplaneVersion": CROSSPLANE.version, "pin": "tag"}


def test_without_a_version_there_are_no_settings_but_those_of_the_test(tmp_path: Path) -> None:
    team = Team(tmp_path / "team", "platform", NO_CLUSTER, {}, crossplane="")
    with pytest.raises(FileNotFoundError):
        settings_of(team)

    team.write_settings({"pin": "tag"})

    assert settings_of(team) == {"pin": "tag"}


def settings_of(team: Team) -> object:
    return json.loads((team.folder / SETTINGS_FILE).read_text())
