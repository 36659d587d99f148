"""A lock is read only if everything about it is right; what is wrong is told with its line, all at once."""

from collections.abc import Callable

import pytest
from hypothesis import given
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, rich_lock, source
from rig.builders.random_locks import any_locks

from render import __version__
from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.lock.freshness import check_closure
from render.lock.model import Lock
from render.lock.text.format import NewerRevision, format_lock
from render.lock.text.parse import ConflictedLock, DoubledLock, InvalidLock, UnsupportedLock, parse_lock

PLACE = "shop/crossplane.lock.yaml"
TEXT = format_lock(
    lock(
        [package("app v1.0.0", "net >=v1.0.0"), package("net v1.2.0", family="net")],
        {"root Provider/app": digest("aa")},
    )
)

RICH = rich_lock()
RICH_TEXT = format_lock(RICH)


def parse(text: str | bytes, limits: Limits | None = None) -> Lock:
    return parse_lock(text, limits or Limits(), place=PLACE)


def line_of(text: str, wanted: str) -> int:
    return text.splitlines().index(wanted) + 1


@given(any_locks())
def test_what_is_written_is_read_back(any_lock: Lock) -> None:
    text = format_lock(any_lock)

    read = parse(text)

    assert read == any_lock
    assert format_lock(read) == text


def test_line_ends_of_another_system_make_no_difference() -> None:
    assert parse(TEXT.replace("\n", "\r\n")) == parse(TEXT)


@pytest.mark.parametrize("text", [TEXT, RICH_TEXT])
@pytest.mark.parametrize("percent", range(0, 100, 10))
def test_a_lock_that_was_cut_short_is_refused(text: str, percent: int) -> None:
    data = text.encode()

    with pytest.raises(InvalidLock):
        parse(data[: len(data) * percent // 100])


@pytest.mark.parametrize("text", [TEXT, RICH_TEXT])
def test_a_lock_that_lost_its_last_lines_is_refused_whatever_their_number(text: str) -> None:
    lines = text.splitlines(keepends=True)

    for count in range(len(lines)):
        with pytest.raises(InvalidLock):
            parse("".join(lines[:count]))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (digest("1a2a"), digest("1a2a")[:-1], "LockDetails.packages[1].digest: 'sha256:1a2a"),
        (digest("1a2a"), digest("1A2A"), "LockDetails.packages[1].digest: 'sha256:1A2A"),
        (
            "version: v1.2.0",
            "version: v1.2:0",
            "Lock.packages[1].version: expected a tag or a digest, found the text",
        ),
        ("version: v1.2.0", "version: 1.2", "Lock.packages[1].version: expected text, found 1.2"),
        (
            "kind: Provider\n  name: acme-net",
            "kind: Pod\n  name: acme-net",
            "Lock.packages[1].kind: expected",
        ),
        ("kind: Provider\n  name: acme-net", "name: acme-net", "Lock.packages[1]: kind is missing"),
        ('constraints: ">=v1.0.0"', "constraints: newest", "dependencies[0].constraints: 'newest' is not a"),
        ('constraints: ">=v1.0.0"', "more: 1", "Lock.packages[0].dependencies[0].more: unknown field"),
        (
            "    kind: Provider\n",
            "",
            "Lock.packages[0].dependencies[0]: expected apiVersion and kind, or type",
        ),
        (
            "  dependencies: []",
            "  dependencies: null",
            "Lock.packages[1].dependencies: expected a list, found nothing",
        ),
        (
            "object: acme-net",
            "object: Acme_Net",
            "LockDetails.packages[1].object: expected the name of an object",
        ),
        (
            "object: acme-net",
            "object: acme-net2",
            "Lock.packages[1]: xpkg.example.org/acme/net: the revision is named",
        ),
        ("object: acme-net", "object: acme-net\n  tag: v1", "LockDetails has no tag to add; it has v1"),
        ("  family: net", "  familly: net", "LockDetails.packages[1].familly: unknown field"),
        ("  family: net", "  family: [net]", "LockDetails.packages[1].family: expected text, found a list"),
        (
            "  family: net",
            "  objects: {Pod: 0}",
            "LockDetails.packages[1].objects.Pod: expected a number of objects",
        ),
        ("  family: net", "  objectsDigest: x", "LockDetails.packages[1].objectsDigest: 'x' is not"),
        ("  family: net", "  definitionsDigest: x", "LockDetails.packages[1].definitionsDigest: 'x' is not"),
        (
            "  family: net",
            "  crossplane: new",
            "LockDetails.packages[1].crossplane: 'new' is not a version constraint",
        ),
        (
            "  family: net",
            "  fields: x",
            "LockDetails.packages[1].fields: expected a mapping, found text",
        ),
        (
            "  - xpkg.example.org/acme/app",
            "  - 7",
            "LockDetails.packages[1].requiredBy[0]: expected text, found 7",
        ),
        ("  root: v1.0.0", "  root: 1.0", "LockDetails.packages[0].root: expected text, found 1.0"),
        (
            "root Provider/app: sha256",
            "root Provider/app: sha1",
            "LockDetails.inputs[root Provider/app]: expected a d",
        ),
        ("revision: 0", "revision: -1", "LockDetails.revision: expected a whole number from 0 on; found -1"),
        ("kind: LockDetails", "kind: Lock", "LockDetails.kind: expected LockDetails, found"),
        ("v1beta1", "v1alpha1", "Lock.apiVersion: expected pkg.crossplane.io/v1beta1, found"),
        ("hook: Skip", "hook: Sync", "Lock.metadata: expected the name and the two annotations"),
        (
            "- source: xpkg.example.org/acme/net",
            "- source: net",
            "LockDetails.packages[1].source: 'net' is not a",
        ),
        (
            "  source: xpkg.example.org/acme/net",
            "  source: XPKG.example.org/acme/net",
            "expected its canonical form",
        ),
        ("family: net", "family: *net", "aliases are not allowed here"),
        ("family: net", "family: !!str net", "the tag tag:yaml.org,2002:str is not allowed here"),
        ("family: net", "family: net\n  family: net", "the key 'family' stands here a second time"),
    ],
)
def test_each_fault_is_told_with_its_place(old: str, new: str, problem: str) -> None:
    broken = TEXT.replace(old, new, 1) if old in TEXT else pytest.fail(f"{old} is not in the lock")

    with pytest.raises(InvalidLock) as caught:
        parse(broken)

    assert caught.value.exit_code == 2
    assert caught.value.what == f"{PLACE} is not a valid lock"
    assert [text for text in caught.value.why if problem in text]
    assert all(text.startswith("line ") for text in caught.value.why)


