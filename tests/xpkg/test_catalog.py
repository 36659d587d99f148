"""What was read of a digest once is remembered, as long as it can be trusted."""

import json
from dataclasses import dataclass, field

import pytest
from rig.builders.images import (
    CRD,
    END,
    META,
    REFERENCE,
    SOURCE,
    Shelf,
    entry,
    gzipped,
    package_layer,
    shelf_of,
)

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package, PackagedObject
from render.references import Digest, Reference
from render.registry.oci import OCI_MANIFEST
from render.xpkg.catalog import Catalog
from render.xpkg.contents import InvalidContents

THINGS = PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.org")
PACKAGE = b"---\n".join([META, CRD])


@dataclass(slots=True)
class Memory:
    """Facts in a dictionary."""

    kept: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def get_facts(self, digest: Digest, kind: str) -> bytes | None:
        return self.kept.get((digest, kind))

    def put_facts(self, digest: Digest, kind: str, data: bytes) -> None:
        self.kept[digest, kind] = data


def catalog_of(shelf: Shelf, memory: Memory | None = None) -> Catalog:
    return Catalog(shelf, memory or Memory(), Limits())


def blobs_asked(shelf: Shelf) -> list[str]:
    return [asked for asked in shelf.asked if asked in shelf.blobs]


def test_a_package_is_its_digest_metadata_and_objects() -> None:
    shelf = shelf_of(PACKAGE)

    found = catalog_of(shelf).package(REFERENCE)

    assert (found.source, found.digest) == (SOURCE, shelf.named["v1"])
    assert found.metadata.name == "platform"
    assert found.objects == (THINGS,)


def test_facts_are_used_the_second_time() -> None:
    shelf, memory = shelf_of(PACKAGE), Memory()
    first = catalog_of(shelf, memory).package(REFERENCE)
    shelf.asked.clear()

    second = catalog_of(shelf, memory).package(REFERENCE)

    assert second == first
    assert shelf.asked == ["v1"]


def test_by_digest_nothing_is_asked_at_all_the_second_time() -> None:
    shelf, memory = shelf_of(PACKAGE), Memory()
    reference = Reference(SOURCE, "v1", shelf.named["v1"])
    catalog_of(shelf, memory).package(reference)
    shelf.asked.clear()

    catalog_of(shelf, memory).package(reference)

    assert shelf.asked == []


def test_a_tag_is_asked_once_and_may_move_afterwards() -> None:
    class Moving(Shelf):
        def content(self, reference: Reference) -> object:  # type: ignore[override]
            content = Shelf.content(self, reference)
            if reference.digest is None:
                self.named["v1"] = other
            return content

    shelf = Moving()
    other = shelf.add_image(package_layer(META.replace(b"platform", b"other"))).digest
    wanted = shelf.add_image(package_layer(META)).digest

    found = catalog_of(shelf).package(REFERENCE)

    assert (found.digest, found.metadata.name) == (wanted, "platform")
    assert shelf.asked.count("v1") == 1


def test_an_index_is_known_by_its_own_digest() -> None:
    shelf, memory = Shelf(), Memory()
    index = shelf.add_index(shelf.add_image(package_layer(META), tag=None))

    found = catalog_of(shelf, memory).package(REFERENCE)

    assert found.digest == index.digest
    assert {digest for digest, _ in memory.kept} == {index.digest}


