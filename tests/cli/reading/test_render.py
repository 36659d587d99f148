"""xplock render: manifests from the lock, all of them or nothing, and the same bytes everywhere."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rig.builders.projects import HOME, World, small_world, text_of

from render.cli.main import invoke
from render.cli.output import Output
from render.cli.run import run
from render.limits import Limits
from render.manifests.identity import identify
from render.system.files import LOCK_FILE
from render.yaml.documents import file_rules, parse_documents

SECONDS = 60
ODD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\ndata:\n  text: größer als ✓\n"
TO_STDOUT = [[], ["-o", "yaml"], ["-o", "json"], ["--out", "out"], ["--out", "out", "-o", "json"]]


def is_no_set(text: str, form: Sequence[str]) -> bool:
    """Return whether stdout has no manifests: it is empty, or an error for programs."""
    return json.loads(text).keys() == {"error"} if "json" in form else text == ""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder whose lock is up to date: app and base, and an object of its own."""
    folder = small_world(tmp_path).project("shop", "app:v1.0.0")
    (folder / "odd.yaml").write_text(ODD)
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


def xplock(*arguments: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a child."""
    return subprocess.run(
        [sys.executable, "-m", "render", *arguments],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def parsed(data: str | bytes) -> list[dict[str, Any]]:
    raw = data.encode() if isinstance(data, str) else data
    return parse_documents(raw, file_rules(Limits()))


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the result of a command that does not fail, and that says nothing else."""
    code = run(["render", *arguments])
    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    return output.out


def test_what_is_locked_comes_out_with_its_pins_first(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, str(project))

    objects = parsed(text)
    assert text.startswith("---\n")
    assert text.count("\n---\n") == len(objects) - 1
    assert [value["kind"] for value in objects] == [
        "ImageConfig", "ImageConfig", "Configuration", "Configuration", "ConfigMap",
    ]  # fmt: skip
    assert [value["spec"]["package"] for value in objects if value["kind"] == "Configuration"] == [
        f"{HOME}/base:v1.1.0",
        f"{HOME}/app:v1.0.0",
    ]
    assert objects[-1]["data"] == {"text": "größer als ✓"}


def test_the_folder_is_where_you_are(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = shown(capsys, str(project))
    monkeypatch.chdir(project)

    assert shown(capsys) == expected


def test_json_is_one_list_of_the_same_objects(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = parsed(shown(capsys, str(project)))

    text = shown(capsys, str(project), "-o", "json")

    assert json.loads(text) == {"apiVersion": "v1", "kind": "List", "items": expected}
    assert text.isascii()


def in_folder(form: list[str], project: Path) -> list[str]:
    """Return the arguments of a render whose folders are all inside the project's parent."""
    return [str(project.parent / word) if word == "out" else word for word in form]


@pytest.mark.parametrize("form", TO_STDOUT, ids=" ".join)
def test_a_missing_lock_is_exit_3_and_says_what_to_run(
    project: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (project / LOCK_FILE).unlink()
    before = tree(project.parent)

    code = run(["render", str(project), *in_folder(form, project)])

    output = capsys.readouterr()
    assert (code, is_no_set(output.out, form)) == (3, True)
    assert output.err == (
        f"error: {project} has no crossplane.lock.yaml\n  why:  nothing has been locked there yet\n"
        f"  next: run: xplock lock {project}\n"
    )
    assert tree(project.parent) == before


@pytest.mark.parametrize("form", TO_STDOUT, ids=" ".join)
def test_a_stale_lock_is_exit_3_and_says_which_inputs_changed(
    project: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (project / "xplock.yaml").read_text()
    (project / "xplock.yaml").write_text(settings.replace("app:v1.0.0", "app:v2.0.0") + "families: free\n")
    before = tree(project.parent)

    code = run(["render", str(project), *in_folder(form, project)])

    output = capsys.readouterr()
    assert (code, is_no_set(output.out, form)) == (3, True)
    assert output.err == (
        f"error: {project}/crossplane.lock.yaml is out of date\n"
        f"  why:  root {HOME}/app changed\n        setting families was added\n"
        f"  next: run `xplock lock {project}` and commit what it writes\n"
    )
    assert tree(project.parent) == before


def test_an_object_that_is_only_passed_through_makes_no_lock_stale(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "odd.yaml").write_text(ODD.replace("größer", "kleiner"))

    assert parsed(shown(capsys, str(project)))[-1]["data"] == {"text": "kleiner als ✓"}


@pytest.mark.parametrize("form", TO_STDOUT, ids=" ".join)
def test_a_folder_that_asks_for_nothing_renders_nothing_and_fails(
    tmp_path: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    code = run(["render", str(tmp_path / "empty"), *in_folder(form, tmp_path / "empty")])

    output = capsys.readouterr()
    assert (code, is_no_set(output.out, form)) == (2, True)
    assert "asks for no package" in output.err
    assert tree(tmp_path) == {"empty": None}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("bad.yaml", "kind: [\n", "bad.yaml: line "),
        ("bad.yaml", "apiVersion: v1\nkind: X\nvalue: .nan\n", "bad.yaml: it holds infinity or NaN"),
        ("xplock.yaml", "rots: []\n", "did you mean roots?"),
        (LOCK_FILE, "<<<<<<< a\n=======\n>>>>>>> b\n", "conflict"),
    ],
)
def test_whatever_is_wrong_nothing_is_on_stdout(
    project: Path, name: str, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / name).write_text(text)

    code = run(["render", str(project)])

    output = capsys.readouterr()
    assert code in (1, 2, 3)
    assert output.out == ""
    assert told in output.err


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def put_a_file_there(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("a file")


@pytest.mark.parametrize(
    "prepare",
    [
        Path.exists,
        lambda folder: (folder / LOCK_FILE).unlink(),
        lambda folder: (folder / "xplock.yaml").unlink(),
        lambda folder: (folder / "bad.yaml").write_text("kind: [\n"),
        remove_folder,
        put_a_file_there,
    ],
    ids=["all is well", "no lock", "no inputs", "broken YAML", "no folder", "a file"],
)
def test_without_options_everything_is_as_it_is_with_them(
    project: Path, prepare: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(project)
    short = (run(["render", str(project)]), capsys.readouterr())

    long = (run(["render", "-o", "yaml", str(project)]), capsys.readouterr())

    assert short == long


@pytest.mark.parametrize("name", ["", "-", "-x", "x" * 300])
def test_odd_arguments_are_told_as_click_tells_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = (run(["render", name]), capsys.readouterr())

    assert found == (invoke(["render", name], Output()), capsys.readouterr())
    assert found[0] != 0
    assert found[1].out == ""


def test_an_option_is_an_option_even_where_a_folder_has_its_name(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    Path("-h").mkdir()

    assert shown(capsys, "-h").startswith("Usage: xplock render ")


def test_layouts_and_offline_are_for_resolving(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "--offline", str(project)]) == 2
    assert "--offline, --layout and the operator's settings need --resolve" in capsys.readouterr().err


def modules_of(*arguments: str) -> set[str]:
    """Return the modules that are loaded after a call of the command."""
    script = (
        "import sys, json\nfrom render.cli.run import run\nassert run(sys.argv[1:]) == 0\n"
        "sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.rpartition("\n")[2]))


NEVER = ("urllib3", "git", "jinja2", "requests", "oras", "rich", "subprocess", "socket", "ssl", "concurrent")
STAGES = ("render.resolve", "render.registry", "render.app.world", "render.lifecycle.update", "render.git")


def test_rendering_without_options_imports_nothing_that_only_others_need(project: Path) -> None:
    loaded = modules_of("render", str(project))

    assert [name for name in ("click", *NEVER, *STAGES) if name in loaded] == []


def test_with_options_it_costs_click_and_nothing_of_the_network(project: Path) -> None:
    loaded = modules_of("render", str(project), "-o", "json")

    assert [name for name in (*NEVER, *STAGES) if name in loaded] == []


def test_a_pipe_that_closes_early_is_no_error(project: Path) -> None:
    script = f"{sys.executable} -m render render {project} | true; echo ${{PIPESTATUS[0]}}"

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS)

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_full_disk_is_told(project: Path) -> None:
    script = f"{sys.executable} -m render render {project} > /dev/full"

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS)

    assert done.returncode == 1
    assert done.stderr.startswith("error: the result cannot be written\n")


@pytest.mark.parametrize("options", [[], ["-o", "json"]], ids=["yaml", "json"])
def test_every_machine_gets_the_same_bytes(project: Path, options: list[str]) -> None:
    environs: list[Mapping[str, str]] = [
        {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONHASHSEED": "2"},
        {"LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "TZ": "Asia/Tokyo"},
        {"PYTHONIOENCODING": "latin-1:strict", "LANG": "de_DE"},
    ]

    calls = [xplock("render", str(project), *options, **environ) for environ in environs]

    assert {call.returncode for call in calls} == {0}
    assert len({call.stdout for call in calls}) == 1
    assert "größer als ✓" in json.dumps(_values(calls[0].stdout), ensure_ascii=False)


def _values(data: bytes) -> Any:
    return parsed(data) if data.startswith(b"---") else json.loads(data)


def test_warnings_of_python_and_of_kustomize_stay_out_of_the_result(project: Path, tmp_path: Path) -> None:
    (project / "kustomization.yaml").write_text("resources: [odd.yaml]\ncommonLabels: {a: b}\n")
    (project / "over").mkdir()
    (project / "over/kustomization.yaml").write_text("commonLabels: {c: d}\n")
    with (project / "xplock.yaml").open("a") as settings:
        settings.write("overlay: over\n")
    (tmp_path / "noisy").mkdir()
    (tmp_path / "noisy/sitecustomize.py").write_text(
        "import atexit, logging, warnings\n"
        "def shout():\n    warnings.warn('old', DeprecationWarning)\n    logging.warning('a log line')\n"
        "shout()\natexit.register(shout)\n"
    )
    quiet = xplock("render", str(project))

    noisy = xplock("render", str(project), PYTHONWARNINGS="always", PYTHONPATH=str(tmp_path / "noisy"))

    assert (quiet.returncode, quiet.stderr, noisy.returncode) == (0, b"", 0)
    assert b"DeprecationWarning: old" in noisy.stderr
    assert noisy.stdout == quiet.stdout
    assert {"a", "c"} <= parsed(quiet.stdout)[-1]["metadata"]["labels"].keys()


def test_out_writes_what_stdout_shows_and_kustomize_builds_the_same(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {identify(value): value for value in parsed(shown(capsys, str(project)))}
    out = project / "rendered"

    code = run(["render", str(project), "--out", str(out)])

    output = capsys.readouterr()
    built = subprocess.run(["kubectl", "kustomize", out], capture_output=True, check=True)
    assert (code, output.out) == (0, "")
    assert output.err == f"{out}: 6 files written, 0 unchanged, 0 removed\n"
    assert {identify(value): value for value in parsed(built.stdout)} == expected


def test_out_can_be_a_folder_of_the_project_and_changes_nothing_about_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = shown(capsys, str(project))

    run(["-q", "render", str(project), "--out", str(project / "rendered")])

    assert shown(capsys, str(project)) == expected


def test_out_tells_programs_what_became_of_each_file(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run(["-q", "render", str(project), "--out", str(out)])
    (project / "odd.yaml").unlink()
    capsys.readouterr()

    report = json.loads(shown(capsys, str(project), "--out", str(out), "-o", "json"))

    assert (report["folder"], report["written"], report["removed"]) == (
        str(out), ["kustomization.yaml"], ["configmap-odd.yaml"],
    )  # fmt: skip
    assert len(report["unchanged"]) == 4
    assert sorted(path.name for path in out.iterdir()) == sorted(["kustomization.yaml", *report["unchanged"]])


def test_quiet_writes_files_and_says_nothing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["-q", "render", str(project), "--out", str(tmp_path / "out")])

    output = capsys.readouterr()
    assert (code, output.out, output.err) == (0, "", "")
    assert len(list((tmp_path / "out").iterdir())) == 6


def test_out_is_never_the_project_itself(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(project)
    (project.parent / "link").symlink_to(project)

    for out in (project, project / "../shop", project.parent / "link"):
        assert run(["render", str(project), "--out", str(out)]) == 2
        assert "it is the folder that is rendered" in capsys.readouterr().err
    assert tree(project) == before


def test_out_leaves_a_folder_of_somebody_elses_alone(
    project: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    other = world.project("other", "tool")
    before = tree(other)

    code = run(["render", str(project), "--out", str(other)])

    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert output.err.startswith(f"error: {other} is not written to\n")
    assert tree(other) == before


def test_out_that_cannot_be_made_is_exit_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(project.parent)

    code = run(["render", str(project), "--out", str(project / "xplock.yaml/out")])

    assert code == 1
    assert "xplock.yaml/out cannot be written\n  why:  not a directory" in capsys.readouterr().err
    assert tree(project.parent) == before


@pytest.mark.parametrize("options", [[], ["-o", "json"]], ids=["yaml", "json"])
def test_a_dry_run_shows_what_lock_and_render_would_and_writes_nothing(
    world: World, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0", "tool")
    (folder / "odd.yaml").write_text(ODD)
    (folder / "app.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\n"
        "metadata: {name: my-app, labels: {z: '1', a: '2'}}\n"
        f"spec: {{revisionHistoryLimit: 3, package: '{HOME}/app:v1.0.0', packagePullPolicy: Always}}\n"
    )
    (folder / "xplock.yaml").write_text(
        (folder / "xplock.yaml").read_text().replace(f"  - package: {HOME}/app:v1.0.0\n", "")
    )
    before = tree(folder)

    dry = shown(capsys, str(folder), "--resolve", *options)

    assert tree(folder) == before
    assert run(["-q", "lock", str(folder)]) == 0
    assert shown(capsys, str(folder), *options) == dry


def test_a_dry_run_starts_from_the_lock_and_keeps_pins_that_fit(
    project: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("base v1.2.0")
    world.project("shop", "app:v1.0.0", "tool")
    before = text_of(project)

    text = shown(capsys, str(project), "--resolve")

    packages = {value["spec"]["package"] for value in parsed(text) if value["kind"] == "Configuration"}
    assert packages == {f"{HOME}/app:v1.0.0", f"{HOME}/base:v1.1.0", f"{HOME}/tool:v1.0.0"}
    assert text_of(project) == before


def test_a_dry_run_tells_what_lock_would_tell_on_stderr(
    project: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("base v1.1.0", {"extra": "*"})
    world.publish("extra v1.0.0")
    world.project("shop", "app:v1.0.0", "tool")

    code = run(["render", str(project), "--resolve"])

    output = capsys.readouterr()
    assert code == 0
    assert f"warning: {HOME}/base v1.1.0: tag moved since it was locked" in output.err
    assert output.out.startswith("---\n")


def test_a_dry_run_with_a_lock_that_is_up_to_date_asks_nobody(
    project: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = shown(capsys, str(project))
    shutil.rmtree(world.layout / "blobs")

    assert shown(capsys, str(project), "--resolve") == expected


def test_a_dry_run_finds_packages_in_a_layout_that_is_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.folder / "bare"
    folder.mkdir()
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {HOME}/app:v1.0.0\n")

    text = shown(capsys, str(folder), "--resolve", "--offline", "--layout", str(world.layout))

    assert len(parsed(text)) == 4


def test_a_dry_run_without_an_answer_fails_as_lock_does(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v2.0.0", "old:v1.0.0")
    locked = (run(["lock", str(folder)]), capsys.readouterr())

    dry = (run(["render", "--resolve", str(folder)]), capsys.readouterr())

    assert dry == locked
    assert dry[0] == 4


def test_a_dry_run_can_be_written_to_a_folder(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    folder = world.project("shop", "app:v1.0.0")

    code = run(["render", str(folder), "--resolve", "--out", str(folder / "preview")])

    assert code == 0
    assert "5 files written" in capsys.readouterr().err
    assert not (folder / LOCK_FILE).exists()


def test_an_overlay_has_its_say_in_every_form(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "over").mkdir()
    (project / "over/kustomization.yaml").write_text("labels: [{pairs: {team: platform}}]\n")
    with (project / "xplock.yaml").open("a") as settings:
        settings.write("overlay: over\n")

    text = shown(capsys, str(project))

    assert {value["metadata"]["labels"]["team"] for value in parsed(text)} == {"platform"}
    assert json.loads(shown(capsys, str(project), "-o", "json"))["items"] == parsed(text)
    assert shown(capsys, str(project), "--resolve") == text


def test_an_overlay_that_renames_a_package_is_exit_2_and_nothing_comes_out(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "over").mkdir()
    (project / "over/kustomization.yaml").write_text("namePrefix: prod-\n")
    with (project / "xplock.yaml").open("a") as settings:
        settings.write("overlay: over\n")

    code = run(["render", str(project)])

    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert "Configuration/acme-app is removed or renamed" in output.err
