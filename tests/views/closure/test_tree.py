"""The closure as a tree."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import deactivated, digest_of_name, lock, lock_of, package, provided, replaced, source
from rig.builders.random_locks import small_locks

from render.lock.model import Lock, State
from render.views.closure import tree
from render.views.closure.tree import TreeTooLarge, TreeView, format_tree, tree_document

SHOP = lock_of(
    {
        "shop v1.0.0": {"network": "^1.0", "provider-store": ">=v1.0.0 <v2.0.0", "function-ready": "*"},
        "network v1.2.0": {"provider-net": ">=v0.4.0", "function-ready": ">=v0.2.0"},
        "provider-store v1.1.0": {},
        "provider-net v0.4.0": {},
        "function-ready v0.2.0": {},
    },
    {"shop": "v1.0.0", "provider-store": ">=v1"},
)
# A diamond whose lower half has something below it.
DIAMOND = lock_of(
    {
        "app v1.0.0": {"left": "*", "right": "*"},
        "left v1.0.0": {"shared": "*"},
        "right v1.0.0": {"shared": "*"},
        "shared v1.0.0": {"provider-net": "*"},
        "provider-net v1.0.0": {},
    },
    {"app": "*"},
)


def chain(length: int) -> Lock:
    """Return packages that each need the next."""
    names = [f"p{i:04}" for i in range(length)]
    needs = {f"{name} v1.0.0": {following: "*"} for name, following in pairwise(names)}
    return lock_of({**needs, f"{names[-1]} v1.0.0": {}}, {names[0]: "*"})


def shortened(text: str) -> str:
    """Return a tree without what all its sources have in common."""
    return text.replace("xpkg.example.org/acme/", "")


def test_dependencies_are_below_their_dependants_with_version_kind_and_marks() -> None:
    text = format_tree(SHOP, TreeView())

    assert (
        text
        == """\
xpkg.example.org/acme/provider-store v1.1.0 [Provider, asked for]
xpkg.example.org/acme/shop v1.0.0 [Configuration, asked for]
├── xpkg.example.org/acme/function-ready v0.2.0 [Function, shared]
├── xpkg.example.org/acme/network v1.2.0 [Configuration]
│   ├── xpkg.example.org/acme/function-ready v0.2.0 [Function, shared]
│   └── xpkg.example.org/acme/provider-net v0.4.0 [Provider]
└── xpkg.example.org/acme/provider-store v1.1.0 [Provider, asked for]
"""
    )


def test_constraints_are_in_parentheses_behind_the_package_they_are_about() -> None:
    text = format_tree(SHOP, TreeView(constraints=True))

    assert (
        shortened(text)
        == """\
provider-store v1.1.0 [Provider, asked for] (required: >=v1)
shop v1.0.0 [Configuration, asked for] (required: v1.0.0)
├── function-ready v0.2.0 [Function, shared] (required: *)
├── network v1.2.0 [Configuration] (required: ^1.0)
│   ├── function-ready v0.2.0 [Function, shared] (required: >=v0.2.0)
│   └── provider-net v0.4.0 [Provider] (required: >=v0.4.0)
└── provider-store v1.1.0 [Provider, asked for] (required: >=v1.0.0 <v2.0.0)
"""
    )


def test_a_package_is_written_out_once_and_starred_from_then_on() -> None:
    text = format_tree(DIAMOND, TreeView())

    assert (
        shortened(text)
        == """\
app v1.0.0 [Configuration, asked for]
├── left v1.0.0 [Configuration]
│   └── shared v1.0.0 [Configuration, shared]
│       └── provider-net v1.0.0 [Provider]
└── right v1.0.0 [Configuration]
    └── shared v1.0.0 [Configuration, shared] (*)
"""
    )


def test_without_dedupe_it_is_written_out_every_time() -> None:
    text = format_tree(DIAMOND, TreeView(dedupe=False))

    assert (
        shortened(text)
        == """\
app v1.0.0 [Configuration, asked for]
├── left v1.0.0 [Configuration]
│   └── shared v1.0.0 [Configuration, shared]
│       └── provider-net v1.0.0 [Provider]
└── right v1.0.0 [Configuration]
    └── shared v1.0.0 [Configuration, shared]
        └── provider-net v1.0.0 [Provider]
"""
    )


def test_inverted_it_starts_from_one_package_and_climbs_to_its_dependants() -> None:
    text = format_tree(SHOP, TreeView(inverted=True, start=source("function-ready"), constraints=True))

    assert (
        shortened(text)
        == """\
