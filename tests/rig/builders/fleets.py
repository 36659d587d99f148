"""Fleets: folders that lock the same real closure of 27 packages, each with its own settings."""

from pathlib import Path

from rig.builders.ecosystem import build_all, fill_layout
from rig.live.closure.packages import all_needed, closure_root

ROOT = "xpkg.upbound.io/upbound/configuration-caas"
OLD, NEW = "v0.3.0", "v0.4.0"
NAME = "caas-of-production"


def closure_layout(folder: Path) -> Path:
    """Build every version that two versions of the closure may need into a layout, and return it."""
    versions = {one.reference: one for tag in (OLD, NEW) for one in all_needed(closure_root(tag))}
    layout = folder / "registry"
    fill_layout(layout, build_all(versions.values(), folder / "scratch"))
    return layout


def closure_folder(folder: Path, tag: str = "", *, name: str = "", more: str = "") -> Path:
    """Write a folder that asks for the closure: by a manifest with a name, or by a range in its settings."""
    folder.mkdir(parents=True, exist_ok=True)
    places = "layouts:\n" + "".join(
        f"  - {{prefix: {host}, folder: ../registry}}\n" for host in ("xpkg.upbound.io", "xpkg.crossplane.io")
    )
    roots = "" if name else f"roots:\n  - package: {ROOT}{f':{tag}' if tag else ''}\n"
    (folder / "xplock.yaml").write_text(f"{roots}{places}{more}")
    if name:
        (folder / "caas.yaml").write_text(
            "# what production asks for\n"
            "apiVersion: pkg.crossplane.io/v1\n"
            "kind: Configuration\n"
            f"metadata:\n  name: {name}\n"
            f"spec:\n  package: {ROOT}:{tag}  # tested in staging\n"
        )
    return folder
