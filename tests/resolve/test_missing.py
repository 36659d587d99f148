"""A version or package that does not exist is reported with who asks for it, and with what was probably meant."""

from pathlib import Path
from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, locked, named, root, solve
from rig.builders.projects import small_world
from rig.commands.run import run_command

from render.commands import LockCall
from render.errors import RenderError, UnusableContent
from render.references import Reference, Source
from render.registry.oci import MissingBlob, NotFound
from render.resolve.conflict import MissingPackage
from render.resolve.missing import LostBytes, MissingVersion
from render.versions.requests import Request, Root

BASE: Packages = {f"base v1.{minor}.0": {} for minor in range(19, 30)}
CATALOG = FakeCatalog({**BASE, "app v1.0.0": {"base": ">=v1"}})
NOWHERE = digest_of("nowhere")
PLACE = "provider.yaml: spec.package"


def refused(catalog: FakeCatalog, *roots: Root, **more: Any) -> RenderError:
    with pytest.raises(RenderError) as caught:
        solve(catalog, *roots, **more)
    assert caught.value.exit_code == 1
    return caught.value


@pytest.mark.parametrize(
    ("tag", "meant"),
    [("1.21.0", "v1.21.0"), ("vv1.21.0", "v1.21.0"), ("v1.21.3", "v1.21.0"), ("v1.33.0", "v1.29.0")],
)
def test_a_wrong_tag_is_reported_with_its_place_and_the_version_that_was_meant(tag: str, meant: str) -> None:
    error = refused(CATALOG, root("base", tag=tag, place=PLACE))

    assert isinstance(error, MissingVersion)
    assert error.what == f"{named('base')} has no version {tag}"
    assert error.why[0] == f"{PLACE} asks for it"
    assert error.why[-1].startswith(f"the nearest that it has: {meant}, ") and "and 5 more" in error.why[-1]
    assert error.next == (f"did you mean {meant}? ({PLACE})",)


def test_only_those_are_named_who_ask_for_the_wrong_tag() -> None:
    error = refused(CATALOG, root("app"), root("base", tag="v1.50.0", place=PLACE))

    assert error.why[0] == f"{PLACE} asks for it"
    assert f"{named('app')} requires it" not in error.why


@pytest.mark.parametrize(("given", "kept"), [("base", ()), ("acme/base", ("app=v1.0.0",))])
def test_a_wrong_version_on_the_command_line_is_answered_with_the_command(
    given: str, kept: tuple[str, ...]
) -> None:
    call = LockCall(("two words",), (*kept, f"{given}=v1.21.9"), ("--offline",))

    error = refused(CATALOG, root("app"), asked={named("base"): Request(tag="v1.21.9")}, call=call)

    others = "".join(f"-P {text} " for text in kept)
    assert error.next == (
        f"did you mean v1.21.0? xplock lock --offline {others}-P {named('base')}=v1.21.0 'two words'",
    )


def test_a_digest_that_does_not_exist_is_reported_with_its_place_and_the_versions() -> None:
    error = refused(CATALOG, root("base", digest=NOWHERE, place=PLACE))

    assert isinstance(error, MissingVersion)
    assert error.what == f"{named('base')} has no package with the digest {NOWHERE}"
    assert error.why[0] == f"{PLACE} asks for it" and "it has v1.29.0, v1.28.0" in error.why[-1]
    assert error.next == (f"correct the digest, or write a version ({PLACE})",)


def test_a_digest_that_its_tag_does_not_have_is_reported_with_the_one_that_it_has() -> None:
    error = refused(CATALOG, root("base", tag="v1.21.0", digest=NOWHERE, place=PLACE))

    digest = digest_of("base v1.21.0")
    assert f"v1.21.0 has the digest {digest}" in error.why
    assert error.next == (f"write {named('base')}:v1.21.0@{digest}, if you trust these bytes ({PLACE})",)


@pytest.mark.parametrize("tag", ["", "v1.0.0"])
def test_a_repository_that_does_not_exist_is_answered_with_the_one_that_is_spelled_nearly_so(
    tag: str,
) -> None:
    error = refused(CATALOG, root("bsae", tag=tag, place=PLACE), root("base"))

    assert isinstance(error, MissingPackage)
    assert error.next == (f"did you mean {named('base')}? ({PLACE})",)


