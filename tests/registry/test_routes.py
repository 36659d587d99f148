"""Routes: the sources that layouts answer for, and the others."""

from typing import IO

import pytest

from render.references import Digest, Reference, Source
from render.registry.oci import Content, Descriptor
from render.registry.routes import Routes

_DIGEST = Digest("sha256:" + 64 * "0")


class Named:
    """Answers everything with its own name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def tags(self, source: Source) -> tuple[str, ...]:  # noqa: ARG002
        return (self.name,)

    def content(self, reference: Reference) -> Content:
        raise LookupError(f"{self.name} was asked for {reference}")

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:  # noqa: ARG002
        raise LookupError(f"{self.name} was asked for a blob of {source}")


def test_the_longest_fitting_prefix_answers() -> None:
    layouts = [(name, Named(name)) for name in ("r.example", "r.example/acme/app", "r.example/acme")]
    routes = Routes(layouts, Named("registry"))

    answers = [
        routes.tags(Source("r.example", name))[0] for name in ("acme/app", "acme/other", "acme-2/app", "x")
    ]

    assert answers == ["r.example/acme/app", "r.example/acme", "r.example", "r.example"]


def test_every_question_about_a_source_goes_to_the_same_place() -> None:
    routes = Routes([("r.example/acme", Named("layout"))], Named("registry"))
    source = Source("r.example", "acme/app")

    with pytest.raises(LookupError, match=r"layout was asked for r.example/acme/app:v1"):
        routes.content(Reference(source, "v1"))
    with pytest.raises(LookupError, match="layout was asked for a blob"):
        routes.blob(source, Descriptor("", _DIGEST, 1))
    assert routes.tags(Source("other.example", "acme/app")) == ("registry",)
