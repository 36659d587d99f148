"""A registry with a small closure, signed in every way, and a folder that has locked it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from render.references import Source
from rig.builders.projects import format_metadata
from rig.commands.run import Outcome, run_command
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw, SignedImage

HOST = "xpkg.example.org"
# Two partial dependencies, as the founding design has them: one without a registry, one without an organisation, too.
WISHES = (("provider", "acme/store"), ("function", "shape"))


@dataclass
class Closure:
    """A closure in a registry, under the name of another host."""

    registry: Raw
    name: str = HOST
    images: dict[str, SignedImage] = field(default_factory=dict)

    def push(self) -> "Closure":
        """Push app, and what it needs."""
        self.add("acme/store", "Provider")
        self.add("acme/shape", "Function")
        self.add("acme/app", "Configuration", *WISHES)
        return self

    def add(
        self, name: str, kind: str, *wishes: tuple[str, str], version: str = "v1.0.0", attached: bool = True
    ) -> SignedImage:
        """Push one version of a package."""
        needs = [{key: wish, "version": "^1"} for key, wish in wishes]
        meta = format_metadata(f"{name} {version}", kind, needs, replaces=(), family="", annotations={})
        self.images[f"{name} {version}"] = image = SignedImage(self.registry, name, version)
        image.push(meta, attached=attached)
        return image

    def folder(self, path: Path, *, root: str = "acme/app:v1.0.0", more: str = "", host: str = "") -> Path:
        """Write a folder that asks for a package, and lock it."""
        path.mkdir(parents=True, exist_ok=True)
        rewrite = f"rewrites:\n  - from: {self.name}/\n    to: {host or self.registry.host}/\n"
        (path / "xplock.yaml").write_text(f"roots:\n  - package: {self.name}/{root}\n{rewrite}{more}")
        done = self.run("lock", str(path), host=host)
        assert done.code == 0, done.stderr
        return path

    def run(self, *arguments: str, host: str = "", environ: dict[str, str] | None = None) -> Outcome:
        """Run xplock as someone who may ask this registry, and those in the variable, without TLS."""
        given = dict(environ or {})
        hosts = [self.registry.host, host, given.pop("hosts", "")]
        return run_command(*arguments, environ={"XPLOCK_PLAIN_HTTP": ",".join(filter(None, hosts)), **given})

    def mirror(
        self, folder: Path, host: str, *options: str, also: Sequence[str] = (), **environ: str
    ) -> Outcome:
        """Mirror what a folder has locked to a path in a registry; further hosts may be asked without TLS, too."""
        hosts = ",".join([host, *also])
        arguments = ("mirror", str(folder), "--to", f"{host}/xp", *options)
        return self.run(*arguments, environ={"hosts": hosts, **environ})

    def export(self, folder: Path, to: str, *options: str) -> Outcome:
        """Mirror what a folder has locked to a layout or an archive."""
        return self.run("mirror", str(folder), "--to", to, *options)

    def through(self, proxy: Proxy, folder: Path) -> None:
        """Let a folder fetch through a proxy; what is locked stays."""
        file = folder / "xplock.yaml"
        file.write_text(file.read_text().replace(self.registry.host, proxy.host))

    def digests(self) -> dict[str, dict[str, str]]:
        """Return the digest of every manifest of every image, by repository."""
        return {image.repository: image.manifests for image in self.images.values()}


def mirrored(to: str, name: str) -> Source:
    """Return the repository of a package in a mirror."""
    host, _, path = to.partition("/")
    return Source(host, f"{path}/{HOST}/{name}".removeprefix("/"))
