"""Crossplane's resolver, simulated: its order, where it stops, and its two flags."""

from collections.abc import Mapping

import pytest
from rig.builders.catalogs import FakeCatalog, digest_of, named, written

from render.limits import Limits
from render.packages import Kind
from render.registry.http.troubles import RegistryUnreachable
from render.resolve.mimic.model import AppliedRoot, CrossplaneAnswer, Flag, LockDependency, LockEntry
from render.resolve.mimic.run import Installed, Start, mimic
from render.versions.version import parse_version

ACME = "xpkg.example.org/acme"
# platform takes the highest provider-a, which config-b does not accept.
PLATFORM: Mapping[str, Mapping[str, str]] = {
    "platform v1.0.0": {"provider-a": ">=v1.0.0", "function-f": "v0.2", "config-b": "^1.0.0"},
    "config-b v1.0.0": {"provider-a": "<v2.0.0"},
    "config-b v1.1.0": {"provider-a": "<v2.0.0", "provider-c": ">=0.0.0"},
    "provider-a v1.0.0": {},
    "provider-a v1.5.0": {},
    "provider-a v2.0.0": {"provider-family": "v2.0.0"},
    "provider-family v2.0.0": {},
    "provider-c v0.1.0": {},
    "provider-c v0.2.0-rc.1": {},
    "function-f v0.2.0": {},
    "function-f v0.2.3": {},
    "function-f v0.3.0": {},
}


def kinds_of(packages: Mapping[str, object]) -> dict[str, Kind]:
    starts = {"provider": Kind.PROVIDER, "function": Kind.FUNCTION}
    names = {key.split()[0] for key in packages}
    return {name: starts.get(name.partition("-")[0], Kind.CONFIGURATION) for name in names}


def catalog_of(packages: Mapping[str, Mapping[str, str]], **more: object) -> FakeCatalog:
    """Return packages whose names say their kinds, and whose dependencies name these."""
    kinds = kinds_of(packages)
    full = {
        key: {
            name: written(f"{ACME}/{name}", wish, kind=kinds.get(name, Kind.CONFIGURATION))
            for name, wish in needs.items()
        }
        for key, needs in packages.items()
    }
    return FakeCatalog(full, kinds=kinds, **more)  # type: ignore[arg-type]  # tests name fields of it


def run(
    packages: Mapping[str, Mapping[str, str]],
    *roots: str,
    flag: Flag | None = None,
    start: Start | None = None,
    crossplane: str = "",
    **more: object,
) -> CrossplaneAnswer:
    """Apply roots, written "name version", to a cluster."""
    applied = [AppliedRoot(named(name), version) for name, version in map(str.split, roots)]
    return mimic(
        applied,
        catalog_of(packages, **more),
        Limits(),
        flag=flag,
        crossplane=parse_version(crossplane) if crossplane else None,
        start=start or Start(),
    )


def order(answer: CrossplaneAnswer) -> list[str]:
    return [str(entry).removeprefix(f"{ACME}/") for entry in answer.entries]


def unhealthy(answer: CrossplaneAnswer) -> dict[str, str]:
    return {one.source.removeprefix(f"{ACME}/"): one.why[0] for one in answer.unhealthy}


def entry(package: str, needs: Mapping[str, str] | None = None, name: str = "") -> LockEntry:
    """Return an entry that is there before."""
    short, version = package.split()
    dependencies = [LockDependency(f"{ACME}/{one}", wish) for one, wish in (needs or {}).items()]
    kind = kinds_of({short: None})[short]
    return LockEntry(f"{ACME}/{short}", version, kind, name or f"acme-{short}", tuple(dependencies))


def test_without_flags_the_first_edge_decides_and_a_later_one_only_complains() -> None:
    answer = run(PLATFORM, "platform v1.0.0")

    assert order(answer) == [
        "platform v1.0.0",
        "provider-a v2.0.0",
        "function-f v0.2.3",
        "config-b v1.1.0",
        "provider-family v2.0.0",
        "provider-c v0.1.0",
    ]
    assert answer.resolved
    assert unhealthy(answer) == {"config-b": f"{ACME}/provider-a v2.0.0 is installed, and it accepts <v2.0.0"}


