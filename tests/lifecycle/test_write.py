"""What was decided is written down with everything that rendering needs."""

from dataclasses import replace

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named, root, written
from rig.builders.lock_story import made_lock

from render.lock.freshness import check_closure
from render.lock.model import LockedDependency
from render.packages import Kind, PackagedObject, count_kinds, digest_objects

BASES: Packages = {"base v1.0.0": {}, "base v1.1.0": {}}
APP: Packages = {"app v1.0.0": {"base": ">=1.0.0"}, **BASES}


def test_a_package_carries_its_facts() -> None:
    catalog = FakeCatalog(
        APP,
        kinds={"base": Kind.PROVIDER},
        objects={
            "base": ["CustomResourceDefinition b.y.org", "CustomResourceDefinition a.x.org", "Secret s"]
        },
        families={"base": "family"},
        crossplane={"base": ">=v1.14.0-0"},
    )
    definition = "CustomResourceDefinition"
    objects = [
        PackagedObject("apiextensions.k8s.io/v1", definition, "b.y.org"),
        PackagedObject("apiextensions.k8s.io/v1", definition, "a.x.org"),
        PackagedObject("v1", "Secret", "s"),
    ]

    lock = made_lock(catalog, root("app", "^1"))

    base = lock.packages[named("base")]
    assert (base.version, base.digest, base.kind) == ("v1.1.0", digest_of("base v1.1.0"), Kind.PROVIDER)
    assert (base.object_name, base.root, base.required_by) == ("acme-base", None, (str(named("app")),))
    assert (base.family, base.crossplane, base.tag) == ("family", ">=v1.14.0-0", None)
    assert (base.objects, base.objects_digest) == (count_kinds(objects), digest_objects(objects))
    assert base.groups == ("x.org", "y.org")


FIELDS = {"spec": {"revisionHistoryLimit": 3}}


def test_a_manifest_carries_what_was_asked_for_and_its_fields() -> None:
    manifest = replace(root("app", "^1"), name="my-app", kind=Kind.CONFIGURATION, fields=FIELDS)

    lock = made_lock(FakeCatalog(APP), manifest)

    app = lock.packages[named("app")]
    assert (app.root, app.object_name, app.fields) == ("^1", "my-app", FIELDS)
    assert lock.packages[named("base")].fields == {}


def test_an_install_object_names_no_kind_and_carries_its_fields() -> None:
    lock = made_lock(FakeCatalog(APP), replace(root("app", "^1"), name="my-app", fields=FIELDS))

    app = lock.packages[named("app")]
    assert (app.kind, app.object_name, app.fields) == (Kind.CONFIGURATION, "my-app", FIELDS)


def test_a_root_of_the_settings_is_no_manifest_and_has_no_fields_to_carry() -> None:
    lock = made_lock(FakeCatalog(APP), replace(root("app", "^1"), fields=FIELDS))

    assert (lock.packages[named("app")].root, lock.packages[named("app")].fields) == ("^1", {})


def test_a_root_that_others_need_too_names_both() -> None:
    lock = made_lock(FakeCatalog(APP), root("app"), root("base", tag="v1.0.0"))

    base = lock.packages[named("base")]
    assert (base.version, base.root, base.required_by) == ("v1.0.0", "v1.0.0", (str(named("app")),))


def test_dependencies_are_kept_as_they_are_written_and_in_order() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {
                "1": written(str(named("net")), " >= 1.0.0 ", kind="Provider"),
                "2": written("XPKG.example.org:443/acme/base", "*"),
            },
            "net v1.0.0": {},
            **BASES,
        }
    )

    lock = made_lock(catalog, root("app"))

    assert lock.packages[named("app")].dependencies == (
        LockedDependency(str(named("net")), " >= 1.0.0 ", "Provider"),
        LockedDependency("XPKG.example.org:443/acme/base", "*"),
    )
    assert not check_closure(lock)


def test_a_completed_name_is_written_in_full() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"1": written("base", ">=1")}, **BASES})

    lock = made_lock(catalog, root("app"))

    assert lock.packages[named("app")].dependencies == (LockedDependency(str(named("base")), ">=1"),)


@pytest.mark.parametrize("also_range", [False, True])
def test_a_digest_is_the_version_and_the_tag_is_kept_where_it_matters(also_range: bool) -> None:
    catalog = FakeCatalog(APP)
    roots = [root("base", digest=digest_of("base v1.0.0")), *([root("app")] if also_range else [])]

    lock = made_lock(catalog, *roots)

    base = lock.packages[named("base")]
    assert base.version == base.digest == digest_of("base v1.0.0")
    assert base.tag == ("v1.0.0" if also_range else None)
    assert base.version_tag == base.tag
    assert not check_closure(lock)


def test_a_root_with_tag_and_digest_is_locked_to_both() -> None:
    lock = made_lock(FakeCatalog(APP), root("base", tag="v1.0.0", digest=digest_of("base v1.0.0")))

    base = lock.packages[named("base")]
    assert (base.version, base.digest, base.by_digest) == ("v1.0.0", digest_of("base v1.0.0"), False)
    assert base.root == f"v1.0.0@{digest_of('base v1.0.0')}"


def test_a_dependant_by_digest_makes_a_tagged_root_one_by_digest() -> None:
    catalog = FakeCatalog({"app v1.0.0": {"base": digest_of("base v1.0.0")}, **BASES})

    lock = made_lock(catalog, root("app"), root("base", tag="v1.0.0"))

    base = lock.packages[named("base")]
    assert (base.by_digest, base.tag) == (True, "v1.0.0")
    assert not check_closure(lock)


def test_packages_and_inputs_are_sorted() -> None:
    record = {"root b": "2", "root a": "1"}

    lock = made_lock(FakeCatalog(APP), root("base"), root("app"), record=record)

    assert list(lock.packages) == sorted(lock.packages)
    assert list(lock.inputs.items()) == [("root a", "1"), ("root b", "2")]
