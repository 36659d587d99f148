"""xplock mirror --from on the receiving side, with the folders whose rules for images have to hold for the mirror as well."""

from pathlib import Path

import pytest
import yaml
from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry
from rig.registry.pushed import Raw


@pytest.fixture
def archive(closure: Closure, project: Path, tmp_path: Path) -> str:
    """The closure in an archive."""
    to = f"oci-archive:{tmp_path / 'closure.tar'}"
    assert closure.export(project, to).code == 0
    return to


def folder_with_rule(folder: Path, prefix: str, more: str = "") -> Path:
    """Write a folder with a rule about signatures; nothing is locked there."""
    folder.mkdir()
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {HOST}/acme/app:v1.0.0\n{more}")
    spec = {
        "matchImages": [{"type": "Prefix", "prefix": prefix}],
        "verification": {"provider": "Cosign", "cosign": {"authorities": []}},
    }
    rule = {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "ImageConfig", "metadata": {"name": "signed"}}
    (folder / "signed.yaml").write_text(yaml.safe_dump({**rule, "spec": spec}))
    return folder


def prefixes(text: str) -> dict[str, list[str]]:
    """Return the prefixes of each ImageConfig, by its name."""
    return {
        value["metadata"]["name"]: [one["prefix"] for one in value["spec"]["matchImages"]]
        for value in yaml.safe_load_all(text)
    }


def test_rules_of_a_folder_are_repeated_for_the_mirror_without_a_lock(
    closure: Closure, archive: str, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    folder = folder_with_rule(tmp_path / "there", f"{HOST}/acme/")
    only = {"XPLOCK_ALLOWED_REGISTRIES": host, "hosts": host}

    done = closure.run("mirror", str(folder), "--from", archive, "--to", f"{host}/xp", environ=only)

    assert done.code == 0, done.stderr
    found = prefixes(done.stdout)
    assert found.pop("signed-mirror") == [f"{host}/xp/{HOST}/acme/"]
    assert list(found.values()) == [[f"{HOST}/"]]


def test_the_mirror_in_the_settings_is_where_an_archive_goes(
    closure: Closure, archive: str, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    settings = f"mirror:\n  to: {host}/xp\n  paths: bare\n  pullSecret: login\n"
    folder = folder_with_rule(tmp_path / "there", f"{HOST}/acme/", settings)

    done = closure.run("mirror", str(folder), "--from", archive, environ={"hosts": host})
    # The same place by its name is the same mirror.
    named = closure.run(
        "mirror", str(folder), "--from", archive, "--to", f"{host}/xp", environ={"hosts": host}
    )

    assert (done.code, named.code) == (0, 0), done.stderr + named.stderr
    assert Raw(host).digest("xp/acme/app", "v1.0.0") == closure.images["acme/app v1.0.0"].digest
    assert prefixes(done.stdout) == prefixes(named.stdout)
    assert prefixes(done.stdout)["xplock-mirror-pull-secret"] == [f"{host}/xp/"]


def test_folders_that_differ_in_a_rule_of_one_name_are_named(
    closure: Closure, archive: str, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    one, other = (folder_with_rule(tmp_path / name, f"{HOST}/acme/{name}") for name in ("app", "store"))

    done = closure.run(
        *("mirror", str(one), str(other), "--from", archive, "--to", f"{host}/xp"), environ={"hosts": host}
    )

    assert done.code == 0
    assert "differ in the ImageConfig signed-mirror" in done.stderr


@pytest.mark.parametrize(
    "option",
    [("--pull-secret", "login"), ("--image-configs", "configs.yaml"), ("--paths", "bare")],
    ids=lambda option: option[0],
)
def test_what_only_a_registry_needs_is_refused_for_files(
    option: tuple[str, str], closure: Closure, archive: str, tmp_path: Path
) -> None:
    done = closure.run("mirror", "--from", archive, "--to", f"oci:{tmp_path / 'layout'}", *option)

    assert (done.code, done.stdout) == (2, "")
    assert f"{option[0]} is for a registry" in done.stderr
    assert not (tmp_path / "layout").exists()


@pytest.mark.parametrize("to", [(), ("--to", "mirror.example/xp")], ids=["settings", "named"])
def test_folders_with_different_mirrors_are_refused(
    to: tuple[str, ...], closure: Closure, tmp_path: Path
) -> None:
    folders = [
        folder_with_rule(tmp_path / paths, HOST, f"mirror:\n  to: mirror.example/xp\n  paths: {paths}\n")
        for paths in ("full", "bare")
    ]

    done = closure.run("mirror", *map(str, folders), *to)

    done.assert_refused(2, "paths: full", "paths: bare", "one by one")