def test_a_lock_with_a_bit_of_everything_is_read_and_holds_together() -> None:
    assert parse(RICH_TEXT) == RICH
    assert check_closure(RICH) == []


def with_more(text: str, key: str, block: str) -> str:
    """Return a lock's text with one more block at the end of a list of the second document."""
    first, _, second = text.partition("---\n")
    head, found, tail = second.partition(f"\n{key}:\n")
    blocks, end, rest = tail.partition(
        {"deactivated": "\nprovided:", "provided": "\npackages:"}.get(key, "\0")
    )
    assert found
    return f"{first}---\n{head}{found}{blocks.rstrip()}\n{block.rstrip()}{end}{rest}\n"


def block_of(text: str, start: str) -> str:
    """Return the block that starts with a line, up to the next one."""
    lines = text.partition("---\n")[2].splitlines()
    begin = lines.index(start)
    end = next((i for i in range(begin + 1, len(lines)) if not lines[i].startswith("  ")), len(lines))
    return "\n".join(lines[begin:end])


ACME = "xpkg.example.org/acme"


@pytest.mark.parametrize(("key", "name"), [("deactivated", "old-store"), ("provided", "dns")])
def test_what_git_left_twice_below_the_packages_is_refused_and_can_be_told_apart(key: str, name: str) -> None:
    twice = with_more(RICH_TEXT, key, block_of(RICH_TEXT, f"- source: {ACME}/{name}"))

    with pytest.raises(DoubledLock) as caught:
        parse(twice)

    (told,) = caught.value.why
    assert told.endswith(f"LockDetails.{key}[1].source: {ACME}/{name} is listed a second time")


