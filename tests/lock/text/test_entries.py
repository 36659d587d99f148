"""What is wrong in a block of LockDetails is told with its line: fields, states, moves, pins, other folders."""

import pytest
from rig.builders.locks import digest, rich_lock

from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.format import format_lock
from render.lock.text.parse import InvalidLock, parse_lock

RICH_TEXT = format_lock(rich_lock())
ACME = "xpkg.example.org/acme"
OFF = "LockDetails.deactivated[0]"
OTHER = "LockDetails.provided[0]"
NET = "LockDetails.packages[2]"


def parse(text: str) -> Lock:
    return parse_lock(text, Limits(), place="crossplane.lock.yaml")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("state: orphaned", "state: lost", "packages[1].state: expected wanted or orphaned"),
        ("state: orphaned", "state: [orphaned]", "packages[1].state: expected text, found a list"),
        (
            "state: orphaned",
            "state: deactivated",
            "packages[1].state: a deactivated package belongs under deactivated",
        ),
        ("released: true", "released: false", "packages[1].released: expected true or nothing, found false"),
        (
            "released: true",
            'released: "yes"',
            'packages[1].released: expected true or nothing, found the text "yes"',
        ),
        ("detached:\n  - a", "detached: a", "packages[1].detached: expected a list, found text"),
        ("staleEntry:\n  - b", "staleEntry:\n  - 1", "packages[1].staleEntry[0]: expected text, found 1"),
        ("staleEntry:\n  - b", "staleEntry:\n  - B!", "packages[1].staleEntry[0]: 'B!' is not"),
        (
            "strategy: alias",
            "strategy: rename",
            f"{NET}.replaces[0].strategy: expected alias or repoint or deact",
        ),
        ("consent: moves", "consent: silence", f"{NET}.replaces[0].consent: expected moves or claim, found"),
        ("consent: moves", "consent: moves\n    why: not", f"{NET}.replaces[0].why: unknown field"),
        (
            "- source: xpkg.example.org/acme/old-net\n    strategy",
            "- source: old-net\n    strategy",
            f"{NET}.replaces[0].source: 'old-net' is not",
        ),
        (digest("1a1"), digest("1a1")[:-1], f"{NET}.keptPins[0].digest: '{digest('1a1')[:-1]}' is not"),
        ("- tag: v1.1.0", "- tag: v1/1", f'{NET}.keptPins[0].tag: expected a tag, found the text "v1/1"'),
        ("- tag: v1.1.0", "- tag: v1.1.0\n    pin: 1", f"{NET}.keptPins[0].pin: unknown field"),
        (
            "    source: xpkg.example.org/acme/old-net",
            "    source: XPKG.example.org/acme/old-net",
            f"{NET}.keptPins[1].source: expected its canonical form xpkg.example.org/acme/old-net",
        ),
        (
            "groups:\n  - store.example.org",
            "groups: 7",
            "packages[3].groups: expected a list, found a number",
        ),
        (
            "overrides:\n    spec:\n      revisionHistoryLimit: 1",
            "overrides: 1",
            "packages[3].overrides: expected a mapping, found a number",
        ),
        (
            "kind: Provider\n  version: v1.0.0\n  replacedBy",
            "kind: Pod\n  version: v1.0.0\n  replacedBy",
            f"{OFF}.kind: expected",
        ),
        (
            "version: v1.0.0\n  replacedBy",
            "version: v1:0\n  replacedBy",
            f"{OFF}.version: expected a tag or a digest",
        ),
        (
            "version: v1.0.0\n  replacedBy",
            f"version: {digest('ff')}\n  replacedBy",
            f"{OFF}.version: the version is {digest('ff')}, the digest {digest('1a0a')}",
        ),
        (
            "object: acme-old-store",
            "object: acme-old-store\n  tag: v1",
            f"{OFF}.tag: the version is v1.0.0, so there is no",
        ),
        (
            "object: acme-old-store",
            "object: acme-old-store\n  state: orphaned",
            f"{OFF}.state: unknown field",
        ),
        (
            "object: acme-old-store",
            "object: acme-store",
            f"{OFF}.object: the Provider acme-store also belongs to",
        ),
        (
            "  - xpkg.example.org/acme/store\n  object",
            "  - store\n  object",
            f"{OFF}.replacedBy[0]: 'store' is not",
        ),
        (
            'folder: "../platform"',
            "folder: /srv/platform",
            f"{OTHER}.folder: expected a relative path, found the text",
        ),
        ('folder: "../platform"', 'folder: ""', f"{OTHER}.folder: expected a relative path, found the text"),
        ('folder: "../platform"', "folder: [platform]", f"{OTHER}.folder: expected text, found a list"),
        ("object: acme-dns", "object: acme-dns\n  released: true", f"{OTHER}.released: unknown field"),
        (
            "object: acme-dns",
            "object: acme-store",
            f"{OTHER}.object: the Provider acme-store also belongs to",
        ),
        (
            "object: acme-dns",
            "object: acme-dns\n  tag: v1",
            f"{OTHER}.tag: the version is v1.0.0, so there is no",
        ),
        ("detached: true", "detached: false", f"{OTHER}.detached: expected true or nothing, found false"),
        ("  - xpkg.example.org/acme/old-dns", "  - old-dns", f"{OTHER}.replaces[0]: 'old-dns' is not"),
        ("object: acme-mesh", "object: acme-mesh\n  replacedBy: []", "packages[1].replacedBy: unknown field"),
        ("inputs:", "orphaned: []\ninputs:", "LockDetails.orphaned: unknown field"),
    ],
)
def test_each_fault_in_what_only_the_details_say_is_told_with_its_place(
    old: str, new: str, problem: str
) -> None:
    assert RICH_TEXT.count(old) == 1
    broken = RICH_TEXT.replace(old, new)

    with pytest.raises(InvalidLock) as caught:
        parse(broken)

    (told,) = caught.value.why
    assert problem in told
    assert told.startswith(f"line {faulty_line(broken)}: ")


