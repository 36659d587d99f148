"""Which locked packages have newer versions."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import deactivated, digest_of_name, lock, lock_of, package, replaced, source

from render.lock.model import Lock, State
from render.versions.constraints import parse_constraint
from render.versions.version import parse_version
from render.views.outdated import Standing, find_standings, format_standings, standings_document

SHOP = lock_of(
    {
        "app v1.0.0": {"base": ">=1.0.0", "provider-net": "^2.1"},
        "base v1.2.0": {"provider-net": "<2.4.0"},
        "provider-net v2.3.0": {},
    },
    {"app": "v1.0.0"},
)
TAGS = {
    "app": ["v1.0.0", "v1.1.0"],
    "base": ["v1.2.0", "v1.3.0"],
    "provider-net": ["v2.3.0", "v2.3.5", "v2.4.0", "v3.0.0", "latest", "v9"],
}


def standings(
    lock: Lock, tags: Mapping[str, Sequence[str]], *, follow_families: bool = True
) -> list[Standing]:
    """Compare packages with tags, both by their names."""
    known = {source(name): found for name, found in tags.items()}
    return find_standings(lock, known, follow_families=follow_families)


def one(version: str, tags: Sequence[str], *, constraint: str = "*", root: str | None = None) -> Standing:
    """Return where a package stands that one other needs, and perhaps the user."""
    roots = {"app": "*"} | ({"net": root} if root else {})
    lock = lock_of({"app v1.0.0": {"net": constraint}, f"net {version}": {}}, roots)
    return standings(lock, {"app": ["v1.0.0"], "net": tags})[1]


def texts(standing: Standing) -> tuple[str | None, str | None]:
    """Return what is wanted and what is the latest."""
    wanted, latest = standing.wanted, standing.latest
    return wanted.text if wanted else None, latest.text if latest else None


def test_the_tables_show_what_suits_everyone_what_is_newest_and_who_holds_back() -> None:
    text = format_standings(standings(SHOP, TAGS))

    assert (
        text
        == """\
Can be upgraded now
                LOCKED  TO      STEP
xpkg.example.org/acme/
  base          v1.2.0  v1.3.0  minor
  provider-net  v2.3.0  v2.3.5  patch

Held back
                LOCKED  LATEST  STEP
xpkg.example.org/acme/
  app           v1.0.0  v1.1.0  minor
    by you (v1.0.0)
  provider-net  v2.3.0  v3.0.0  major
    by app (^2.1), base (<2.4.0)
