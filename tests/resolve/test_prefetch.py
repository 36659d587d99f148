"""The catalog is asked ahead of time, in parallel, once for each question, and not more than needed."""

import logging
import threading
import time

import pytest
from rig.builders.catalogs import (
    FakeCatalog,
    Packages,
    digest_of,
    locked,
    named,
    root,
    solve,
    versions,
    written,
)

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Source
from render.resolve.edges import RefusedPartial, dependency_edges
from render.resolve.model import Edge, Wanted
from render.resolve.prefetch import Fetcher
from render.versions.requests import Request

SECONDS = 120.0

WIDE: Packages = {"app v1.0.0": {f"p{i}": "*" for i in range(6)}, **{f"p{i} v1.0.0": {} for i in range(6)}}


def edges(source: Source, package: Package) -> tuple[Edge, ...]:
    return dependency_edges(source, package, complete=True)


def test_only_versions_that_are_tried_are_fetched() -> None:
    many: Packages = {f"{name} v1.{i}.0": {} for name in ("base", "net") for i in range(50)}
    catalog = FakeCatalog({"app v1.0.0": {"base": "*", "net": "<1.10"}, **many})

    solve(catalog, root("app"))

    assert sorted(catalog.fetched) == ["app v1.0.0", "base v1.49.0", "net v1.9.0"]
    assert sorted(catalog.listed) == ["app", "base", "net"]


def test_a_conflict_fetches_only_the_versions_that_were_tried() -> None:
    many: Packages = {f"app v1.{i}.0": {"base": ">=2.0.0" if i >= 8 else "*"} for i in range(10)}
    catalog = FakeCatalog({**many, "base v1.0.0": {}, "base v2.0.0": {}, "site v1.0.0": {"base": "<2"}})

    resolution = solve(catalog, root("site"), root("app"))

    assert versions(resolution)["app"] == "v1.7.0"
    apps = sorted(what for what in catalog.fetched if what.startswith("app"))
    assert apps == ["app v1.7.0", "app v1.8.0", "app v1.9.0"]


def test_a_locked_closure_needs_one_request_for_each_package() -> None:
    many: Packages = {f"{name} v1.{i}.0": {} for name in ("base", "net") for i in range(9)}
    catalog = FakeCatalog({"app v1.0.0": {"base": "*", "net": "*"}, "app v2.0.0": {}, **many})

    solve(catalog, root("app"), preferred=locked(app="v1.0.0", base="v1.3.0", net="v1.4.0"))

    assert sorted(catalog.fetched) == ["app v1.0.0", "base v1.3.0", "net v1.4.0"]


def test_nothing_is_asked_twice_even_where_the_search_starts_again() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"base": "*", "late": "*"},
            "late v1.0.0": {"base": "sha256:" + "0" * 64},
            "base v1.0.0": {},
        }
    )

    with pytest.raises(RenderError):
        solve(catalog, root("app"))

    assert len(set(catalog.fetched)) == len(catalog.fetched)
    assert len(set(catalog.listed)) == len(catalog.listed)


def test_requests_overlap() -> None:
    together = threading.Barrier(4, timeout=SECONDS)

    def wait_for_others(what: str) -> None:
        if what.startswith("p"):
            together.wait()

    # Eight of one kind, four at a time: whoever asks one by one waits for ever.
    catalog = FakeCatalog(
        {"app v1.0.0": {f"p{i}": "*" for i in range(4)}, **{f"p{i} v1.0.0": {} for i in range(4)}},
        before=wait_for_others,
    )

    assert len(versions(solve(catalog, root("app")))) == 5
    assert catalog.most_at_once >= 4


@pytest.mark.parametrize("constraint", ["*", "v1.0.0", digest_of("second v1.0.0")])
def test_dependencies_of_a_guess_are_asked_for_before_the_search_gets_there(constraint: str) -> None:
    deep_is_asked = threading.Event()

    def slow_sibling(what: str) -> None:
        if what == "deep v1.0.0":
            deep_is_asked.set()
        if what == "first v1.0.0":
            # The search decides on this one first; what lies below the other is on its way meanwhile.
            assert deep_is_asked.wait(SECONDS)

    catalog = FakeCatalog(
        {
            "app v1.0.0": {"first": "*", "second": constraint},
            "first v1.0.0": {},
            "second v1.0.0": {"deep": "*"},
            "deep v1.0.0": {},
        },
        before=slow_sibling,
    )

    assert len(versions(solve(catalog, root("app")))) == 4


