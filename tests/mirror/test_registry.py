"""xplock mirror: a closure with everything attached, from one real registry to another."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import yaml
from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.proxy import Proxy, ReferrersApi
from rig.registry.pushed import INDEX, Raw, SignedImage

from render.registry.oci import digest_of

TOP = Path(__file__).parents[2]


def there(closure: Closure, host: str, prefix: str = f"xp/{HOST}") -> dict[str, dict[str, str | None]]:
    """Return the digests that a destination has for everything in the closure."""
    raw = Raw(host)
    return {
        image.repository: {
            name: raw.digest(f"{prefix}/{image.repository}", name if name.startswith("sha256-") else digest)
            for name, digest in image.manifests.items()
        }
        for image in closure.images.values()
    }


def test_every_manifest_arrives_under_its_digest(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    done = closure.mirror(project, destination.host)

    assert done.code == 0, done.stderr
    assert there(closure, destination.host) == closure.digests()
    raw = Raw(destination.host)
    for image in closure.images.values():
        repository = f"xp/{HOST}/{image.repository}"
        assert raw.digest(repository, "v1.0.0") == image.digest
        lists = [tag for tag in raw.tags(repository) if tag.startswith("sha256-") and "." not in tag]
        assert len(lists) == 2
        for tag in lists:
            [entry] = raw.document(repository, tag)["manifests"]
            assert entry["artifactType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
            assert entry["annotations"] == {"dev.sigstore.bundle.content": "dsse-envelope"}


def test_each_repository_is_asked_once_for_each_blob(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host) as proxy:
        assert closure.mirror(project, proxy.host).code == 0
        heads = [line for line in proxy.asked if line.startswith("HEAD") and "/blobs/" in line]

    assert heads
    assert len(heads) == len(set(heads))


def test_nothing_attached_is_copied_if_that_is_asked(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    done = closure.mirror(project, destination.host, "--no-attached")

    assert done.code == 0, done.stderr
    raw = Raw(destination.host)
    for image in closure.images.values():
        repository = f"xp/{HOST}/{image.repository}"
        assert raw.tags(repository) == ["v1.0.0"]
        children = [digest for name, digest in image.manifests.items() if name.startswith("child")]
        assert all(raw.digest(repository, digest) for digest in children)


def test_a_second_run_writes_nothing_and_asks_once_for_each_manifest(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host) as proxy:
        first = closure.mirror(project, proxy.host)
        proxy.server.forget()
        again = closure.mirror(project, proxy.host)

        assert (first.code, again.code) == (0, 0), again.stderr
        assert proxy.writes() == []
        manifests = [line for line in proxy.asked if "/manifests/" in line]
        heads = [line for line in manifests if line.startswith("HEAD")]
        assert len(heads) == len(set(heads)) == sum(len(each) for each in closure.digests().values())
    assert first.stdout == again.stdout
    assert "0 of 3 images copied" in again.stderr


def test_the_printed_image_configs_lead_to_the_copies(
    closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    done = closure.mirror(project, host, "--pull-secret", "login")

    values = list(yaml.safe_load_all(done.stdout))
    assert [value["kind"] for value in values] == ["ImageConfig", "ImageConfig"]
    file = tmp_path / "configs.yaml"
    again = closure.mirror(project, host, "--image-configs", str(file))
    assert (again.code, again.stdout) == (0, "")
    [rewrite] = yaml.safe_load_all(file.read_text())
    assert rewrite["spec"]["rewriteImage"]["prefix"] == f"{host}/xp/{HOST}/"


def test_with_the_setting_pins_lead_to_the_mirror_and_fetching_does_not(
    closure: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    folder = closure.folder(tmp_path / "project", more=f"mirror:\n  to: {host}/xp\n  pullSecret: login\n")

    done = closure.run("mirror", str(folder), environ={"hosts": host})
    rendered = closure.run("render", str(folder))
    checked = closure.run("lock", "--check", str(folder))

    assert (done.code, rendered.code, checked.code) == (0, 0, 0), (
        done.stderr + rendered.stderr + checked.stderr
    )
    specs = [value["spec"] for value in yaml.safe_load_all(rendered.stdout) if value["kind"] == "ImageConfig"]
    targets = [spec["rewriteImage"]["prefix"] for spec in specs if "rewriteImage" in spec]
    assert sorted(targets) == sorted(
        [f"{host}/xp/{HOST}/"]
        + [f"{host}/xp/{HOST}/{image.repository}@{image.digest}" for image in closure.images.values()]
    )
    assert [spec for spec in specs if "registry" in spec]
    # On the other side of an air gap there is the mirror alone: what was printed is in the folder, too.
    (folder / "mirror.yaml").write_text(done.stdout)
    settings = (folder / "xplock.yaml").read_text()
    (folder / "xplock.yaml").write_text(
        settings.replace(f"to: {closure.registry.host}/", f"to: {host}/xp/{HOST}/")
    )
    locked = closure.run("lock", str(folder), environ={"hosts": host})
    both = closure.run("render", str(folder))
    assert (locked.code, both.code) == (0, 0), locked.stderr + both.stderr
    assert sorted(both.stdout.split("---\n")) == sorted(rendered.stdout.split("---\n"))


def test_with_the_printed_rewrites_in_the_folder_the_copies_still_come_from_the_original(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    host = destination.host
    done = closure.mirror(project, host)
    (project / "xplock.yaml").write_text((project / "xplock.yaml").read_text().partition("rewrites:")[0])
    (project / "mirror.yaml").write_text(done.stdout)

    # Without the rewrite of the settings, the original host does not exist; the one to the mirror is not taken.
    again = closure.mirror(project, host, XPLOCK_LIMIT_ATTEMPTS_UNANSWERED="1")

    assert again.code == 1
    assert HOST in again.stderr


def test_a_dry_run_and_a_check_write_nothing_and_tell_what_is_missing(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host) as proxy:
        dry = closure.mirror(project, proxy.host, "--dry-run")
        before = closure.mirror(project, proxy.host, "--check")
        assert proxy.writes() == []
        assert closure.mirror(project, proxy.host).code == 0
        after = closure.mirror(project, proxy.host, "--check")
        nothing = closure.mirror(project, proxy.host, "--dry-run")

    assert (dry.code, before.code, after.code, nothing.code) == (0, 3, 0, 0), dry.stderr
    assert "3 of 3 images to copy" in dry.stdout
    assert "0 of 3 images to copy, 0 bytes" in nothing.stdout
    assert "lacks 3 images" in before.stderr


def test_a_version_tag_that_names_something_else_is_moved_only_if_asked(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    host, raw = destination.host, Raw(destination.host)
    repository = f"xp/{HOST}/acme/store"
    config = raw.blob(repository, b"{}")
    foreign = raw.manifest(
        repository,
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": [],
        },
        "v1.0.0",
    )["digest"]

    refused = closure.mirror(project, host)
    still = raw.digest(repository, "v1.0.0")
    moved = closure.mirror(project, host, "--move-tags")

    assert (refused.code, still, moved.code) == (1, foreign, 0)
    assert f"{host}/{repository}:v1.0.0 names other bytes" in refused.stderr
    assert "--move-tags" in refused.stderr
    assert raw.digest(repository, "v1.0.0") == closure.images["acme/store v1.0.0"].digest


def test_an_image_without_a_version_gets_a_tag_that_keeps_it(
    closure: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    image = closure.images["acme/store v1.0.0"]
    child = image.manifests["child 0"]
    folder = closure.folder(tmp_path / "project", root=f"acme/store@{child}")

    done = closure.mirror(folder, destination.host)

    assert done.code == 0, done.stderr
    tags = Raw(destination.host).tags(f"xp/{HOST}/acme/store")
    assert [tag for tag in tags if not tag.startswith("sha256-")] == [f"xplock-{child[7:19]}"]


def test_a_registry_that_lists_referrers_gets_no_list_of_ours(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    proxy = Proxy(destination.host)
    proxy.rules.append(ReferrersApi(proxy))
    with proxy:
        first = closure.mirror(project, proxy.host)
        tags = Raw(destination.host).tags(f"xp/{HOST}/acme/app")
        proxy.server.forget()
        again = closure.mirror(project, proxy.host)

    assert (first.code, again.code) == (0, 0), first.stderr
    assert not [tag for tag in tags if tag.startswith("sha256-") and "." not in tag]
    assert [line for line in proxy.asked if line.split()[0] not in ("GET", "HEAD")] == []


def test_referrers_that_are_there_and_not_listed_are_listed_by_the_next_run(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    host, raw = destination.host, Raw(destination.host)
    assert closure.mirror(project, host).code == 0
    repository = f"xp/{HOST}/acme/app"
    tag = closure.images["acme/app v1.0.0"].digest.replace(":", "-")
    before = raw.digest(repository, tag)
    empty = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}
    raw.manifest(repository, empty, tag)

    assert closure.mirror(project, host, "--check").code == 3
    assert closure.mirror(project, host).code == 0

    assert raw.digest(repository, tag) == before


def test_what_is_no_list_of_referrers_stays_and_is_reported(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    host, raw = destination.host, Raw(destination.host)
    assert closure.mirror(project, host, "--no-attached").code == 0
    repository, image = f"xp/{HOST}/acme/app", closure.images["acme/app v1.0.0"]
    tag = image.digest.replace(":", "-")
    foreign = raw.document(repository, image.digest)
    digest = raw.manifest(repository, foreign, tag)["digest"]

    done = closure.mirror(project, host)

    assert done.code == 0
    assert raw.digest(repository, tag) == digest
    assert "is no list of referrers" in done.stderr


def test_signatures_that_were_added_in_the_mirror_stay(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    host, raw = destination.host, Raw(destination.host)
    assert closure.mirror(project, host).code == 0
    repository, image = f"xp/{HOST}/acme/app", closure.images["acme/app v1.0.0"]
    tag = image.digest.replace(":", "-") + ".sig"
    signed = raw.document(repository, tag)
    signed["layers"].append(raw.blob(repository, b"another signature"))
    digest = raw.manifest(repository, signed, tag)["digest"]

    again = closure.mirror(project, host)

    assert (again.code, raw.digest(repository, tag)) == (0, digest)
    assert "has signatures that the original lacks" in again.stderr


def test_a_signature_that_was_added_to_the_original_is_copied_by_the_next_run(
    destination: RunningRegistry, tmp_path: Path
) -> None:
    (tmp_path / "upstream").mkdir()
    with docker_registry(tmp_path / "upstream", "open") as registry:
        own = Closure(Raw(registry.host))
        tag = own.add("acme/store", "Provider").digest.replace(":", "-") + ".sig"
        folder = own.folder(tmp_path / "project", root="acme/store")
        assert own.mirror(folder, destination.host).code == 0
        signed = own.registry.document("acme/store", tag)
        signed["layers"].append(own.registry.blob("acme/store", b"another signature"))
        digest = own.registry.manifest("acme/store", signed, tag)["digest"]

        checked = own.mirror(folder, destination.host, "--check")
        done = own.mirror(folder, destination.host)

    assert (checked.code, done.code) == (3, 0), done.stderr
    assert Raw(destination.host).digest(f"xp/{HOST}/acme/store", tag) == digest


def test_images_of_docker_keep_their_bytes_and_their_types(
    destination: RunningRegistry, tmp_path: Path
) -> None:
    (tmp_path / "upstream").mkdir()
    docker = "application/vnd.docker.distribution.manifest"
    with docker_registry(tmp_path / "upstream", "open") as registry:
        own = Closure(Raw(registry.host))
        image = own.add("acme/store", "Provider")
        child = own.registry.document("acme/store", image.manifests["child 0"])
        child |= {"mediaType": f"{docker}.v2+json"}
        listed = {
            **own.registry.manifest("acme/store", child),
            "platform": {"os": "linux", "architecture": "amd64"},
        }
        top = {"schemaVersion": 2, "mediaType": f"{docker}.list.v2+json", "manifests": [listed]}
        digest = own.registry.manifest("acme/store", top, "v2.0.0")["digest"]
        folder = own.folder(tmp_path / "project", root="acme/store:v2.0.0")
        done = own.mirror(folder, destination.host)

    assert done.code == 0, done.stderr
    repository = f"/v2/xp/{HOST}/acme/store/manifests"
    for name, found, kind in (
        ("v2.0.0", digest, "list.v2+json"),
        (listed["digest"], listed["digest"], "v2+json"),
    ):
        accept = {"Accept": f"{docker}.list.v2+json, {docker}.v2+json"}
        _, headers, data = Raw(destination.host).ask("GET", f"{repository}/{name}", headers=accept)
        assert (digest_of(data), headers["Content-Type"]) == (found, f"{docker}.{kind}")


def test_a_blob_that_is_gone_is_found_and_copied_again_with_deep(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    host, raw = destination.host, Raw(destination.host)
    assert closure.mirror(project, host).code == 0
    repository, image = f"xp/{HOST}/acme/app", closure.images["acme/app v1.0.0"]
    layer = raw.document(repository, image.manifests["child 1"])["layers"][0]["digest"]
    assert raw.ask("DELETE", f"/v2/{repository}/blobs/{layer}")[0] == 202

    shallow = closure.mirror(project, host, "--check")
    deep = closure.mirror(project, host, "--check", "--deep")
    repaired = closure.mirror(project, host, "--deep")

    assert (shallow.code, deep.code, repaired.code) == (0, 3, 0), deep.stderr
    assert layer in deep.stderr
    assert raw.ask("HEAD", f"/v2/{repository}/blobs/{layer}")[0] == 200


def test_earlier_versions_that_are_still_pinned_are_copied_too(
    destination: RunningRegistry, tmp_path: Path
) -> None:
    (tmp_path / "upstream").mkdir()
    host, repository = destination.host, f"xp/{HOST}/acme/store"
    with docker_registry(tmp_path / "upstream", "open") as registry:
        own = Closure(Raw(registry.host))
        first = own.add("acme/store", "Provider")
        folder = own.folder(tmp_path / "project", root="acme/store")
        second = own.add("acme/store", "Provider", version="v1.1.0")
        assert own.run("lock", "-U", str(folder)).code == 0

        done = own.mirror(folder, host)
        there = Raw(host)
        assert done.code == 0, done.stderr
        assert there.digest(repository, "v1.0.0") == first.digest
        assert there.digest(repository, "v1.1.0") == second.digest

        # The tag of a version that is no longer installed may have moved: its bytes get a tag of their own.
        raw_there = there.ask("GET", f"/v2/{repository}/manifests/{second.digest}")[2]
        there.manifest(repository, raw_there, "v1.0.0", INDEX)
        again = own.mirror(folder, host)

    assert again.code == 0, again.stderr
    assert there.digest(repository, f"xplock-{first.digest[7:19]}") == first.digest
    assert there.digest(repository, "v1.0.0") == second.digest


def test_folders_are_mirrored_in_one_call_and_each_image_once(
    closure: Closure, project: Path, destination: RunningRegistry, tmp_path: Path
) -> None:
    other, host = closure.folder(tmp_path / "other", root="acme/store:v1.0.0"), destination.host

    done = closure.run(
        "mirror", str(project), str(other), "--to", f"{host}/xp", "-o", "json", environ={"hosts": host}
    )

    document = json.loads(done.stdout)
    assert [image["source"] for image in document["images"]] == [
        f"{HOST}/acme/app",
        f"{HOST}/acme/shape",
        f"{HOST}/acme/store",
    ]
    [store] = [image for image in document["images"] if image["source"].endswith("/store")]
    assert sorted(one["type"] for one in store["attached"] if "tag" in one) == ["att", "sbom", "sig"]
    assert len([one for one in store["attached"] if "subject" in one]) == 2
    assert len(document["imageConfigs"]) == 1


def test_a_rule_for_the_original_place_is_repeated_for_the_mirror(
    closure: Closure, destination: RunningRegistry, tmp_path: Path
) -> None:
    host = destination.host
    folder = closure.folder(
        tmp_path / "project", root="acme/store:v1.0.0", more=f"mirror:\n  to: {host}/xp\n"
    )
    (folder / "signed.yaml").write_text(
        yaml.safe_dump(
            {
                "apiVersion": "pkg.crossplane.io/v1beta1",
                "kind": "ImageConfig",
                "metadata": {"name": "signed"},
                "spec": {
                    "matchImages": [{"prefix": f"{closure.registry.host}/acme/"}],
                    "verification": {"provider": "Cosign", "cosign": {"authorities": []}},
                },
            }
        )
    )

    printed = closure.run("mirror", str(folder), environ={"hosts": host})
    rendered = closure.run("render", str(folder))

    for output in (printed, rendered):
        assert output.code == 0, output.stderr
        values = {value["metadata"]["name"]: value for value in yaml.safe_load_all(output.stdout)}
        # The folder's own rewrite leads elsewhere, so the rule is repeated for each repository.
        assert [match["prefix"] for match in values["signed-mirror"]["spec"]["matchImages"]] == [
            f"{host}/xp/{HOST}/acme/store:",
            f"{host}/xp/{HOST}/acme/store@",
        ]


def test_below_v2_the_image_that_a_provider_runs_is_copied_with_a_warning(
    destination: RunningRegistry, tmp_path: Path
) -> None:
    (tmp_path / "upstream").mkdir()
    host = destination.host
    with docker_registry(tmp_path / "upstream", "open") as registry:
        own = Closure(Raw(registry.host))
        controller = own.add("acme/controller", "Configuration", version="v3.0.0")
        meta = {
            "apiVersion": "meta.pkg.crossplane.io/v1",
            "kind": "Provider",
            "metadata": {"name": "store"},
            "spec": {"controller": {"image": f"{registry.host}/acme/controller:v3.0.0"}},
        }
        SignedImage(own.registry, "acme/store").push(json.dumps(meta))
        old = own.folder(tmp_path / "old", root="acme/store", more="crossplaneVersion: v1.20.0\npin: tag\n")
        new = own.folder(tmp_path / "new", root="acme/store", more="crossplaneVersion: v2.3.4\n")

        without = own.mirror(new, host)
        nothing = Raw(host).tags(f"xp/{registry.host.replace(':', '-')}/acme/controller")
        done = own.mirror(old, host)

    assert (without.code, nothing, done.code) == (0, [], 0), without.stderr + done.stderr
    assert "does not rewrite" in done.stderr
    path = f"xp/{registry.host.replace(':', '-')}/acme/controller"
    assert Raw(host).digest(path, "v3.0.0") == controller.digest
    assert registry.host not in done.stdout


def test_a_terminal_shows_how_many_bytes_there_are(closure: Closure, project: Path, tmp_path: Path) -> None:
    shown = on_terminal(closure, "mirror", str(project), "--to", f"oci:{tmp_path / 'layout'}")

    assert b"copying 3 images" in shown
    assert b"KiB" in shown


def test_a_terminal_shows_no_bytes_where_nothing_is_copied(
    closure: Closure, project: Path, tmp_path: Path
) -> None:
    shown = on_terminal(closure, "mirror", str(project), "--to", f"oci:{tmp_path / 'layout'}", "--dry-run")

    assert b"looking at 3 images" in shown
    assert b"bytes" not in shown


def on_terminal(closure: Closure, *arguments: str) -> bytes:
    """Return what a run shows on a terminal besides its result."""
    shown = b""
    environ = {
        **os.environ,
        "TERM": "xterm",
        "XPLOCK_PLAIN_HTTP": closure.registry.host,
        "XPLOCK_CACHE_DIR": "",
    }
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "render", *arguments]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=theirs, cwd=TOP) as process:
        os.close(theirs)
        # At its end, reading from a terminal fails.
        with suppress(OSError):
            while data := os.read(ours, 4096):
                shown += data
    os.close(ours)
    assert process.returncode == 0, shown
    return shown
