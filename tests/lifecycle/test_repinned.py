"""Other bytes under the tag that is installed: allowed, but not together with detaching."""

from dataclasses import replace

import pytest
from rig.builders.catalogs import FakeCatalog, digest_of, named
from rig.builders.lock_story import Story, move

from render.lifecycle.carry_over import DetachedTooLate
from render.lifecycle.update import LockOptions
from render.packages import Kind
from render.settings import Detach

OTHER = "xpkg.example.com/other"
KINDS = dict.fromkeys(("net", "base", f"{OTHER}/net", f"{OTHER}/base"), Kind.PROVIDER)
# net and base are in two places, with the same tags, and the net of each place needs its own base.
CATALOG = FakeCatalog(
    {
        "app v1.0.0": {"net": "*"},
        "net v1.0.0": {"base": "*"},
        "base v1.0.0": {},
        f"{OTHER}/net v1.0.0": {f"{OTHER}/base": "*"},
        f"{OTHER}/net v1.1.0": {f"{OTHER}/base": "*"},
        f"{OTHER}/base v1.0.0": {},
    },
    kinds=KINDS,
)
MOVES = (
    move("net", f"{OTHER}/net", strategy="alias"),
    move("base", f"{OTHER}/base", strategy="alias"),
)


def installed(detach: Detach = Detach.NEEDED) -> Story:
    story = Story(CATALOG)
    story.lock("app", detach=detach)
    return story


def test_an_alias_with_the_same_tag_cannot_be_detached_at_once() -> None:
    with pytest.raises(DetachedTooLate) as caught:
        installed().lock("app", f"{OTHER}/net v1.0.0", moves=MOVES)

    assert caught.value.exit_code == 4
    assert caught.value.what.startswith(f"{OTHER}/net cannot")
    assert caught.value.why[0].startswith(
        f"{named('net')}:v1.0.0 is installed, and becomes detached: it needs"
    )
    assert caught.value.next == (
        f"take another version of {OTHER}/net, which has another tag",
        "or move it by `strategy: deactivate`",
        "or detach everything first: `detach: all` in xplock.yaml, lock that, and let every cluster sync",
    )


def test_with_another_tag_package_and_pin_change_together() -> None:
    lock = installed().lock("app", f"{OTHER}/net v1.1.0", moves=MOVES)

    assert lock.packages[named(f"{OTHER}/net")].detached


def test_what_was_detached_before_may_get_other_bytes() -> None:
    lock = installed(Detach.ALL).lock("app", f"{OTHER}/net v1.0.0", moves=MOVES, detach=Detach.NEEDED)

    assert lock.packages[named(f"{OTHER}/net")].detached


def test_what_stays_attached_may_get_other_bytes() -> None:
    story = Story(FakeCatalog({"app v1.0.0": {"net": "*"}, "net v1.0.0": {}}))
    story.lock("app")
    story.catalog = FakeCatalog(
        {"app v1.0.0": {"net": "*"}, "net v1.0.0": {}}, digests={"net v1.0.0": digest_of("moved")}
    )

    lock = story.lock("app", options=LockOptions(upgrade_everything=True))

    assert lock.packages[named("net")].digest == digest_of("moved")
    assert not lock.packages[named("net")].detached


def test_what_was_switched_off_comes_back_with_other_bytes() -> None:
    story = installed()
    off = [move(name, f"{OTHER}/{name}", strategy="deactivate") for name in ("net", "base")]
    story.lock("app", f"{OTHER}/net v1.0.0", moves=tuple(off))
    story.catalog = replace(CATALOG, digests={"net v1.0.0": digest_of("moved")})

    lock = story.lock(
        *("app", "net", f"{OTHER}/base"),
        moves=(move(f"{OTHER}/net", "net"), off[1]),
        options=LockOptions(upgrade_everything=True),
    )

    assert lock.packages[named("net")].digest == digest_of("moved")
    assert lock.packages[named("net")].detached
