"""Tags, manifests and blobs: the right bytes, requested once, or an error with the reason."""

import json
import platform
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from rig.commands.run import files_below
from rig.registry.client import asker, bounded, named, source
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import (
    Answer,
    RecordingServer,
    Request,
    Route,
    Wire,
    answer,
    garbage_chunking,
    in_turn,
    no_length_close,
    redirect,
    reset,
)
from rig.registry.in_memory import INDEX, MANIFEST, MiniRegistry
from rig.registry.package_images import AddedPackage, add_package, challenged, counted, index, manifest

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.references import Digest, Reference
from render.registry.cache import Cache
from render.registry.client import RegistryClient, _error_message, next_page
from render.registry.http.addresses import RequestRefused
from render.registry.http.bodies import SizeMismatch
from render.registry.http.troubles import RegistryUnreachable
from render.registry.oci import (
    Content,
    Descriptor,
    InvalidManifest,
    NotFound,
    TamperedContent,
    digest_of,
    parse_content,
)
from render.xpkg.catalog import Catalog
from render.xpkg.image import InvalidImage, fetch_image

PATH = "/v2/some/name"


def blob_of(data: bytes) -> Descriptor:
    """Describe a blob truthfully."""
    return Descriptor("application/octet-stream", digest_of(data), len(data))


def kept(cache: Path) -> list[Path]:
    """Return the content in a cache, without answers about tags; a folder that was never made has nothing."""
    found = files_below(cache) if cache.exists() else []
    return [file for file in found if file.suffix not in (".tag", ".tags")]


def tag_page(tags: Sequence[object], link: str = "") -> Answer:
    """Answer with a page of tags."""
    headers = {"Link": f'<{link}>; rel="next"'} if link else {}
    return answer(200, json.dumps({"name": "some/name", "tags": tags}).encode(), headers)


# Other bytes than the digest asked for