def _facts(**changed: object) -> bytes:
    facts: dict[str, object] = {
        "format": 3,
        "meta": META.decode(),
        "line": 1,
        "objects": [["v1", "Kept", "x"]],
        "definitionsDigest": "",
        **changed,
    }
    return json.dumps({name: value for name, value in facts.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "facts",
    [
        b"",
        b"no JSON",
        b"[]",
        b"5",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        _facts(meta=...),
        _facts(meta=5),
        _facts(line=...),
        _facts(line="x"),
        _facts(objects=5),
        _facts(objects=[["v1", "Kept"]]),
        _facts(objects=[["v1", "Kept", 5]]),
        _facts(objects=[["v1", "Kept", "x", "y"]]),
        _facts(definitionsDigest=...),
        _facts(format=...),
        pytest.param(_facts(format=1), id="facts of a version that read less strictly"),
    ],
)
def test_damaged_or_older_facts_are_read_again(facts: bytes) -> None:
    shelf = shelf_of(PACKAGE)
    memory = Memory({(shelf.named["v1"], "package"): facts})

    found = catalog_of(shelf, memory).package(REFERENCE)

    assert found.objects == (THINGS,)
    assert memory.kept[shelf.named["v1"], "package"] != facts
    assert len(blobs_asked(shelf)) == 1


def test_facts_of_this_version_are_believed() -> None:
    shelf = shelf_of(PACKAGE)
    memory = Memory({(shelf.named["v1"], "package"): _facts()})

    found: Package = catalog_of(shelf, memory).package(REFERENCE)

    assert found.objects == (PackagedObject("v1", "Kept", "x"),)
    assert blobs_asked(shelf) == []


def test_a_problem_with_the_metadata_is_reported_alike_from_facts() -> None:
    shelf, memory = shelf_of(CRD + b"---\n" + META + b"spec: &a {}\n"), Memory()
    told = []

    for _ in range(2):
        with pytest.raises(InvalidContents) as refused:
            catalog_of(shelf, memory).package(REFERENCE)
        told.append(str(refused.value))

    assert told[0] == told[1]
    assert "package.yaml, line 10: anchors are not allowed here" in told[0]
    assert len(blobs_asked(shelf)) == 1


def _with_dependency(version: str) -> bytes:
    return META + f"spec: {{dependsOn: [{{provider: h.example/a, version: {version}}}]}}\n".encode()


BROKEN: dict[str, bytes] = {
    "bad constraint": package_layer(_with_dependency("'>>1'")),
    "numeric version": package_layer(_with_dependency("1.10")),
    "no tar": b"this is no archive" * 100,
    "cut gzip": package_layer(META)[:40],
    "no package.yaml": gzipped(entry("README", b"x"), END),
    "two package.yaml": gzipped(entry("package.yaml", META), entry("a/package.yaml", META), END),
    "two metas": package_layer(META + b"---\n" + META),
    "no meta": package_layer(CRD),
    "not UTF-8": package_layer(META + b"spec: {a: \xff}\n"),
    "no YAML": package_layer(META + b"spec: {\n"),
    "anchors": package_layer(META + b"spec: &a {}\n"),
    "unknown kind": package_layer(META + b"---\n" + CRD.replace(b"CustomResourceDefinition", b"Mystery")),
    "text behind a separator": package_layer(META + b"--- x\n"),
    "another spelling": package_layer(META + b"---\n" + CRD.replace(b"kind", b"Kind")),
    "too large": package_layer(META + b"#" * 2_000_000),
}


@pytest.mark.parametrize("layer", BROKEN.values(), ids=BROKEN)
def test_every_error_about_a_package_names_its_source_tag_and_digest(layer: bytes) -> None:
    shelf = Shelf()
    shelf.add_image(layer, marked=[0])
    catalog = Catalog(shelf, Memory(), Limits(package_bytes=1_000_000))

    with pytest.raises(RenderError) as refused:
        catalog.package(REFERENCE)

    assert refused.value.what.startswith(f"{SOURCE}:v1@{shelf.named['v1']}: ")
    assert refused.value.why
    assert refused.value.next


def test_a_manifest_that_is_refused_is_named_with_its_package() -> None:
    shelf = Shelf()
    shelf.add_content(b"{}", OCI_MANIFEST)

    with pytest.raises(RenderError) as refused:
        catalog_of(shelf).package(REFERENCE)

    assert str(SOURCE) in refused.value.what
    assert shelf.named["v1"] in refused.value.what


def test_an_unreachable_registry_is_not_the_fault_of_one_package() -> None:
    class Unreachable(Shelf):
        def blob(self, source: object, descriptor: object) -> object:  # type: ignore[override]  # noqa: ARG002
            raise RenderError("the registry does not answer")

    shelf = Unreachable()
    shelf.add_image(package_layer(META), marked=[0])

    with pytest.raises(RenderError) as refused:
        catalog_of(shelf).package(REFERENCE)

    assert refused.value.what == "the registry does not answer"


def test_tags_are_those_of_the_registry() -> None:
    shelf = shelf_of(META)
    shelf.add_image(package_layer(META), tag="v2")

    assert list(catalog_of(shelf).tags(SOURCE)) == ["v1", "v2"]