def test_no_more_requests_than_the_limit_are_under_way() -> None:
    two_at_once = threading.Event()

    def wait_for_another(_: str) -> None:
        if catalog.most_at_once > 1:
            two_at_once.set()
        # Nothing else is asked before the first answer, so it waits for nobody.
        if len(catalog.listed) > 1:
            assert two_at_once.wait(SECONDS)

    catalog = FakeCatalog(WIDE, before=wait_for_another)

    solve(catalog, root("app"), limits=Limits(parallel=2))

    assert catalog.most_at_once == 2


def test_a_failed_guess_is_not_an_error(caplog: pytest.LogCaptureFixture) -> None:
    def fail(what: str) -> None:
        if what == "p1 v1.0.0":
            raise RenderError("broken")

    catalog = FakeCatalog(WIDE, before=fail)
    with caplog.at_level(logging.DEBUG), Fetcher(catalog, Limits(), edges, Wanted(())) as fetcher:
        fetcher.expect(Edge(named("app"), Request(), None))
        while "p5 v1.0.0" not in catalog.fetched:
            time.sleep(0.001)

    assert not caplog.records


def test_a_refused_dependency_is_one_error_without_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    catalog = FakeCatalog({"app v1.0.0": {"1": written("base")}, "base v1.0.0": {}})

    with caplog.at_level(logging.DEBUG), pytest.raises(RefusedPartial):
        solve(catalog, root("app"), complete_partial=False)

    assert not caplog.records


def test_pending_guesses_are_cancelled_at_the_end() -> None:
    catalog = FakeCatalog(WIDE)
    with Fetcher(catalog, Limits(), edges, Wanted(())) as fetcher:
        pass

    fetcher.expect(Edge(named("app"), Request(), None))

    assert catalog.listed == []


def test_deeper_dependencies_are_asked_for_first() -> None:
    catalog = FakeCatalog(
        {
            "app v1.0.0": {"a": "v1.0.0", "b": "v1.0.0", "c": "v1.0.0"},
            "a v1.0.0": {"deep": "v1.0.0"},
            "b v1.0.0": {},
            "c v1.0.0": {},
            "deep v1.0.0": {"deeper": "v1.0.0"},
            "deeper v1.0.0": {},
        }
    )
    wanted = Wanted((root("app", "v1.0.0"),))

    with Fetcher(catalog, Limits(parallel=1), edges, wanted) as fetcher:
        fetcher.expect(Edge(named("app"), Request(tag="v1.0.0"), None, "here"))
        last = fetcher.tags(named("app"))

    assert last
    assert catalog.fetched[:4] == ["app v1.0.0", "a v1.0.0", "deep v1.0.0", "deeper v1.0.0"]


def test_the_first_dependency_of_each_package_is_asked_for_before_the_second_of_any() -> None:
    pairs, ready = threading.Barrier(2, timeout=SECONDS), threading.Event()

    def wait_for_the_other(what: str) -> None:
        if what.startswith("app"):
            assert ready.wait(SECONDS)
        else:
            pairs.wait()

    catalog = FakeCatalog(
        {
            "app v1.0.0": {"a": "v1.0.0", "b": "v1.0.0"},
            "a v1.0.0": {"a1": "v1.0.0", "a2": "v1.0.0"},
            "b v1.0.0": {"b1": "v1.0.0", "b2": "v1.0.0"},
            **{f"{name} v1.0.0": {} for name in ("a1", "a2", "b1", "b2")},
        },
        before=wait_for_the_other,
    )

    with Fetcher(catalog, Limits(parallel=2), edges, Wanted((root("app", "v1.0.0"),))) as fetcher:
        fetcher.expect(Edge(named("app"), Request(tag="v1.0.0"), None, "here"))
        ready.set()
        while len(catalog.fetched) < 7:
            time.sleep(0.01)

    assert set(catalog.fetched[3:5]) == {"a1 v1.0.0", "b1 v1.0.0"}


def test_a_range_beside_an_exact_version_asks_for_the_tags_ahead() -> None:
    tags_are_asked = threading.Event()

    def note(what: str) -> None:
        if what == "net":
            tags_are_asked.set()

    catalog = FakeCatalog(
        {
            "app v1.0.0": {"net": "v1.0.0", "site": "v1.0.0"},
            "site v1.0.0": {"net": ">=v1.0.0"},
            "net v1.0.0": {},
        },
        before=note,
    )

    with Fetcher(catalog, Limits(parallel=2), edges, Wanted((root("app", "v1.0.0"),))) as fetcher:
        fetcher.expect(Edge(named("app"), Request(tag="v1.0.0"), None, "here"))

        assert tags_are_asked.wait(SECONDS)
