"""An upgrade to a version takes the family along: to the same version, or nowhere."""

from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named, root

from render.inputs.projects import Inputs
from render.lifecycle.update import LockOptions, update_lock
from render.limits import Limits
from render.lock.model import Lock
from render.references import Digest
from render.settings import Families, Settings
from render.versions.requests import Root

FAMILY = "family-aws"
MEMBERS = ("s3", "ec2", "rds", FAMILY)
ANY = {FAMILY: ">= 0.0.0"}


def published(versions: dict[str, tuple[str, ...]]) -> Packages:
    """Return members of the family, each in these versions."""
    return {
        f"{name} {version}": {} if name == FAMILY else ANY
        for name, tags in versions.items()
        for version in tags
    }


FIRST = published(dict.fromkeys(MEMBERS, ("v1.0.0",)))
ALL = ("v1.0.0", "v1.1.0", "v1.2.0", "v2.0.0")
NEWER = published({"s3": ALL, "ec2": ALL, "rds": ("v1.0.0", "v1.2.0", "v2.0.0"), FAMILY: ALL})


def update(
    packages: Packages,
    current: Lock,
    *upgrade: str,
    free: bool = False,
    roots: tuple[Root, ...] = (),
    **more: object,
) -> Lock:
    wishes = roots or tuple(root(name) for name in ("s3", "ec2", "rds"))
    settings = Settings(families=Families.FREE if free else Families.FOLLOW)
    inputs = Inputs(Path(), wishes, settings, (), (), {})
    catalog = FakeCatalog(packages, families=dict.fromkeys(MEMBERS, FAMILY))
    options = LockOptions(upgrade=upgrade, **more)  # type: ignore[arg-type]  # tests name the options
    return update_lock(inputs, current, catalog, Limits(), options).lock


def first() -> Lock:
    return update(FIRST, Lock())


def tags(made: Lock) -> dict[str, str]:
    return {source.name: package.version for source, package in made.packages.items()}


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(
    ("upgrade", "after"),
    [
        # rds has no v1.1.0.
        ("s3=v1.1.0", {"s3": "v1.1.0", "ec2": "v1.1.0", "rds": "v1.0.0", FAMILY: "v1.1.0"}),
        ("s3=v1.2.0", {"s3": "v1.2.0", "ec2": "v1.2.0", "rds": "v1.2.0", FAMILY: "v1.2.0"}),
        ("s3=v2.0.0", {"s3": "v2.0.0", "ec2": "v2.0.0", "rds": "v2.0.0", FAMILY: "v2.0.0"}),
        ("s3=<v1.2.0", {"s3": "v1.1.0", "ec2": "v1.1.0", "rds": "v1.0.0", FAMILY: "v1.1.0"}),
        ("ec2=^v1", {"s3": "v1.2.0", "ec2": "v1.2.0", "rds": "v1.2.0", FAMILY: "v1.2.0"}),
        (f"{FAMILY}=v1.1.0", {"s3": "v1.1.0", "ec2": "v1.1.0", "rds": "v1.0.0", FAMILY: "v1.1.0"}),
        (f"{FAMILY}=>=v2", {"s3": "v2.0.0", "ec2": "v2.0.0", "rds": "v2.0.0", FAMILY: "v2.0.0"}),
        ("s3", {"s3": "v2.0.0", "ec2": "v2.0.0", "rds": "v2.0.0", FAMILY: "v2.0.0"}),
    ],
)
def test_members_move_to_the_version_that_one_of_them_is_given_or_stay(
    upgrade: str, after: dict[str, str], free: bool
) -> None:
    assert tags(update(NEWER, first(), upgrade, free=free)) == after


def test_members_go_down_together_too() -> None:
    upgraded = update(NEWER, first(), "s3=v1.2.0")

    back = update(NEWER, upgraded, "s3=v1.1.0")

    # rds has no v1.1.0, and so stays where it was.
    assert tags(back) == {"s3": "v1.1.0", "ec2": "v1.1.0", "rds": "v1.2.0", FAMILY: "v1.1.0"}


def test_members_go_down_together_even_if_the_version_that_they_had_is_gone() -> None:
    upgraded = update(NEWER, first(), "s3=v1.2.0")
    withdrawn = {name: needs for name, needs in NEWER.items() if name != "ec2 v1.2.0"}

    back = update(withdrawn, upgraded, "s3=v1.1.0")

    assert tags(back)["ec2"] == "v1.1.0"


