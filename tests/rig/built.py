"""Real servers, built once from the Go module proxy and kept below a cache folder."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ARGOCD = "v3.2.11"

_MAINS = Path(__file__).parents[1] / "e2e"
_ARGOCD_MODULE = "github.com/argoproj/argo-cd/v3"
_ARGOCD_NAMES = (
    "argocd-application-controller",
    "argocd-cmp-server",
    "argocd-git-ask-pass",
    "argocd-repo-server",
)


def cache_folder() -> Path:
    """Return where built servers are kept, across runs and clones."""
    named = os.environ.get("XPLOCK_E2E_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "xplock-e2e"


def build_argocd() -> Path:
    """Return the folder with Argo CD's servers; the first time, a few minutes pass."""
    folder = cache_folder() / f"argocd-{ARGOCD}"
    program = folder / "argocd"
    if not program.exists():
        _build(_ARGOCD_MODULE, ARGOCD, _MAINS / "argocd" / "main.go", program)
    for name in _ARGOCD_NAMES:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to("argocd")
    return folder


def _build(module: str, version: str, main: Path, program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise SystemExit("the end-to-end tests need Go 1.25 or newer: https://go.dev/dl")
    sources = program.parent / "source"
    sources.mkdir(parents=True, exist_ok=True)
    module_folder = _download(go, module, version, sources)
    # The versions that Argo CD itself is built with, its replacements included.
    described = (module_folder / "go.mod").read_text()
    (sources / "go.mod").write_text(
        re.sub(r"^module .*$", "module example.org/servers", described, flags=re.M)
    )
    (sources / "go.sum").write_bytes((module_folder / "go.sum").read_bytes())
    (sources / "main.go").write_bytes(main.read_bytes())
    _run([go, "mod", "edit", f"-require={module}@{version}"], sources)
    # Finished under another name, so that an interrupted build is not taken for a whole one.
    unfinished = program.with_suffix(".new")
    _run([go, "build", "-o", str(unfinished), "."], sources)
    unfinished.replace(program)


def _download(go: str, module: str, version: str, folder: Path) -> Path:
    (folder / "go.mod").write_text("module example.org/servers\n")
    command = [go, "mod", "download", "-json", f"{module}@{version}"]
    output = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    found = re.search(r'"Dir": "(.*)"', output)
    if found is None:
        raise SystemExit(f"go did not download {module} {version}: {output}")
    return Path(found[1])


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    subprocess.run(command, cwd=folder, check=True, env=environment)


if __name__ == "__main__":
    print(build_argocd())