def test_with_upgrades_it_stops_where_no_higher_version_suits_all() -> None:
    answer = run(PLATFORM, "platform v1.0.0", flag=Flag.UPGRADES)

    assert order(answer) == [
        "platform v1.0.0",
        "provider-a v2.0.0",
        "function-f v0.2.3",
        "config-b v1.1.0",
        "provider-family v2.0.0",
    ]
    assert not answer.resolved
    assert answer.stop
    assert answer.stop.why == (
        "no version from v2.0.0 on suits all of >=v1.0.0, <v2.0.0, and the flag for downgrades is off"
    )


def test_with_downgrades_the_version_goes_down_and_its_entry_to_the_end() -> None:
    answer = run(PLATFORM, "platform v1.0.0", flag=Flag.DOWNGRADES)

    assert order(answer) == [
        "platform v1.0.0",
        "function-f v0.2.3",
        "config-b v1.1.0",
        "provider-family v2.0.0",
        "provider-a v1.5.0",
        "provider-c v0.1.0",
    ]
    assert answer.resolved
    assert not answer.unhealthy


def test_an_upgrade_takes_the_lowest_version_that_suits_all() -> None:
    packages = {
        "app v1.0.0": {"provider-a": ">=v1"},
        "site v1.0.0": {"provider-a": ">=v1.2"},
        "provider-a v1.0.0": {},
        "provider-a v1.2.0": {},
        "provider-a v1.3.0": {},
    }
    there = Start([entry("provider-a v1.0.0")])

    answer = run(packages, "app v1.0.0", "site v1.0.0", flag=Flag.UPGRADES, start=there)

    assert order(answer) == ["app v1.0.0", "site v1.0.0", "provider-a v1.2.0"]


def test_an_object_of_another_source_under_the_derived_name_stops_it_for_good() -> None:
    packages = {"app v1.0.0": {"provider-a": "*", "provider-b": "*"}, "provider-a v1.0.0": {}}
    taken = {("Provider", "acme-provider-a"): Installed("ghcr.io/acme/provider-a", "v1.0.0")}

    answer = run(packages, "app v1.0.0", start=Start((), taken))

    assert order(answer) == ["app v1.0.0"]
    assert answer.resolved
    assert answer.stop
    assert (
        answer.stop.why == "the object Provider/acme-provider-a exists, and installs ghcr.io/acme/provider-a"
    )
    assert answer.stop.dependency == LockDependency(f"{ACME}/provider-a", "*", "Provider")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"kinds": {"provider-a": Kind.FUNCTION}}, "the package is a Function, and the object is a Provider"),
        ({"crossplane": {"provider-a": ">=v3"}}, "it accepts Crossplane >=v3, and not v2.3.4"),
    ],
)
def test_a_package_that_cannot_enter_the_lock_holds_up_everything_behind_it(
    more: Mapping[str, object], why: str
) -> None:
    packages = {
        "app v1.0.0": {"provider-a": "*", "provider-b": "*"},
        "provider-a v1.0.0": {},
        "provider-b v1.0.0": {},
    }
    catalog = catalog_of(packages)
    catalog.kinds = {**catalog.kinds, **more.get("kinds", {})}  # type: ignore[dict-item]  # one of the two
    catalog.crossplane = more.get("crossplane", {})  # type: ignore[assignment]  # the other one

    answer = mimic(
        [AppliedRoot(named("app"), "v1.0.0")], catalog, Limits(), crossplane=parse_version("v2.3.4")
    )

    assert order(answer) == ["app v1.0.0"]
    assert answer.stop
    assert answer.stop.why == f"Provider/acme-provider-a is there and cannot enter the Lock: {why}"
    assert unhealthy(answer)["provider-a"] == why


def test_a_cycle_stops_everything() -> None:
    packages = {"app v1.0.0": {"base": "*"}, "base v1.0.0": {"app": "*", "other": "*"}}

    answer = run(packages, "app v1.0.0")

    assert not answer.resolved
    assert answer.stop
    assert answer.stop.why == f"the packages depend on each other: {ACME}/app -> {ACME}/base -> {ACME}/app"


def test_a_lock_with_one_source_twice_is_as_stuck_as_it_was() -> None:
    doubled = Start([entry("provider-a v1.0.0"), entry("provider-a v1.0.0", name="mine")])

    answer = run(PLATFORM, "platform v1.0.0", start=doubled)

    assert answer.stop
    assert answer.stop.why.startswith(f"the Lock holds {ACME}/provider-a twice")
    assert not answer.resolved


