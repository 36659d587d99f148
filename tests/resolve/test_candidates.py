"""Which tags are candidates, in which order, and sets of them."""

from rig.builders.catalogs import candidate, digest_of

from render.resolve.candidates import ABSENT, ANYTHING, Universe, bit, highest, make_universe
from render.resolve.model import Candidate
from render.versions.constraints import parse_constraint
from render.versions.requests import Request

DIGEST = digest_of("some bytes")


def tags_of(universe: Universe) -> list[str | None]:
    return [item.tag for item in universe.candidates]


def test_candidates_are_whole_versions_lowest_first() -> None:
    tags = ["v1.10.0", "latest", "v1.9.0", "v1", "v1.0", "v01.2.3", "1.9.1", "v2.0.0-rc.1", "sha256-ab.sig"]

    universe = make_universe(tags, [], {})

    assert tags_of(universe) == ["v1.9.0", "1.9.1", "v1.10.0", "v2.0.0-rc.1"]


def test_of_two_spellings_of_one_version_the_one_with_v_is_higher() -> None:
    for tags in (["v1.0.0", "1.0.0"], ["1.0.0", "v1.0.0"]):
        assert tags_of(make_universe(tags, [], {})) == ["1.0.0", "v1.0.0"]


def test_a_candidate_requested_by_name_is_the_lowest() -> None:
    asked = [Request(tag="main"), Request(tag="v9.9.9"), Request(digest=DIGEST), Request(tag="v1.0.0")]

    universe = make_universe(["v1.0.0", "v2.0.0"], asked, {})

    assert set(universe.candidates[:3]) == {
        Candidate("main"),
        candidate("v9.9.9"),
        Candidate(None, digest=DIGEST),
    }
    assert tags_of(universe)[3:] == ["v1.0.0", "v2.0.0"]


def test_a_digest_has_the_version_of_the_tag_that_carries_it() -> None:
    universe = make_universe(["v1.0.0"], [Request(digest=DIGEST)], {DIGEST: "v1.0.0"})

    assert universe.candidates[0] == candidate("v1.0.0", DIGEST)
    assert universe.answering(Request(parse_constraint(">=1"))) == bit(0) | bit(1)
    assert universe.answering(Request(digest=DIGEST)) == bit(0)


def test_candidates_do_not_depend_on_the_order_of_questions() -> None:
    asked = [Request(tag="main"), Request(digest=DIGEST), Request(tag="dev", digest=DIGEST)]

    assert make_universe([], asked, {}) == make_universe([], reversed(asked), {})


def test_the_candidates_that_satisfy_a_request() -> None:
    universe = make_universe(["v1.0.0", "v1.1.0", "v2.0.0-rc.1"], [Request(tag="main")], {})
    main, first, second, _ = (bit(i) for i in range(4))

    assert universe.answering(Request()) == first | second
    assert universe.answering(Request(parse_constraint("<1.1"))) == first
    assert universe.answering(Request(tag="main")) == main
    assert universe.answering(Request(tag="v1.1.0")) == second
    assert universe.answering(Request(digest=DIGEST)) == 0


def test_a_tag_with_a_digest_is_answered_by_both_together() -> None:
    both = Request(tag="v1.0.0", digest=DIGEST)

    assert candidate("v1.0.0", DIGEST).answers(both)
    assert not candidate("v1.0.0").answers(both)
    assert not candidate("v1.1.0", DIGEST).answers(both)


def test_sets_of_candidates() -> None:
    universe = make_universe(["v1.0.0", "v1.1.0", "v2.0.0"], [], {})

    assert universe.everything == bit(0) | bit(1) | bit(2) | ABSENT
    assert universe.everything & ANYTHING == universe.everything
    assert [str(item) for item in universe.members(bit(0) | bit(2) | ABSENT)] == ["v2.0.0", "v1.0.0"]
    assert highest(bit(0) | bit(2) | ABSENT) == 2


def test_a_candidate_of_an_earlier_run_is_found_again_among_the_allowed() -> None:
    universe = make_universe(["v1.0.0", "v1.1.0"], [], {})

    assert universe.index(candidate("v1.1.0"), universe.everything) == 1
    assert universe.index(candidate("v1.1.0", DIGEST), universe.everything) == 1
    assert universe.index(candidate("v1.1.0"), bit(0)) is None
    assert universe.index(Candidate(None, digest=DIGEST), universe.everything) is None