@pytest.mark.parametrize("name", ["store", "old-net"])
def test_a_package_that_is_active_is_not_deactivated_as_well(name: str) -> None:
    # Of an alias, the source that counts is the one that the cluster knows.
    twin = block_of(RICH_TEXT, f"- source: {ACME}/old-store").replace("old-store", name)
    object_name = {"store": "acme-store", "old-net": "acme-old-net"}[name]

    with pytest.raises(DoubledLock) as caught:
        parse(with_more(RICH_TEXT, "deactivated", twin))

    assert f"object: {object_name}" in twin
    (told,) = caught.value.why
    assert told.endswith(f"LockDetails.deactivated[1].source: {ACME}/{name} is listed a second time")


@pytest.mark.parametrize("name", ["store", "net", "old-net", "old-store"])
def test_a_package_that_is_provided_is_not_also_installed_from_here(name: str) -> None:
    twin = block_of(RICH_TEXT, f"- source: {ACME}/dns").replace(f"{ACME}/dns", f"{ACME}/{name}")

    with pytest.raises(InvalidLock) as caught:
        parse(with_more(RICH_TEXT, "provided", twin.replace("acme-dns", "acme-own-name")))

    (told,) = caught.value.why
    assert told.endswith(f"LockDetails.provided[1].source: {ACME}/{name} is listed a second time")


def test_an_alias_that_has_ended_leaves_its_object_behind_switched_off() -> None:
    made = lock(
        [package("net v1.2.0", replaces=(replaced("old-net"),))],
        deactivated=[
            deactivated("net v1.1.0", "net", installed_as=source("old-net"), object_name="acme-old-net")
        ],
    )

    assert parse(format_lock(made)) == made
    assert [str(item.cluster_source) for item in made.installed()] == [f"{ACME}/net", f"{ACME}/old-net"]


def test_an_object_of_what_is_switched_off_belongs_to_nobody_else() -> None:
    made = lock(
        [package("net v1.2.0", object_name="one", replaces=(replaced("old-net"),))],
        deactivated=[deactivated("net v1.1.0", "net", installed_as=source("old-net"), object_name="one")],
    )

    with pytest.raises(
        InvalidLock, match=rf"deactivated\[0\].object: the Provider one also belongs to {ACME}/net"
    ):
        parse(format_lock(made))


def test_one_package_under_two_sources_of_the_cluster_is_refused() -> None:
    # By its own source, which is the key in memory, one of them would be lost.
    alias = package("net v1.2.0", installed_as=source("old-net"), object_name="acme-old-net")
    both = Lock({source("old-net"): alias, source("net"): package("net v1.2.0")})

    with pytest.raises(DoubledLock) as caught:
        parse(format_lock(both))

    (told,) = caught.value.why
    assert told.endswith(f"LockDetails.packages[1].source: {ACME}/net is listed a second time")


@pytest.mark.parametrize(
    ("old", "new", "in_lock", "in_details"),
    [
        (f"  source: {ACME}/old-net\n  version", f"  source: {ACME}/net\n  version", "net", "old-net"),
        (f"installedAs: {ACME}/old-net", f"installedAs: {ACME}/other", "old-net", "other"),
        (f"  installedAs: {ACME}/old-net\n  object", "  object", "old-net", "net"),
    ],
)
def test_an_alias_has_one_source_in_both_documents(old: str, new: str, in_lock: str, in_details: str) -> None:
    assert RICH_TEXT.count(old) == 1

    with pytest.raises(InvalidLock) as caught:
        parse(RICH_TEXT.replace(old, new))

    assert [text.partition(": ")[2] for text in caught.value.why] == [
        f"Lock.packages[2]: {ACME}/{in_lock} is missing in LockDetails",
        f"LockDetails.packages[2]: {ACME}/{in_details} is missing in Lock",
    ]


def test_a_lock_without_any_of_this_does_not_mention_it() -> None:
    assert "deactivated" not in TEXT
    assert "provided" not in TEXT


