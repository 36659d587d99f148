"""The graph of a lock: which package serves a dependency, who depends on whom, and who replaced what."""

from rig.builders.locks import deactivated, lock, needs, package, provided, replaced, source

from render.lock.graph import LockGraph, find_layers, reach
from render.lock.model import Lock, LockedDependency
from render.references import Source


def served(made: Lock, dependant: str, name: str) -> list[str]:
    need = LockGraph(made).need(source(dependant), needs(f"{name} *"))
    return [target.source.name for target in need.targets]


def answered(made: Lock, dependant: str, name: str) -> bool:
    return LockGraph(made).need(source(dependant), needs(f"{name} *")).is_served


def test_a_package_answers_for_itself() -> None:
    made = lock([package("app v1.0.0", "net *"), package("net v1.0.0")])

    assert served(made, "app", "net") == ["net"]
    assert answered(made, "app", "net")


def test_what_is_not_there_is_not_answered() -> None:
    made = lock([package("app v1.0.0")], deactivated=[deactivated("net v1.0.0", "app")])

    assert served(made, "app", "gone") == []
    assert not answered(made, "app", "gone")
    # No package depends on a deactivated one.
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
    graph = LockGraph(made)

    (need,) = graph.needs[source("net")]

    assert need.targets == ()
    assert need.is_served
    assert need.is_self_dependency
    assert not graph.need(source("net"), needs("gone *")).is_self_dependency


def test_of_many_that_replaced_a_source_each_is_served_by_the_others() -> None:
    parts = [package(f"{name} v1.0.0", replaces=(replaced("old"),)) for name in ("a", "b")]
    made = lock(parts)

    assert served(made, "a", "old") == ["b"]
    assert not LockGraph(made).need(source("a"), needs("old *")).is_self_dependency


def test_a_package_that_depends_on_itself_does_so() -> None:
    made = lock([package("net v1.0.0", "net *")])

    assert served(made, "net", "net") == ["net"]
    assert not LockGraph(made).need(source("net"), needs("net *")).is_self_dependency


def test_another_folder_provides_what_it_has_and_what_that_replaced() -> None:
    made = lock([package("app v1.0.0")], provided=[provided("dns v1.0.0", replaces=(source("old-dns"),))])

    assert served(made, "app", "dns") == served(made, "app", "old-dns") == ["dns"]
    assert served(made, "app", "platform") == []


def test_a_name_without_a_registry_means_another_source_below_another_dependant() -> None:
    there, here = (Source(registry, "acme/net") for registry in ("a.example", "b.example"))
    made = Lock({item: package("net v1.0.0", source=item) for item in (there, here)})
    graph, dependency = LockGraph(made), LockedDependency("net", "*")

    for registry, found in (("a.example", there), ("b.example", here)):
        (target,) = graph.need(Source(registry, "acme/app"), dependency).targets
        assert target.source == found


def test_dependants_and_dependencies_are_those_in_the_lock() -> None:
    made = lock(
        [package("app v1.0.0", "old *", "dns *"), package("net v1.0.0", replaces=(replaced("old"),))],
        provided=[provided("dns v1.0.0")],
    )

    graph = LockGraph(made)

    assert graph.dependencies == {source("app"): [source("net")], source("net"): []}
    assert graph.dependants == {source("app"): set(), source("net"): {source("app")}}
    assert graph.needed_from_others == {source("dns")}


def test_successors_are_those_of_this_lock_and_of_other_folders() -> None:
    parts = [package(f"{name} v1.0.0", replaces=(replaced("old", "alias"),)) for name in ("b", "a")]
    made = lock(parts, provided=[provided("dns v1.0.0", replaces=(source("old"),))])

    graph = LockGraph(made)

    assert graph.successors == {source("old"): (source("a"), source("b"), source("dns"))}
    strategies = [one.replaced and one.replaced.strategy for one in graph.records[source("old")]]
    assert strategies == ["alias", "alias", None]


def test_layers_hold_each_node_after_those_it_depends_on() -> None:
    assert find_layers({"a": ["b", "c"], "b": ["c"], "c": []}) == [["a"], ["b"], ["c"]]


def test_layers_leave_out_a_circle_and_everything_that_depends_on_it() -> None:
    assert find_layers({"a": ["b"], "b": ["a", "c"], "c": [], "d": []}) == [["d"]]


def test_what_is_reached_is_bounded_by_the_number_of_steps() -> None:
    steps = {"a": ["b"], "b": ["c"], "c": ["a"]}

    assert [reach(["a"], steps, depth=depth) for depth in (0, 1, 2, None)] == [
        {"a"},
        {"a", "b"},
        {"a", "b", "c"},
        {"a", "b", "c"},
    ]
