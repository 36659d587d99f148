"""One answer, whatever the order of packages, catalog entries and questions."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, digest_of, named, root, solve, versions

from render.crd_dependencies import CatalogRow, CatalogSource, parse_crd
from render.errors import RenderError
from render.versions.requests import CrdRoot

T = TypeVar("T")

_NAMES = ("a", "b", "c", "d", "e")
_KINDS = ("ones.example.org", "twos.example.org", "threes.more.example.org")
_QUESTIONS = (*_KINDS, "*.example.org", "one.example.org/v1", "*.more.example.org/v2")
_few = st.lists(st.sampled_from(_KINDS), max_size=2, unique=True)


_rows = st.builds(
    lambda kind, version, name: CatalogRow(
        kind.partition(".")[2], version, kind.partition("s.")[0].capitalize(), named(name), "*",
        digest_of(name), kind.partition(".")[0], kind.partition("s.")[0], "catalog.yaml",
    ),
    st.sampled_from(_KINDS),
    st.sampled_from(("v1", "v2")),
    st.sampled_from(_NAMES),
)  # fmt: skip


@dataclass
class World:
    """Packages with CRDs and dependencies on them, and all that a project says about them."""

    packages: FakeCatalog
    roots: list[str]
    catalog: list[str]
    # The CRDs that the user asks for, and the rows of a catalog file.
    asked: list[str]
    rows: list[CatalogRow]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return a world of few names, so that answers often conflict."""
    packages, defines, crds = {}, {}, {}
    for i, name in enumerate(_NAMES):
        # Only on later ones, so that there is no circle.
        needs = draw(st.lists(st.sampled_from(_NAMES[i + 1 :] or ("e",)), max_size=2, unique=True))
        for tag in ("v1.0.0", "v2.0.0"):
            packages[f"{name} {tag}"] = {other: "*" for other in needs if other != name}
            served = draw(st.sampled_from(("v1", "v2", "v1 v2")))
            defines[f"{name} {tag}"] = [f"{kind} {served}" for kind in draw(_few)]
        crds[name] = draw(st.lists(st.sampled_from(_QUESTIONS), max_size=2, unique=True))
    roots = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=2, unique=True))
    catalog = draw(st.lists(st.sampled_from(_NAMES), max_size=4, unique=True))
    asked = draw(st.lists(st.sampled_from(_QUESTIONS), max_size=2, unique=True))
    rows = draw(st.lists(_rows, max_size=3, unique=True))
    return World(FakeCatalog(packages, defines=defines, crds=crds), roots, catalog, asked, rows)


def outcome(world: World) -> object:
    """Return what is chosen and who answers, or the text of the error."""
    try:
        found = solve(
            world.packages,
            *map(root, world.roots),
            catalog=tuple(CatalogSource(named(name), f"xplock.yaml: {name}") for name in world.catalog),
            catalog_rows=tuple(world.rows),
            crd_roots=tuple(CrdRoot(parse_crd(text), f"install.yaml: {text}") for text in world.asked),
        )
    except RenderError as error:
        return str(error)
    return versions(found), dict(found.answers)


@given(worlds(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_permuting_packages_catalog_and_questions_gives_one_answer(world: World, random: Random) -> None:
    def shuffled(items: Iterable[T]) -> list[T]:
        mixed = list(items)
        random.shuffle(mixed)
        return mixed

    packages = FakeCatalog(
        dict(shuffled(world.packages.packages.items())),
        defines={key: shuffled(texts) for key, texts in world.packages.defines.items()},
        crds={key: shuffled(texts) for key, texts in world.packages.crds.items()},
    )
    other = World(
        packages, shuffled(world.roots), shuffled(world.catalog), shuffled(world.asked), shuffled(world.rows)
    )

    first = outcome(world)
    second = outcome(other)

    assert second == first
