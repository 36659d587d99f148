"""Dependencies without a registry, or without an organisation as well: both examples of the founding design, in a mirror."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.mirrors import Closure
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.pushed import Raw

from render.limits import Limits
from render.lock.text.file import read_lock

PUBLIC, INTERNAL = "xpkg.upbound.io", "pkg.acme.co"
EXAMPLE, ONE, TWO = "configuration-example", "provider-dependency-a", "provider-dependency-b"


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closure]:
    """A configuration that names one dependency by organisation and name, and one by its name alone."""
    with docker_registry(tmp_path_factory.mktemp("public"), "open") as registry:
        closure = Closure(Raw(registry.host), PUBLIC)
        for name in (ONE, TWO):
            closure.add(f"crossplane-contrib/{name}", "Provider")
        wishes = (("provider", f"crossplane-contrib/{ONE}"), ("provider", TWO))
        closure.add(f"crossplane-contrib/{EXAMPLE}", "Configuration", *wishes)
        yield closure


def locked(folder: Path) -> dict[str, str]:
    """Return the digest of every package in a lock, by source."""
    lock = read_lock(folder, Limits())
    assert lock
    return {str(package.source): package.digest for package in lock.packages.values()}


def digests(public: Closure, *sources: str) -> dict[str, str]:
    """Return the digests of the three packages, under the sources that they have somewhere."""
    images = {image.repository.rpartition("/")[2]: image.digest for image in public.images.values()}
    return {source: images[source.rpartition("/")[2]] for source in sources}


@pytest.mark.parametrize("paths", ["full", "bare"])
def test_in_the_place_where_it_was_published_and_from_a_mirror_of_it(
    paths: str, public: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    folder = public.folder(tmp_path / "public", root=f"crossplane-contrib/{EXAMPLE}:v1.0.0")
    wanted = digests(public, *(f"{PUBLIC}/crossplane-contrib/{name}" for name in (EXAMPLE, ONE, TWO)))
    assert locked(folder) == wanted

    done = public.mirror(folder, host, "--paths", paths)

    # On the other side of an air gap: the same root, what was printed, and no other host.
    there = tmp_path / "there"
    there.mkdir()
    (there / "mirror.yaml").write_text(done.stdout)
    (there / "xplock.yaml").write_text(f"roots:\n  - package: {PUBLIC}/crossplane-contrib/{EXAMPLE}:v1.0.0\n")
    only = {"XPLOCK_ALLOWED_REGISTRIES": host, "hosts": host}
    again = public.run("lock", str(there), environ=only)
    assert (done.code, again.code) == (0, 0), done.stderr + again.stderr
    assert locked(there) == wanted


def test_as_a_package_of_the_mirror_itself(
    public: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    folder = public.folder(tmp_path / "public", root=f"crossplane-contrib/{EXAMPLE}:v1.0.0")
    done = public.run(
        *("mirror", str(folder), "--to", destination.host, "--paths", "bare"),
        environ={"hosts": destination.host},
    )
    assert done.code == 0, done.stderr

    own = Closure(Raw(destination.host), INTERNAL).folder(
        tmp_path / "own", root=f"crossplane-contrib/{EXAMPLE}:v1.0.0"
    )

    assert locked(own) == digests(
        public, *(f"{INTERNAL}/crossplane-contrib/{name}" for name in (EXAMPLE, ONE, TWO))
    )


def test_under_another_organisation_and_from_a_mirror_of_that(
    public: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    for there, name in (("internal", EXAMPLE), ("crossplane-contrib", ONE), ("internal", TWO)):
        replicate(public, name, f"{destination.host}/{there}/{name}")
    own = Closure(Raw(destination.host), INTERNAL)
    folder = own.folder(tmp_path / "own", root=f"internal/{EXAMPLE}:v1.0.0")
    wanted = digests(
        public,
        f"{INTERNAL}/internal/{EXAMPLE}",
        f"{INTERNAL}/crossplane-contrib/{ONE}",
        f"{INTERNAL}/internal/{TWO}",
    )
    assert locked(folder) == wanted

    (tmp_path / "mirror").mkdir()
    with docker_registry(tmp_path / "mirror", "open") as mirror:
        done = own.mirror(folder, mirror.host)
        (folder / "mirror.yaml").write_text(done.stdout)
        (folder / "xplock.yaml").write_text(f"roots:\n  - package: {INTERNAL}/internal/{EXAMPLE}:v1.0.0\n")
        only = {"XPLOCK_ALLOWED_REGISTRIES": mirror.host, "hosts": mirror.host}
        again = own.run("lock", "-U", str(folder), environ=only)

    assert (done.code, again.code) == (0, 0), done.stderr + again.stderr
    assert locked(folder) == wanted


def replicate(public: Closure, name: str, to: str) -> None:
    """Copy an image to another name, as anyone does it."""
    command = ["skopeo", "copy", "--all", "--quiet", "--src-tls-verify=false", "--dest-tls-verify=false"]
    source = f"docker://{public.registry.host}/crossplane-contrib/{name}:v1.0.0"
    subprocess.run([*command, source, f"docker://{to}:v1.0.0"], check=True, timeout=120)
