"""Projects whose packages are in a real registry, and a cache of their own."""

from dataclasses import dataclass, replace
from pathlib import Path

from rig.builders.packages import build_file
from rig.builders.projects import format_metadata
from rig.commands.run import Outcome, run_command
from rig.registry.docker import RunningRegistry


@dataclass(frozen=True, slots=True)
class Served:
    """A project, and the organisation in a registry that it has its packages from."""

    host: str
    organisation: str
    folder: Path
    cache: Path

    def source(self, name: str) -> str:
        """Return the source of a package."""
        return f"{self.host}/{self.organisation}/{name}"

    def beside(self, folder: Path) -> "Served":
        """Return another project with the same registry and the same cache."""
        folder.mkdir()
        return replace(self, folder=folder)

    def ask(self, *names: str) -> None:
        """Write the settings: "app", or "app:v1.0.0"."""
        roots = "".join(f"  - package: {self.source(name)}\n" for name in names)
        (self.folder / "xplock.yaml").write_text(f"roots:\n{roots}")

    def run(self, *arguments: str) -> Outcome:
        """Run the command for the project's folder."""
        environ = {"XPLOCK_PLAIN_HTTP": self.host, "XPLOCK_CACHE_DIR": str(self.cache)}
        return run_command(*arguments, str(self.folder), environ=environ)

    def push(self, package: str, **dependencies: str) -> None:
        """Push a Configuration, "app v1.0.0", with what it depends on; never into the cache."""
        name, version = package.split()
        depends_on = [
            {"configuration": self.source(other), "version": text} for other, text in dependencies.items()
        ]
        meta = format_metadata(package, "Configuration", depends_on, replaces=(), family="", annotations={})
        file = build_file(self.folder.parent / f"{name}-{version}.xpkg", {"crossplane.yaml": meta})
        environ = {"XPLOCK_PLAIN_HTTP": self.host}
        pushed = run_command("package", "push", str(file), f"{self.source(name)}:{version}", environ=environ)
        assert pushed.code == 0, pushed.stderr


def serve(registry: RunningRegistry, folder: Path, organisation: str) -> Served:
    """Make an empty project, in an organisation that no other test uses: it may be shared by a whole session."""
    project = folder / "project"
    project.mkdir()
    return Served(
        registry.host, f"{organisation}-{folder.name.lower()}"[:60].rstrip("-_"), project, folder / "cache"
    )
