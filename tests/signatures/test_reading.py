"""Signatures are found where either generation of cosign leaves them; what lies there and is none does no harm."""

import json
from pathlib import Path

import pytest
from rig.registry.docker import RunningRegistry
from rig.registry.pushed import EMPTY, INDEX, MANIFEST, Raw, SignedImage
from rig.signatures.cosigned import BUNDLE, Signing
from rig.signatures.registry import attach, push_bundle, push_tagged
from rig.signatures.sigstore import Sigstore, new_key

from render.app.operator_settings import OperatorSettings
from render.app.trust.signatures import Published
from render.app.world import open_world
from render.cli.output import Output
from render.limits import LimitExceeded, Limits
from render.references import Digest, Source
from render.signatures.found import Form, Found
from render.signatures.reading import read_signatures

BY_KEY = Signing(Sigstore(), new_key())


class Place:
    """One image in a registry of its own repository."""

    def __init__(self, registry: RunningRegistry, repository: str) -> None:
        self.raw = Raw(registry.host)
        self.repository = repository
        self.source = Source(registry.host, repository)
        self.digest = Digest(SignedImage(self.raw, repository).push("kind: x", attached=False).digest)

    def read(self, limits: Limits | None = None) -> Found:
        """Read what is attached."""
        environ = {"XPLOCK_PLAIN_HTTP": self.raw.host, "XPLOCK_CACHE_DIR": ""}
        world = open_world(OperatorSettings(environ, limits or Limits()), Output())
        return read_signatures(Published.open(world, ()), self.source, self.digest, world.limits)

    def forms(self) -> list[Form]:
        """Return the forms of everything that is found."""
        return [one.form for one in self.read().attached]


@pytest.fixture
def place(open_registry: RunningRegistry, tmp_path: Path) -> Place:
    """An image with nothing attached."""
    return Place(open_registry, f"{tmp_path.name.replace('_', '-')}/image")


def test_an_image_without_anything_has_nothing(place: Place) -> None:
    assert place.read() == Found()


def test_all_forms_are_found_with_their_bytes(place: Place) -> None:
    attached = [BY_KEY.sign(place.digest), BY_KEY.attest(place.digest), BY_KEY.bundle(place.digest)]
    attach(place.raw, place.repository, place.digest, attached)

    found = place.read()

    assert [(one.form, one.data, dict(one.annotations)) for one in found.attached] == [
        (one.form, one.data, dict(one.annotations)) for one in attached
    ]


def test_several_signatures_are_layers_of_one_manifest(place: Place) -> None:
    attach(place.raw, place.repository, place.digest, [BY_KEY.sign(place.digest), BY_KEY.sign(place.digest)])

    assert place.forms() == [Form.SIGNATURE, Form.SIGNATURE]


def test_what_does_not_refer_to_the_image_is_no_bundle_of_it(place: Place) -> None:
    second = SignedImage(place.raw, place.repository, "v2.0.0").push("kind: y", attached=False)
    entry = push_bundle(place.raw, place.repository, second.digest, BY_KEY.bundle(place.digest))
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
    place.raw.manifest(place.repository, index, place.digest.replace(":", "-"))

    assert place.forms() == []


def test_a_referrer_of_another_kind_is_no_bundle(place: Place) -> None:
    image = place.raw.document(place.repository, place.digest)
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": "application/spdx+json",
        "config": place.raw.blob(place.repository, b"{}", EMPTY),
        "layers": [place.raw.blob(place.repository, b"{}", "application/spdx+json")],
        "subject": {"mediaType": image["mediaType"], "digest": place.digest, "size": 1},
    }
    entry = {**place.raw.manifest(place.repository, document), "artifactType": BUNDLE}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
    place.raw.manifest(place.repository, index, place.digest.replace(":", "-"))

    assert place.forms() == []


def test_an_index_in_the_place_of_signatures_is_told(place: Place) -> None:
    tag = f"{place.digest.replace(':', '-')}.sig"
    place.raw.manifest(place.repository, place.raw.document(place.repository, place.digest), tag)

    assert place.read().problems == (f"{tag} is an index, and no list of signatures",)


def test_a_manifest_that_cannot_be_read_is_told(place: Place) -> None:
    push_tagged(place.raw, place.repository, place.digest, Form.SIGNATURE, [BY_KEY.sign(place.digest)])
    tag = f"{place.digest.replace(':', '-')}.sig"
    document = place.raw.document(place.repository, tag)
    place.raw.manifest(place.repository, json.dumps({**document, "Layers": []}).encode(), tag)

    [problem] = place.read().problems

    assert problem.startswith(f"{tag}: ")


def test_the_bytes_of_all_signatures_have_one_limit(place: Place) -> None:
    attach(place.raw, place.repository, place.digest, [BY_KEY.sign(place.digest)] * 3)

    with pytest.raises(LimitExceeded):
        place.read(Limits(signature_bytes=600))
