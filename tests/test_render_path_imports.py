"""Reading a folder and its lock, and rendering both, imports nothing that only others need."""

import subprocess
import sys
from pathlib import Path

import pytest
from rig.builders.locks import lock, package

from render.inputs.projects import read_inputs
from render.limits import Limits
from render.lock.text.format import format_lock
from render.system.files import LOCK_FILE

ROOT = """
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: acme-app
spec:
  package: xpkg.example.org/acme/app:v1.0.0
"""
SCRIPT = """
import sys
from pathlib import Path
from render.app.operator_settings import OperatorSettings
from render.manifests.text import format_yaml
from render.app.render import render_folder
assert format_yaml(render_folder(Path(sys.argv[1]), OperatorSettings.from_environment({})))
print(*sys.modules)
"""
CHECK = """
import sys
from pathlib import Path
from render.app.check import check_folders
from render.app.operator_settings import OperatorSettings
assert not check_folders([Path(sys.argv[1])], OperatorSettings.from_environment({})).findings
print(*sys.modules)
"""
PARSERS = ("yaml", "json", "semver", "render.yaml.libyaml")
SLOW = (
    "dataclasses",
    "typing",
    "inspect",
    "hashlib",
    "difflib",
    "subprocess",
    "tempfile",
    "random",
    "click",
    "urllib3",
)
STAGES = ("render.registry", "render.xpkg", "render.resolve", "render.inputs.kustomizations.checks")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app.yaml").write_text(ROOT)
    record = read_inputs(tmp_path, Limits(), {}).record
    locked = lock([package("app v1.0.0", "net >=v1.0.0"), package("net v1.2.0")], record)
    (tmp_path / LOCK_FILE).write_text(format_lock(locked))
    return tmp_path


def modules_of(folder: Path, script: str = SCRIPT) -> set[str]:
    """Return the modules that are loaded after a folder was rendered, or checked."""
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_plain_folder_is_rendered_without_parsers_programs_or_other_stages(project: Path) -> None:
    loaded = modules_of(project)

    assert [
        name for name in (*PARSERS, *SLOW, *STAGES, "render.inputs.settings.file") if name in loaded
    ] == []


def test_settings_cost_their_table_and_nothing_else(project: Path) -> None:
    (project / "xplock.yaml").write_text("waves: graph\n")

    loaded = modules_of(project)

    assert "render.inputs.settings.file" in loaded
    assert [name for name in (*PARSERS, *SLOW, *STAGES) if name in loaded] == []


def test_a_folder_that_stands_alone_is_checked_without_the_rules_for_several(project: Path) -> None:
    loaded = modules_of(project, CHECK)

    assert [name for name in (*PARSERS, *SLOW, *STAGES, "render.folders") if name in loaded] == []
