"""Where Crossplane's own answer suits everyone, ours is the same; where it does not, ours is better or says why not.

The data holds Locks that a real Crossplane built for real packages; see its `about`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest
from rig.builders.crossplane_locks import CUT_NAMES, CrossplaneLock, read_locks, uncut
from rig.builders.ecosystem import PackageVersion, read_ecosystem
from rig.builders.ecosystem_locks import lock_root
from rig.commands.suggestions import offered_moves

from render.errors import RenderError
from render.lifecycle.names import NameTaken
from render.lock.freshness import check_closure
from render.lock.model import LockedPackage
from render.references import (
    PartialSource,
    Reference,
    Source,
    parse_dependency_source,
    parse_reference,
    parse_source,
)
from render.resolve.conflict import MissingPackage, NoSolution
from render.versions.constraints import parse_constraint
from render.versions.version import Version, parse_candidate

_HOPS = "ghcr.io/hops-ops"
_THINGS = "ghcr.io/stuttgart-things/crossplane-configurations"
_UPBOUND = "xpkg.upbound.io/upbound"
_NO_POD_IDENTITY = f"{_HOPS}/aws-pod-identity >=v0.13.0"
_NO_OPENTOFU = f"{_THINGS}/vsphere-vm v0.1.0 accepts {_UPBOUND}/provider-opentofu >=v1.0.3,<v2.0.0"
_NO_VSPHEREVM = "accepts ghcr.io/stuttgart-things/provider-vspherevm-xpkg >=v0.8.1,<v0.9.0"

# Every root that Crossplane could not finish: what we do with it instead.
BETTER = {
    # Crossplane took aws-network v0.14.0 for the root's own range; aws-eks wants exactly v0.24.0.
    f"{_UPBOUND}/configuration-backstage:v0.3.0": f"{_UPBOUND}/configuration-aws-network v0.24.0",
    # Crossplane took caas v1.0.0, which needs versions that were never published; v0.4.0 does not.
    f"{_UPBOUND}/configuration-caas-ml:v0.1.0": f"{_UPBOUND}/configuration-caas v0.4.0",
}
# Exit code, and the facts that the error names: who wants what, and what there is.
IMPOSSIBLE: Mapping[str, tuple[int, Sequence[str]]] = {
    f"{_HOPS}/aws-lbc-stack:v1.7.0": (
        4,
        [f"{_HOPS}/aws-lbc-stack v1.7.0 accepts {_NO_POD_IDENTITY}", "it has v0.12.0, v0.11.0"],
    ),
    f"{_HOPS}/aws-secret-stack:v0.20.0": (
        4,
        [f"{_HOPS}/aws-secret-stack v0.20.0 accepts {_NO_POD_IDENTITY}", "it has v0.12.0, v0.11.0"],
    ),
    f"{_THINGS}/packer-release:v0.4.2": (4, [_NO_OPENTOFU, "it has v1.0.2, v1.0.1"]),
    f"{_THINGS}/packer-release:v0.2.4": (4, [_NO_OPENTOFU, "it has v1.0.2, v1.0.1"]),
    f"{_UPBOUND}/configuration-aws-database-ai:v2.0.2": (
        4,
        [
            f"{_UPBOUND}/configuration-aws-database-ai v2.0.2 accepts {_UPBOUND}/function-rds-metrics v0.0.7",
            "it has v0.8.0, v0.7.0",
        ],
    ),
    f"{_THINGS}/vm-batch:v0.1.3": (
        1,
        [_NO_VSPHEREVM, "ghcr.io/stuttgart-things/provider-vspherevm-xpkg does not exist"],
    ),
    f"{_THINGS}/vm-batch:v0.1.2": (
        1,
        [_NO_VSPHEREVM, "ghcr.io/stuttgart-things/provider-vspherevm-xpkg does not exist"],
    ),
}
# One object name, two registries: versions would suit everyone, the cluster would not.
COLLISION = "xpkg.upbound.io/devops-toolkit/dot-github:v0.0.52"


def facts_of(package: LockedPackage) -> tuple[object, ...]:
    """Return what is compared; the order of dependencies counts."""
    return package.version, str(package.kind), package.object_name, package.dependencies


CLEAN = [lock for lock in read_locks() if lock.clean]
UNCLEAN = [lock for lock in read_locks() if not lock.clean]


def test_the_data_is_complete_and_every_lock_that_is_not_clean_has_its_reason() -> None:
    assert (len(CLEAN), len(UNCLEAN)) == (41, 10)
    assert {lock.root for lock in UNCLEAN} == {*BETTER, *IMPOSSIBLE, COLLISION}
    assert {*CUT_NAMES} <= {source for lock in CLEAN for source in lock.packages}


@pytest.mark.parametrize("expected", CLEAN, ids=lambda lock: lock.root)
def test_a_lock_that_crossplane_finished_is_ours_too(expected: CrossplaneLock) -> None:
    lock = lock_root(expected.root)

    found = {str(source): facts_of(package) for source, package in lock.packages.items()}
    assert found == {source: facts_of(uncut(package)) for source, package in expected.packages.items()}
    assert not check_closure(lock)


@pytest.mark.parametrize("root", BETTER)
def test_where_crossplane_got_stuck_ours_suits_everyone(root: str) -> None:
    assert next(answers(root), None) is not None

    lock = lock_root(root)

    assert suits_everyone(root, {source: item.version for source, item in lock.packages.items()})
    assert not check_closure(lock)
    assert BETTER[root] in {f"{item.source} {item.version}" for item in lock.packages.values()}


@pytest.mark.parametrize("root", IMPOSSIBLE)
def test_where_nothing_suits_everyone_the_error_names_who_wants_what_and_what_there_is(root: str) -> None:
    assert next(answers(root), None) is None

    with pytest.raises((NoSolution, MissingPackage)) as caught:
        lock_root(root)

    code, facts = IMPOSSIBLE[root]
    assert caught.value.exit_code == code
    for fact in facts:
        assert fact in str(caught.value)
    assert f"you ask for {root.replace(':', ' ')} (root.yaml)" in str(caught.value)


def test_two_sources_of_one_name_are_named_with_who_wants_each_and_lines_to_paste() -> None:
    assert next(answers(COLLISION), None) is not None
    old, new = (f"xpkg.{registry}.io/crossplane-contrib" for registry in ("upbound", "crossplane"))
    toolkit = "xpkg.upbound.io/devops-toolkit"

    with pytest.raises(NameTaken) as caught:
        lock_root(COLLISION)

    assert caught.value.exit_code == 4
    assert "one Function named crossplane-contrib-function-auto-ready" in caught.value.what
    assert caught.value.why[:2] == (
        f"{new}/function-auto-ready v0.7.0 is required by {toolkit}/dot-application (>=v0.2.0)",
        f"{old}/function-auto-ready v0.7.0 is required by {toolkit}/dot-github (>=v0.2.1), "
        f"{toolkit}/dot-sql (>=v0.2.1)",
    )
    assert offered_moves(caught.value.next) == {
        parse_source(f"{old}/{name}"): (parse_source(f"{new}/{name}"),)
        for name in ("function-auto-ready", "function-kcl")
    }


# An exact checker with code of its own: it fills the package with the fewest versions left first, and keeps, for
# every package that is needed, only the versions that everyone chosen so far accepts.

Needs = Sequence[tuple[Source, str]]


@cache
def known_versions() -> Mapping[Source, Mapping[Version, Needs]]:
    found: dict[Source, dict[Version, Needs]] = {}
    for item in read_ecosystem().versions:
        version = parse_candidate(item.tag)
        if version:
            found.setdefault(item.reference.source, {})[version] = [*needs_of(item)]
    return found


def needs_of(item: PackageVersion) -> Iterator[tuple[Source, str]]:
    for entry in item.depends_on:
        [text] = [entry[key] for key in ("package", "provider", "configuration", "function") if key in entry]
        source = parse_dependency_source(text)
        if isinstance(source, PartialSource):
            source = source.complete(item.reference.source)
        yield source, entry["version"]


@cache
def accepts(constraint: str, version: Version) -> bool:
    return parse_constraint(constraint).accepts(version)


Choice = Mapping[Source, Version]


def answers(root: str) -> Iterator[Choice]:
    """Try everything that could suit everyone."""
    reference = parse_reference(root)
    return extend({}, {reference.source: [exactly(reference)]})


def exactly(reference: Reference) -> Version:
    [found] = [item for item in known_versions()[reference.source] if item.text == reference.tag]
    return found


def extend(chosen: Choice, left: Mapping[Source, Sequence[Version]]) -> Iterator[Choice]:
    waiting = [source for source in left if source not in chosen]
    if not waiting:
        yield chosen
        return
    source = min(waiting, key=lambda waiting_source: len(left[waiting_source]))
    for version in left[source]:
        narrowed = dict(left)
        for needed, constraint in known_versions()[source][version]:
            there = narrowed.get(needed, [*known_versions().get(needed, {})])
            narrowed[needed] = [item for item in there if accepts(constraint, item)]
        narrowed[source] = [item for item in narrowed[source] if item == version]
        fits = all(chosen[needed] in narrowed[needed] for needed in chosen)
        if fits and all(narrowed.values()):
            yield from extend({**chosen, source: version}, narrowed)


def suits_everyone(root: str, tags: Mapping[Source, str]) -> bool:
    """Tell whether a choice holds together, by the same reading of the data."""
    chosen = {source: exactly(Reference(source, tag)) for source, tag in tags.items()}
    wishes = [need for source, version in chosen.items() for need in known_versions()[source][version]]
    asked = parse_reference(root)
    return chosen[asked.source] == exactly(asked) and all(
        needed in chosen and accepts(constraint, chosen[needed]) for needed, constraint in wishes
    )


def test_the_checker_finds_what_crossplane_found() -> None:
    for lock in CLEAN:
        tags = {package.source: package.version for package in lock.packages.values()}

        assert suits_everyone(lock.root, tags)
        assert next(answers(lock.root), None) is not None


def test_the_checker_sees_what_does_not_suit() -> None:
    for lock in CLEAN:
        for source in lock.packages:
            fewer = {item.source: item.version for key, item in lock.packages.items() if key != source}

            with pytest.raises((AssertionError, KeyError)):
                assert suits_everyone(lock.root, fewer)


def test_errors_of_impossible_roots_are_errors_a_person_can_act_on() -> None:
    for root in (*IMPOSSIBLE, COLLISION):
        with pytest.raises(RenderError) as caught:
            lock_root(root)

        assert caught.value.why
        assert caught.value.next
