"""What answers a dependency: what it names, what replaced that, or what another folder provides."""

from rig.builders.locks import deactivated, lock, needs, package, provided, replaced, source

from render.lock.graph import Serving
from render.lock.model import Lock, LockedDependency
from render.references import Source


def served(made: Lock, dependant: str, name: str) -> list[str]:
    return [target.source.name for target in Serving(made).targets(source(dependant), needs(f"{name} *"))]


def answered(made: Lock, dependant: str, name: str) -> bool:
    return Serving(made).answers(source(dependant), needs(f"{name} *"))


def test_a_package_answers_for_itself() -> None:
    made = lock([package("app v1.0.0", "net *"), package("net v1.0.0")])

    assert served(made, "app", "net") == ["net"]
    assert answered(made, "app", "net")


def test_what_is_not_there_is_not_answered() -> None:
    made = lock([package("app v1.0.0")], deactivated=[deactivated("net v1.0.0", "app")])

    assert served(made, "app", "gone") == []
    assert not answered(made, "app", "gone")
    # Nobody depends on what is switched off.
    assert not answered(made, "app", "net")


def test_what_took_the_place_of_a_source_answers_for_it() -> None:
    made = lock([package("app v1.0.0"), package("net v1.0.0", replaces=(replaced("old", "plain"),))])

    assert served(made, "app", "old") == ["net"]


def test_all_that_took_the_place_of_a_source_answer_for_it() -> None:
    parts = [package(f"{name} v1.0.0", replaces=(replaced("old"),)) for name in ("c", "a", "b")]

    assert served(lock([package("app v1.0.0"), *parts]), "app", "old") == ["a", "b", "c"]


def test_an_alias_answers_for_both_of_its_sources() -> None:
    alias = package("net v1.0.0", installed_as=source("old"), replaces=(replaced("old", "alias"),))
    made = lock([package("app v1.0.0"), alias])

    assert served(made, "app", "old") == served(made, "app", "net") == ["net"]


def test_a_source_that_is_there_answers_for_itself_whoever_replaced_it() -> None:
    made = lock(
        [package("app v1.0.0"), package("old v1.0.0"), package("net v1.0.0", replaces=(replaced("old"),))]
    )

    assert served(made, "app", "old") == ["old"]


def test_a_package_that_depends_on_what_it_replaced_is_served_by_itself() -> None:
    made = lock([package("net v1.0.0", "old *", replaces=(replaced("old"),))])
    serving, wish = Serving(made), needs("old *")

    assert serving.targets(source("net"), wish) == ()
    assert serving.answers(source("net"), wish)
    assert serving.serves_itself(source("net"), wish)
    assert not serving.serves_itself(source("net"), needs("gone *"))


def test_of_many_that_replaced_a_source_each_is_served_by_the_others() -> None:
    parts = [package(f"{name} v1.0.0", replaces=(replaced("old"),)) for name in ("a", "b")]
    made = lock(parts)

    assert served(made, "a", "old") == ["b"]
    assert not Serving(made).serves_itself(source("a"), needs("old *"))


def test_a_package_that_depends_on_itself_does_so() -> None:
    made = lock([package("net v1.0.0", "net *")])

    assert served(made, "net", "net") == ["net"]
    assert not Serving(made).serves_itself(source("net"), needs("net *"))


def test_another_folder_provides_what_it_has_and_what_that_replaced() -> None:
    made = lock([package("app v1.0.0")], provided=[provided("dns v1.0.0", replaces=(source("old-dns"),))])

    assert served(made, "app", "dns") == served(made, "app", "old-dns") == ["dns"]
    assert served(made, "app", "platform") == []


def test_a_name_without_a_registry_means_another_source_below_another_dependant() -> None:
    there, here = (Source(registry, "acme/net") for registry in ("a.example", "b.example"))
    made = Lock({item: package("net v1.0.0", source=item) for item in (there, here)})
    serving, wish = Serving(made), LockedDependency("net", "*")

    for registry, found in (("a.example", there), ("b.example", here)):
        (target,) = serving.targets(Source(registry, "acme/app"), wish)
        assert target.source == found
