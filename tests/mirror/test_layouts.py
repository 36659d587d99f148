"""xplock mirror to OCI layouts and archives, and from them to a registry: no lock and no upstream on the other side."""

import json
import shutil
from pathlib import Path

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.git.repositories import fill, small_disk
from rig.registry.docker import RunningRegistry
from rig.registry.pushed import Raw

from render.limits import Limits
from render.registry.layout import Layout


@pytest.mark.parametrize("kind", ["oci:folder", "oci-archive:closure.tar"])
def test_everything_gets_across_by_way_of_files(
    kind: str, closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    scheme, _, name = kind.partition(":")
    file, host = f"{scheme}:{tmp_path / name}", destination.host
    exported = closure.export(project, file)
    # The other side can ask its own registry, and no other host.
    only = {"XPLOCK_ALLOWED_REGISTRIES": host, "hosts": host}
    imported = closure.run("mirror", "--from", file, "--to", f"{host}/xp", environ=only)
    again = closure.run("mirror", "--from", file, "--to", f"{host}/xp", "--check", "--deep", environ=only)

    assert (exported.code, exported.stdout) == (0, ""), exported.stderr
    assert (imported.code, again.code) == (0, 0), imported.stderr + again.stderr
    assert f"{host}/xp/{HOST}/" in imported.stdout
    raw = Raw(host)
    for image in closure.images.values():
        repository = f"xp/{HOST}/{image.repository}"
        names = [name for name in image.manifests if name.startswith("sha256-")]
        assert {raw.digest(repository, name) for name in names} == {image.manifests[name] for name in names}
        assert all(raw.digest(repository, digest) for digest in image.manifests.values())
        assert raw.digest(repository, "v1.0.0") == image.digest
        subject = image.digest.replace(":", "-")
        assert len(raw.document(repository, subject)["manifests"]) == 1


def test_an_archive_of_one_closure_is_the_same_file_every_time(
    closure: Closure, project: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.tar", tmp_path / "other.tar"
    for file, jobs in ((one, "1"), (other, "8")):
        done = closure.run("mirror", str(project), "--to", f"oci-archive:{file}", "--jobs", jobs)
        assert done.code == 0, done.stderr
    before = one.stat()
    again = closure.export(project, f"oci-archive:{one}")

    assert one.read_bytes() == other.read_bytes()
    assert (again.code, one.stat().st_mtime_ns) == (0, before.st_mtime_ns)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.tar", "other.tar", "project"]


def test_an_archive_takes_from_an_older_one_what_that_has(closure: Closure, tmp_path: Path) -> None:
    small = closure.folder(tmp_path / "small", root="acme/store:v1.0.0")
    whole = closure.folder(tmp_path / "whole")
    grown, fresh = f"oci-archive:{tmp_path / 'grown.tar'}", f"oci-archive:{tmp_path / 'fresh.tar'}"
    assert closure.export(small, grown).code == 0

    added = closure.run("-v", "mirror", str(whole), "--to", grown)
    assert closure.export(whole, fresh).code == 0

    assert added.code == 0
    assert (tmp_path / "grown.tar").read_bytes() == (tmp_path / "fresh.tar").read_bytes()
    layer = closure.registry.document("acme/store", closure.images["acme/store v1.0.0"].manifests["child 0"])
    assert f"acme/store/blobs/{layer['layers'][0]['digest']}" not in added.stderr
    # And it shrinks again.
    assert closure.export(small, grown).code == 0
    assert closure.export(small, f"oci-archive:{tmp_path / 'small.tar'}").code == 0
    assert (tmp_path / "grown.tar").read_bytes() == (tmp_path / "small.tar").read_bytes()


def test_a_layout_written_twice_is_the_same_and_keeps_what_others_put_there(
    closure: Closure, project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "layout"
    arguments = ("mirror", str(project), "--to", f"oci:{folder}")
    assert closure.run(*arguments).code == 0
    index = (folder / "index.json").read_bytes()
    again = closure.run(*arguments)
    assert (again.code, (folder / "index.json").read_bytes()) == (0, index)

    Layout(folder, Limits()).add_image(b'{"schemaVersion":2,"config":{},"layers":[]}', "", None)
    assert closure.run(*arguments, "--check").code == 0
    entries = json.loads((folder / "index.json").read_bytes())["manifests"]

    assert len(entries) == len(json.loads(index)["manifests"]) + 1


def test_a_layout_stands_in_for_a_registry_as_origin(closure: Closure, project: Path, tmp_path: Path) -> None:
    layout, archive = tmp_path / "layout", tmp_path / "closure.tar"
    assert closure.export(project, f"oci:{layout}").code == 0
    (tmp_path / "air").mkdir()
    shutil.copy(project / "crossplane.lock.yaml", tmp_path / "air")
    settings = f"roots:\n  - package: {HOST}/acme/app:v1.0.0\n"
    (tmp_path / "air/xplock.yaml").write_text(settings)

    done = closure.run(
        "mirror", str(tmp_path / "air"), "--layout", f"{HOST}={layout}", "--to", f"oci-archive:{archive}"
    )
    direct = closure.export(project, f"oci-archive:{tmp_path / 'direct.tar'}")

    assert (done.code, direct.code) == (0, 0), done.stderr
    assert archive.read_bytes() == (tmp_path / "direct.tar").read_bytes()


@pytest.mark.parametrize("size", [0, 511, 5_000, 200_000])
def test_half_an_archive_is_refused(size: int, closure: Closure, project: Path, tmp_path: Path) -> None:
    archive, cut = tmp_path / "closure.tar", tmp_path / "cut.tar"
    assert closure.export(project, f"oci-archive:{archive}").code == 0
    data = archive.read_bytes()
    cut.write_bytes(data[: min(size, len(data) // 2)])

    done = closure.run("mirror", "--from", f"oci-archive:{cut}", "--to", f"oci:{tmp_path / 'layout'}")

    done.assert_refused(2, str(cut))


def test_a_changed_byte_in_an_archive_stops_the_import(
    closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    archive, host = tmp_path / "closure.tar", destination.host
    assert closure.export(project, f"oci-archive:{archive}").code == 0
    child = closure.registry.document("acme/app", closure.images["acme/app v1.0.0"].manifests["child 0"])
    blob = closure.registry.ask("GET", f"/v2/acme/app/blobs/{child['layers'][0]['digest']}")[2]
    data = archive.read_bytes()
    assert data.count(blob) == 1
    archive.write_bytes(data.replace(blob, blob[:-1] + bytes([blob[-1] ^ 1])))

    done = closure.run(
        "mirror", "--from", f"oci-archive:{archive}", "--to", f"{host}/xp", environ={"hosts": host}
    )

    done.assert_refused(1, f"in {archive} has other bytes")
    assert Raw(host).digest(f"xp/{HOST}/acme/app", "v1.0.0") is None


@pytest.mark.parametrize("scheme", ["oci", "oci-archive", "registry"])
@pytest.mark.parametrize("size", [0, 10], ids=["empty", "shorter"])
def test_a_cut_blob_in_a_layout_is_named(
    size: int, scheme: str, closure: Closure, store: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    layout, host = tmp_path / "layout", destination.host
    assert closure.export(store, f"oci:{layout}").code == 0
    child = closure.registry.document("acme/store", closure.images["acme/store v1.0.0"].manifests["child 0"])
    digest = child["layers"][0]["digest"]
    blob = layout / "blobs/sha256" / digest.removeprefix("sha256:")
    blob.write_bytes(blob.read_bytes()[:size])

    to = f"{host}/xp" if scheme == "registry" else f"{scheme}:{tmp_path / 'copy'}"
    done = closure.run("mirror", "--from", f"oci:{layout}", "--to", to, environ={"hosts": host})

    done.assert_refused(1, f"{digest} in {layout} has other bytes", f"has {size} bytes")


@pytest.mark.parametrize("text", ["[1,2", "[" * 100_000, '{"manifests": 1}', '{"schemaVersion": 2}'])
def test_an_index_that_cannot_be_used_is_named(
    text: str, closure: Closure, store: Path, tmp_path: Path
) -> None:
    layout = tmp_path / "layout"
    assert closure.export(store, f"oci:{layout}").code == 0
    (layout / "index.json").write_text(text)

    done = closure.run("mirror", "--from", f"oci:{layout}", "--to", f"oci:{tmp_path / 'copy'}")

    done.assert_refused(2, f"{layout}/index.json")


def test_a_folder_that_is_no_layout_is_left_alone(closure: Closure, project: Path) -> None:
    before = sorted(project.iterdir())

    done = closure.export(project, f"oci:{project}")

    done.assert_refused(1, str(project), "it is no OCI layout")
    assert sorted(project.iterdir()) == before


@pytest.mark.parametrize("scheme", ["oci", "oci-archive"])
def test_on_a_full_disk_the_older_copy_stays_and_the_next_run_goes_on(
    scheme: str, closure: Closure, project: Path, store: Path, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        to = f"{scheme}:{disk / 'copy'}"
        assert closure.export(store, to).code == 0
        before = named(disk / "copy")
        fill(disk)

        done = closure.export(project, to)

        done.assert_refused(1, str(disk / "copy"), "no space left")
        assert named(disk / "copy") == before
        assert not list(disk.rglob("*.part"))
        (disk / "filler").unlink()
        assert closure.export(project, to).code == 0
        assert closure.export(project, to, "--check", "--deep").code == 0
        left = sorted(path.name for path in disk.rglob("*") if path.name.startswith("."))
    assert left == []


def named(copy: Path) -> bytes:
    """Return what decides about the images of a layout or an archive."""
    return (copy / "index.json").read_bytes() if copy.is_dir() else copy.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "fact"),
    [
        (("--to", "oci:"), 2, "names no path"),
        (("--to", "http://mirror.example/x"), 2, "neither a source nor the beginning of one"),
        ((), 2, "--to is missing"),
        (("--from", "mirror.example/x", "--to", "oci:x"), 2, "no layout and no archive"),
        (("--from", "oci:/nowhere", "--to", "oci:x"), 2, "is not an OCI image layout"),
        (("--from", "oci-archive:/nowhere", "--to", "oci:x"), 2, "/nowhere cannot be read"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: tuple[str, ...], code: int, fact: str, closure: Closure
) -> None:
    done = closure.run("mirror", *arguments)

    assert (done.code, done.stdout) == (code, "")
    assert fact in done.stderr