def faulty_line(broken: str) -> int:
    """Return the first line that a hand has changed."""
    pairs = zip(broken.splitlines(), RICH_TEXT.splitlines(), strict=False)
    return next(i for i, (now, before) in enumerate(pairs, start=1) if now != before)


@pytest.mark.parametrize(
    ("lost", "block", "problem"),
    [
        ("  replacedBy:\n  - xpkg.example.org/acme/store\n", "old-store", f"{OFF}: replacedBy is missing"),
        ('  folder: "../platform"\n', "dns", f"{OTHER}: folder is missing"),
        ("  version: v1.0.0\n  object: acme-dns", "dns", f"{OTHER}: object is missing"),
        ("    strategy: alias\n", "old-net", f"{NET}.replaces[0]: strategy is missing"),
    ],
)
def test_what_is_missing_is_told_with_the_place_of_what_misses_it(
    lost: str, block: str, problem: str
) -> None:
    with pytest.raises(InvalidLock) as caught:
        parse(RICH_TEXT.replace(lost, ""))

    first = [
        i
        for i, line in enumerate(RICH_TEXT.splitlines(), start=1)
        if line.endswith(f"source: xpkg.example.org/acme/{block}")
    ]
    (told,) = [text for text in caught.value.why if problem in text]
    assert told.partition(":")[0] in [f"line {line}" for line in first]


def test_blocks_that_cannot_be_read_are_not_compared_with_each_other() -> None:
    broken = RICH_TEXT.replace(f"- source: {ACME}/old-store\n  kind", "- source: old-store\n  kind").replace(
        f"- source: {ACME}/dns", "- source: dns"
    )

    with pytest.raises(InvalidLock) as caught:
        parse(broken)

    assert [text.split(": ")[1] for text in caught.value.why] == [f"{OFF}.source", f"{OTHER}.source"]
