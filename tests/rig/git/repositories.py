"""Real Git repositories of every kind, with a project in them; and others who push, hook and write there too."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from render.inputs.record import make_record
from render.inputs.settings.file import parse_settings
from render.limits import Limits
from render.lock.text.format import format_lock
from render.system.files import LOCK_FILE
from rig.builders.locks import lock, package
from rig.registry.http_server import Answer, Handler, Request, answer

SHOP = f"shop/{LOCK_FILE}"
ASKS = "roots:\n  - package: xpkg.example.org/acme/app\n"
REAL_GIT = shutil.which("git") or "git"
SECONDS = 120

# githooks(5), but for those of a server and of programs that are not git's plumbing.
HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "commit-msg"),
    *("prepare-commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push"),
    *("reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"),
    *("post-index-change", "sendemail-validate"),
)
_PROGRAMS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "gpg.program"),
    *("filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "diff.bad.textconv", "diff.bad.command"),
    *(
        "diff.external",
        "merge.bad.driver",
        "sequence.editor",
        "credential.helper",
        "uploadpack.packObjectsHook",
    ),
)


def git(folder: Path, *command: str, check: bool = True) -> str:
    """Run git in a folder, with a fixed author."""
    identity = [
        "-c",
        "user.name=Robin",
        "-c",
        "user.email=robin@example.org",
        "-c",
        "protocol.file.allow=always",
    ]
    done = subprocess.run(
        [REAL_GIT, *identity, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def record_of(asks: str = ASKS) -> Mapping[str, str]:
    """Return the record of a folder that has settings and nothing else."""
    settings = parse_settings(asks.encode(), Path(), Limits(), [])
    return make_record(settings.roots, settings.rewrites, settings)


def lock_text(*packages: str, asks: str = ASKS) -> bytes:
    """Return the text of a lock with some packages, each written as "name version", that answers a folder's settings."""
    return format_lock(lock(map(package, packages), record_of(asks))).encode()


ONE, TWO, THREE = lock_text("app v1.0.0"), lock_text("app v2.0.0"), lock_text("app v3.0.0")


def project(root: Path, text: bytes = ONE, name: str = "shop") -> Path:
    """Write a project with a lock into a folder below."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "xplock.yaml").write_text(ASKS)
    (folder / LOCK_FILE).write_bytes(text)
    return folder


def save(root: Path, message: str = "a change") -> str:
    """Commit everything, and return the commit."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message)
    return git(root, "rev-parse", "HEAD")


def new_repository(root: Path, *options: str) -> Path:
    """Make a repository that knows who commits."""
    git(root.parent, "init", "--quiet", "--initial-branch=main", *options, str(root))
    set_author(root)
    return root


def set_author(root: Path) -> None:
    """Set the name and address for commits."""
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")


def shop(folder: Path, *options: str) -> Path:
    """Make a repository in which the project `shop` is committed with the first lock."""
    root = new_repository(folder / "repository", *options)
    project(root)
    (root / "README").write_text("read me\n")
    save(root)
    return root


def clone(source: Path, target: Path, *options: str) -> Path:
    """Clone a repository the way a server would be cloned."""
    git(source.parent, "clone", "--quiet", *options, f"file://{source}", str(target))
    set_author(target)
    return target


def shared_shop(folder: Path) -> tuple[Path, Path]:
    """Make a bare repository that stands for a server, and a clone of it."""
    made = shop(folder)
    git(folder, "clone", "--quiet", "--bare", str(made), "server.git")
    return folder / "server.git", clone(folder / "server.git", folder / "clone")


def _index_v4(folder: Path) -> Path:
    root = shop(folder)
    git(root, "config", "feature.manyFiles", "true")
    git(root, "update-index", "--index-version", "4")
    return root


def _split_index(folder: Path) -> Path:
    root = shop(folder)
    git(root, "config", "core.splitIndex", "true")
    git(root, "update-index", "--split-index")
    return root


def _sparse_index(folder: Path) -> Path:
    root = shop(folder)
    project(root, name="elsewhere/deep")
    save(root)
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "shop")
    return root


def _shallow(folder: Path) -> Path:
    made = shop(folder)
    (made / "README").write_text("read me again\n")
    save(made)
    return clone(made, folder / "shallow", "--depth=1")


def _linked(folder: Path) -> Path:
    root = shop(folder)
    git(root, "worktree", "add", "--quiet", "-b", "linked", str(folder / "tree"))
    return folder / "tree"


def _submodule(folder: Path) -> Path:
    made = shop(folder)
    above = new_repository(folder / "above")
    git(above, "submodule", "--quiet", "add", f"file://{made}", "inner")
    save(above)
    set_author(above / "inner")
    return above / "inner"


def _dirty(folder: Path) -> Path:
    root = shop(folder)
    make_dirty(root)
    return root


def _packed(folder: Path) -> Path:
    root = shop(folder)
    git(root, "gc", "--quiet")
    return root


# Every kind of work tree, with `shop` in it.
WORK_TREES: Mapping[str, Callable[[Path], Path]] = {
    "plain": shop,
    "index v4": _index_v4,
    "split index": _split_index,
    "sparse index": _sparse_index,
    "sha256": lambda folder: shop(folder, "--object-format=sha256"),
    "shallow": _shallow,
    "linked work tree": _linked,
    "submodule": _submodule,
    "dirty index": _dirty,
    "packed": _packed,
}


