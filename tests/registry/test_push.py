"""Packages are pushed byte for byte to a real registry; credentials are sent to that registry only."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from rig.builders.packages import COMPOSITION, CONFIGURATION, CRD, PROVIDER, XRD, build, build_file
from rig.commands.world import open_quiet_world
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import (
    RecordingServer,
    Request,
    Route,
    answer,
    endless,
    in_turn,
    make_certificate,
    reset,
)

from render.app.packages.package import build_into_layout, inspect_reference
from render.app.world import World
from render.errors import RenderError
from render.limits import Limits
from render.references import Digest, Reference, Source, parse_reference
from render.registry.http.addresses import RequestRefused
from render.registry.http.troubles import PushFailed
from render.registry.layout import Layout
from render.registry.oci import OCI_MANIFEST, Content, Descriptor, TamperedContent, digest_of
from render.registry.tokens import AccessDenied
from render.xpkg.building.package_file import PackageFile
from render.xpkg.building.publish import Publication, plan_publication

FILES = {
    "crossplane.yaml": CONFIGURATION,
    "apis/definition.yaml": XRD,
    "apis/composition.yaml": COMPOSITION,
    "examples/nop.yaml": "kind: XNop\n",
}
BLOB = b"some bytes"
DESCRIPTOR = Descriptor("application/octet-stream", digest_of(BLOB), len(BLOB))


def environment(folder: Path, *hosts: str, **more: str) -> dict[str, str]:
    """Return the environment of someone who may ask these hosts without TLS, and has no settings else."""
    return {
        "HOME": str(folder / "home"),
        "DOCKER_CONFIG": str(folder / "docker"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XPLOCK_PLAIN_HTTP": ",".join(hosts),
        **more,
    }


def log_in(folder: Path, host: str, user: str, password: str) -> None:
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    (folder / "docker").mkdir(exist_ok=True)
    file = folder / "docker/config.json"
    file.write_text(json.dumps({"auths": {host: {"auth": encoded}}}))
    file.chmod(0o600)


def world(environ: Mapping[str, str]) -> World:
    return open_quiet_world(environ)


def push(outside: World, planned: Publication, reference: Reference) -> None:
    planned.push(reference.source, outside.pusher(reference.source), reference.tag or "")
    outside.check_pushed(reference, planned.content.digest)


def skopeo(*arguments: str) -> Any:
    done = subprocess.run(["skopeo", "inspect", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=["open", "htpasswd", "token"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> RunningRegistry:
    """Each of the three registries, with credentials where it wants some."""
    running: RunningRegistry = request.getfixturevalue(f"{request.param}_registry")
    if request.param != "open":
        log_in(tmp_path, running.host, running.username, running.password)
    return running


def environment_for(registry: RunningRegistry, folder: Path) -> dict[str, str]:
    if registry.tokens is None:
        return environment(folder, registry.host)
    realm = registry.tokens.server.host
    trusted = f"{registry.host}={realm}"
    return environment(folder, registry.host, realm, XPLOCK_TRUSTED_REALMS=trusted)


def test_a_package_has_one_digest_in_a_file_a_registry_and_a_layout(
    registry: RunningRegistry, tmp_path: Path
) -> None:
    built = build(tmp_path / "folder", FILES)
    file = build_file(tmp_path / "a.xpkg", FILES)
    reference = parse_reference(f"{registry.host}/acme/{tmp_path.name.replace('_', '-')}:v1.0.0")
    planned = plan_publication([PackageFile(file, Limits())], None, Limits())
    layout = Layout(tmp_path / "layout", Limits())

    push(world(environment_for(registry, tmp_path)), planned, reference)
    build_into_layout(built, layout, [reference])

    outside = world(environment_for(registry, tmp_path))
    for images in (outside.images(), outside.images([("", tmp_path / "layout")])):
        found = inspect_reference(reference, images, Limits())
        assert found.image is not None
        assert found.image.digest == built.image.digest
        assert found.image.manifest == built.image.manifest
        assert found.metadata == built.metadata
        assert found.objects == built.objects
        assert tuple(images.tags(reference.source)) == ("v1.0.0",)


def test_skopeo_sees_the_same_package_in_the_registry_and_in_the_layout(
    open_registry: RunningRegistry, tmp_path: Path
) -> None:
    built = build(tmp_path / "folder", FILES)
    reference = parse_reference(f"{open_registry.host}/acme/skopeo:v1.0.0")
    planned = plan_publication(
        [PackageFile(build_file(tmp_path / "a.xpkg", FILES), Limits())], None, Limits()
    )
    push(world(environment(tmp_path, open_registry.host)), planned, reference)
    build_into_layout(built, Layout(tmp_path / "layout", Limits()), [reference])

    remote = skopeo("--tls-verify=false", f"docker://{reference}")
    local = skopeo(f"oci:{tmp_path}/layout:{reference}")

    for seen in (remote, local):
        assert seen["Digest"] == built.image.digest
        assert seen["Layers"] == [layer.digest for layer in built.image.manifest.layers]
        assert seen["Labels"] == {
            f"io.crossplane.xpkg:{layer.digest}": layer.annotations["io.crossplane.xpkg"]
            for layer in built.image.manifest.layers
        }
    raw = skopeo("--raw", "--tls-verify=false", f"docker://{reference}")
    assert [layer["annotations"] for layer in raw["layers"]] == [
        {"io.crossplane.xpkg": "base"},
        {"io.crossplane.xpkg": "upbound"},
    ]


def test_an_index_with_extensions_is_read_back_as_crossplane_reads_it(
    open_registry: RunningRegistry, tmp_path: Path
) -> None:
    meta = {"crossplane.yaml": PROVIDER, "crd.yaml": CRD}
    files = [
        PackageFile(build_file(tmp_path / f"{name}.xpkg", meta, platform=f"linux/{name}"), Limits())
        for name in ("arm64", "amd64")
    ]
    (tmp_path / "readme.md").write_text("hello")
    reference = parse_reference(f"{open_registry.host}/acme/provider-index:v1.0.0")
    planned = plan_publication(files, tmp_path / "readme.md", Limits())

    push(world(environment(tmp_path, open_registry.host)), planned, reference)

    images = world(environment(tmp_path, open_registry.host)).images()
    found = inspect_reference(reference, images, Limits())
    assert found.image is not None
    assert (found.image.digest, found.image.manifest_digest) == (planned.content.digest, files[1].digest)
    assert found.image.extensions is not None
    raw = skopeo("--raw", "--tls-verify=false", f"docker://{reference}")
    assert [child.get("platform") for child in raw["manifests"]] == [
        {"architecture": "arm64", "os": "linux"},
        {"architecture": "amd64", "os": "linux"},
        None,
    ]
    chosen = skopeo(
        "--override-os=linux", "--override-arch=amd64", "--tls-verify=false", f"docker://{reference}"
    )
    assert chosen["Layers"] == [layer.digest for layer in files[1].manifest.layers]


def test_pushing_again_uploads_no_blob_twice(tmp_path: Path) -> None:
    with RecordingServer(answer(200)) as server:
        pusher = world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop"))

        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))
        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert [request.method for request in server.requests] == ["HEAD"]


def test_a_tag_can_move(open_registry: RunningRegistry, tmp_path: Path) -> None:
    reference = parse_reference(f"{open_registry.host}/acme/moving:v1")
    outside = world(environment(tmp_path, open_registry.host))
    digests = []
    for i, meta in enumerate([PROVIDER, PROVIDER.replace("nop", "other")]):
        file = PackageFile(build_file(tmp_path / f"{i}.xpkg", {"crossplane.yaml": meta}), Limits())
        push(
            world(environment(tmp_path, open_registry.host)),
            plan_publication([file], None, Limits()),
            reference,
        )
        digests.append(file.digest)

    assert outside.images().content(reference).digest == digests[1] != digests[0]


@pytest.mark.parametrize("auth", ["htpasswd", "token"])
@pytest.mark.parametrize("right_user", [True, False])
def test_rejected_credentials_are_an_error_that_does_not_show_them(
    request: pytest.FixtureRequest, auth: str, right_user: bool, tmp_path: Path, canary: str
) -> None:
    running: RunningRegistry = request.getfixturevalue(f"{auth}_registry")
    log_in(tmp_path, running.host, running.username if right_user else "mallory", canary)
    pusher = world(environment_for(running, tmp_path)).pusher(Source(running.host, "acme/nop"))

    with pytest.raises(AccessDenied) as caught:
        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))

    text = str(caught.value)
    assert running.host in caught.value.what
    assert caught.value.why and caught.value.next
    assert canary not in text
    assert base64.b64encode(f"{running.username}:{canary}".encode()).decode() not in text


def test_without_credentials_the_error_tells_where_they_were_looked_for(
    htpasswd_registry: RunningRegistry, tmp_path: Path
) -> None:
    host = htpasswd_registry.host
    pusher = world(environment(tmp_path, host)).pusher(Source(host, "acme/nop"))

    with pytest.raises(AccessDenied) as caught:
        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))

    assert "docker/config.json" in str(caught.value)
    assert f"docker login {host}" in str(caught.value)


def test_a_netrc_is_not_used(htpasswd_registry: RunningRegistry, tmp_path: Path) -> None:
    host = htpasswd_registry.host
    (tmp_path / "home").mkdir()
    netrc = tmp_path / "home/.netrc"
    netrc.write_text(
        f"machine 127.0.0.1 login {htpasswd_registry.username} password {htpasswd_registry.password}\n"
    )
    netrc.chmod(0o600)
    environ = environment(tmp_path, host)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", environ["HOME"])
        patch.setenv("NETRC", str(netrc))
        with pytest.raises(AccessDenied):
            world(environ).pusher(Source(host, "acme/nop")).push_blob(DESCRIPTOR, BytesIO(BLOB))


def test_a_netrc_does_not_replace_the_right_credentials(
    htpasswd_registry: RunningRegistry, tmp_path: Path
) -> None:
    host = htpasswd_registry.host
    log_in(tmp_path, host, htpasswd_registry.username, htpasswd_registry.password)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login mallory password wrong\n")
    netrc.chmod(0o600)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETRC", str(netrc))
        pusher = world(environment(tmp_path, host)).pusher(Source(host, "acme/netrc"))
        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))


def uploads(location: Callable[[Request], str], *, password: str = "") -> Route:
    """Answer like a registry that wants a password, and that names any place for uploads."""

    def handle(request: Request) -> Any:
        if password and not request.credentials.endswith(f":{password}"):
            return answer(401, headers={"WWW-Authenticate": 'Basic realm="test"'})
        if request.method == "HEAD":
            return answer(404)
        if request.method == "POST":
            return answer(202, headers={"Location": location(request)})
        return answer(201)

    return handle


@contextmanager
def two_servers(
    folder: Path, password: str, elsewhere: Route
) -> Iterator[tuple[RecordingServer, RecordingServer]]:
    """A registry that sends uploads to another port, and that port."""
    with ExitStack() as stack:
        other = stack.enter_context(RecordingServer(elsewhere))
        route = uploads(lambda _: f"{other.url}/upload?state=1", password=password)
        registry = stack.enter_context(RecordingServer(route))
        log_in(folder, registry.host, "robin", password)
        yield registry, other


def test_an_upload_elsewhere_gets_the_blob_and_no_credentials(tmp_path: Path, canary: str) -> None:
    with two_servers(tmp_path, canary, answer(201)) as (registry, other):
        environ = environment(tmp_path, registry.host, other.host)

        world(environ).pusher(Source(registry.host, "acme/nop")).push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert registry.saw(canary)
        [request] = other.requests
        assert (request.method, request.body) == ("PUT", BLOB)
        assert request.query == f"state=1&digest=sha256%3A{DESCRIPTOR.digest.removeprefix('sha256:')}"
        assert "Authorization" not in request.headers
        assert not other.saw(canary)


@pytest.mark.parametrize(
    "challenge",
    ['Basic realm="x"', 'Bearer realm="{other}/token",service="x"', 'Bearer realm="{here}/token"'],
)
def test_an_upload_host_with_a_challenge_gets_no_credentials(
    tmp_path: Path, canary: str, challenge: str
) -> None:
    wanted = {"WWW-Authenticate": challenge}

    def ask(_: Request) -> Any:
        text = wanted["WWW-Authenticate"].format(other=other.url, here=registry.url)
        return answer(401, headers={"WWW-Authenticate": text})

    with two_servers(tmp_path, canary, ask) as (registry, other):
        environ = environment(tmp_path, registry.host, other.host)

        with pytest.raises(PushFailed):
            world(environ).pusher(Source(registry.host, "acme/nop")).push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert len(other.requests) == 1
        assert not other.saw(canary)


def test_an_upload_on_a_host_that_is_not_allowed_is_refused(tmp_path: Path) -> None:
    with two_servers(tmp_path, "password", answer(201)) as (registry, other):
        environ = environment(tmp_path, registry.host, other.host, XPLOCK_ALLOWED_REGISTRIES=registry.host)

        with pytest.raises(RequestRefused, match="XPLOCK_ALLOWED_REGISTRIES"):
            world(environ).pusher(Source(registry.host, "acme/nop")).push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert not other.requests


def test_a_registry_that_is_not_allowed_is_not_pushed_to(tmp_path: Path) -> None:
    with RecordingServer(answer(200)) as server:
        environ = environment(tmp_path, server.host, XPLOCK_ALLOWED_REGISTRIES="ghcr.io")

        with pytest.raises(RequestRefused, match="XPLOCK_ALLOWED_REGISTRIES"):
            world(environ).pusher(Source(server.host, "acme/nop")).push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert not server.requests


def test_an_upload_that_leaves_tls_is_refused_even_on_the_same_host(tmp_path: Path, canary: str) -> None:
    certificate = make_certificate(tmp_path / "tls")
    with RecordingServer(
        uploads(lambda request: f"http://{request.headers['Host']}/upload", password=canary),
        certificate=certificate,
    ) as server:
        log_in(tmp_path, server.host, "robin", canary)
        environ = environment(tmp_path, XPLOCK_CA_BUNDLE=str(certificate.file))

        with pytest.raises(RequestRefused, match="over http"):
            world(environ).pusher(Source(server.host, "acme/nop")).push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert [request.method for request in server.requests] == ["HEAD", "HEAD", "POST"]


def test_a_registry_is_trusted_by_the_operators_certificates_only(tmp_path: Path) -> None:
    with RecordingServer(answer(200), certificate=make_certificate(tmp_path / "tls")) as server:
        with pytest.raises(PushFailed, match="cannot be reached") as caught:
            world(environment(tmp_path)).pusher(Source(server.host, "acme/nop")).push_blob(
                DESCRIPTOR, BytesIO(BLOB)
            )

        assert "certificate" in str(caught.value).lower()
        assert not server.requests


@pytest.mark.parametrize("location", ["/upload/1", "upload/1", "../uploads/1?x=y", "?session=1"])
def test_an_upload_may_be_named_from_where_it_was_asked_for(tmp_path: Path, location: str) -> None:
    with RecordingServer(uploads(lambda _: location)) as server:
        world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop")).push_blob(
            DESCRIPTOR, BytesIO(BLOB)
        )

        assert server.requests[-1].body == BLOB


@pytest.mark.parametrize(
    ("post", "why"),
    [
        (answer(403, b'{"errors":[{"code":"DENIED","message":"read only"}]}'), "status 403: read only"),
        (answer(404, b"no such thing"), "status 404: no such thing"),
        (answer(405, b"<html>\x1b[2Jno</html>"), r"<html>\x1b[2Jno</html>"),
        (answer(200), "status 200"),
        (answer(307, headers={"Location": "/elsewhere"}), "status 307"),
        (answer(202), "no Location"),
        (answer(202, headers={"Location": "ftp://x/y"}), "not a plain http or https URL"),
        (answer(202, headers={"Location": "http://u:p@127.0.0.1/y"}), "http or https URL"),
        (endless(b"x" * 1000), "status 200"),
    ],
)  # fmt: skip
def test_the_error_for_a_rejected_upload_has_the_reason(tmp_path: Path, post: Route, why: str) -> None:
    def handle(request: Request) -> Any:
        return answer(404) if request.method == "HEAD" else post

    with RecordingServer(handle) as server:
        pusher = world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop"))

        with pytest.raises(RenderError) as caught:
            pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert isinstance(caught.value, PushFailed | RequestRefused)
        assert why in str(caught.value)
        assert len(str(caught.value)) < 2000
        assert [request.method for request in server.requests] == ["HEAD", "POST"]


def test_an_unlucky_push_is_tried_again(tmp_path: Path) -> None:
    route = in_turn([answer(503), reset(), answer(404), answer(500), answer(202, headers={"Location": "/u"}), answer(201)])  # fmt: skip
    with RecordingServer(route) as server:
        world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop")).push_blob(
            DESCRIPTOR, BytesIO(BLOB)
        )

        assert [request.method for request in server.requests] == [
            "HEAD",
            "HEAD",
            "HEAD",
            "POST",
            "POST",
            "PUT",
        ]
        assert server.requests[-1].body == BLOB


def test_a_registry_that_keeps_failing_is_given_up(tmp_path: Path) -> None:
    with RecordingServer(answer(500)) as server:
        pusher = world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop"))

        with pytest.raises(PushFailed, match="keeps failing"):
            pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert len(server.requests) == 4


def test_the_error_for_an_unreachable_host_names_it(tmp_path: Path) -> None:
    with RecordingServer() as server:
        host = server.host
    pusher = world(environment(tmp_path, host)).pusher(Source(host, "acme/nop"))

    with pytest.raises(PushFailed, match=f"{host} cannot be reached"):
        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))


CONTENT = Content(b'{"schemaVersion":2}', OCI_MANIFEST, digest_of(b'{"schemaVersion":2}'))


def test_a_manifest_is_sent_as_it_is(tmp_path: Path) -> None:
    with RecordingServer(answer(201)) as server:
        pusher = world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop"))

        pusher.push_content(CONTENT, "v1")
        pusher.push_content(CONTENT)

        first, second = server.requests
        assert (first.path, second.path) == (
            "/v2/acme/nop/manifests/v1",
            f"/v2/acme/nop/manifests/{CONTENT.digest}",
        )
        assert first.body == second.body == CONTENT.data
        assert first.headers["Content-Type"] == OCI_MANIFEST


def test_a_registry_that_stored_other_bytes_is_an_error(tmp_path: Path) -> None:
    other = digest_of(b"other")
    with RecordingServer(answer(201, headers={"Docker-Content-Digest": other})) as server:
        pusher = world(environment(tmp_path, server.host)).pusher(Source(server.host, "acme/nop"))

        with pytest.raises(PushFailed, match="changed the pushed manifest") as caught:
            pusher.push_content(CONTENT, "v1")

        assert other in str(caught.value)


def test_a_registry_that_serves_other_bytes_than_it_took_is_found_out(tmp_path: Path) -> None:
    other = b'{"schemaVersion":2,"layers":[]}'
    with RecordingServer(answer(200, other, {"Content-Type": OCI_MANIFEST})) as server:
        reference = Reference(Source(server.host, "acme/nop"), "v1")
        outside = world(environment(tmp_path, server.host))

        with pytest.raises(TamperedContent) as caught:
            outside.check_pushed(reference, CONTENT.digest)

        assert digest_of(other) in str(caught.value)
        assert CONTENT.digest in str(caught.value)


@pytest.mark.parametrize(
    ("source", "url"),
    [
        (Source("localhost", "nop"), "https://localhost/v2/nop/blobs/"),
        (Source("registry", "acme/nop"), "https://registry/v2/acme/nop/blobs/"),
        (Source("ghcr.io", "xpkg.upbound.io/a/b/c"), "https://ghcr.io/v2/xpkg.upbound.io/a/b/c/blobs/"),
        (Source("docker.io", "nop"), "https://registry-1.docker.io/v2/library/nop/blobs/"),
        (Source("[::1]:5000", "nop"), "https://[::1]:5000/v2/nop/blobs/"),
    ],
)
def test_a_source_is_pushed_to_its_own_registry(tmp_path: Path, source: Source, url: str) -> None:
    asked = []

    def note(method: str, url: str, **_: object) -> Any:
        asked.append((method, url))
        raise KeyboardInterrupt

    pusher = world(environment(tmp_path)).pusher(source)
    pusher._client.session.request = note

    with pytest.raises(KeyboardInterrupt):
        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))

    assert asked == [("HEAD", url + DESCRIPTOR.digest)]


def test_a_proxy_is_used_unless_the_host_is_excepted(tmp_path: Path) -> None:
    with RecordingServer(answer(200)) as proxy, RecordingServer(answer(200)) as server:
        environ = environment(tmp_path, server.host, HTTP_PROXY=proxy.url)
        source = Source(server.host, "acme/nop")

        world(environ).pusher(source).push_blob(DESCRIPTOR, BytesIO(BLOB))
        world({**environ, "NO_PROXY": "127.0.0.1"}).pusher(source).push_blob(DESCRIPTOR, BytesIO(BLOB))

        assert [request.target for request in proxy.requests] == [
            f"{server.url}/v2/acme/nop/blobs/{DESCRIPTOR.digest}"
        ]
        assert len(server.requests) == 1


def test_a_registry_on_an_ipv6_address_can_be_pushed_to_and_read(tmp_path: Path) -> None:
    stored: dict[str, bytes] = {}

    def handle(request: Request) -> Any:
        if request.method in ("HEAD", "GET"):
            data = stored.get(request.path)
            return answer(404) if data is None else answer(200, data, {"Content-Type": OCI_MANIFEST})
        if request.method == "POST":
            return answer(202, headers={"Location": "/u"})
        stored[request.path] = request.body
        return answer(201)

    with RecordingServer(handle, address="::1") as server:
        outside = world(environment(tmp_path, server.host))
        reference = parse_reference(f"{server.host}/acme/nop:v1")
        pusher = outside.pusher(reference.source)

        pusher.push_blob(DESCRIPTOR, BytesIO(BLOB))
        pusher.push_content(CONTENT, "v1")

        outside.check_pushed(reference, Digest(CONTENT.digest))