function-ready v0.2.0 [Function, shared]
├── network v1.2.0 [Configuration] (requires: >=v0.2.0)
│   └── shop v1.0.0 [Configuration, asked for] (requires: ^1.0)
└── shop v1.0.0 [Configuration, asked for] (requires: *)
"""
    )


def test_inverted_without_a_package_it_starts_from_all_that_need_nothing() -> None:
    text = format_tree(SHOP, TreeView(inverted=True))

    assert (
        shortened(text)
        == """\
function-ready v0.2.0 [Function, shared]
├── network v1.2.0 [Configuration]
│   └── shop v1.0.0 [Configuration, asked for]
└── shop v1.0.0 [Configuration, asked for]
provider-net v0.4.0 [Provider]
└── network v1.2.0 [Configuration] (*)
provider-store v1.1.0 [Provider, asked for]
└── shop v1.0.0 [Configuration, asked for]
"""
    )


@pytest.mark.parametrize(("depth", "lines"), [(0, 1), (1, 3), (2, 5), (3, 6), (99, 6)])
def test_depth_counts_the_levels_below_the_first(depth: int, lines: int) -> None:
    text = format_tree(DIAMOND, TreeView(depth=depth))

    assert len(text.splitlines()) == lines


def test_what_a_limit_cut_short_is_written_out_where_there_is_room() -> None:
    lock = lock_of(
        {
            "a v1.0.0": {"z": "*"},
            "z v1.0.0": {"network": "*"},
            "network v1.0.0": {"provider-net": "*"},
            "provider-net v1.0.0": {},
        },
        {"a": "*", "z": "*"},
    )

    text = format_tree(lock, TreeView(depth=2))

    assert (
        shortened(text)
        == """\
a v1.0.0 [Configuration, asked for]
└── z v1.0.0 [Configuration, asked for]
    └── network v1.0.0 [Configuration]
z v1.0.0 [Configuration, asked for]
└── network v1.0.0 [Configuration]
    └── provider-net v1.0.0 [Provider]
"""
    )


def test_inverted_nobody_is_above_the_first_package_to_require_it() -> None:
    view = TreeView(inverted=True, start=source("provider-store"), depth=0, constraints=True)

    text = format_tree(SHOP, view)

    assert shortened(text) == "provider-store v1.1.0 [Provider, asked for]\n"


def test_nothing_in_a_lock_reaches_the_terminal_unseen() -> None:
    lock = lock_of({"app v1.0.0": {}}, {"app": "\x1b[2J\u202e"})

    text = format_tree(lock, TreeView(constraints=True))

    assert shortened(text) == "app v1.0.0 [Configuration, asked for] (required: \\x1b[2J\\u202e)\n"


def test_a_package_locked_by_digest_shows_the_tag_that_carries_it() -> None:
    lock = lock_of({"app v1.0.0@sha256": {}, "net sha256": {}}, {"app": "*", "net": "*"})

    text = format_tree(lock, TreeView())

    assert (
        shortened(text)
        == f"""\
app v1.0.0@{digest_of_name("app")[:19]}… [Configuration, asked for]
net {digest_of_name("net")[:19]}… [Configuration, asked for]
"""
    )


def test_a_chain_of_thousands_is_no_trouble() -> None:
    lines = format_tree(chain(3_000), TreeView()).splitlines()

    assert len(lines) == 3_000
    assert lines[-1] == " " * 4 * 2_998 + "└── xpkg.example.org/acme/p2999 v1.0.0 [Configuration]"


def test_a_wide_package_has_one_line_for_each_dependency() -> None:
    names = [f"provider-{i:03}" for i in range(1_000)]
    lock = lock_of(
        {"app v1.0.0": dict.fromkeys(names, "*")} | {f"{name} v1.0.0": {} for name in names}, {"app": "*"}
    )

    lines = shortened(format_tree(lock, TreeView())).splitlines()

    assert lines[1:-1] == [f"├── {name} v1.0.0 [Provider]" for name in names[:-1]]
    assert lines[-1] == "└── provider-999 v1.0.0 [Provider]"


def test_a_tree_that_repeats_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Sixty diamonds on top of each other: 2**60 ways down.
    layers = {f"a{i} v1.0.0": {f"b{i}": "*", f"c{i}": "*"} for i in range(60)}
    sides = {f"{side}{i} v1.0.0": {f"a{i + 1}": "*"} for i in range(60) for side in "bc"}
    lock = lock_of({**layers, **sides, "a60 v1.0.0": {}}, {"a0": "*"})
    monkeypatch.setattr(tree, "_MOST_CHARACTERS", 1 << 20)

    with pytest.raises(TreeTooLarge) as raised:
        format_tree(lock, TreeView(dedupe=False))

    assert raised.value.next == ("limit it with --depth N, or leave out --no-dedupe",)


def test_a_tree_too_deep_to_read_is_refused_without_wrong_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_MOST_CHARACTERS", 1_000)

    with pytest.raises(TreeTooLarge) as raised:
        format_tree(chain(50), TreeView())

    assert raised.value.next == ("limit it with --depth N",)


@pytest.mark.parametrize("dedupe", [True, False])
def test_a_circle_is_shown_once_around(dedupe: bool) -> None:
    lock = lock_of({"a v1.0.0": {"b": "*"}, "b v1.0.0": {"a": "*"}}, {})

    text = format_tree(lock, TreeView(dedupe=dedupe))

    assert (
        shortened(text)
        == """\