def make_dirty(root: Path) -> None:
    """Leave work of every kind behind: staged, unstaged, both, new, to be added, and changed without a trace in times."""
    (root / "racy").write_text("aaa\n")
    git(root, "add", "racy")
    moment = (root / "racy").stat()
    (root / "racy").write_text("bbb\n")
    os.utime(root / "racy", ns=(moment.st_atime_ns, moment.st_mtime_ns))
    (root / "staged").write_text("staged\n")
    (root / "README").write_text("staged\n")
    git(root, "add", "staged", "README")
    (root / "README").write_text("unstaged\n")
    (root / "untracked").write_text("untracked\n")
    (root / "intended").write_text("intended\n")
    git(root, "add", "--intent-to-add", "intended")
    with (root / "shop" / "xplock.yaml").open("a") as file:
        file.write("# not committed\n")


def status(root: Path) -> str:
    """Return what git says has changed, but for the lock."""
    lines = git(root, "status", "--porcelain", "--untracked-files=all").splitlines()
    return "\n".join(line for line in lines if not line.endswith(SHOP))


def paths_in(root: Path, commit: str = "HEAD") -> list[str]:
    """Return the files that a commit changes."""
    return git(root, "diff-tree", "-r", "--root", "--no-commit-id", "--name-only", commit).splitlines()


def text_at(root: Path, revision: str, path: str = SHOP) -> bytes:
    """Return a file as it is at a revision."""
    command = [REAL_GIT, "cat-file", "blob", f"{revision}:{path}"]
    return subprocess.run(command, cwd=root, capture_output=True, check=True, timeout=SECONDS).stdout


def check_integrity(root: Path) -> None:
    """See that nothing in a repository is broken."""
    done = subprocess.run(
        [REAL_GIT, "fsck", "--full", "--strict"], cwd=root, capture_output=True, text=True, timeout=SECONDS
    )
    broken = [line for line in done.stderr.splitlines() if line.startswith(("error", "missing", "fatal"))]
    assert (done.returncode, broken) == (0, [])


def plant_canaries(root: Path, canary: Path) -> None:
    """Let the repository name programs wherever it can; each would touch the canary."""
    script = f"#!/bin/sh\ntouch {canary}\nexec cat\n"
    program = root.parent / "program"
    write_program(program, script)
    for folder in (root / ".git" / "hooks", root.parent / "more-hooks"):
        for hook in HOOKS:
            write_program(folder / hook, script)
    for key in _PROGRAMS:
        git(root, "config", key, str(program))
    git(root, "config", "core.hooksPath", str(root.parent / "more-hooks"))
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* filter=bad diff=bad merge=bad\n")


def write_program(path: Path, text: str) -> None:
    """Write a file that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def git_in_between(folder: Path, script: str) -> str:
    """Put a git before the real one that first runs a script with its arguments; return the PATH that finds it."""
    write_program(folder / "git", f'#!/bin/sh\n{script}\nexec {REAL_GIT} "$@"\n')
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def rival(server: Path, folder: Path, path: str, text: str = "$(date +%N)") -> str:
    """Return a script that pushes a change of a file to the server, as another user would."""
    git(folder.parent, "clone", "--quiet", str(server), str(folder))
    set_author(folder)
    # Run in between ours, it must not inherit that commands talk to no server.
    run = f"env -u GIT_ALLOW_PROTOCOL {REAL_GIT} -C {folder}"
    return (
        f'{run} pull --quiet --ff-only && mkdir -p {(folder / path).parent} && echo "{text}" >> {folder / path} && '
        f"{run} add --all && {run} commit --quiet -m rival && {run} push --quiet"
    )


def serve(root: Path, credentials: str = "") -> Handler:
    """Return what answers for the repositories in a folder as a server does, to those who may."""

    def handle(request: Request) -> Answer:
        if credentials and request.credentials != credentials:
            return answer(401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        return _run_backend(root, request)

    return handle


def _run_backend(root: Path, request: Request) -> Answer:
    variables = {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REMOTE_USER": "somebody",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "CONTENT_LENGTH": str(len(request.body)),
    }
    environ = {**os.environ, **variables}
    done = subprocess.run(
        [REAL_GIT, "http-backend"],
        input=request.body,
        env=environ,
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    number = headers.pop("Status", "200 OK").split()[0]
    return answer(int(number), body, headers)


# A uid without a user, as in a sidecar. It may read everything, since the interpreter may be in root's own folder.
SIDECAR_USER = 999
_ABILITY = "-all,+dac_read_search"
AS_IN_A_SIDECAR = (
    *("setpriv", f"--reuid={SIDECAR_USER}", f"--regid={SIDECAR_USER}", "--clear-groups"),
    *(f"--inh-caps={_ABILITY}", f"--ambient-caps={_ABILITY}", f"--bounding-set={_ABILITY}"),
)


@contextmanager
def public_folder() -> Iterator[Path]:
    """Make a folder that all users may read, unlike that of a test."""
    with TemporaryDirectory(prefix="xplock-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a small disk in memory, which only root can."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Leave no room on a disk."""
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def give(user: int, *folders: Path) -> None:
    """Give folders away, with all that is in them."""
    for path in (path for folder in folders for path in (folder, *folder.rglob("*"))):
        os.chown(path, user, user, follow_symlinks=False)


def start_xplock(*arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the command as a child that leads a group of its own, so that all of it can be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "render", *arguments],
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