def test_all_faults_are_told_at_once_in_the_order_of_their_lines() -> None:
    broken = (
        TEXT.replace("version: v1.2.0", "version: v1/2")
        .replace("hook: Skip", "hook: Sync", 1)
        .replace("  family: net", "  colour: net")
        .replace("revision: 0", "revision: zero")
    )

    with pytest.raises(InvalidLock) as caught:
        parse(broken)

    assert list(caught.value.why) == [
        f"line {line_of(broken, 'metadata:')}: Lock.metadata: "
        "expected the name and the two annotations that xplock writes",
        f"line {line_of(broken, '  version: v1/2')}: Lock.packages[1].version: "
        'expected a tag or a digest, found the text "v1/2"',
        f"line {line_of(broken, 'revision: zero')}: LockDetails.revision: "
        'expected a whole number from 0 on; found the text "zero"',
        f"line {line_of(broken, '  colour: net')}: LockDetails.packages[1].colour: unknown field",
    ]


def test_thousands_of_faults_are_counted_rather_than_listed() -> None:
    broken = format_lock(Lock({}, {f"input {i}": digest("aa") for i in range(2_000)})).replace(
        "sha256:aa", "sha256:"
    )

    with pytest.raises(InvalidLock) as caught:
        parse(broken)

    assert len(caught.value.why) == 51
    assert caught.value.why[-1] == "… and 1,950 more"


def test_one_source_twice_is_refused_in_both_documents() -> None:
    first, second = TEXT.split("---\n")
    block = first[first.index("- apiVersion") : first.index("- apiVersion", first.index("- apiVersion") + 1)]
    details = second[second.index("- source") : second.index("- source", second.index("- source") + 1)]

    with pytest.raises(InvalidLock) as caught:
        parse(f"{first}{block}---\n{second}{details}")

    repeated = [
        text for text in caught.value.why if "xpkg.example.org/acme/app is listed a second time" in text
    ]
    assert len(repeated) == len(caught.value.why) == 2


def test_documents_that_hold_different_packages_are_refused() -> None:
    first, _ = TEXT.split("---\n")
    _, second = format_lock(lock([package("app v1.0.0"), package("web v1.0.0")])).split("---\n")

    with pytest.raises(InvalidLock) as caught:
        parse(f"{first}---\n{second}")

    assert [text.partition(": ")[2] for text in caught.value.why] == [
        "Lock.packages[1]: xpkg.example.org/acme/net is missing in LockDetails",
        "LockDetails.packages[1]: xpkg.example.org/acme/web is missing in Lock",
    ]


def test_a_digest_as_version_must_be_the_digest() -> None:
    text = format_lock(lock([package(f"net {digest('ab')}")]))
    broken = text.replace(f"version: {digest('ab')}", f"version: {digest('abb')}")

    with pytest.raises(
        InvalidLock, match=r"the version is sha256:abb0+, the digest in LockDetails sha256:ab0"
    ):
        parse(broken)


def test_two_objects_of_one_kind_and_name_are_refused() -> None:
    twins = lock([package("a/net v1.0.0", object_name="net"), package("b/net v1.0.0", object_name="net")])

    with pytest.raises(InvalidLock, match=r"packages\[1\].object: the Provider net also belongs to .*/a/net"):
        parse(format_lock(twins))


@pytest.mark.parametrize("text", ["", "---\n", "a: b\n", "- a\n", f"{TEXT}---\na: b\n", "x", "[" * 1_000])
def test_what_is_no_lock_at_all_is_refused(text: str) -> None:
    with pytest.raises(InvalidLock):
        parse(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidLock, match="byte 0xff is not UTF-8"):
        parse(TEXT.encode() + b"\xff")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("", "nothing"),
        ('version: "1"\n', 'the text "1"'),
        ("version: 0\n", "0"),
        ("version: -1\n", "-1"),
        ("version: 1e9\n", "1000000000.0"),
        ("version: true\n", "true"),
        ("version: 1.0\n", "1.0"),
        (f"version: 0x{'f' * 9_000}\n", "a number that is too large"),
    ],
)
def test_a_version_that_never_was_is_refused(written: str, found: str) -> None:
    with pytest.raises(InvalidLock) as caught:
        parse(TEXT.replace("\nversion: 1\n", f"\n{written}"))

    assert [text.partition(": ")[2] for text in caught.value.why] == [
        f"LockDetails.version: expected 1, which is supported; found {found}"
    ]


