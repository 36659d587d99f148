"""What is in deploy/, put together as kustomize and kubectl do."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from render.limits import Limits
from render.yaml.documents import file_rules, parse_documents

TOP = Path(__file__).parents[3]
DEPLOY = TOP / "deploy"
ARGOCD = TOP / "tests/data/argocd/argocd.yaml"
# One that others have changed.
BUSY = TOP / "tests/data/argocd/busy.yaml"
SECONDS = 120


def parsed(data: bytes) -> list[dict[str, Any]]:
    """Return the objects of a YAML stream."""
    return parse_documents(data, file_rules(Limits()))


def read_one(path: Path) -> dict[str, Any]:
    """Return the only object of a file."""
    [value] = parsed(path.read_bytes())
    return value


def kubectl(*arguments: str | Path) -> bytes:
    """Run a command of kubectl that needs no cluster."""
    done = subprocess.run(["kubectl", *arguments], capture_output=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def link_components(folder: Path, components: Sequence[str], component: Path = DEPLOY) -> None:
    """Write a kustomization of argocd.yaml with some components of deploy/, which is copied to xplock/."""
    shutil.copytree(component, folder / "xplock")
    lines = ["resources: [argocd.yaml]", *(f"components: [{', '.join(components)}]" for _ in components[:1])]
    (folder / "kustomization.yaml").write_text("".join(f"{line}\n" for line in lines))


def build_component(
    folder: Path, *, component: Path = DEPLOY, patches: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the objects of a small Argo CD with all components and more patches, by kind and name without its hash."""
    shutil.copytree(component, folder / "xplock")
    shutil.copy(ARGOCD, folder)
    lines = ["namespace: argocd", "resources: [argocd.yaml]", "components: [xplock, xplock/health]"]
    lines += ["patches:", *(f"  - path: xplock/{patch}" for patch in patches)] if patches else []
    (folder / "kustomization.yaml").write_text("\n".join(lines))
    objects = parsed(kubectl("kustomize", folder))
    names = [value["metadata"]["name"] for value in objects]
    short = ["xplock-plugin" if name.startswith("xplock-plugin-") else name for name in names]
    return {f"{value['kind']}/{name}": value for value, name in zip(objects, short, strict=True)}
