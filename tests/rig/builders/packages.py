"""Packages for tests: folders to build from, files built from them, and archives of any shape."""

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from render.limits import Limits
from render.registry.oci import Platform, digest_of
from render.xpkg.building.build import BuiltPackage, build_package
from render.xpkg.building.package_file import format_package_file

CONFIGURATION = """\
apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: platform
spec:
  crossplane:
    version: ">=v1.14.0"
  dependsOn:
    - provider: xpkg.example.org/acme/provider-nop
      version: ">=v0.2.0"
"""
PROVIDER = """\
apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
metadata:
  name: provider-nop
"""
FUNCTION = """\
apiVersion: meta.pkg.crossplane.io/v1beta1
kind: Function
metadata:
  name: function-nop
"""


def an_object(api_version: str, kind: str, name: str) -> str:
    """Return a small object."""
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\nspec: {{}}\n"


CRD = an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "nops.example.org")
XRD = an_object("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", "xnops.example.org")
COMPOSITION = an_object("apiextensions.crossplane.io/v1", "Composition", "nop")


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, and return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def build(
    folder: Path, files: Mapping[str, str | bytes], *, platform: Platform | None = None
) -> BuiltPackage:
    """Build the package of these files."""
    return build_package(write_files(folder, files), Limits(), platform=platform)


def build_file(path: Path, files: Mapping[str, str | bytes], *, platform: str = "") -> Path:
    """Build the package of these files into a .xpkg file."""
    os, _, architecture = platform.partition("/")
    built = build(
        path.with_suffix(".folder"), files, platform=Platform(os, architecture) if platform else None
    )
    path.write_bytes(format_package_file(built.image))
    return path


def tar_of(files: Mapping[str, bytes] | Sequence[tuple[str, bytes]]) -> bytes:
    """Return a tar archive of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def saved_image(
    layers: Sequence[tuple[str | None, bytes]], config: Mapping[str, object] | None = None
) -> bytes:
    """Return an image as the Crossplane CLI saves it, from layers with their marks."""
    digests = [digest_of(data) for _, data in layers]
    labels = {
        f"io.crossplane.xpkg:{digest}": mark
        for digest, (mark, _) in zip(digests, layers, strict=True)
        if mark
    }
    described = {"architecture": "", "os": "", "config": {"Labels": labels}, "rootfs": {"type": "layers"}}
    settings = json.dumps({**described, **(config or {})}).encode()
    names = [f"{digest.removeprefix('sha256:')}.tar.gz" for digest in digests]
    listing = [{"Config": digest_of(settings), "RepoTags": None, "Layers": names}]
    blobs = dict(zip(names, (data for _, data in layers), strict=True))
    return tar_of({digest_of(settings): settings, **blobs, "manifest.json": json.dumps(listing).encode()})
