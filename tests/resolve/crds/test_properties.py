"""One answer, whatever the order of packages, catalog entries and questions."""

from collections.abc import Iterable
from random import Random
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, named, root, solve, versions

from render.crd_dependencies import CatalogSource
from render.errors import RenderError

T = TypeVar("T")

_NAMES = ("a", "b", "c", "d", "e")
_KINDS = ("ones.example.org", "twos.example.org", "threes.more.example.org")
_QUESTIONS = (*_KINDS, "*.example.org", "one.example.org/v1", "*.more.example.org/v2")
_few = st.lists(st.sampled_from(_KINDS), max_size=2, unique=True)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[FakeCatalog, list[str], list[str]]:
    """Return packages with CRDs and dependencies on them, the roots, and the catalog."""
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
    return FakeCatalog(packages, defines=defines, crds=crds), roots, catalog


def outcome(world: FakeCatalog, roots: list[str], catalog: list[str]) -> object:
    entries = tuple(CatalogSource(named(name), f"xplock.yaml: {name}") for name in catalog)
    try:
        found = solve(world, *map(root, roots), catalog=entries)
    except RenderError as error:
        return str(error)
    return versions(found), dict(found.answers)


@given(worlds(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_permuting_packages_catalog_and_questions_gives_one_answer(
    drawn: tuple[FakeCatalog, list[str], list[str]], random: Random
) -> None:
    world, roots, catalog = drawn

    def shuffled(items: Iterable[T]) -> list[T]:
        mixed = list(items)
        random.shuffle(mixed)
        return mixed

    other = FakeCatalog(
        dict(shuffled(world.packages.items())),
        defines={key: shuffled(texts) for key, texts in world.defines.items()},
        crds={key: shuffled(texts) for key, texts in world.crds.items()},
    )

    first = outcome(world, roots, catalog)
    second = outcome(other, shuffled(roots), shuffled(catalog))

    assert second == first