def test_a_repository_that_only_a_layout_knows_is_meant_as_well(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    project = world.project("shop", "bsae:v1.0.0")

    done = run_command("lock", str(project))

    assert done.code == 1
    assert f"did you mean {named('base')}? (xplock.yaml: roots[0])" in done.stderr


def test_the_host_of_a_layout_is_known() -> None:
    wanted = (Source("xpkg.example.org", ""),)

    error = refused(
        unreachable("xpkg.exmaple.org"), root("xpkg.exmaple.org/acme/base", place=PLACE), served=wanted
    )

    assert error.next == (f"did you mean {named('base')}? ({PLACE})", "try later")


def test_a_locked_package_is_known_too() -> None:
    error = refused(CATALOG, root("bsae", place=PLACE), preferred=locked(base="v1.20.0"))

    assert error.next == (f"did you mean {named('base')}? ({PLACE})",)


def test_what_a_package_requires_and_does_not_exist_is_no_slip_of_the_user() -> None:
    catalog = FakeCatalog({**BASE, "app v1.0.0": {"base": "*", "bsae": "*"}})

    error = refused(catalog, root("app"))

    assert error.next == (f"use another version of {named('app')}, or ask its maintainers",)


class Unanswered(RenderError):
    """A host that does not answer."""


def unreachable(host: str) -> FakeCatalog:
    def fail(what: str) -> None:
        if host in what:
            raise Unanswered(
                f"{host} gave no usable answer", why="its name cannot be resolved", next="try later"
            )

    return FakeCatalog(CATALOG.packages, before=fail)


@pytest.mark.parametrize("tag", ["", "v1.0.0"])
def test_a_host_that_does_not_answer_is_reported_with_its_place_and_the_host_that_was_meant(tag: str) -> None:
    wrong = "xpkg.exmaple.org/acme/base"

    error = refused(unreachable("xpkg.exmaple.org"), root(wrong, tag=tag, place=PLACE), root("app"))

    assert error.why == ("its name cannot be resolved", f"{PLACE} asks for it")
    assert error.next == (f"did you mean {named('base')}? ({PLACE})", "try later")


def test_a_host_that_is_like_no_other_is_reported_with_its_place() -> None:
    error = refused(unreachable("quay.example"), root("quay.example/acme/base", place=PLACE), root("app"))

    assert (error.why[-1], error.next) == (f"{PLACE} asks for it", ("try later",))


def test_the_registry_of_the_first_format_is_gone_and_no_later_try_finds_it() -> None:
    gone = "registry.crossplane.io/crossplane/provider-gcp"

    error = refused(unreachable("registry.crossplane.io"), root(gone, tag="v0.1.0", place=PLACE))

    assert error.next == (
        f"registry.crossplane.io is gone: write the registry that has the package today ({PLACE})",
        "if an ImageConfig of the cluster rewrites it, say so in xplock.yaml:",
        "rewrites:",
        "- {from: registry.crossplane.io, to: registry/organisation}",
    )


def test_a_host_that_only_a_package_names_is_reported_with_that_package() -> None:
    catalog = unreachable("xpkg.exmaple.org")
    catalog = FakeCatalog({"app v1.0.0": {"xpkg.exmaple.org/acme/base": "*"}}, before=catalog.before)

    error = refused(catalog, root("app"))

    assert (error.why[-1], error.next) == (f"{named('app')} requires it", ("try later",))


def test_locked_bytes_that_are_gone_are_reported_with_the_command_that_takes_others() -> None:
    pinned = {Reference(named("base"), "v1.20.0"): NOWHERE}

    error = refused(
        CATALOG,
        root("app"),
        preferred=locked(base="v1.20.0"),
        pinned=pinned,
        call=LockCall(("shop",)),
    )

    assert isinstance(error, LostBytes)
    assert f"it is locked to {NOWHERE}" in error.why and f"{named('app')} requires it" in error.why
    assert error.next == (f"find out why; to take what is there now: xplock lock -P {named('base')} shop",)


@pytest.mark.parametrize("kind", [MissingBlob, UnusableContent])
def test_a_version_that_is_there_and_cannot_be_used_is_not_misspelt(kind: type[RenderError]) -> None:
    def fail(what: str) -> None:
        if what == "base v1.20.0":
            raise kind("a layer is missing", next="push it again")

    catalog = FakeCatalog(CATALOG.packages, before=fail)

    for asked in (
        root("base", tag="v1.20.0", place=PLACE),
        root("base", digest=digest_of("base v1.20.0"), place=PLACE),
    ):
        error = refused(catalog, asked)

        assert (error.what, error.next) == ("a layer is missing", ("push it again",))
        assert error.why == (f"{PLACE} asks for it",)


def test_what_a_registry_says_is_not_said_twice() -> None:
    def fail(what: str) -> None:
        if "v1.50.0" in what:
            raise NotFound(f"{named('base')} has no version v1.50.0")

    error = refused(FakeCatalog(BASE, before=fail), root("base", tag="v1.50.0", place=PLACE))

    assert error.what not in error.why
