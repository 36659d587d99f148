"""Which package of one lock is which of another."""

from dataclasses import replace

from rig.builders.locks import deactivated, package, provided, source

from render.lock.diff import known_as, pair_packages
from render.packages import Kind


def test_packages_are_paired_by_their_object_and_then_by_their_source() -> None:
    app, net, gone = package("app v1.0.0"), package("net v1.0.0"), package("gone v1.0.0")
    renamed, moved = replace(app, object_name="my-app"), package("mesh v1.0.0", object_name="acme-net")
    fresh = package("fresh v1.0.0")

    assert pair_packages([app, net, gone], [renamed, moved, fresh]) == [
        (app, renamed),
        (None, fresh),
        (gone, None),
        (net, moved),
    ]


def test_packages_of_two_kinds_can_have_one_name() -> None:
    one, other = (
        package("one v1.0.0", object_name="same"),
        package("two v1.0.0", object_name="same", kind=Kind.FUNCTION),
    )

    assert pair_packages([one], [other]) == [(one, None), (None, other)]


def test_what_is_off_is_known_as_what_its_object_names() -> None:
    alias = {"installed_as": source("net")}

    found = [known_as(package("mesh v1.0.0", **alias)), known_as(deactivated("mesh v1.0.0", **alias))]

    assert found == [source("mesh"), source("net")]
    assert known_as(provided("mesh v1.0.0", installed_as=source("net"))) == source("mesh")