def test_a_blob_is_exactly_the_bytes_of_its_digest(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        mini.add_blob(b"layer")
        client = asker(mini.host, cache=tmp_path).client

        bodies = []
        for _ in range(2):
            with client.blob(source(mini.host), blob_of(b"layer")) as file:
                bodies.append(file.read())

        assert bodies == [b"layer", b"layer"]
        assert len(mini.requests) == 1, "the second one comes from the cache"


@pytest.mark.parametrize("served", [b"other", b"LAYER"])
def test_another_blob_under_a_valid_digest_is_tampering(tmp_path: Path, served: bytes) -> None:
    wanted = blob_of(b"layer")
    with MiniRegistry() as mini:
        mini.override(f"{PATH}/blobs/{wanted.digest}", answer(200, served))

        with pytest.raises(TamperedContent) as tampering:
            asker(mini.host, cache=tmp_path).client.blob(source(mini.host), wanted)

        assert f"requested {digest_of(b'layer')}" in str(tampering.value)
        assert f"received {digest_of(served)}" in str(tampering.value)
        assert kept(tmp_path) == []
        assert len(mini.requests) == 2, "a broken proxy gets one more chance, and only one"


def test_wrong_bytes_once_are_made_good_by_right_ones() -> None:
    wanted = blob_of(b"layer")
    with MiniRegistry() as mini:
        mini.override(
            f"{PATH}/blobs/{wanted.digest}", in_turn([answer(200, b"LAYER"), answer(200, b"layer")])
        )

        with asker(mini.host).client.blob(source(mini.host), wanted) as file:
            assert file.read() == b"layer"


def test_another_manifest_under_a_valid_digest_is_tampering(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good, evil = add_package(mini), add_package(mini, "evil/name", name="evil")
        mini.override(
            f"{PATH}/manifests/{good.digest}",
            answer(200, evil.data, {"Content-Type": MANIFEST, "Docker-Content-Digest": good.digest}),
        )

        with pytest.raises(TamperedContent) as tampering:
            asker(mini.host, cache=tmp_path).client.content(named(mini.host, f"some/name@{good.digest}"))

        assert good.digest in str(tampering.value)
        assert evil.digest in str(tampering.value)
        assert kept(tmp_path) == []


def test_another_child_of_an_index_is_tampering(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good, evil = add_package(mini, tag=None), add_package(mini, "evil/name", name="evil")
        mini.add_manifest("some/name", "v1.0.0", index([good.as_child("linux/amd64")]), INDEX)
        mini.override(f"{PATH}/manifests/{good.digest}", answer(200, evil.data, {"Content-Type": MANIFEST}))

        with pytest.raises(TamperedContent, match=evil.digest):
            fetch_image(asker(mini.host, cache=tmp_path).client, named(mini.host), Limits())

        assert len(kept(tmp_path)) == 1, "the index itself was right"


@pytest.mark.parametrize("announced", [True, False])
def test_one_byte_too_many_is_refused(tmp_path: Path, announced: bool) -> None:
    wanted = blob_of(b"layer")
    with MiniRegistry() as mini:
        served = answer(200, b"layer!") if announced else no_length_close(b"layer!")
        mini.override(f"{PATH}/blobs/{wanted.digest}", served)

        with pytest.raises(SizeMismatch, match="5 bytes"):
            asker(mini.host, cache=tmp_path).client.blob(source(mini.host), wanted)

        assert kept(tmp_path) == []


def test_one_byte_too_many_in_a_manifest_is_tampering(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good = add_package(mini)
        path = f"{PATH}/manifests/{good.digest}"
        mini.override(path, answer(200, good.data + b"\n", {"Content-Type": MANIFEST}))

        with pytest.raises(TamperedContent):
            asker(mini.host, cache=tmp_path).client.content(named(mini.host, f"some/name@{good.digest}"))

        assert kept(tmp_path) == []


def test_a_cache_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good, evil = add_package(mini), add_package(mini, "evil/name", name="evil")
        by_digest = named(mini.host, f"some/name@{good.digest}")
        asker(mini.host, cache=tmp_path).client.content(by_digest)
        for file in kept(tmp_path):
            file.write_bytes(file.read_bytes().replace(good.data, evil.data))

        content = asker(mini.host, cache=tmp_path).client.content(by_digest)

        assert content.data == good.data
        assert len(mini.requests) == 2


def test_a_cache_that_somebody_else_filled_is_not_believed(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good, evil = add_package(mini), add_package(mini, "evil/name", name="evil")
        facts = MANIFEST.encode() + b"\n" + evil.data
        Cache(tmp_path, Limits(), print).put_facts(good.digest, "manifest", facts)

        content = asker(mini.host, cache=tmp_path).client.content(
            named(mini.host, f"some/name@{good.digest}")
        )

        assert content.data == good.data


def test_a_manifest_known_by_digest_is_not_asked_for_again(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good = add_package(mini)
        by_tag = asker(mini.host, cache=tmp_path).client.content(named(mini.host))

        by_digest = asker(mini.host, cache=tmp_path).client.content(
            named(mini.host, f"some/name@{good.digest}")
        )

        assert by_tag == by_digest == Content(good.data, MANIFEST, good.digest)
        assert len(mini.requests) == 1


def test_a_layer_that_is_too_large_is_not_even_asked_for() -> None:
    with MiniRegistry() as mini:
        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LAYER_BYTES"):
            asker(mini.host, limits=bounded(layer_bytes=100)).client.blob(
                source(mini.host), blob_of(b"x" * 101)
            )

        assert mini.requests == ()


def test_a_layer_comes_from_the_registry_and_not_from_elsewhere() -> None:
    # A descriptor's "urls" are another host's say.
    with RecordingServer(answer(200, b"layer")) as elsewhere, MiniRegistry() as mini:
        config = mini.add_blob(b"{}")
        layer = {**mini.add_blob(b"layer"), "urls": [f"{elsewhere.url}/layer"]}
        mini.add_manifest("some/name", "v1.0.0", manifest(config, [layer]))
        client = asker(mini.host, elsewhere.host).client

        image = fetch_image(client, named(mini.host), Limits())
        client.blob(source(mini.host), image.manifest.layers[0]).close()

        assert elsewhere.connections == 0


def test_a_blob_may_come_from_a_store_that_sees_no_credentials(canary: str) -> None:
    # With a real flow.
    with RecordingServer(answer(200, b"layer")) as store, MiniRegistry() as mini:
        wanted = blob_of(b"layer")
        guard = challenged(mini, f'Bearer realm="{mini.url}/token"', f"Bearer {canary}")
        mini.override("/token", answer(200, json.dumps({"token": canary}).encode()))

        def elsewhere(request: Request) -> Answer:
            allowed = request.headers["Authorization"] == f"Bearer {canary}"
            return redirect(f"{store.url}/signed?key=x") if allowed else guard(request)

        mini.override(f"{PATH}/blobs/{wanted.digest}", elsewhere)

        asker(mini.host, store.host).client.blob(source(mini.host), wanted).close()

        assert mini.server.saw(canary)
        assert [request.headers["Authorization"] for request in store.requests] == [None]
        assert not store.saw(canary)


# A tag is resolved once


def test_a_tag_that_moves_with_every_request_is_asked_for_once() -> None:
    with MiniRegistry() as mini:
        packages = [add_package(mini, tag=None, name=name) for name in ("first", "second")]
        answers = [answer(200, package.data, {"Content-Type": MANIFEST}) for package in packages * 5]
        mini.override(f"{PATH}/manifests/v1.0.0", in_turn(answers))
        client = asker(mini.host).client
        catalog = Catalog(client, _NoFacts(), Limits())

        found = catalog.package(named(mini.host))
        again = catalog.package(named(mini.host))
        content = client.content(named(mini.host))

        assert [found.digest, again.digest, content.digest] == [packages[0].digest] * 3
        assert found.metadata.name == "first"
        paths = [request.path for request in mini.requests]
        assert paths.count(f"{PATH}/manifests/v1.0.0") == 1
        layers = [path.rpartition("/")[2] for path in paths if "/blobs/" in path]
        assert set(layers) == {packages[0].layer["digest"]}


class _NoFacts:
    """Remembers nothing."""

    def get_facts(self, digest: Digest, kind: str) -> bytes | None:  # noqa: ARG002
        return None

    def put_facts(self, digest: Digest, kind: str, data: bytes) -> None:
        """Let go of it."""


def test_of_tag_and_digest_the_digest_counts() -> None:
    with MiniRegistry() as mini:
        old = add_package(mini, name="old")
        add_package(mini, name="new")

        content = asker(mini.host).client.content(named(mini.host, f"some/name:v1.0.0@{old.digest}"))

        assert content.digest == old.digest
        assert [request.path for request in mini.requests] == [f"{PATH}/manifests/{old.digest}"]


def test_many_threads_that_want_the_same_ask_once() -> None:
    with MiniRegistry(latency=0.05) as mini:
        add_package(mini)
        client = asker(mini.host).client

        with ThreadPoolExecutor(8) as threads:
            contents = list(threads.map(lambda _: client.content(named(mini.host)), range(8)))
            tags = list(threads.map(lambda _: client.tags(source(mini.host)), range(8)))

        assert len(set(contents)) == 1
        assert tags == [("v1.0.0",)] * 8
        assert len(mini.requests) == 2


def test_a_question_that_failed_may_be_asked_again() -> None:
    with MiniRegistry() as mini:
        add_package(mini)
        mini.override(f"{PATH}/manifests/v1.0.0", in_turn([answer(404), mini.serve]))
        client = asker(mini.host).client

        with pytest.raises(NotFound):
            client.content(named(mini.host))

        assert client.content(named(mini.host)).media_type == MANIFEST


# Headers that lie


@pytest.mark.parametrize("header", ["sha256:" + 64 * "0", "nonsense", "sha512:" + 128 * "0", "\x7f"])
def test_the_digest_of_a_tag_is_the_one_we_compute(header: str) -> None:
    with MiniRegistry() as mini:
        good = add_package(mini)
        served = answer(200, good.data, {"Content-Type": MANIFEST, "Docker-Content-Digest": header})
        mini.override(f"{PATH}/manifests/v1.0.0", served)

        assert asker(mini.host).client.content(named(mini.host)).digest == good.digest


def test_both_kinds_of_manifest_are_accepted_and_said_so() -> None:
    with MiniRegistry() as mini:
        add_package(mini)

        asker(mini.host).client.content(named(mini.host))

        accepted = mini.requests[0].headers["Accept"].split(", ")
        assert set(accepted) == {
            "application/vnd.oci.image.manifest.v1+json",
            "application/vnd.oci.image.index.v1+json",
            "application/vnd.docker.distribution.manifest.v2+json",
            "application/vnd.docker.distribution.manifest.list.v2+json",
        }


def test_the_type_of_a_cached_manifest_is_kept_with_it(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        good = add_package(mini)
        mini.override(f"{PATH}/manifests/v1.0.0", answer(200, good.data, {"Content-Type": INDEX}))
        asker(mini.host, cache=tmp_path).client.content(named(mini.host))

        again = asker(mini.host, cache=tmp_path).client.content(named(mini.host, f"some/name@{good.digest}"))

        assert len(mini.requests) == 1
        with pytest.raises(InvalidManifest, match="was served as"):
            parse_content(again, Limits())


# Pagination


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ('</v2/a/tags/list?last=b&n=1>; rel="next"', "/v2/a/tags/list?last=b&n=1"),
        ("<x>; rel=next", "x"),
        ("<x>;rel=next", "x"),
        ('<x>; REL="NEXT"', "x"),
        ('<x> ; rel = "next"', "x"),
        ('<x>; rel="prev next"', "x"),
        ('<x>; rel="prev", <y>; rel="next"', "y"),
        ('<x>; rel="next", <y>; rel="last"', "x"),
        ('<x>; title="a, b"; rel="next"', "x"),
        ('<x>; title="<y>"; rel="next"', "x"),
        ('<a,b;c>; rel="next"', "a,b;c"),
        ("<x>;; rel=next", "x"),
        ('<>; rel="next"', ""),
        ('<x>; rel="nextest"', ""),
        ('<x>; rel="prev"', ""),
        ('<x>; title="next"', ""),
        ("<x>", ""),
        ("x; rel=next", ""),
        ("", ""),
    ],
)
def test_thenext_page_is_found_in_the_link_header(header: str, target: str) -> None:
    assert next_page(header) == target


def test_the_longest_link_header_does_not_hold_us_up() -> None:
    # Looking at everything once for everything takes many seconds for each of these.
    script = """
from render.registry.client import next_page
for piece in ["<>;", "<", "<>;a=", '<>;a="', "; ", "<>; rel=", '"', "<>" + "; " * 9]:
    next_page(piece * (65_536 // len(piece)))
"""

    done = subprocess.run([sys.executable, "-c", script], timeout=100, check=False)

    assert done.returncode == 0


def test_all_pages_are_read_and_the_order_does_not_matter() -> None:
    tags = [f"v{number}" for number in range(10_000)]
    with MiniRegistry(page_size=100) as mini:
        for tag in random.Random(6).sample(tags, len(tags)):
            mini.add_manifest("some/name", tag, b"{}")

        found = asker(mini.host).client.tags(source(mini.host))

        assert found == tuple(sorted(tags))
        assert len(mini.requests) == 100
        assert parse_qs(mini.requests[0].query) == {"n": ["1000"]}


def test_all_tags_may_come_in_one_answer() -> None:
    # Docker-registry 2.8 takes no notice of the page size.
    tags = [f"v{number}" for number in range(10_000)]
    with RecordingServer(tag_page(tags)) as server:
        assert asker(server.host).client.tags(source(server.host)) == tuple(sorted(tags))
        assert len(server.requests) == 1


@pytest.mark.parametrize("link", ["", "/v2/some/name/tags/list?n=1000", "?n=1000"])
def test_a_page_that_links_to_itself_ends_the_listing(link: str) -> None:
    with RecordingServer() as server:
        server.routes[f"{PATH}/tags/list"] = tag_page(["v1"], link or f"{server.url}{PATH}/tags/list?n=1000")

        with pytest.raises(RegistryUnreachable, match="does not end") as failure:
            asker(server.host).client.tags(source(server.host))

        assert len(server.requests) <= 2
        assert f"{server.host}/some/name" in str(failure.value)


def test_a_page_seen_before_ends_the_listing_though_it_has_new_tags() -> None:
    pages = [tag_page([f"v{number}"], "?n=1000") for number in range(5)]
    with RecordingServer(in_turn(pages)) as server:
        with pytest.raises(RegistryUnreachable, match="does not end"):
            asker(server.host).client.tags(source(server.host))

        assert len(server.requests) == 1


def test_a_page_without_a_new_tag_ends_the_listing() -> None:
    pages = [tag_page(["v1"], "?last=1"), tag_page(["v1"], "?last=2"), tag_page(["v2"])]
    with RecordingServer(in_turn(pages)) as server:
        with pytest.raises(RegistryUnreachable, match="after 2 pages it repeats itself"):
            asker(server.host).client.tags(source(server.host))

        assert len(server.requests) == 2


def test_an_empty_last_page_is_fine() -> None:
    with RecordingServer(in_turn([tag_page(["v1"], "?last=v1"), tag_page([])])) as server:
        assert asker(server.host).client.tags(source(server.host)) == ("v1",)


def test_a_listing_does_not_continue_on_another_port() -> None:
    with RecordingServer(tag_page(["v2"])) as elsewhere, RecordingServer() as server:
        server.routes[f"{PATH}/tags/list"] = tag_page(["v1"], f"{elsewhere.url}{PATH}/tags/list?last=v1")

        with pytest.raises(RequestRefused, match="continues elsewhere"):
            asker(server.host, elsewhere.host).client.tags(source(server.host))

        assert elsewhere.connections == 0


@pytest.mark.parametrize(
    "link",
    [
        "/v2/other/name/tags/list?last=v1",
        "/v2/some/name-2/tags/list",
        "/v2/",
        "/",
        "../../other/tags/list",
        "{url}/v2/some/name/../../secret/tags/list",
        "https://{host}/v2/some/name/tags/list?last=v1",
        "//{host}@elsewhere.example/v2/some/name/tags/list",
        "http://[::1",
        "ftp://{host}/v2/some/name/tags/list",
    ],
)
def test_a_listing_does_not_leave_its_repository(link: str) -> None:
    with RecordingServer() as server:
        server.routes[f"{PATH}/tags/list"] = tag_page(["v1"], link.format(url=server.url, host=server.host))

        with pytest.raises(RequestRefused):
            asker(server.host).client.tags(source(server.host))

        assert len(server.requests) == 1


def test_endless_pages_end_at_the_limit() -> None:
    def endless_pages(request: Request) -> Answer:
        number = int(parse_qs(request.query).get("last", ["0"])[0]) + 1
        return tag_page([f"v{number}"], f"?last={number}")

    with RecordingServer(endless_pages) as server:
        with pytest.raises(RenderError, match="more than 20 pages") as failure:
            asker(server.host, limits=bounded(tag_pages=20)).client.tags(source(server.host))

        assert len(server.requests) == 20
        assert "XPLOCK_LIMIT_TAG_PAGES" in str(failure.value)


def test_too_many_tags_are_an_error_that_names_the_limit() -> None:
    with RecordingServer(tag_page([f"v{number}" for number in range(11)])) as server:
        assert len(asker(server.host, limits=bounded(tags=11)).client.tags(source(server.host))) == 11
        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_TAGS"):
            asker(server.host, limits=bounded(tags=10)).client.tags(source(server.host))


@pytest.mark.parametrize("with_length", [True, False])
def test_a_huge_page_of_tags_is_not_read(with_length: bool) -> None:
    sent: list[int] = []
    with RecordingServer(counted(300 << 20, sent, with_length=with_length)) as server:
        client = asker(server.host, limits=bounded(tag_page_bytes=100_000)).client

        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_TAG_PAGE_BYTES"):
            client.tags(source(server.host))

    assert sent[0] < 16 << 20


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"7",
        b"{}",
        b'{"tags": "v1"}',
        b'{"tags": {"v1": 1}}',
        b'{"tags": [1]}',
        b'{"tags": ["v1", null]}',
        b'{"tags": 7}',
        b'{"tags": true}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_malformed_list_of_tags_is_an_error(body: bytes) -> None:
    with RecordingServer(answer(200, body)) as server:
        with pytest.raises(RegistryUnreachable, match=r"the tag list of .*/some/name cannot be read"):
            asker(server.host).client.tags(source(server.host))

        assert len(server.requests) == 1


def test_invalid_tags_are_left_out() -> None:
    odd = ["v1", "a/b", "", "a:b", "x" * 129, "\x1b[2J", "../x", "v1\n", "-v1", "v1", "_1"]
    with RecordingServer(tag_page(odd)) as server:
        assert asker(server.host).client.tags(source(server.host)) == ("_1", "v1")


def test_a_repository_without_tags_has_none() -> None:
    with RecordingServer(answer(200, b'{"name": "some/name", "tags": null}')) as server:
        assert asker(server.host).client.tags(source(server.host)) == ()


# Index games


def image_of(client: RegistryClient, host: str) -> tuple[Digest, Digest]:
    """Return the digests of what the tag names and of the image that is read."""
    image = fetch_image(client, named(host), Limits())
    return image.digest, image.manifest_digest


@pytest.mark.parametrize(
    ("platforms", "chosen"),
    [
        (["linux/amd64"], 0),
        (["linux/arm64", "linux/amd64"], 1),
        (["windows/amd64", "", "linux/amd64"], 1),
        (["linux/amd64", "linux/amd64"], 0),
        (["", "linux/amd64"], 0),
    ],
)
def test_the_first_child_for_linux_amd64_is_read(platforms: list[str], chosen: int) -> None:
    with MiniRegistry() as mini:
        children = [add_package(mini, tag=None, name=f"child-{n}") for n in range(len(platforms))]
        pairs = zip(children, platforms, strict=True)
        top = mini.add_manifest("some/name", "v1.0.0", index([c.as_child(p) for c, p in pairs]), INDEX)

        found = image_of(asker(mini.host).client, mini.host)

        assert found == (top, children[chosen].digest)


@pytest.mark.parametrize("machine", ["aarch64", "x86_64", "s390x"])
def test_the_choice_does_not_depend_on_our_machine(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with MiniRegistry() as mini:
        children = [add_package(mini, tag=None, name=name) for name in ("arm", "amd")]
        entries = [children[0].as_child("linux/arm64"), children[1].as_child("linux/amd64")]
        mini.add_manifest("some/name", "v1.0.0", index(entries), INDEX)

        assert image_of(asker(mini.host).client, mini.host)[1] == children[1].digest


def test_an_index_without_anything_is_an_error() -> None:
    with MiniRegistry() as mini:
        mini.add_manifest("some/name", "v1.0.0", index([]), INDEX)

        with pytest.raises(InvalidImage, match="nothing at all"):
            image_of(asker(mini.host).client, mini.host)


def test_an_index_for_other_platforms_tells_which() -> None:
    with MiniRegistry() as mini:
        package = add_package(mini, tag=None)
        children = [package.as_child("windows/arm64"), package.as_child("linux/s390x")]
        mini.add_manifest("some/name", "v1.0.0", index(children), INDEX)

        with pytest.raises(InvalidImage, match="windows/arm64, linux/s390x"):
            image_of(asker(mini.host).client, mini.host)


def test_an_index_of_ten_thousand_is_an_error_that_names_the_limit() -> None:
    with MiniRegistry() as mini:
        package = add_package(mini, tag=None)
        mini.add_manifest("some/name", "v1.0.0", index([package.as_child()] * 10_000), INDEX)

        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_INDEX_ENTRIES"):
            image_of(asker(mini.host).client, mini.host)

        assert len(mini.requests) == 1


def nested(mini: MiniRegistry, depth: int) -> AddedPackage:
    """Put a package below so many indexes."""
    package = add_package(mini, tag=None)
    child = package.as_child("linux/amd64")
    for level in range(depth):
        data = index([child], annotations={"level": str(level)})
        digest = mini.add_manifest("some/name", "v1.0.0" if level == depth - 1 else None, data, INDEX)
        child = {"mediaType": INDEX, "digest": digest, "size": len(data)}
    return package


def test_an_index_of_indexes_is_followed_for_two_levels_only() -> None:
    with MiniRegistry() as mini:
        package = nested(mini, 2)

        assert image_of(asker(mini.host).client, mini.host)[1] == package.digest
    with MiniRegistry() as mini:
        nested(mini, 3)

        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_INDEX_DEPTH"):
            image_of(asker(mini.host).client, mini.host)


@pytest.mark.parametrize("difference", [-1, 1])
def test_a_child_of_another_size_than_its_index_says_is_refused(difference: int) -> None:
    with MiniRegistry() as mini:
        package = add_package(mini, tag=None)
        child = {**package.as_child(), "size": len(package.data) + difference}
        mini.add_manifest("some/name", "v1.0.0", index([child]), INDEX)

        with pytest.raises(InvalidImage, match=f"says {len(package.data) + difference:,} bytes"):
            image_of(asker(mini.host).client, mini.host)


# Errors


@pytest.mark.parametrize(
    ("path", "question", "what"),
    [
        (f"{PATH}/manifests/v1.0.0", "content", "has no version v1.0.0"),
        (f"{PATH}/blobs/{digest_of(b'layer')}", "blob", f"has no layer {digest_of(b'layer')}"),
        (f"{PATH}/tags/list", "tags", "/some/name does not exist"),
    ],
)
def test_a_missing_version_or_blob_is_named_and_requested_once(path: str, question: str, what: str) -> None:
    with MiniRegistry() as mini:
        client = asker(mini.host).client
        questions: dict[str, Callable[[], object]] = {
            "content": lambda: client.content(named(mini.host)),
            "blob": lambda: client.blob(source(mini.host), blob_of(b"layer")),
            "tags": lambda: client.tags(source(mini.host)),
        }

        with pytest.raises(NotFound, match=what) as failure:
            questions[question]()

        assert [request.path for request in mini.requests] == [path]
        assert "status 404" in str(failure.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"errors": [{"code": "DENIED", "message": "go away"}]}', "go away"),
        (b'{"errors": [{"code": "DENIED"}]}', "DENIED"),
        (b'{"errors": [{"message": ["a", 1]}]}', "['a', 1]"),
        (b'{"errors": []}', '{"errors": []}'),
        (b'{"errors": ["text"]}', '{"errors": ["text"]}'),
        (b"plain\r\n  text", "plain text"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_the_error_text_of_a_registry_is_found_in_any_form(body: bytes, message: str) -> None:
    assert _error_message(body) == message


def test_the_error_text_of_a_registry_is_escaped_and_shortened() -> None:
    text = "\x1b]0;x\x07\x1b[2J\u202e" + "long " * 1_000
    with RecordingServer(answer(403, json.dumps({"errors": [{"message": text}]}).encode())) as server:
        client = asker(server.host).client

        with pytest.raises(RenderError) as failure:
            client.tags(source(server.host))

    shown = str(failure.value)
    assert r"\x1b]0;x\x07\x1b[2J\u202e" in shown
    assert all(character >= " " or character == "\n" for character in shown)
    assert max(map(len, shown.splitlines())) < 600


@pytest.mark.parametrize("status", [201, 206, 400, 418, 501])
def test_the_error_names_any_other_status(status: int) -> None:
    with RecordingServer(answer(status, b"odd")) as server:
        with pytest.raises(RegistryUnreachable, match=f"status {status}: odd"):
            asker(server.host).client.tags(source(server.host))

        assert len(server.requests) == 1


# Many at once, and trouble


def test_many_threads_fetch_one_token(canary: str) -> None:
    with MiniRegistry(latency=0.01) as mini:
        for number in range(8):
            add_package(mini, tag=f"v{number}", name=f"name-{number}")
        guard = challenged(mini, f'Bearer realm="{mini.url}/token"', f"Bearer {canary}")
        with RecordingServer(guard) as server:
            tokens = answer(200, json.dumps({"token": canary, "expires_in": 300}).encode())
            server.routes["/token"] = tokens
            mini.override("/token", tokens)
            environ = {"XPLOCK_TRUSTED_REALMS": f"{server.host}={mini.host}"}
            client = asker(server.host, mini.host, environ=environ).client
            start = threading.Barrier(8)

            def fetch(number: int) -> Digest:
                start.wait()
                return client.content(named(server.host, f"some/name:v{number}")).digest

            with ThreadPoolExecutor(8) as threads:
                digests = set(threads.map(fetch, range(8)))

            assert len(digests) == 8
            assert [request.path for request in mini.requests] == ["/token"]


def flaky(mini: MiniRegistry, seed: int) -> Route:
    """Serve a small registry with three of ten requests failing in some way."""
    chance = random.Random(seed)

    def handle(request: Request) -> Answer:
        right = mini.serve(request)
        wrong = [answer(503), answer(500), reset(), garbage_chunking(), half_of(right), half_of(right)]
        return chance.choice(wrong) if chance.random() < 0.3 else right

    return handle


def half_of(whole: Answer) -> Answer:
    """Announce an answer's whole length, and break off half way."""

    def write(wire: Wire) -> None:
        send = wire.send
        wire.send = lambda data: send(data[: len(data) // 2])  # type: ignore[method-assign]
        wire.close_connection = True
        whole.write(wire)

    return Answer(write)


def test_a_run_succeeds_though_three_of_ten_requests_fail() -> None:
    with MiniRegistry() as mini:
        packages = [add_package(mini, f"some/name-{n}", name=f"name-{n}") for n in range(60)]
        with RecordingServer(flaky(mini, seed=30)) as server:
            world = asker(server.host)
            catalog = Catalog(world.client, _NoFacts(), Limits())

            found = [catalog.package(named(server.host, f"some/name-{n}:v1.0.0")) for n in range(60)]

            assert [package.digest for package in found] == [package.digest for package in packages]
            # Three questions for each: the tag, the manifest by its digest, the layer.
            assert len(server.requests) > 180 * 1.2
            assert len(world.waits) == len(server.requests) - 180


def test_a_real_registry_is_read_like_a_small_one(open_registry: RunningRegistry) -> None:
    with pytest.raises(NotFound):
        asker(open_registry.host).client.content(named(open_registry.host, "no/such:v1.0.0"))


def test_a_registry_on_ipv6_is_read_like_any_other() -> None:
    with MiniRegistry(address="::1") as mini:
        package = add_package(mini)
        client = asker(mini.host).client

        assert mini.host.startswith("[::1]:")
        assert image_of(client, mini.host) == (package.digest, package.digest)
        assert client.tags(source(mini.host)) == ("v1.0.0",)
        assert Reference(source(mini.host), "v1.0.0") == named(mini.host)
