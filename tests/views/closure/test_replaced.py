"""What became of a source that others have taken the place of."""

from rig.builders.locks import deactivated, lock, package, provided, replaced, source

from render.lock.model import Lock
from render.views.closure.replaced import explain_replaced, format_succession, succession_document


def told(given: Lock, name: str) -> str:
    """Return what is told of a source, without what all sources have in common."""
    return format_succession(explain_replaced(given, source(name))).replace("xpkg.example.org/acme/", "")


def switched_off(**more: object) -> Lock:
    """Return a lock in which store and disk are in the place of raid, which app still depends on."""
    reason = ("it needs raid, which the cluster knows as store",)
    return lock(
        [
            package("app v1.0.0", "raid >=v1", detached=reason, stale_entry=(str(source("raid")),)),
            package("store v1.5.0", replaces=(replaced("raid"),)),
            package("disk v2.0.0", replaces=(replaced("raid"),)),
        ],
        deactivated=[deactivated("raid v1.0.0", "disk", "store", **more)],
    )


def test_what_is_switched_off_tells_who_replaced_it_and_what_holds_it() -> None:
    assert (
        told(switched_off(), "raid")
        == """\
raid v1.0.0 [Provider, off]

Replaced by (2)
  disk v2.0.0, by deactivate, consent: moves
  store v1.5.0, by deactivate, consent: moves

It stays, deactivated, until every dependant has moved: xplock retire raid
The cluster's Lock still names it, and up to v2.3 Crossplane would install it again, for (1)
  app v1.0.0

Still named by (1)
  app v1.0.0  >=v1  satisfied
"""
    )


def test_what_has_lost_its_guard_is_dropped_after_a_sync() -> None:
    text = told(switched_off(released=True), "raid")

    assert text.startswith("raid v1.0.0 [Provider, off, released]\n")
    assert "Its guard is off; once every cluster has synced: xplock retire raid --synced\n" in text


def test_what_is_not_installed_any_more_tells_what_is() -> None:
    repointed = lock([package("net v2.0.0", replaces=(replaced("old-net", "repoint", "claim"),))])

    assert (
        told(repointed, "old-net")
        == """\
old-net is not installed from here: other packages have replaced it

Replaced by (1)
  net v2.0.0, by repoint, consent: claim
"""
    )


def test_what_was_replaced_in_another_folder_names_what_that_one_provides() -> None:
    used = lock(
        [package("app v1.0.0", "old-dns *", detached=("x",))],
        provided=[provided("dns v1.5.0", replaces=(source("old-dns"),))],
    )

    assert (
        told(used, "old-dns")
        == """\
old-dns is not installed from here: other packages have replaced it

Replaced by (1)
  dns v1.5.0

Still named by (1)
  app v1.0.0  *  satisfied
"""
    )


def test_the_document_says_the_same() -> None:
    document = succession_document(explain_replaced(switched_off(), source("raid")))

    assert document["source"] == str(source("raid"))
    assert (document["deactivated"]["version"], document["deactivated"]["state"]) == ("v1.0.0", "deactivated")
    assert [(one["source"], one["strategy"], one["consent"]) for one in document["successors"]] == [
        (str(source("disk")), "deactivate", "moves"),
        (str(source("store")), "deactivate", "moves"),
    ]
    assert [one["source"] for one in document["requiredBy"]] == document["staleFor"] == [str(source("app"))]