"""
    )


@pytest.mark.parametrize(
    ("locked", "tags", "rows"),
    [
        ("v1.0.0", ["v1.0.0"], ["Nothing newer known", "net v1.0.0"]),
        ("v1.0.0", ["v1.2.0"], ["Can be upgraded now", "net v1.0.0 v1.2.0 minor"]),
        (
            "v1.0.0",
            ["v1.0.1", "v2.0.0"],
            [
                "Can be upgraded now",
                "net v1.0.0 v1.0.1 patch",
                "Held back",
                "net v1.0.0 v2.0.0 major",
                "by app (^v1.0.0, <2)",
            ],
        ),
        ("v0.1.0", ["v0.2.0"], ["Can be upgraded now", "net v0.1.0 v0.2.0 minor of 0.x"]),
        ("main", ["v1.0.0"], ["Nothing newer known", "net main"]),
    ],
)
def test_the_tables_show_the_steps_to_what_is_newer(
    locked: str, tags: Sequence[str], rows: list[str]
) -> None:
    constraint = "*" if locked == "main" else f"^{locked}, <2" if locked == "v1.0.0" else "*"

    lines = format_standings([one(locked, tags, constraint=constraint)]).splitlines()

    told = [" ".join(line.split()) for line in lines if line and not line.startswith(("xpkg", "   " * 5))]
    assert [line for line in told if not line.startswith("LOCKED")] == rows


def test_of_many_who_hold_back_three_are_named() -> None:
    sides = {f"side{i} v1.0.0": {"net": "^1"} for i in range(5)}
    lock = lock_of({**sides, "net v1.0.0": {}}, {f"side{i}": "*" for i in range(5)})

    found = standings(lock, {**{f"side{i}": ["v1.0.0"] for i in range(5)}, "net": ["v1.0.0", "v2.0.0"]})

    assert "    by side0 (^1), side1 (^1), side2 (^1) and 2 more\n" in format_standings(found)
    assert "side4 (^1)\n" in format_standings(found, everyone=True)


def test_tables_of_long_names_fit_80_columns() -> None:
    name = "crossplane-contrib/function-conditional-patch-and-transform"
    sides = {f"upbound/configuration-observability-oss-{i} v1.0.0": {name: "^0.4"} for i in range(5)}
    lock = lock_of({**sides, f"{name} v0.41.12": {}}, {side.split()[0]: "*" for side in sides})
    tags = {side.split()[0]: ["v1.0.0"] for side in sides} | {name: ["v0.41.12", "v0.42.0", "v10.11.12"]}

    text = format_standings(standings(lock, tags), everyone=True)

    assert text and max(map(len, text.splitlines())) <= 80


def test_nothing_in_a_lock_reaches_the_terminal_unseen() -> None:
    found = one("v1.0.0", ["v2.0.0"], root="\x1b[2J")

    assert "    by you (\\x1b[2J)\n" in format_standings([found])


def test_a_table_of_nothing_is_empty() -> None:
    assert format_standings([]) == ""


@pytest.mark.parametrize(
    ("locked", "constraint", "tags", "expected"),
    [
        ("v1.0.0", "*", ["v1.0.0"], ("v1.0.0", "v1.0.0")),
        ("v1.0.0", "*", ["v1.0.0", "v1.1.0", "v1.0.5"], ("v1.1.0", "v1.1.0")),
        ("v1.0.0", "^1", ["v1.0.0", "v1.1.0", "v2.0.0"], ("v1.1.0", "v2.0.0")),
        # Prereleases count only where the constraint admits them.
        ("v1.0.0", "*", ["v1.0.0", "v1.1.0-rc.1"], ("v1.0.0", "v1.0.0")),
        ("v1.0.0", ">=1.0.0-0", ["v1.0.0", "v1.1.0-rc.1"], ("v1.1.0-rc.1", "v1.1.0-rc.1")),
        ("v1.0.0", "^1.0.0-0", ["v1.0.0", "v1.1.0-rc.1", "v2.0.0"], ("v1.1.0-rc.1", "v2.0.0")),
        ("v2.0.0-rc.1", ">=2.0.0-0", ["v1.9.0", "v2.0.0-rc.1"], ("v2.0.0-rc.1", "v2.0.0-rc.1")),
        # Tags that Crossplane would not choose are not offered.
        ("v1.0.0", "*", ["v1.0.0", "v2", "1.5", "latest"], ("v1.0.0", "v1.0.0")),
        # Another spelling of the same version is nothing newer.
        ("1.0.0", "*", ["1.0.0", "v1.0.0", "v1.0.0+build"], ("1.0.0", "1.0.0")),
        # A tag that is gone does not make an older one newer.
        ("v1.5.0", "*", ["v1.0.0"], ("v1.5.0", "v1.5.0")),
        ("v1.5.0", "*", [], ("v1.5.0", "v1.5.0")),
    ],
)
def test_wanted_and_latest_are_at_least_what_is_locked(
    locked: str, constraint: str, tags: list[str], expected: tuple[str, str]
) -> None:
    assert texts(one(locked, tags, constraint=constraint)) == expected


def test_the_request_of_the_user_counts_like_a_dependant() -> None:
    found = one("v1.0.0", ["v1.0.0", "v1.1.0", "v2.0.0"], root="~1.0")

    assert texts(found) == ("v1.0.0", "v2.0.0")
    assert [holder.told({}) for holder in found.holders] == ["you (~1.0)"]


def test_a_digest_with_a_known_tag_is_compared_by_it_and_held_by_whoever_asked_for_it() -> None:
    digest = digest_of_name("net")

    found = one("v1.0.0@sha256", ["v1.0.0", "v1.1.0"], root=digest)

    assert (texts(found), found.newer_within, found.newer_beyond) == (("v1.0.0", "v1.1.0"), False, True)
    assert [holder.told({}) for holder in found.holders] == [f"you ({digest[:19]}…)"]
    assert f"  net  v1.0.0@{digest[:19]}…  v1.1.0  minor\n" in format_standings([found])


@pytest.mark.parametrize("version", ["sha256", "nightly"])
def test_what_has_no_version_is_not_called_outdated(version: str) -> None:
    root = digest_of_name("net") if version == "sha256" else version

    found = one(version, ["v1.0.0", "v1.1.0"], root=root)

    assert (found.locked, texts(found), found.is_outdated) == (None, (None, "v1.1.0"), False)
    assert format_standings([found]).startswith("Nothing newer known\n")


FAMILY = {"provider-family-aws": "provider-family-aws", "provider-aws-s3": "provider-family-aws"}


def family(member: str = "v1.4.0", head: str = "v1.4.0") -> Lock:
    """Return a family of two, whose member would accept any version of the other."""
    packages = {
        f"provider-aws-s3 {member}": {"provider-family-aws": ">= 0.0.0"},
        f"provider-family-aws {head}": {},
    }
    return lock_of(packages, {"provider-aws-s3": "^1"}, families=FAMILY)


FAMILY_TAGS = {
    "provider-aws-s3": ["v1.4.0", "v1.5.0", "v2.0.0"],
    "provider-family-aws": ["v1.4.0", "v1.5.0", "v2.0.0"],
}


def test_a_family_package_keeps_to_the_major_version_of_its_members() -> None:
    found = standings(family(), FAMILY_TAGS)[1]

    assert texts(found) == ("v1.5.0", "v2.0.0")
    assert [holder.told({}) for holder in found.holders] == [
        "xpkg.example.org/acme/provider-aws-s3 (same family, v1)"
    ]


def test_a_family_set_free_takes_the_newest() -> None:
    found = standings(family(), FAMILY_TAGS, follow_families=False)[1]

    assert (texts(found), found.holders) == (("v2.0.0", "v2.0.0"), ())


def test_a_family_package_without_a_version_of_its_members_major_takes_the_newest() -> None:
    tags = {**FAMILY_TAGS, "provider-family-aws": ["v2.0.0", "v2.1.0"]}

    found = standings(family(head="v2.0.0"), tags)[1]

    assert texts(found) == ("v2.1.0", "v2.1.0")


def test_what_is_leaving_is_not_listed_and_still_holds_others_back() -> None:
    left = lock(
        [
            package("app v1.0.0", "net *"),
            package("net v1.0.0"),
            package("old v1.0.0", "net <2.0.0", state=State.ORPHANED),
        ],
        deactivated=[deactivated("off v1.0.0", "net")],
    )

    app, net = standings(left, {"app": ["v1.0.0"], "net": ["v1.0.0", "v1.1.0", "v2.0.0"]})

    assert (app.package.source, net.package.source) == (source("app"), source("net"))
    assert texts(net) == ("v1.1.0", "v2.0.0")
    assert [holder.told({}) for holder in net.holders] == [f"{source('old')} (<2.0.0)"]


def test_a_family_keeps_to_the_major_version_of_a_member_that_is_leaving() -> None:
    left = lock(
        [
            package("s3 v1.0.0", "family *", family="family", state=State.ORPHANED),
            package("ec2 v1.0.0", "family *", family="family"),
            package("family v1.0.0", family="family"),
        ]
    )

    *_, family = standings(left, {"ec2": ["v1.0.0"], "family": ["v1.0.0", "v1.5.0", "v2.0.0"]})

    assert texts(family) == ("v1.5.0", "v2.0.0")
    assert {holder.source for holder in family.holders} == {source("ec2"), source("s3")}


def test_what_the_clusters_lock_still_names_for_others_is_held_at_its_version() -> None:
    stale = lock(
        [
            package("app v1.0.0", "net *", detached=("x",), stale_entry=(str(source("net")),)),
            package("net v1.0.0", object_name="my-net"),
        ]
    )

    _, net = standings(stale, {"app": ["v1.0.0"], "net": ["v1.0.0", "v1.1.0"]})

    assert texts(net) == ("v1.0.0", "v1.1.0")
    assert [holder.told({}) for holder in net.holders] == [f"{source('app')} (in the cluster's Lock)"]


def test_an_alias_is_compared_with_the_tags_of_its_real_source() -> None:
    alias = lock([package("mesh v2.0.0", installed_as=source("net"), replaces=(replaced("net", "alias"),))])

    (mesh,) = standings(alias, {"mesh": ["v2.0.0", "v2.1.0"]})

    assert texts(mesh) == ("v2.0.0", "v2.1.0")


def test_the_document_holds_every_column() -> None:
    document = standings_document(standings(SHOP, TAGS))

    assert [package["source"].rpartition("/")[2] for package in document["packages"]] == [
        "app",
        "base",
        "provider-net",
    ]
    assert document["packages"][0] == {
        "source": "xpkg.example.org/acme/app",
        "kind": "Configuration",
        "locked": "v1.0.0",
        "tag": "v1.0.0",
        "digest": digest_of_name("app"),
        "wanted": "v1.0.0",
        "latest": "v1.1.0",
        "step": None,
        "mayBreak": False,
        "latestStep": "minor",
        "latestMayBreak": False,
        "newerWithinConstraints": False,
        "newerBeyondConstraints": True,
        "heldBackBy": [{"source": None, "accepts": "v1.0.0"}],
    }
    assert document["packages"][2]["heldBackBy"] == [
        {"source": "xpkg.example.org/acme/app", "accepts": "^2.1"},
        {"source": "xpkg.example.org/acme/base", "accepts": "<2.4.0"},
    ]


VERSIONS = st.builds("v{}.{}.{}".format, *[st.integers(0, 2)] * 3)


@given(st.sets(VERSIONS, min_size=1), st.sampled_from(["*", "^1", "<2", ">=1.1.0", "~1.1"]), st.data())
def test_wanted_suits_everyone_and_nothing_newer_does(
    tags: set[str], constraint: str, data: st.DataObject
) -> None:
    locked = data.draw(st.sampled_from(sorted(tags)))

    found = one(locked, sorted(tags), constraint=constraint)

    assert found.wanted is not None
    accepts = parse_constraint(constraint).accepts
    newer = [version for version in map(parse_version, tags) if version > found.wanted and accepts(version)]
    assert newer == []
    assert found.wanted.text == locked or accepts(found.wanted)