a v1.0.0 [Configuration]
└── b v1.0.0 [Configuration]
    └── a v1.0.0 [Configuration] (*)
"""
    )


def test_an_empty_lock_has_an_empty_tree() -> None:
    assert format_tree(Lock(), TreeView()) == ""


def test_the_document_lists_every_package_once_with_its_links() -> None:
    document = tree_document(DIAMOND, TreeView())

    assert (document["inverted"], document["tops"]) == (False, ["xpkg.example.org/acme/app"])
    assert [package["source"].rpartition("/")[2] for package in document["packages"]] == [
        "app",
        "left",
        "provider-net",
        "right",
        "shared",
    ]
    assert document["packages"][-1] == {
        "source": "xpkg.example.org/acme/shared",
        "installedAs": None,
        "version": "v1.0.0",
        "tag": "v1.0.0",
        "digest": digest_of_name("shared"),
        "kind": "Configuration",
        "object": "acme-shared",
        "askedFor": None,
        "marks": ["shared"],
        "state": "wanted",
        "released": False,
        "replaces": [],
        "replacedBy": [],
        "detached": [],
        "staleEntry": [],
        "dependencies": [
            {
                "source": "xpkg.example.org/acme/provider-net",
                "constraints": ["*"],
                "insteadOf": [],
                "crds": [],
            }
        ],
        "requiredBy": ["xpkg.example.org/acme/left", "xpkg.example.org/acme/right"],
    }


def served() -> Lock:
    """Return a lock in which much has moved, and much is leaving."""
    return lock(
        [
            # Its name is the user's as well, which matters to nobody.
            package(
                "app v1.0.0",
                "net >=v1",
                "dns *",
                object_name="my-app",
                detached=("it needs dns, which is detached",),
            ),
            package(
                "mesh v2.0.0",
                installed_as=source("net"),
                object_name="acme-net",
                replaces=(replaced("net", "alias"),),
            ),
            package("store v3.0.0", "dns *", object_name="my-store", replaces=(replaced("disk"),)),
            package("user v1.0.0", "store *", detached=("it needs store, whose object is named my-store",)),
            package("gone v1.0.0", "part *", state=State.ORPHANED),
            package("part v1.0.0", state=State.ORPHANED, released=True),
        ],
        deactivated=[deactivated("disk v1.0.0", "store", released=True), deactivated("cd v1.0.0", "store")],
        provided=[
            provided("dns v1.5.0", detached=True, installed_as=source("bind"), object_name="acme-bind")
        ],
    )


def test_all_that_has_moved_or_is_leaving_is_marked_and_what_is_off_comes_last() -> None:
    text = format_tree(served(), TreeView(constraints=True))

    assert (
        shortened(text)
        == """\
app v1.0.0 [Provider, asked for, detached] (required: v1.0.0)
├── dns v1.5.0 [Provider, provided by ../platform, shared, alias of bind, detached] (required: *)
└── mesh v2.0.0 [Provider, alias of net] (required: >=v1, for net)
user v1.0.0 [Provider, asked for, detached] (required: v1.0.0)
└── store v3.0.0 [Provider, named my-store] (required: *)
    └── dns v1.5.0 [Provider, provided by ../platform, shared, alias of bind, detached] (required: *)
