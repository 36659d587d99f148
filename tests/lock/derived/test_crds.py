"""A lock says which package answers a dependency on a CRD, and whatever cannot be true of that is found offline."""

from dataclasses import replace

import pytest
from rig.builders.locks import lock, package, provided, source

from render.crd_dependencies import AnswerPlace, CrdAnswer, parse_crd
from render.limits import Limits
from render.lock.derived.answers import check_answers
from render.lock.derived.detaching import ON_CRDS
from render.lock.freshness import check_closure
from render.lock.graph import LockGraph
from render.lock.model import Lock
from render.lock.text.format import format_lock
from render.lock.text.parse import InvalidLock, parse_lock
from render.manifests.order import layer_packages
from render.settings import Settings
from render.versions.constraints import parse_constraint
from render.versions.requests import CrdRoot, Request, Root

BUCKET = parse_crd("bucket.s3.example.org/v1")
ACME = "xpkg.example.org/acme"


def answer(name: str, place: str = "catalog", versions: str = "") -> CrdAnswer:
    return CrdAnswer(BUCKET, source(name), AnswerPlace(place), versions)


def answered(*answers: CrdAnswer, groups: tuple[str, ...] = ("s3.example.org",)) -> Lock:
    """Return a lock of `app`, which asks for a CRD, and `s3`."""
    app = package("app v1.0.0", crds=answers, detached=(ON_CRDS,))
    return lock([app, package("s3 v1.0.0", groups=groups)])


def problems(made: Lock, *, named: tuple[str, ...] = ("app",)) -> list[str]:
    """Return what is wrong with a lock whose user asks for some packages by name."""
    roots = [Root(source(name), Request(tag="v1.0.0"), f"{name}.yaml") for name in named]
    return check_closure(made) or check_answers(LockGraph(made), roots, Settings())


def test_a_lock_with_an_answer_is_written_read_and_holds_together() -> None:
    made = answered(answer("s3", versions="<2.0.0"))
    text = format_lock(made)

    assert parse_lock(text, Limits(), place="lock") == made
    assert problems(made) == []
    assert (
        "  crds:\n"
        "  - crd: bucket.s3.example.org/v1\n"
        '    version: "<2.0.0"\n'
        f"    answeredBy: {ACME}/s3\n"
        "    from: catalog\n"
    ) in text
    assert f'requiredBy:\n  - "crd bucket.s3.example.org/v1 (of {ACME}/app)"' in text


def test_a_package_that_answers_comes_before_its_dependant() -> None:
    layers = layer_packages(answered(answer("s3")).in_order())

    assert [[package.source.name for package in layer] for layer in layers] == [["s3"], ["app"]]


def test_a_package_may_answer_itself() -> None:
    app = package(
        "app v1.0.0", crds=(answer("app", "closure"),), groups=("s3.example.org",), detached=(ON_CRDS,)
    )

    assert problems(lock([app])) == []


def test_an_answer_of_another_folder_counts() -> None:
    app = package("app v1.0.0", crds=(answer("s3", "closure"),), detached=(ON_CRDS,))

    assert check_closure(lock([app], provided=[provided("s3 v1.0.0")])) == []


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (
            replace(
                answered(answer("s3")),
                packages={s: p for s, p in answered(answer("s3")).packages.items() if s == source("app")},
            ),
            f"{ACME}/app v1.0.0 needs bucket.s3.example.org/v1, answered by {ACME}/s3, which is not in the lock",
        ),
        (
            answered(answer("s3"), groups=("sqs.example.org",)),
            f"{ACME}/s3 answers bucket.s3.example.org/v1 of {ACME}/app, and defines nothing in s3.example.org",
        ),
        (
            answered(answer("s3", versions=">=2.0.0")),
            f"{ACME}/app v1.0.0 accepts >=2.0.0 of {ACME}/s3; locked is v1.0.0",
        ),
        (answered(answer("s3"), answer("s3")), f"{ACME}/app crds has {answer('s3')} twice"),
    ],
)
def test_an_answer_that_cannot_be_true_is_found(made: Lock, problem: str) -> None:
    assert problem in check_closure(made)


