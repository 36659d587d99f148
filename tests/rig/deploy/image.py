"""The image of the Dockerfile, built by root without a container engine; and its files as a folder.

    make image
    make image BASE=docker.io/library/python:3.13.13-slim-bookworm

Without BASE, the base image is made here, of packages of this machine's Debian.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.deploy.build_settings import apt_settings, debian_sources, suite, write_settings

TOP = Path(__file__).parents[3]
FOLDER = TOP / ".image"
# Read before a test hides the settings of the machine.
_ENVIRON = dict(os.environ)
# What the base image of the Dockerfile has, and what the Dockerfile adds to it.
_PACKAGES = (
    *("python3", "python3-venv", "python3-pip", "python-is-python3"),
    *("ca-certificates", "git", "openssh-client", "tini"),
)
# The settings of this machine are mounted while the image is built, and must not be in the base image.
_WITHOUT_SETTINGS = (
    'rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/apt/sources.list.d/*',
    'truncate --size 0 "$1"/etc/apt/sources.list',
)
# The Dockerfile, and what it copies.
_INPUTS = (
    *("Dockerfile", ".dockerignore", "LICENSE", "README.md", "plugin.yaml", "pyproject.toml"),
    *("deploy/requirements", "render"),
)


@dataclass(frozen=True, slots=True)
class Image:
    """An image as an OCI archive, and the same files below a folder."""

    archive: Path
    root: Path


def build_image(base: str = "") -> Image:
    """Return the image of this clone; it is built only if the last one has other inputs."""
    image, complete, digest = (
        Image(FOLDER / "xplock.tar", FOLDER / "root"),
        FOLDER / "complete",
        _digest(base),
    )
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not complete.exists() or complete.read_text() != digest:
            complete.unlink(missing_ok=True)
            _require_root()
            with tempfile.TemporaryDirectory(prefix="build-", dir=FOLDER) as scratch:
                _build(Path(scratch), image, base)
            complete.write_text(digest)
    return image


def _build(scratch: Path, image: Image, base: str) -> None:
    buildah = Buildah(scratch)
    own = not base
    if own:
        base = buildah.load(_base_files(scratch), "localhost/base")
    settings = write_settings(scratch / "settings", _ENVIRON, sources=own)
    volumes = [f"--volume={ours}:{theirs}:ro" for theirs, ours in settings.items()]
    # This buildah makes stages that nothing needs, too: kustomize's image would be downloaded for nothing.
    arguments = [f"--build-arg=PYTHON={base}", f"--build-arg=KUSTOMIZE={base}"]
    buildah.run("build", "--quiet", *arguments, *volumes, "--tag=localhost/xplock", str(TOP))
    buildah.unpack("localhost/xplock", image.root)
    image.archive.unlink(missing_ok=True)
    buildah.run("push", "--quiet", "localhost/xplock", f"oci-archive:{image.archive}:localhost/xplock")


def _base_files(scratch: Path) -> Path:
    """Return a tarball of a Debian with Python; the first time, minutes pass."""
    kept = FOLDER / "base.tar"
    if not kept.exists():
        sources, apt, new = scratch / "sources.list", scratch / "apt.conf", scratch / "base.tar"
        sources.write_text(debian_sources())
        apt.write_text(apt_settings())
        options = [f"--customize-hook={hook}" for hook in _WITHOUT_SETTINGS]
        options += [f"--include={','.join(_PACKAGES)}", f"--aptopt={apt}"]
        _run(["mmdebstrap", "--quiet", "--variant=apt", *options, suite(), str(new), str(sources)])
        new.rename(kept)
    return kept


@dataclass(frozen=True, slots=True)
class Buildah:
    """Debian's buildah with a storage of its own, which needs neither an engine nor any feature of the kernel."""

    folder: Path

    def run(self, *arguments: str) -> str:
        """Run a command; return what it printed."""
        places = [f"--root={self.folder}/storage", f"--runroot={self.folder}/run", "--storage-driver=vfs"]
        return _run(["buildah", *places, *arguments]).strip()

    def load(self, files: Path, name: str) -> str:
        """Make an image of the files in a tarball."""
        container = self.run("from", "scratch")
        self.run("add", "--quiet", container, str(files), "/")
        self.run("commit", "--quiet", "--rm", container, name)
        return name

    def unpack(self, name: str, folder: Path) -> None:
        """Copy the files of an image into a folder."""
        container = self.run("from", "--pull-never", name)
        shutil.rmtree(folder, ignore_errors=True)
        # Times count: modules are compiled again if they are newer than what they were compiled to.
        _run(["cp", "--archive", self.run("mount", container), str(folder)])
        self.run("rm", container)


def _run(command: Sequence[str]) -> str:
    if shutil.which(command[0]) is None:
        raise SystemExit(f"{command[0]} is missing; `make image` installs it")
    environ = {**_ENVIRON, "BUILDAH_ISOLATION": "chroot"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"failed with {done.returncode}: {shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _require_root() -> None:
    if os.geteuid() != 0:
        raise SystemExit("only root can build the image: sudo make image")


def _digest(base: str) -> str:
    found = hashlib.sha256(repr((base, _PACKAGES, _WITHOUT_SETTINGS)).encode())
    for path in _files():
        found.update(f"\n{path.relative_to(TOP)} {path.stat().st_mode}\n".encode() + path.read_bytes())
    return found.hexdigest()


def _files() -> Iterator[Path]:
    for name in _INPUTS:
        places = sorted((TOP / name).rglob("*")) if (TOP / name).is_dir() else [TOP / name]
        yield from (path for path in places if path.is_file() and "__pycache__" not in path.parts)


def main() -> None:
    """Build the image, and print where it is and how to push it."""
    image = build_image(*sys.argv[1:])
    print(f"{image.archive}: to push it, run")
    print(
        f"  skopeo copy oci-archive:{shlex.quote(str(image.archive))} docker://registry.example.org/xplock:0.1.0"
    )


if __name__ == "__main__":
    main()
