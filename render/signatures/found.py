"""Signatures and attestations as they were found beside an image; nothing about them is verified."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SIGNATURE = "dev.cosignproject.cosign/signature"
CERTIFICATE = "dev.sigstore.cosign/certificate"
# From the issuer of that certificate to a root.
CHAIN = "dev.sigstore.cosign/chain"
ENTRY = "dev.sigstore.cosign/bundle"


class Form(StrEnum):
    """The places and forms in which cosign leaves them."""

    # A layer of the manifest that a tag names: sha256-<hex>.sig or .att
    SIGNATURE = "signature"
    ATTESTATION = "attestation"
    # A manifest that refers to the image.
    BUNDLE = "bundle"


@dataclass(frozen=True, slots=True)
class Attached:
    """One of them, with the bytes that it is about: a payload, an envelope or a bundle."""

    form: Form
    data: bytes
    annotations: Mapping[str, str] = field(default_factory=dict)

    def annotation(self, name: str) -> str:
        """Return an annotation of its layer; a missing one is empty."""
        return self.annotations.get(name, "")


@dataclass(frozen=True, slots=True)
class Found:
    """All that one repository has for an image."""

    attached: tuple[Attached, ...] = ()
    # What is at the place of signatures and cannot be read.
    problems: tuple[str, ...] = ()

    def of(self, *forms: Form) -> list[Attached]:
        """Return those of some forms."""
        return [one for one in self.attached if one.form in forms]
