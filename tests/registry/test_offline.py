"""Working offline: tags and images that registries answered with before."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.commands.world import open_quiet_world
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package

from render.limits import Limits
from render.references import Digest, Reference, Source
from render.registry.cache import Cache
from render.registry.offline import CachedImages, CachedTags, Offline, SeenTags

SOURCE = Source("r.example", "acme/app")
DIGEST = Digest("sha256:" + 64 * "a")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty cache."""
    return Cache(tmp_path / "cache", Limits(), print)


@pytest.fixture
def registry() -> Iterator[MiniRegistry]:
    """A registry with one package under two tags."""
    with MiniRegistry() as mini:
        add_package(mini, "acme/app", "v1.0.0")
        add_package(mini, "acme/app", "v1.1.0")
        yield mini


def test_the_newest_answer_about_tags_is_kept(cache: Cache) -> None:
    seen = SeenTags(cache)
    seen.put_tags(SOURCE, ["v1.0.0"])
    seen.put_tags(SOURCE, ["v1.0.0", "v1.1.0"])
    seen.put_digest(Reference(SOURCE, "v1.0.0"), DIGEST)

    again = SeenTags(cache)

    assert again.tags(SOURCE) == ["v1.0.0", "v1.1.0"]
    assert again.digest(Reference(SOURCE, "v1.0.0")) == DIGEST
    assert (again.tags(Source("r.example", "acme/other")), again.digest(Reference(SOURCE, "v1.1.0"))) == (
        None,
        None,
    )


def test_without_a_cache_nothing_is_kept(tmp_path: Path) -> None:
    seen = SeenTags(Cache(None, Limits(), print))

    seen.put_tags(SOURCE, ["v1.0.0"])

    assert seen.tags(SOURCE) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1}', b"7", b"null"])
def test_an_answer_that_cannot_be_read_is_none(cache: Cache, data: bytes) -> None:
    seen = SeenTags(cache)
    seen.put_tags(SOURCE, ["v1.0.0"])
    [file] = (path for path in (cache._root or Path()).rglob("*.tags"))
    cache.put_facts(Digest(f"sha256:{file.stem}"), "tags", data)

    assert seen.tags(SOURCE) is None


def test_only_tags_with_a_package_in_the_cache_are_known(registry: MiniRegistry, tmp_path: Path) -> None:
    world = open_quiet_world({"XPLOCK_CACHE_DIR": str(tmp_path), "XPLOCK_PLAIN_HTTP": registry.host})
    source = Source(registry.host, "acme/app")
    listed = world.registries.tags(source)
    online = world.registries.content(Reference(source, "v1.0.0"))
    asked = len(registry.requests)
    images = CachedImages(world.cache)

    tags, content = images.tags(source), images.content(Reference(source, "v1.0.0"))

    assert (listed, tags, content) == (("v1.0.0", "v1.1.0"), CachedTags(["v1.0.0"]), online)
    assert images.content(Reference(source, digest=online.digest)) == online
    assert len(registry.requests) == asked


def test_whatever_was_never_fetched_is_named(registry: MiniRegistry, tmp_path: Path) -> None:
    world = open_quiet_world({"XPLOCK_CACHE_DIR": str(tmp_path), "XPLOCK_PLAIN_HTTP": registry.host})
    source = Source(registry.host, "acme/app")
    images = CachedImages(world.cache)

    with pytest.raises(Offline, match="acme/app is not available offline"):
        images.tags(source)
    world.registries.tags(source)
    with pytest.raises(Offline) as none_fetched:
        images.tags(source)
    with pytest.raises(Offline, match=r"acme/app:v1.0.0 is not available offline"):
        images.content(Reference(source, "v1.0.0"))

    assert "none of its 2 tags that were seen has a package in the cache" in none_fetched.value.why[0]
