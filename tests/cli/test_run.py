"""The command as a shell sees it: exit codes, what goes where, and what it costs to start."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
import pytest
from rig.builders.packages import CONFIGURATION, PROVIDER, an_object, build_file, write_files
from rig.registry.http_server import RecordingServer, answer, silence

from render import __version__
from render.cli.main import xplock as root
from render.cli.run import run
from render.cli.writing.package import package

COMMANDS = [
    [],
    *([name] for name in root.list_commands(click.Context(root))),
    *(["package", name] for name in package.list_commands(click.Context(package))),
]
SECONDS = 60


def xplock(
    *arguments: str, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a child, with what a test's environment has and more."""
    return subprocess.run(
        [sys.executable, "-m", "render", *arguments],
        env={**os.environ, **(environ or {})},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )


def modules_of(code: str, *arguments: str) -> set[str]:
    """Return the modules that are loaded after a call of the command in a fresh interpreter."""
    script = f"""
import sys, json
sys.argv[0] = "xplock"
from render.__main__ import main
try:
    {code}
except SystemExit as leaving:
    assert not leaving.code, leaving.code
sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stderr.rpartition("\n")[2])}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_says_what_a_command_does_and_gives_an_example(
    capsys: pytest.CaptureFixture[str], command: list[str], flag: str
) -> None:
    code = run([*command, flag])

    shown = capsys.readouterr()
    assert code == 0
    assert shown.err == ""
    assert shown.out.startswith(f"Usage: {' '.join(['xplock', *command])} ")
    assert re.search(r"^  [A-Z].+\.$", shown.out, re.MULTILINE | re.DOTALL)
    assert re.search(r"  Examples?: .*xplock " + " ".join(command), shown.out)
    assert max(len(line) for line in shown.out.splitlines()) <= 100


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_told(flag: str) -> None:
    done = xplock(flag)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"xplock {__version__}\n".encode(), b"")


def test_the_version_is_told_among_other_options_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "--version"]) == 0
    assert capsys.readouterr().out == f"xplock {__version__}\n"


@pytest.mark.parametrize("command", [[], ["package"]], ids=" ".join)
def test_a_group_alone_shows_its_help_and_fails(
    capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    code = run(command)

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert "Commands:" in shown.err


@pytest.mark.parametrize(
    ("arguments", "usage", "error"),
    [
        (
            ["pakage"],
            "xplock [OPTIONS] COMMAND [ARGS]...",
            "no such command 'pakage'\n  next: did you mean package?\n        see xplock --help",
        ),
        (
            ["package", "bulid", "x"],
            "xplock package [OPTIONS] COMMAND [ARGS]...",
            "no such command 'bulid'\n  next: did you mean build?\n        see xplock package --help",
        ),
        (
            ["zzz"],
            "xplock [OPTIONS] COMMAND [ARGS]...",
            "no such command 'zzz'\n  next: see xplock --help",
        ),
        (
            ["package", "inspect"],
            "xplock package inspect [OPTIONS] REF|FILE|LAYOUT",
            "missing argument 'REF|FILE|LAYOUT'\n  next: see xplock package inspect --help",
        ),
        (
            ["package", "build", ".", "--platform", "linux"],
            "xplock package build [OPTIONS] DIR|REF|FILE",
            "invalid value for '--platform'\n  why:  a platform is written os/architecture, as linux/amd64\n"
            "  next: see xplock package build --help",
        ),
        (
            ["completion", "tcsh"],
            "xplock completion [OPTIONS] SHELL",
            "invalid value for 'SHELL'\n  why:  'tcsh' is not one of 'bash', 'zsh', 'fish'\n"
            "  next: see xplock completion --help",
        ),
        (
            ["package", "build", ".", "-o", "a", "--to", "b"],
            "xplock package build [OPTIONS] DIR|REF|FILE",
            "-o and --to exclude each other\n  next: see xplock package build --help",
        ),
    ],
)  # fmt: skip
def test_wrong_usage_looks_like_every_other_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str, error: str
) -> None:
    code = run(arguments)

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err == f"Usage: {usage}\nerror: {error}\n"


@pytest.mark.parametrize(
    "arguments", [["--nope"], ["package", "--nope"], ["package", "build", ".", "--nope"]]
)
def test_an_unknown_option_is_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code = run(arguments)

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert re.search("^error: no such option.*--nope", shown.err, re.MULTILINE)


def test_a_mistyped_option_is_told_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["package", "build", ".", "--outptu", "x"]) == 2

    assert "did you mean --output?" in capsys.readouterr().err


def test_the_version_behind_a_command_is_told_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lock", "-V"]) == 2

    assert "  next: it stands before the command: xplock -V lock\n" in capsys.readouterr().err


def test_an_unknown_limit_in_the_environment_is_wrong_input(tmp_path: Path) -> None:
    done = xplock("package", "inspect", str(tmp_path), environ={"XPLOCK_LIMIT_NOPE": "1"})

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: unknown limit XPLOCK_LIMIT_NOPE\n  why:  ")


def test_a_bug_of_ours_shows_its_traceback_and_has_its_own_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("render.app.packages.package.inspect_path", fail)

    assert run(["package", "inspect", str(tmp_path)]) == 70
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "ZeroDivisionError: oops" in shown.err
    assert shown.err.endswith("this is a bug in xplock; please report it with the lines above\n")


def test_the_traceback_of_a_bug_shows_no_secret_and_nothing_invisible(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError(" ".join(["no", "https://robin:secret@h/x", "\x1b[2J"]))

    monkeypatch.setattr("render.app.packages.package.inspect_path", fail)

    assert run(["package", "inspect", str(tmp_path)]) == 70
    shown = capsys.readouterr()
    assert "ValueError: no https://***@h/x \\x1b[2J\n" in shown.err
    assert "\x1b" not in shown.err


def a_package(folder: Path, objects: int = 1) -> Path:
    crds = [an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"n{i}") for i in range(objects)]
    return build_file(folder / "a.xpkg", {"crossplane.yaml": PROVIDER, "crds.yaml": "---\n".join(crds)})


@pytest.mark.parametrize("objects", [1, 5000])
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, objects: int, reader: str) -> None:
    path = a_package(tmp_path, objects)
    script = (
        f"{sys.executable} -m render package inspect --objects {path} | {reader}; echo ${{PIPESTATUS[0]}}"
    )

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS)

    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("objects", [1, 5000])
def test_a_full_disk_is_told(tmp_path: Path, objects: int) -> None:
    script = (
        f"{sys.executable} -m render package inspect --objects {a_package(tmp_path, objects)} > /dev/full"
    )

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS)

    assert done.returncode == 1
    assert done.stderr.startswith("error: the result cannot be written\n  why:  no space left on device\n")


def test_an_interrupt_ends_the_command_with_its_own_code(tmp_path: Path) -> None:
    with RecordingServer(silence()) as server:
        environ = {**os.environ, "XPLOCK_PLAIN_HTTP": server.host, "HOME": str(tmp_path)}
        command = [sys.executable, "-m", "render", "package", "inspect", f"{server.host}/a:v1"]
        # Where these tests run in the background of a shell, interrupts are ignored.
        default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default
        ) as child:
            server.wait_for(1)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=SECONDS)

    assert (child.returncode, out) == (130, b"")
    assert err.strip() == b"interrupted"


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": "xterm-256color"}])
def test_without_a_terminal_there_are_no_escape_sequences(tmp_path: Path, environ: dict[str, str]) -> None:
    good = xplock("package", "inspect", str(a_package(tmp_path)), environ=environ)
    bad = xplock("package", "inspect", "nope", environ=environ)

    assert (good.returncode, bad.returncode) == (0, 2)
    assert b"\x1b" not in good.stdout + good.stderr + bad.stdout + bad.stderr


def on_a_terminal(*arguments: str, environ: Mapping[str, str]) -> str:
    """Run the command with a terminal as its stderr, and return what the terminal got."""
    main, terminal = os.openpty()
    command = [sys.executable, "-m", "render", *arguments]
    with subprocess.Popen(
        command, env={**os.environ, **environ}, stdout=subprocess.DEVNULL, stderr=terminal
    ) as child:
        os.close(terminal)
        shown = b""
        while True:
            try:
                chunk = os.read(main, 4096)
            except OSError:
                # Linux ends the last reader of a terminal this way.
                break
            if not chunk:
                break
            shown += chunk
        child.wait(SECONDS)
    os.close(main)
    return shown.decode()


def test_a_terminal_gets_colours_unless_they_are_declined() -> None:
    plain = {"NO_COLOR": "", "TERM": "xterm"}

    assert on_a_terminal("package", "inspect", "nope", environ=plain).startswith("\x1b[1;31merror:\x1b[0m ")
    for declined in ({**plain, "NO_COLOR": "1"}, {**plain, "TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal("package", "inspect", "nope", environ=declined)


ODD = {"crossplane.yaml": CONFIGURATION.replace("platform", "plätform-✓")}


@pytest.mark.parametrize("form", ["text", "json"])
def test_every_locale_gets_the_same_bytes(tmp_path: Path, form: str) -> None:
    write_files(tmp_path / "it", ODD)
    environs: Sequence[dict[str, str]] = [
        {"LC_ALL": "C.UTF-8"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1:strict", "LANG": "de_DE"},
    ]

    outputs = {
        xplock("package", "inspect", "it", "-o", form, environ=e, folder=tmp_path).stdout for e in environs
    }

    [output] = outputs
    assert ("plätform-✓" in output.decode()) == (form == "text")
    if form == "json":
        assert json.loads(output)["name"] == "plätform-✓"
        assert output.isascii()


def test_quiet_and_verbose_change_stderr_only(tmp_path: Path) -> None:
    write_files(tmp_path / "it", {"crossplane.yaml": PROVIDER})
    calls = [
        xplock(*flag, "package", "build", "it", "-o", "a.xpkg", folder=tmp_path)
        for flag in ([], ["-q"], ["-v"])
    ]

    assert {call.stdout for call in calls} == {b"a.xpkg\n"}
    assert [call.stderr.count(b"\n") for call in calls] == [1, 0, 1]


def test_verbose_tells_every_request_and_no_secret(tmp_path: Path) -> None:
    with RecordingServer(answer(404)) as server:
        host = server.host

        done = xplock(
            "-v", "package", "inspect", f"{host}/a:v1", environ={"XPLOCK_PLAIN_HTTP": host}, folder=tmp_path
        )

    assert done.returncode == 1
    assert f"GET http://{host}/v2/a/manifests/v1: 404\n".encode() in done.stderr


HEAVY = {"click", "yaml", "urllib3", "requests", "oras", "git", "jinja2", "rich", "semver", "resolvelib"}


def test_the_version_costs_no_imports() -> None:
    assert not modules_of("main()", "--version") & HEAVY


def test_help_costs_click_alone() -> None:
    assert modules_of("main()", "--help") & HEAVY == {"click"}


def test_building_imports_nothing_of_the_network(tmp_path: Path) -> None:
    write_files(tmp_path / "it", {"crossplane.yaml": CONFIGURATION})

    loaded = modules_of("main()", "package", "build", str(tmp_path / "it"), "-o", str(tmp_path / "a.xpkg"))

    assert loaded & HEAVY == {"click", "yaml"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_inspecting_a_file_imports_nothing_of_the_network(tmp_path: Path, form: str) -> None:
    loaded = modules_of("main()", "package", "inspect", str(a_package(tmp_path)), "-o", form)

    assert loaded & HEAVY == {"click", "yaml"}
    assert not loaded & {"http", "ssl", "socket"}


@pytest.mark.parametrize(
    "command",
    ["check {}", "check -o json {}", "render {}", "lock --offline {}", "tree {}", "diff {} {}"],
)
def test_a_folder_whose_files_nobody_can_look_at_is_wrong_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far").mkdir()
    # As with a folder that may be listed and not entered: the way to any file in it is longer than a path may be.
    folder = "far/../" * 584 + "far"

    code = run(command.replace("{}", folder).split())

    output = capsys.readouterr()
    assert (code, "Traceback" in output.err) == (2, False), output.err
    assert "file name too long" in output.out + output.err


@pytest.mark.parametrize("command", ["diff {}", "diff HEAD {}", "lock --layout {}", "package inspect {}"])
def test_a_name_that_no_file_can_have_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True, cwd=tmp_path)

    code = run(command.replace("{}", "x" * 300).split())

    assert (code, "Traceback" in capsys.readouterr().err) == (2, False)
