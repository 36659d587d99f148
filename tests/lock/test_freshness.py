"""A lock holds together, or says what does not, naming both sides."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, source

from render.errors import Differs
from render.inputs.projects import Inputs
from render.lock.freshness import StaleLock, check_closure, compare_inputs, require_fresh
from render.lock.model import Lock, LockedDependency, LockedPackage, State
from render.packages import Kind
from render.references import Source
from render.settings import Settings
from render.texts import visible
from render.versions.requests import Request, Root

ACME = "xpkg.example.org/acme"


def changed(made: Lock, name: str, **fields: object) -> Lock:
    item = replace(made.packages[source(name)], **fields)  # type: ignore[arg-type]  # fields of the package
    return replace(made, packages={**made.packages, item.source: item})


def inputs_of(record: Mapping[str, str]) -> Inputs:
    """Inputs that ask for the app of a chain."""
    request = Request(tag="v1.0.0")
    asked = Root(source("app"), request, "app.yaml: spec.package", "acme-app", Kind.PROVIDER)
    return Inputs(Path("project"), (asked,), Settings(), (), (), record)


def chain() -> Lock:
    return lock(
        [
            package("app v1.0.0", "base >=v1.0.0", "net ^1.1"),
            package("base v1.4.0", "net <2.0.0"),
            package("net v1.2.0"),
        ]
    )


def test_a_closure_that_is_whole_has_no_problems() -> None:
    assert check_closure(chain()) == []
    assert check_closure(Lock()) == []


@pytest.mark.parametrize("constraint", [">=v1.3.0", "2.x", "1.2.0-rc.1", digest("ff")])
def test_a_version_that_a_dependant_does_not_accept_is_named_with_the_dependant(constraint: str) -> None:
    broken = lock([package("app v1.0.0", f"net {constraint}"), package("net v1.2.0")])

    assert check_closure(broken) == [
        f"{ACME}/app v1.0.0 accepts {constraint} of {ACME}/net; locked is v1.2.0"
    ]


def test_a_digest_is_accepted_by_that_digest_alone() -> None:
    pinned = digest("ab")

    assert check_closure(lock([package("app v1.0.0", f"net {pinned}"), package(f"net {pinned}")])) == []
    assert check_closure(lock([package("app v1.0.0", "net *"), package(f"net {pinned}")])) == [
        f"{ACME}/app v1.0.0 accepts * of {ACME}/net; locked is {pinned}"
    ]


def test_a_digest_accepts_its_bytes_under_a_tag_though_crossplane_does_not() -> None:
    pinned = digest("ab")
    app = package("app v1.0.0", f"net {pinned}")

    attached, detached = (
        check_closure(lock([replace(app, detached=why), package("net v1.0.0", digest=pinned)]))
        for why in ((), ("a reason",))
    )

    assert attached == [
        f"{ACME}/app has to be detached: it needs {ACME}/net {pinned}, which is installed by its tag"
    ]
    assert detached == []


def test_a_digest_that_a_tag_carries_is_checked_against_the_tag() -> None:
    def with_tag(tag: str) -> Lock:
        # Crossplane would not compare a range with a digest, so whoever has one is detached.
        app = package("app v1.0.0", "net ^1.1", detached=("net is installed by its digest",))
        return lock([app, package(f"net {digest('ab')}", tag=tag)])

    assert check_closure(with_tag("v1.5.0")) == []
    for tag in ("v2.0.0", "latest"):
        assert check_closure(with_tag(tag)) == [
            f"{ACME}/app v1.0.0 accepts ^1.1 of {ACME}/net; locked is {digest('ab')}"
        ]


def test_a_dependency_that_is_missing_is_named_with_who_needs_it() -> None:
    whole = chain()
    broken = replace(
        whole, packages={key: value for key, value in whole.packages.items() if key != source("net")}
    )

    assert check_closure(broken) == [
        f"{ACME}/app v1.0.0 needs {ACME}/net (^1.1), which is not in the lock",
        f"{ACME}/base v1.4.0 needs {ACME}/net (<2.0.0), which is not in the lock",
    ]


@pytest.mark.parametrize(
    "text", ["net", "acme/net", "xpkg.example.org/acme/net", "XPKG.example.org:443/acme/net"]
)
def test_a_dependency_is_found_however_it_is_written(text: str) -> None:
    made = changed(chain(), "app", dependencies=(LockedDependency(text, "^1.1"),))

    # Only base is no longer needed; net is.
    assert check_closure(made) == [
        f"{ACME}/base is requiredBy {ACME}/app, which does not depend on it",
        f"{ACME}/base is in the lock, but nothing asks for it",
    ]


@pytest.mark.parametrize(
    ("required_by", "problem"),
    [
        ((f"{ACME}/app",), f"{ACME}/base needs {ACME}/net, whose requiredBy does not say so"),
        (
            (f"{ACME}/app", f"{ACME}/base", f"{ACME}/web"),
            f"{ACME}/net is requiredBy {ACME}/web, which does not depend on it",
        ),
    ],
)
def test_who_requires_a_package_must_be_right(required_by: tuple[str, ...], problem: str) -> None:
    assert check_closure(changed(chain(), "net", required_by=required_by)) == [problem]


SERVED = "served elsewhere"


def moved(*constraints: str, new: str = "v2.0.0") -> Lock:
    """App needs a source that net has taken the place of."""
    app = package("app v1.0.0", *(f"old {text}" for text in constraints), detached=(SERVED,))
    return lock([app, package(f"net {new}", replaces=(replaced("old"),))])


def test_what_replaced_a_source_answers_for_it_and_is_required_by_its_dependants() -> None:
    made = moved(">=v1.0.0")

    assert check_closure(made) == []
    assert made.packages[source("net")].required_by == (f"{ACME}/app",)
    assert check_closure(changed(made, "net", required_by=())) == [
        f"{ACME}/app needs {ACME}/net, whose requiredBy does not say so"
    ]


def test_what_replaced_a_source_has_to_suit_its_dependants() -> None:
    assert check_closure(moved("<v2.0.0")) == [
        f"{ACME}/app v1.0.0 accepts <v2.0.0 of {ACME}/old, served by {ACME}/net; locked is v2.0.0"
    ]


def test_a_source_that_became_many_needs_all_of_them_to_suit() -> None:
    app = package("app v1.0.0", "old ^1", detached=(SERVED,))
    parts = [package(f"net-{name} v1.{name}.0", replaces=(replaced("old"),)) for name in "12"]
    late = package("net-3 v3.0.0", replaces=(replaced("old"),))

    assert check_closure(lock([app, *parts])) == []
    assert check_closure(lock([app, *parts, late])) == [
        f"{ACME}/app v1.0.0 accepts ^1 of {ACME}/old, served by {ACME}/net-3; locked is v3.0.0"
    ]


def test_a_package_that_depends_on_what_it_replaced_is_no_circle_but_detached() -> None:
    net = package("net v1.0.0", "old >=v9", replaces=(replaced("old"),))

    assert check_closure(lock([replace(net, detached=(SERVED,))])) == []
    assert check_closure(lock([net])) == [
        f"{ACME}/net has to be detached: it needs {ACME}/old, whose place it has taken"
    ]


def test_what_another_folder_provides_is_there_and_has_to_suit() -> None:
    def with_dns(version: str) -> Lock:
        return lock([package("app v1.0.0", "dns ^1")], provided=[provided(f"dns {version}")])

    assert check_closure(with_dns("v1.0.0")) == []
    assert check_closure(with_dns("v2.0.0")) == [
        f"{ACME}/app v1.0.0 accepts ^1 of {ACME}/dns; ../platform provides v2.0.0"
    ]


def test_what_is_switched_off_is_not_there() -> None:
    made = lock(
        [package("app v1.0.0", "old *"), package("net v1.0.0", replaces=(replaced("other"),))],
        deactivated=[deactivated("old v1.0.0", "net")],
    )

    assert check_closure(made) == [
        f"{ACME}/app v1.0.0 needs {ACME}/old (*), which is not in the lock",
        f"{ACME}/old is replacedBy {ACME}/net, which does not replace it",
    ]


def test_an_orphan_needs_nobody_to_ask_for_it_and_neither_does_what_it_needs() -> None:
    orphans = lock(
        [
            package("app v1.0.0"),
            package("mesh v1.0.0", "net *", state=State.ORPHANED),
            package("net v1.0.0", state=State.ORPHANED),
        ]
    )
    without_state = changed(orphans, "mesh", state=State.WANTED)

    assert check_closure(orphans) == []
    assert f"{ACME}/mesh is in the lock, but nothing asks for it" in check_closure(without_state)


def test_an_orphan_still_counts_as_a_dependant() -> None:
    mesh = package("mesh v1.0.0", "net <v2", state=State.ORPHANED)

    assert check_closure(lock([mesh, package("net v2.0.0")])) == [
        f"{ACME}/mesh v1.0.0 accepts <v2 of {ACME}/net; locked is v2.0.0"
    ]


def test_who_is_detached_is_asked_only_of_a_lock_that_is_whole() -> None:
    named = package("net v1.0.0", object_name="my-net")

    whole = check_closure(lock([package("app v1.0.0", "net *"), named]))
    broken = check_closure(lock([package("app v1.0.0", "net *", "gone *"), named]))

    assert whole == [f"{ACME}/app has to be detached: it needs {ACME}/net, whose object is named my-net"]
    assert broken == [f"{ACME}/app v1.0.0 needs {ACME}/gone (*), which is not in the lock"]


def test_a_package_that_nobody_asks_for_is_told() -> None:
    alone = changed(lock([package("app v1.0.0"), package("web v1.0.0")]), "web", root=None)

    assert check_closure(alone) == [f"{ACME}/web is in the lock, but nothing asks for it"]


def test_packages_that_only_ask_for_each_other_are_told() -> None:
    island = lock([package("app v1.0.0"), package("a v1.0.0", "b *"), package("b v1.0.0", "a *")])

    problems = check_closure(island)

    assert problems[:2] == [
        f"{ACME}/a is in the lock, but nothing asks for it",
        f"{ACME}/b is in the lock, but nothing asks for it",
    ]
    assert problems[2].startswith("packages need each other in a circle: ")
    assert len(problems) == 3


def test_a_circle_is_shown_whole() -> None:
    circle = lock(
        [package("a v1.0.0", "b *", root="v1.0.0"), package("b v1.0.0", "c *"), package("c v1.0.0", "a *")]
    )

    (problem,) = check_closure(circle)

    named = problem.removeprefix("packages need each other in a circle: ").split(" needs ")
    assert named[0] == named[-1]
    assert {*named} == {f"{ACME}/a", f"{ACME}/b", f"{ACME}/c"}
    assert all((here, there) in {("a", "b"), ("b", "c"), ("c", "a")} for here, there in _steps(named))


def test_a_large_circle_is_not_cut_when_it_is_shown() -> None:
    names = [f"configuration-with-a-long-name-{i:02}" for i in range(20)]
    following = [*names[1:], names[0]]
    circle = lock(
        [
            package(f"{name} v1.0.0", f"{other} *", **({"root": "v1.0.0"} if name == names[0] else {}))
            for name, other in zip(names, following, strict=True)
        ]
    )

    problems = check_closure(circle)

    assert all(any(f"{ACME}/{name}" in visible(problem) for problem in problems) for name in names)
    assert all(visible(problem) == problem for problem in problems)


def _steps(named: list[str]) -> list[tuple[str, str]]:
    short = [name.rpartition("/")[2] for name in named]
    return list(pairwise(short))


def test_a_tag_that_is_no_version_suits_no_constraint() -> None:
    broken = lock([package("app v1.0.0", "net *"), package("net latest", digest=digest("ab"))])

    assert check_closure(broken) == [f"{ACME}/app v1.0.0 accepts * of {ACME}/net; locked is latest"]


def test_inputs_that_changed_are_named() -> None:
    made = Lock({}, {"same": digest("a"), "other": digest("b"), "gone": digest("c")})

    assert compare_inputs(made, {"same": digest("a"), "other": digest("bb"), "new": digest("d")}) == [
        "gone was removed",
        "new was added",
        "other changed",
    ]
    assert compare_inputs(made, made.inputs) == []


def test_a_stale_lock_tells_every_reason_and_the_command() -> None:
    made = replace(chain(), inputs={"root Provider/app": digest("a")})
    broken = changed(made, "net", version="v2.0.0")

    with pytest.raises(StaleLock) as caught:
        require_fresh(broken, inputs_of({"root Provider/app": digest("b")}), place="crossplane.lock.yaml")

    assert isinstance(caught.value, Differs)
    assert caught.value.exit_code == 3
    assert caught.value.why == (
        "root Provider/app changed",
        f"{ACME}/app v1.0.0 accepts ^1.1 of {ACME}/net; locked is v2.0.0",
        f"{ACME}/base v1.4.0 accepts <2.0.0 of {ACME}/net; locked is v2.0.0",
    )
    assert "xplock lock" in caught.value.next[0]


def test_of_many_reasons_the_first_are_shown() -> None:
    record = {f"root {number:04}": digest("a") for number in range(3_000)}

    with pytest.raises(StaleLock) as caught:
        require_fresh(chain(), inputs_of(record), place="crossplane.lock.yaml")

    assert caught.value.why[0] == "root 0000 was added"
    assert caught.value.why[20:] == ("… and 2,980 more",)


def test_a_fresh_lock_is_accepted() -> None:
    require_fresh(chain(), inputs_of({}), place="crossplane.lock.yaml")


def test_packages_of_other_registries_are_told_apart() -> None:
    twin = LockedPackage(
        Source("ghcr.io", "acme/net"),
        "v1.2.0",
        digest("ab"),
        chain().packages[source("net")].kind,
        "net",
        root="v1",
    )
    made = chain()

    assert check_closure(replace(made, packages={**made.packages, twin.source: twin})) == []