def test_a_member_stays_if_the_same_version_of_it_suits_not_everyone() -> None:
    packages = {
        **NEWER,
        "ec2 v1.2.0": {**ANY, "base": ">=v2"},
        "base v1.0.0": {},
        "app v1.0.0": {"base": "^v1"},
    }
    roots = tuple(root(name) for name in ("s3", "ec2", "rds", "app"))
    before = update({**packages, **FIRST}, Lock(), roots=(*roots[1:], root("s3", tag="v1.0.0")))
    held = update(packages, before, "s3=v1.1.0", "ec2=v1.0.0", roots=roots)

    after = update(packages, held, "s3=v1.2.0", roots=roots)

    assert (tags(after)["s3"], tags(after)["ec2"]) == ("v1.2.0", "v1.0.0")


def test_a_member_that_its_root_pins_stays() -> None:
    roots = (root("s3"), root("ec2", tag="v1.0.0"), root("rds"))

    after = update(NEWER, update(FIRST, Lock(), roots=roots), "s3=v1.2.0", roots=roots)

    assert tags(after) == {"s3": "v1.2.0", "ec2": "v1.0.0", "rds": "v1.2.0", FAMILY: "v1.2.0"}


@pytest.mark.parametrize(("free", "family"), [(False, "v2.1.0"), (True, "v1.0.0")])
def test_a_family_package_without_that_version_keeps_to_the_major_version_of_its_members(
    free: bool, family: str
) -> None:
    packages = published({"s3": ALL, "ec2": ALL, "rds": ALL, FAMILY: ("v1.0.0", "v1.1.0", "v2.1.0")})

    minor = update(packages, first(), "s3=v1.2.0", free=free)
    major = update(packages, first(), "s3=v2.0.0", free=free)

    assert (tags(minor)[FAMILY], tags(major)[FAMILY]) == ("v1.0.0", family)


def test_of_several_versions_the_others_get_the_highest_that_they_have() -> None:
    after = update(NEWER, first(), "s3=v1.1.0", "ec2=v1.2.0")

    assert tags(after) == {"s3": "v1.1.0", "ec2": "v1.2.0", "rds": "v1.2.0", FAMILY: "v1.2.0"}


def test_a_member_that_is_named_without_a_version_gets_its_newest() -> None:
    after = update(NEWER, first(), "s3=v1.1.0", "ec2")

    assert tags(after) == {"s3": "v1.1.0", "ec2": "v2.0.0", "rds": "v1.0.0", FAMILY: "v1.1.0"}


def test_where_everything_is_upgraded_the_family_follows_the_version_that_one_member_is_given() -> None:
    after = update(NEWER, first(), "s3=v1.1.0", upgrade_everything=True)

    assert tags(after) == {"s3": "v1.1.0", "ec2": "v1.1.0", "rds": "v2.0.0", FAMILY: "v1.1.0"}


def test_a_version_with_and_without_a_v_is_the_same_version() -> None:
    packages = {**published({"s3": ALL, "rds": ALL, FAMILY: ALL}), "ec2 v1.0.0": ANY, "ec2 1.1.0": ANY}

    assert tags(update(packages, first(), "s3=v1.1.0"))["ec2"] == "1.1.0"


def test_a_digest_without_a_version_takes_no_other_member_along() -> None:
    digest = digest_of("s3 v1.1.0")

    after = update(
        NEWER, first(), f"s3={digest}", roots=(root("s3", digest=digest), root("ec2"), root("rds"))
    )

    assert after.packages[named("s3")].digest == Digest(digest)
    assert {name: tag for name, tag in tags(after).items() if name != "s3"} == dict.fromkeys(
        ("ec2", "rds", FAMILY), "v1.0.0"
    )


def test_a_member_that_stays_keeps_its_bytes() -> None:
    before = first()
    packages = {**NEWER, "rds other": ANY}
    catalog = FakeCatalog(
        packages,
        families=dict.fromkeys(MEMBERS, FAMILY),
        digests={"rds v1.0.0": digest_of("rds moved"), "rds other": digest_of("rds v1.0.0")},
    )
    inputs = Inputs(Path(), tuple(root(name) for name in ("s3", "ec2", "rds")), Settings(), (), (), {})

    after = update_lock(inputs, before, catalog, Limits(), LockOptions(upgrade=["s3=v1.1.0"])).lock

    assert after.packages[named("rds")] == before.packages[named("rds")]