@pytest.mark.parametrize("version", [2, 1_000_000_000])
def test_a_newer_version_needs_a_newer_xplock(version: int) -> None:
    with pytest.raises(UnsupportedLock) as caught:
        parse(TEXT.replace("version: 1\n", f"version: {version}\nnews: [everything, is, different]\n"))

    assert caught.value.exit_code == 1
    assert caught.value.why == (f"it has format version {version}; xplock {__version__} reads version 1",)
    assert f"reads version {version}" in caught.value.next[0]


def test_a_newer_revision_is_read_but_never_written() -> None:
    newer = (
        TEXT.replace("revision: 0", "revision: 1\nleaving: []")
        .replace("  family: net", "  family: net\n  colour: blue")
        .replace("hook: Skip", "hook: Skip\n    more: news")
        .replace("  constraints:", "  optional: true\n    constraints:")
    )

    read = parse(newer)

    assert read.packages == parse(TEXT).packages
    with pytest.raises(NewerRevision):
        format_lock(read)


def test_a_newer_revision_is_still_checked_in_what_we_know() -> None:
    newer = TEXT.replace("revision: 0", "revision: 1").replace(digest("1a2a"), digest("1a2a")[:-1], 1)

    with pytest.raises(InvalidLock, match="digest"):
        parse(newer.replace(f"  digest: {digest('1a2a')}", "  digest: sha256:1"))


@pytest.mark.parametrize(
    "marker", ["<<<<<<< HEAD", "=======", ">>>>>>> branch", "||||||| 1234567", "=======\r"]
)
def test_conflict_markers_have_a_message_of_their_own(marker: str) -> None:
    lines = TEXT.splitlines()
    lines.insert(12, marker)

    with pytest.raises(ConflictedLock) as caught:
        parse("\n".join(lines))

    assert caught.value.why == ("line 13: a conflict marker",)
    assert "xplock lock" in caught.value.next[0]


def test_what_looks_like_a_marker_inside_of_a_text_is_none() -> None:
    text = "a\n<<<<<<< HEAD\n=======\n>>>>>>> b\n---\n"
    made = lock([package("net v1.0.0", fields={"note": text})])

    assert parse(format_lock(made)) == made


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (Limits(lock_bytes=100), "XPLOCK_LIMIT_LOCK_BYTES"),
        (Limits(packages=1), "XPLOCK_LIMIT_PACKAGES"),
    ],
)
def test_limits_are_named(limits: Limits, named: str) -> None:
    with pytest.raises(LimitExceeded, match=named):
        parse(TEXT, limits)


@pytest.mark.parametrize("key", ["deactivated", "provided"])
def test_there_are_no_more_of_the_other_packages_either(key: str) -> None:
    off = [deactivated(f"{name} v1.0.0", "net") for name in ("a", "b")]
    others = [provided(f"{name} v1.0.0") for name in ("a", "b")]
    made = lock([], deactivated=off) if key == "deactivated" else lock([], provided=others)
    text = format_lock(made)

    assert parse(text, Limits(packages=2))
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_PACKAGES"):
        parse(text, Limits(packages=1))


def test_the_lines_of_faults_are_right_in_a_file_of_any_size() -> None:
    large = format_lock(lock([package(f"provider-{i:04} v1.0.{i}") for i in range(1_000)]))
    broken = large.replace("version: v1.0.777", "version: v1/0/777")

    with pytest.raises(InvalidLock) as caught:
        parse(broken)

    assert caught.value.why[0].startswith(
        f"line {line_of(broken, '  version: v1/0/777')}: Lock.packages[777]"
    )


FUZZ: list[Callable[[str], str]] = [
    lambda text: text.replace(":", ": :"),
    lambda text: text.replace("  ", "\t"),
    lambda text: text.replace("- ", "-"),
    lambda text: text[::-1],
    lambda text: text.replace("\n", "\n\n---\n"),
    lambda text: text.replace("source", "sources"),
    lambda text: text.replace("packages:", "packages: 1\nmore:"),
]


@pytest.mark.parametrize("damage", FUZZ)
def test_no_damage_makes_a_traceback(damage: Callable[[str], str]) -> None:
    with pytest.raises(RenderError):
        parse(damage(TEXT))


def test_a_source_is_named_as_in_the_file() -> None:
    assert set(parse(TEXT).packages) == {source("app"), source("net")}
