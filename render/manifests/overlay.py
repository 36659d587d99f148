"""The user's overlay: a kustomization that is built over the rendered set in a copy, with its output checked."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from render.errors import InvalidInput, RenderError
from render.inputs.budget import Budget
from render.inputs.folders import KUSTOMIZATION_FILES
from render.inputs.kustomizations.checks import check_kustomizations, repository_of
from render.inputs.kustomizations.kustomize import KustomizeFailed, build_kustomization
from render.inputs.problems import InvalidInputs
from render.lean import replace
from render.limits import LimitExceeded, Limits
from render.manifests.identity import identify
from render.manifests.overlay_checks import check_overlay_output
from render.manifests.passthrough import refuse_locks
from render.manifests.text import format_yaml
from render.system.boundary import Boundary, real_path
from render.system.files import InvalidFile, read_plain
from render.system.scratch import scratch_folder, writing
from render.yaml.documents import file_rules, iterate_documents, parse_documents
from render.yaml.writer import format_document

# Large, and no part of a kustomization.
_SKIPPED = ".git"


def copy_folder(source: Path, target: Path, limits: Limits) -> None:
    """Copy a folder to a path that does not exist yet."""
    left = limits.kustomize_bytes
    try:
        target.mkdir()
        for path in _walk(source, limits):
            data = _read(path, source, left, limits)
            left -= len(data or b"")
            _put(target / path.relative_to(source), data)
    except OSError as error:
        raise RenderError(
            f"{source} cannot be copied", why=(error.strerror or str(error)).lower(), next="check the folder"
        ) from None


def _walk(folder: Path, limits: Limits) -> Iterator[Path]:
    """Yield every file and folder below a folder, each folder before its contents."""
    waiting, found = [folder], 0
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.name == _SKIPPED:
                continue
            found += 1
            if found > limits.files:
                raise LimitExceeded(f"{folder} has too many files", "files", limits)
            yield path
            if path.is_dir():
                waiting.append(path)


def _read(path: Path, source: Path, left: int, limits: Limits) -> bytes | None:
    """Return the bytes of a file, or None for a folder."""
    if path.is_symlink():
        raise InvalidFile(
            f"{path} is not copied", why="it is a symbolic link", next="put the file itself there"
        )
    if path.is_dir():
        return None
    data = read_plain(path, left)
    if data is None:
        raise LimitExceeded(f"{source} is too large", "kustomize_bytes", limits)
    return data


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)


_RENDERED = "rendered"
_FILE = "objects.yaml"
_BUILD_BY_HAND = (
    "correct it; to build it by hand, remove overlay from xplock.yaml, run xplock render --out,",
    "and add the folder that this writes to the kustomization's resources",
)


class UnusableOverlay(InvalidInput):
    """A folder that cannot be an overlay."""

    def __init__(self, overlay: Path, why: str) -> None:
        super().__init__(
            f"{overlay} cannot be used as overlay",
            why=why,
            next="correct overlay, in xplock.yaml or in the parameters of the Application",
        )


class OverlayFailed(RenderError):
    """An overlay that did not build; the error names its folder, not the copy."""

    def __init__(self, error: RenderError, copy: Path, overlay: Path) -> None:
        # The usual advice is to build the folder by hand; an overlay has nothing to patch that way.
        steps = _BUILD_BY_HAND if isinstance(error, KustomizeFailed) else error.next
        super().__init__(error.what.replace(str(copy), str(overlay)), why=error.why, next=steps)
        self.exit_code = error.exit_code


def apply_overlay(
    objects: Sequence[dict[str, Any]],
    overlay: Path,
    project: Path,
    limits: Limits,
    environ: Mapping[str, str],
    boundary: Boundary | None = None,
) -> list[dict[str, Any]]:
    """Return the objects after the overlay, in their old order, followed by the objects that it adds."""
    _check_overlay(overlay, project, limits, boundary)
    what_for = f"a copy of the overlay in {overlay}"
    with scratch_folder(what_for) as scratch:
        copy = scratch / "overlay"
        with writing(what_for):
            _write_rendered(scratch / _RENDERED, objects)
            copy_folder(overlay, copy, limits)
            _add_rendered(copy, limits)
        output = _build(copy, overlay, limits, environ)
    rules = file_rules(replace(limits, file_bytes=limits.kustomize_bytes))
    made = Budget(overlay, limits).take_values(iterate_documents(output, rules))
    check_overlay_output(objects, made, overlay)
    refuse_locks(made, str(overlay))
    return _in_order(objects, made)


def _check_overlay(overlay: Path, project: Path, limits: Limits, boundary: Boundary | None) -> None:
    if real_path(overlay) == real_path(project):
        raise UnusableOverlay(overlay, "it is the project folder itself")
    inside = boundary.includes(overlay) if boundary else repository_of(project).includes(real_path(overlay))
    if not inside:
        raise UnusableOverlay(overlay, "it is outside of the repository")
    # The copy has no neighbouring folders, so the overlay must not refer to any.
    problems = check_kustomizations(overlay, limits, alone=True)
    if problems:
        raise InvalidInputs(overlay, problems)


def _write_rendered(folder: Path, objects: Sequence[Mapping[str, Any]]) -> None:
    folder.mkdir()
    (folder / _FILE).write_text(format_yaml(objects), encoding="utf-8")
    (folder / KUSTOMIZATION_FILES[0]).write_text(format_document({"resources": [_FILE]}), encoding="utf-8")


def _add_rendered(copy: Path, limits: Limits) -> None:
    """Make the rendered set the first resource of the overlay's copy."""
    [path] = [copy / name for name in KUSTOMIZATION_FILES if (copy / name).exists()]
    [document] = parse_documents(path.read_bytes(), file_rules(limits))
    resources = [f"../{_RENDERED}", *(document.get("resources") or ())]
    path.write_text(format_document({**document, "resources": resources}), encoding="utf-8")


def _build(copy: Path, overlay: Path, limits: Limits, environ: Mapping[str, str]) -> bytes:
    try:
        return build_kustomization(copy, limits, environ)
    except RenderError as error:
        raise OverlayFailed(error, copy, overlay) from None


def _in_order(objects: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    # kustomize sorts by kind by default.
    order = {identify(value): i for i, value in enumerate(objects)}
    return sorted(made, key=lambda value: order.get(identify(value), len(order)))
