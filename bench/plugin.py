"""What Argo CD calls for every Application: beside a bare interpreter, and beside kubectl kustomize on the same objects."""

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import best_seconds, print_ratio, python
from bench.registry import EcosystemCatalog
from bench.render import LARGE, make_project

_ROUNDS = 20


def main() -> None:
    """Print one line for each promise."""
    xplock = str(Path(sys.executable).with_name("xplock"))
    # As in the shipped plugin.yaml.
    generate = [xplock, "plugin", "generate", "--lock-policy", "commit"]
    with tempfile.TemporaryDirectory() as name:
        project = make_project(Path(name, "real"), [LARGE], EcosystemCatalog())
        base = Path(name, "base")
        base.mkdir()
        objects = subprocess.run(generate, check=True, cwd=project, capture_output=True).stdout
        (base / "objects.yaml").write_bytes(objects)
        (base / "kustomization.yaml").write_text("resources: [objects.yaml]\n")
        commands = [
            python("-c", "pass"),
            generate,
            [xplock, "plugin", "parameters"],
            ["kubectl", "kustomize", str(base)],
        ]
        bare, generating, announcing, kustomize = best_seconds(commands, _ROUNDS, folder=project)
    count = objects.count(b"\nkind: ImageConfig\n")
    print_ratio(f"plugin generate of {count} packages", generating, bare, goal=4.5)
    print_ratio("  beside kubectl kustomize", generating, kustomize, goal=0.7)
    print_ratio("plugin parameters", announcing, bare, goal=4)


if __name__ == "__main__":
    main()