gone v1.0.0 [Provider, orphaned]
└── part v1.0.0 [Provider, orphaned, released] (required: *)
Switched off until retired (2)
    cd v1.0.0 [Provider, off] replaced by store
    disk v1.0.0 [Provider, off, released] replaced by store
"""
    )


def test_inverted_it_also_starts_from_what_others_provide() -> None:
    text = format_tree(served(), TreeView(inverted=True))

    assert (
        shortened(text)
        == """\
mesh v2.0.0 [Provider, alias of net]
└── app v1.0.0 [Provider, asked for, detached] (as net)
part v1.0.0 [Provider, orphaned, released]
└── gone v1.0.0 [Provider, orphaned]
dns v1.5.0 [Provider, provided by ../platform, shared, alias of bind, detached]
├── app v1.0.0 [Provider, asked for, detached]
└── store v3.0.0 [Provider, named my-store]
    └── user v1.0.0 [Provider, asked for, detached]
Switched off until retired (2)
    cd v1.0.0 [Provider, off] replaced by store
    disk v1.0.0 [Provider, off, released] replaced by store
"""
    )


def test_from_one_package_only_what_has_to_do_with_it_is_shown() -> None:
    text = format_tree(served(), TreeView(inverted=True, start=source("dns"), depth=0))

    assert shortened(text) == (
        "dns v1.5.0 [Provider, provided by ../platform, shared, alias of bind, detached]\n"
    )


def test_the_document_has_lists_of_what_is_provided_and_what_is_off() -> None:
    document = tree_document(served(), TreeView())

    (dns,), (cd, disk) = document["provided"], document["deactivated"]
    app, _, mesh, *_ = document["packages"]
    assert (dns["folder"], dns["installedAs"], dns["detached"]) == ("../platform", str(source("bind")), True)
    assert dns["requiredBy"] == [str(source("app")), str(source("store"))]
    assert [(off["source"], off["released"], off["replacedBy"]) for off in (cd, disk)] == [
        (str(source("cd")), False, [str(source("store"))]),
        (str(source("disk")), True, [str(source("store"))]),
    ]
    assert app["dependencies"][1] == {
        "source": str(source("mesh")),
        "constraints": [">=v1"],
        "insteadOf": [str(source("net"))],
        "crds": [],
    }
    assert mesh["installedAs"] == str(source("net"))
    assert mesh["replaces"] == [{"source": str(source("net")), "strategy": "alias", "consent": "moves"}]
    assert tree_document(served(), TreeView(start=source("app"), inverted=True))["deactivated"] == []


@pytest.mark.parametrize(
    ("view", "tops", "shown"),
    [
        (TreeView(depth=0), ["app"], ["app"]),
        (TreeView(depth=1), ["app"], ["app", "left", "right"]),
        (TreeView(inverted=True, start=source("left")), ["left"], ["app", "left"]),
        (TreeView(inverted=True, depth=1), ["provider-net"], ["provider-net", "shared"]),
    ],
)
def test_the_document_holds_what_the_tree_would_show(
    view: TreeView, tops: list[str], shown: list[str]
) -> None:
    document = tree_document(DIAMOND, view)

    assert [source.rpartition("/")[2] for source in document["tops"]] == tops
    assert [package["source"].rpartition("/")[2] for package in document["packages"]] == shown


@given(small_locks(), st.booleans(), st.booleans())
def test_every_package_is_in_the_tree(lock: Lock, inverted: bool, dedupe: bool) -> None:
    text = format_tree(lock, TreeView(inverted=inverted, dedupe=dedupe))

    shown = {line.split("xpkg.")[1].split(" ")[0] for line in text.splitlines()}
    assert shown == {str(source).removeprefix("xpkg.") for source in lock.packages}


@given(small_locks(), st.booleans())
def test_every_link_is_in_the_tree_exactly_once(lock: Lock, inverted: bool) -> None:
    text = format_tree(lock, TreeView(inverted=inverted))

    links = sum(len(package.dependencies) for package in lock.packages.values())
    assert sum("── " in line for line in text.splitlines()) == links


@given(small_locks(), st.booleans(), st.integers(0, 4))
def test_a_tree_of_some_depth_shows_exactly_what_is_that_near(lock: Lock, inverted: bool, depth: int) -> None:
    view = TreeView(inverted=inverted, depth=depth)

    text = format_tree(lock, view)

    shown = {line.split("xpkg.")[1].split(" ")[0] for line in text.splitlines()}
    document = tree_document(lock, view)
    assert shown == {package["source"].removeprefix("xpkg.") for package in document["packages"]}
