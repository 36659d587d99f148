"""xplock mirror after its registry has collected garbage: manifests without a tag, and blobs that no other one names."""

from pathlib import Path

from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry, collect_garbage
from rig.registry.pushed import Raw


def test_what_was_collected_is_named_and_copied_again(
    closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    host, raw = destination.host, Raw(destination.host)
    assert closure.mirror(project, host).code == 0
    image, repository = closure.images["acme/app v1.0.0"], f"xp/{HOST}/acme/app"
    children = [digest for name, digest in image.manifests.items() if name.startswith("child")]
    layer = raw.document(repository, children[0])["layers"][0]["digest"]
    bundles = [digest for name, digest in image.manifests.items() if name.startswith("referrer")]

    collect_garbage(tmp_path / "destination")

    # The registry goes on to answer for the version, and has lost what is in it.
    assert raw.digest(repository, "v1.0.0") == image.digest
    assert [raw.digest(repository, digest) for digest in [*children, *bundles]] == [None] * 5
    checked, deep = (closure.mirror(project, host, "--check", *more) for more in ((), ("--deep",)))
    assert (checked.code, deep.code) == (3, 3), checked.stderr
    assert f"{host} lacks" in checked.stderr.replace("/xp", "")
    for digest in [*children, *bundles]:
        assert digest in checked.stdout + checked.stderr
    assert layer in deep.stderr

    repaired = closure.mirror(project, host)

    assert repaired.code == 0, repaired.stderr
    assert closure.mirror(project, host, "--check", "--deep").code == 0
    assert all(raw.digest(repository, digest) == digest for digest in image.manifests.values())


def test_an_image_without_a_version_is_not_collected(
    closure: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    child = closure.images["acme/store v1.0.0"].manifests["child 0"]
    folder = closure.folder(tmp_path / "project", root=f"acme/store@{child}")
    assert closure.mirror(folder, destination.host).code == 0

    collect_garbage(tmp_path / "destination")

    assert closure.mirror(folder, destination.host, "--check", "--deep").code == 0
    assert Raw(destination.host).digest(f"xp/{HOST}/acme/store", child) == child