def test_a_package_with_a_dependency_on_a_crd_is_detached() -> None:
    made = lock(
        [package("app v1.0.0", crds=(answer("s3"),)), package("s3 v1.0.0", groups=("s3.example.org",))]
    )

    assert check_closure(made) == [f"{ACME}/app has to be detached: {ON_CRDS}"]


def test_a_wrong_place_is_found() -> None:
    [wrong] = problems(answered(answer("s3", "closure")))

    assert wrong == f"bucket.s3.example.org/v1 is answered by {ACME}/s3 of the catalog; the lock says closure"


def test_a_package_that_is_asked_for_by_name_answers_from_the_closure() -> None:
    made = answered(answer("s3", "closure"))
    asked = replace(made.packages[source("s3")], root="v1.0.0")
    made = replace(made, packages={**made.packages, asked.source: asked})

    assert problems(made, named=("app", "s3")) == []


def test_who_requires_a_package_for_a_crd_has_to_be_said() -> None:
    made = answered(answer("s3"))
    bare = replace(made.packages[source("s3")], required_by=())

    wrong = check_closure(replace(made, packages={**made.packages, bare.source: bare}))

    assert wrong == [
        f"crd bucket.s3.example.org/v1 (of {ACME}/app) needs {ACME}/s3, whose requiredBy does not say so"
    ]


class TestOfTheUser:
    """CRDs that the user asks for."""

    ASKED = (CrdRoot(BUCKET, "install.yaml: spec.crd", parse_constraint("<2.0.0")),)

    def made(self, *answers: CrdAnswer) -> Lock:
        return replace(lock([package("s3 v1.0.0", groups=("s3.example.org",), root="<2.0.0")]), crds=answers)

    def check(self, made: Lock, asked: tuple[CrdRoot, ...]) -> list[str]:
        return check_closure(made) or check_answers(LockGraph(made), (), Settings(), asked)

    def test_the_answer_is_a_root(self) -> None:
        made = self.made(answer("s3", versions="<2.0.0"))

        assert self.check(made, self.ASKED) == []
        assert parse_lock(format_lock(made), Limits(), place="lock") == made

    def test_a_crd_without_an_answer_is_found(self) -> None:
        wrong = self.check(self.made(), self.ASKED)

        assert (
            "install.yaml: spec.crd asks for bucket.s3.example.org/v1, which the lock does not answer"
            in wrong
        )

    def test_an_answer_to_nothing_is_found(self) -> None:
        assert "the lock answers bucket.s3.example.org/v1, and no input asks for it" in self.check(
            self.made(answer("s3")), ()
        )

    def test_an_answer_outside_of_the_lock_is_found(self) -> None:
        assert f"bucket.s3.example.org/v1 is answered by {ACME}/gone, which is not in the lock" in self.check(
            self.made(answer("gone")), self.ASKED
        )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("crd: bucket.s3.example.org/v1", "crd: bucket", "'bucket' does not name a CRD"),
        (
            "crd: bucket.s3.example.org/v1",
            "crd: Bucket.s3.example.org/v1",
            "expected its canonical form bucket.s3",
        ),
        ("from: catalog", "from: thin air", "expected closure or catalog"),
        ("from: catalog", "from: catalog\n    why: 1", "unknown field"),
        (f"answeredBy: {ACME}/s3", "answeredBy: s3", "'s3' is not"),
    ],
)
def test_an_entry_that_cannot_be_read_is_told_with_its_line(old: str, new: str, problem: str) -> None:
    text = format_lock(answered(answer("s3"))).replace(old, new, 1)

    with pytest.raises(InvalidLock) as refused:
        parse_lock(text, Limits(), place="lock")

    assert problem in str(refused.value)
    assert "crds[0]" in str(refused.value)
