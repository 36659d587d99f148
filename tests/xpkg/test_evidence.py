"""Evidence about a package: which of the texts in its metadata and its image count."""

from datetime import UTC, datetime
from typing import Any

import pytest
from rig.commands.world import open_quiet_world
from rig.registry.in_memory import INDEX, MiniRegistry
from rig.registry.package_images import CONFIG, LAYER, index, manifest, package_yaml, tar_layer

from render.packages import Kind, Metadata
from render.policy.model import Evidence
from render.policy.times import Released
from render.references import Reference, Source
from render.xpkg.evidence import evidence_of

CREATED, LICENCES = "org.opencontainers.image.created", "org.opencontainers.image.licenses"
MAY, JUNE, JULY = (f"2026-0{month}-01T00:00:00Z" for month in (5, 6, 7))


def evidence(
    config: bytes, *, of_manifest: dict[str, Any], of_index: dict[str, Any] | None = None
) -> Evidence:
    """Return the evidence about an image with these annotations, read from a registry."""
    with MiniRegistry() as mini:
        layer = {
            **mini.add_blob(tar_layer({"package.yaml": package_yaml("x")}), LAYER),
            "annotations": {"io.crossplane.xpkg": "base"},
        }
        data = manifest(mini.add_blob(config, CONFIG), [layer], annotations=of_manifest)
        digest = mini.add_manifest("some/name", "v1.0.0", data)
        if of_index is not None:
            child = {
                "digest": digest,
                "size": len(data),
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
            }
            mini.add_manifest("some/name", "v1.0.0", index([child], annotations=of_index), INDEX)
        world = open_quiet_world({"XPLOCK_PLAIN_HTTP": mini.host, "XPLOCK_CACHE_DIR": ""})
        catalog = world.catalog([], [])
        return catalog.evidence(catalog.package(Reference(Source(mini.host, "some/name"), "v1.0.0")))


def released(text: str) -> Released:
    return Released(datetime.fromisoformat(text).astimezone(UTC))


def test_the_latest_of_all_claimed_times_counts() -> None:
    """The configuration of a provider has the time of its runtime image, which is older than the package."""
    config = f'{{"created": "{MAY}", "config": {{"Labels": {{"{CREATED}": "{JUNE}"}}}}}}'.encode()

    assert evidence(config, of_manifest={}).released == released(JUNE)
    assert evidence(config, of_manifest={CREATED: JULY}).released == released(JULY)
    assert evidence(config, of_manifest={}, of_index={CREATED: JULY}).released == released(JULY)


def test_a_time_that_no_package_can_have_does_not_hide_another() -> None:
    config = b'{"created": "0001-01-01T00:00:00Z"}'

    assert evidence(config, of_manifest={CREATED: MAY}).released == released(MAY)
    assert evidence(config, of_manifest={}).released is None


@pytest.mark.parametrize(
    "config",
    [b"{}", b"[]", b"no JSON", b'{"created": 7, "config": []}', b'{"config": {"Labels": 1}}', b"[" * 9_999],
)
def test_a_configuration_of_another_shape_says_nothing(config: bytes) -> None:
    assert evidence(config, of_manifest={}) == Evidence()


def test_the_licence_is_that_of_the_metadata_or_else_of_the_image() -> None:
    labelled = f'{{"config": {{"Labels": {{"{LICENCES}": "MIT"}}}}}}'.encode()

    assert evidence(labelled, of_manifest={}).licence == "MIT"
    assert evidence(labelled, of_manifest={LICENCES: "BUSL-1.1"}).licence == "BUSL-1.1"
    assert (
        evidence(labelled, of_manifest={LICENCES: "NOASSERTION"}, of_index={LICENCES: "0BSD"}).licence
        == "0BSD"
    )


def test_the_words_of_the_metadata_count_even_if_they_are_no_expression() -> None:
    metadata = Metadata(
        Kind.PROVIDER,
        "meta.pkg.crossplane.io/v1",
        "x",
        annotations={"meta.crossplane.io/license": "Apache 2"},
    )

    assert evidence_of(metadata, {"licence": "MIT"}).licence == "Apache 2"
