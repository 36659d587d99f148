"""xplock doctor: objects of a cluster in, what is stuck out."""

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rig.builders.live_objects import Object, Running, format_objects, live_objects
from rig.builders.locks import package, write_lock
from rig.builders.stuck import STATES, definition
from rig.live_api import LiveApi

from render.cli.run import run
from render.lock.model import Lock

TOUCH = "touch: Provider/acme-net"


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """What kubectl printed of a cluster with a poisoned Lock."""
    return save(tmp_path / "cluster.yaml", STATES["poisoned-lock"]())


def save(path: Path, objects: Sequence[Object]) -> Path:
    path.write_text(format_objects(objects))
    return path


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_stuck_cluster_is_a_block_of_text_and_exit_3(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", str(cluster)]) == 3

    shown = capsys.readouterr()
    assert shown.out.startswith("stuck  the Lock holds xpkg.example.org/acme/net twice")
    assert TOUCH in shown.out
    assert shown.out.endswith("5 packages, 5 revisions: 1 cause stuck\n")
    assert "note: without CRDs" in shown.err


def test_a_healthy_cluster_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = save(tmp_path / "cluster.yaml", live_objects([Running("base v1.0.0")]))

    assert run(["doctor", str(file)]) == 0
    assert capsys.readouterr().out == "1 package, 1 revision: nothing stuck\n"


def test_the_json_has_everything_that_the_text_has(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "-o", "json", str(cluster)]) == 3

    found = json.loads(capsys.readouterr().out)
    [finding] = found["findings"]
    assert (finding["state"], finding["number"], finding["stuck"]) == ("poisoned-lock", 1, True)
    assert finding["touch"] == {"kind": "Provider", "name": "acme-net"}
    assert len(finding["consequences"]) == 3
    assert finding["command"][0].startswith("kubectl patch provider.pkg acme-net")
    assert found["stuck"] == 1


def test_several_files_are_one_cluster(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = save(tmp_path / "crds.yaml", [definition(owner="net-0123456789ab", uid="x")])

    assert run(["doctor", str(cluster), str(more)]) == 3

    shown = capsys.readouterr()
    assert "controls its definitions" in in_one_line(shown.out)
    assert "without CRDs" not in shown.err


def test_stdin_is_read(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(cluster.read_bytes())))

    assert run(["doctor", "-"]) == 3
    assert TOUCH in capsys.readouterr().out


def test_kubectl_is_asked_and_only_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api = LiveApi(STATES["paused"]())
    with api.server:
        kubeconfig = api.kubeconfig(tmp_path)

        code = run(["doctor", "--kubeconfig", str(kubeconfig), "--context", "made-up"])

    assert code == 3
    command = f"kubectl --kubeconfig {kubeconfig} --context made-up annotate provider.pkg acme-net crossplane.io/paused-"
    assert command in capsys.readouterr().out
    assert not [one for one in api.asked() if " " in one]
    assert "secrets" not in api.asked()


def test_what_kubectl_printed_can_be_saved_and_diagnosed_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api, saved = LiveApi(STATES["paused"]()), tmp_path / "cluster.json"
    with api.server:
        kubeconfig = str(api.kubeconfig(tmp_path))
        assert run(["doctor", "--kubeconfig", kubeconfig, "--save", str(saved)]) == 3
    asked = capsys.readouterr().out

    assert run(["doctor", str(saved)]) == 3

    assert capsys.readouterr().out == asked.replace(f" --kubeconfig {kubeconfig}", "")


def test_the_lock_of_a_folder_says_which_of_two_copies_is_its_own(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "platform"
    folder.mkdir()
    net = package("net v1.0.0", object_name="net")
    write_lock(folder, Lock({net.source: net}))

    assert run(["doctor", str(cluster), str(folder)]) == 3
    shown = in_one_line(capsys.readouterr().out)
    assert "Provider/net (in the lock of the folder, 1 object)" in shown


@pytest.mark.parametrize("text", ["", "kind: [", "- 1\n", "apiVersion: v1\nkind: List\nitems: []\n"])
def test_what_cannot_be_read_is_exit_2(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)

    assert run(["doctor", str(file)]) == 2
    assert "next:" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "no-such.yaml"]) == 2
    assert "'no-such.yaml': No such file or directory" in capsys.readouterr().err


def test_options_of_kubectl_beside_files_are_refused(
    cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--context", "production", str(cluster)]) == 2
    assert "--context cannot be combined with files" in capsys.readouterr().err


def test_two_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    assert run(["doctor", str(tmp_path / "one"), str(tmp_path / "two")]) == 2
    assert "one DIR at most" in capsys.readouterr().err


def test_a_folder_without_a_lock_is_said(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    assert run(["doctor", str(cluster), str(tmp_path / "empty")]) == 3
    assert f"note: {tmp_path / 'empty'} has no lock" in capsys.readouterr().err