def test_a_root_under_a_name_of_the_users_beside_a_derived_one_poisons_the_lock() -> None:
    root = AppliedRoot(named("provider-a"), "v1.0.0", object_name="mine")

    answer = mimic([root], catalog_of(PLATFORM), Limits(), start=Start([entry("provider-a v1.0.0")]))

    assert answer.stop
    assert "twice" in answer.stop.why


def test_a_root_that_is_there_stays_in_its_place_and_a_new_version_goes_to_the_end() -> None:
    there = Start([entry("provider-a v1.0.0"), entry("provider-c v0.1.0")])

    same = run(PLATFORM, "provider-a v1.0.0", start=there)
    newer = run(PLATFORM, "provider-a v1.5.0", start=there)

    assert order(same) == ["provider-a v1.0.0", "provider-c v0.1.0"]
    assert order(newer) == ["provider-c v0.1.0", "provider-a v1.5.0"]


def test_a_digest_is_taken_as_it_is_and_suits_no_version() -> None:
    digest = digest_of("provider-a v1.0.0")
    packages = {
        "app v1.0.0": {"provider-a": digest, "site": "*"},
        "site v1.0.0": {"provider-a": ">=v1"},
        "provider-a v1.0.0": {},
    }

    answer = run(packages, "app v1.0.0")

    assert order(answer) == ["app v1.0.0", f"provider-a {digest}", "site v1.0.0"]
    assert [*unhealthy(answer)] == ["site"]


def test_with_upgrades_a_version_beside_a_digest_makes_the_resolver_panic() -> None:
    digest = digest_of("provider-a v1.0.0")
    packages = {"site v1.0.0": {"provider-a": ">=v1"}, "provider-a v1.0.0": {}}
    there = Start([entry(f"provider-a {digest}")])

    answer = run(packages, "site v1.0.0", flag=Flag.UPGRADES, start=there)

    assert answer.stop
    assert (
        answer.stop.why == f"{digest} is installed, which is no version: Crossplane's resolver panics on it"
    )


def test_versions_that_go_up_and_down_in_turn_come_to_an_end() -> None:
    # Each version of a wants the other one, by way of b.
    packages = {
        "app v1.0.0": {"provider-a": "*", "provider-b": "*"},
        "provider-a v1.0.0": {"provider-b": "v1.0.0"},
        "provider-a v2.0.0": {"provider-b": "v2.0.0"},
        "provider-b v1.0.0": {"provider-a": "v2.0.0"},
        "provider-b v2.0.0": {"provider-c": "*"},
        "provider-c v1.0.0": {"provider-a": "v1.0.0"},
    }

    answer = mimic(
        [AppliedRoot(named("app"), "v1.0.0")],
        catalog_of(packages),
        Limits(packages=50),
        flag=Flag.DOWNGRADES,
    )

    assert answer.stop


def test_a_source_without_a_registry_cannot_be_created() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"x": written("acme/provider-a", "*", kind="Provider")},
            "index.docker.io/acme/provider-a v1.0.0": {},
        }
    )

    answer = mimic([AppliedRoot(named("app"), "v1.0.0")], catalog, Limits())

    assert answer.stop
    assert answer.stop.why == "acme/provider-a names no registry, and the API server accepts no such object"


def test_the_order_of_the_roots_decides() -> None:
    packages = {
        "app v1.0.0": {"provider-a": "*"},
        "site v1.0.0": {"provider-a": "<v2"},
        "provider-a v1.0.0": {},
        "provider-a v2.0.0": {},
    }

    first, second = run(packages, "app v1.0.0", "site v1.0.0"), run(packages, "site v1.0.0", "app v1.0.0")

    assert first.version_of(f"{ACME}/provider-a") == "v2.0.0"
    assert unhealthy(first).keys() == {"site"}
    assert second.version_of(f"{ACME}/provider-a") == "v1.0.0"
    assert not second.unhealthy


def test_a_registry_that_does_not_answer_is_no_answer_of_crossplanes() -> None:
    def fail(what: str) -> None:
        if what == "provider-a":
            raise RegistryUnreachable("no answer")

    with pytest.raises(RegistryUnreachable):
        run({"app v1.0.0": {"provider-a": "*"}}, "app v1.0.0", before=fail)
