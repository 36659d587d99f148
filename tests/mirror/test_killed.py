"""xplock mirror killed before every request and every change of a file: no name of anything incomplete, and the same end."""

import json
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.commands.killed import run_killed
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import Request
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw, SignedImage

REPOSITORY = f"{HOST}/acme/store"


class Watch:
    """Looks at every manifest that gets a tag, right before it does: all that belongs to it has to be there."""

    def __init__(self, registry: Raw, image: SignedImage) -> None:
        self._registry, self._image = registry, image
        self.named: list[str] = []
        self.wrong: list[str] = []

    def __call__(self, request: Request) -> None:
        repository, found, name = request.path.removeprefix("/v2/").rpartition("/manifests/")
        if request.method == "PUT" and found and not name.startswith("sha256:"):
            self.named.append(name)
            missing = [*self._parts(repository, json.loads(request.body))]
            if name == "v1.0.0":
                missing += [*self._attached(repository), *self._unlisted(repository)]
            self.wrong += [f"{repository}:{name} before {one}" for one in missing]

    def _parts(self, repository: str, document: dict[str, Any]) -> Iterator[str]:
        """Yield the blobs and children of a manifest that are missing."""
        for blob in [*filter(None, [document.get("config")]), *document.get("layers", ())]:
            if self._registry.ask("HEAD", f"/v2/{repository}/blobs/{blob['digest']}")[0] != 200:
                yield blob["digest"]
        for child in document.get("manifests", ()):
            if self._registry.digest(repository, child["digest"]) is None:
                yield child["digest"]
            else:
                yield from self._parts(repository, self._registry.document(repository, child["digest"]))

    def _attached(self, repository: str) -> Iterator[str]:
        """Yield the parts and attachments of the image that are not found by their names."""
        for name, digest in self._image.manifests.items():
            if self._registry.digest(repository, name if name.startswith("sha256-") else digest) != digest:
                yield name

    def _unlisted(self, repository: str) -> Iterator[str]:
        """Yield the referrers that no list has."""
        lists = [
            tag for tag in self._registry.tags(repository) if tag.startswith("sha256-") and "." not in tag
        ]
        listed = {
            entry["digest"]
            for tag in lists
            for entry in self._registry.document(repository, tag)["manifests"]
        }
        for name, digest in self._image.manifests.items():
            if name.startswith("referrer") and digest not in listed:
                yield name


def test_no_tag_names_anything_incomplete_at_any_moment_and_the_next_run_ends_the_same(
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    raw = Raw(destination.host)
    watch = Watch(raw, closure.images["acme/store v1.0.0"])
    with Proxy(destination.host, watch) as there:
        environ = {"XPLOCK_PLAIN_HTTP": f"{there.host},{closure.registry.host}", "XPLOCK_CACHE_DIR": ""}

        def mirror(path: str) -> tuple[str, ...]:
            return "mirror", str(store), "--to", f"{there.host}/{path}"

        assert closure.run(*mirror("clean"), environ=environ).code == 0
        wanted = state(raw, f"clean/{REPOSITORY}")
        assert watch.named[-1] == "v1.0.0"

        continued = set()
        for step in count():
            path = f"killed-{step}"
            if not run_killed(*mirror(path), step=step, environ=environ):
                break
            # After as many writes the destination is the same, and the next run does the same.
            writes = sum(f"/{path}/" in line for line in there.writes())
            if writes in continued:
                continue
            continued.add(writes)
            done = closure.run(*mirror(path), environ=environ)
            assert (done.code, state(raw, f"{path}/{REPOSITORY}")) == (0, wanted), (step, done.stderr)

    assert watch.wrong == []
    assert len(continued) > len(wanted)


def state(raw: Raw, repository: str) -> dict[str, str | None]:
    """Return the digest of every tag."""
    return {tag: raw.digest(repository, tag) for tag in raw.tags(repository)}


@pytest.mark.parametrize("scheme", ["oci", "oci-archive"])
def test_a_layout_and_an_archive_are_the_old_or_the_new_one_at_any_moment(
    scheme: str, closure: Closure, store: Path, tmp_path: Path
) -> None:
    older, clean, copy = (tmp_path / name / "copy" for name in ("older", "clean", "killed"))
    shape = closure.folder(tmp_path / "shape", root="acme/shape:v1.0.0")
    for folder in (older.parent, clean.parent):
        folder.mkdir()
    assert closure.export(shape, f"{scheme}:{older}").code == 0
    put(older, clean)
    assert closure.export(store, f"{scheme}:{clean}").code == 0
    ends = (named(older), named(clean))
    environ = {"XPLOCK_PLAIN_HTTP": closure.registry.host, "XPLOCK_CACHE_DIR": ""}

    seen: set[int] = set()
    continued: list[dict[str, bytes]] = []
    for step in count():
        shutil.rmtree(copy.parent, ignore_errors=True)
        copy.parent.mkdir()
        put(older, copy)
        killed = run_killed("mirror", str(store), "--to", f"{scheme}:{copy}", step=step, environ=environ)
        seen.add(ends.index(named(copy)))
        if not killed:
            break
        if (left := files(copy.parent)) in continued:
            continue
        continued.append(left)
        done = closure.export(store, f"{scheme}:{copy}")
        assert (done.code, files(copy.parent)) == (0, files(clean.parent)), (step, done.stderr)

    assert seen == {0, 1}
    assert files(copy.parent) == files(clean.parent)


def put(older: Path, copy: Path) -> None:
    """Copy a layout or an archive."""
    if older.is_dir():
        shutil.copytree(older, copy)
    else:
        shutil.copy(older, copy)


def named(copy: Path) -> bytes:
    """Return what decides about the images of a layout or an archive."""
    return (copy / "index.json").read_bytes() if copy.is_dir() else copy.read_bytes()


def files(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
