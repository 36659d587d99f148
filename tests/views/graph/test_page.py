"""The page of a closure, in a real browser: it is clicked, searched and filtered."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rig.browser.chromium import DOWN, ENTER, ESCAPE, Browser, chromium
from rig.builders.locks import deactivated, lock, package, replaced

from render.lock.model import Lock, LockedPackage, State
from render.packages import Kind
from render.views.graph.make import make_graph
from render.views.graph.picture import format_page

# Whatever of these a page would run or load, it would be seen as a change of `window.hit`.
HOSTILE = (
    "</script><script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "'+(window.hit=1)+'",
    "<!--<script>",
    "{{ 7 * 7 }}",
    "\u2028window.hit=1//",
    "\x1b[31m\x00",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def shop() -> Lock:
    """A lock with a package of each state."""
    return lock(
        [
            package("app v1.0.0", "base", "provider-net", kind=Kind.CONFIGURATION),
            package("base v1.2.0", kind=Kind.CONFIGURATION, detached=("it depends on a replaced source",)),
            package("provider-net v2.3.0", replaces=(replaced("provider-old"),)),
            package("provider-lost v1.0.0", state=State.ORPHANED),
        ],
        deactivated=[deactivated("provider-old v0.9.0", "provider-net")],
    )


def show(browser: Browser, tmp_path: Path, lock: Lock, before: Lock | None = None) -> None:
    """Open the page of a lock."""
    path = tmp_path / "page.html"
    path.write_text(format_page(make_graph(lock, before), "A closure"), encoding="utf-8")
    browser.open(path)


def shown(browser: Browser) -> list[str]:
    """Return the packages that are neither filtered out nor faded."""
    return browser.texts(".node:not(.hidden):not(.dim) .label")


def test_every_package_is_drawn_and_counted(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, shop())

    assert sorted(shown(browser)) == ["app", "base", "provider-lost", "provider-net", "provider-old"]
    assert browser.texts("#count") == ["5 of 5 packages"]


def test_a_click_shows_the_facts_and_who_needs_whom(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, shop())

    browser.click('.node[data-key$="/base"]')

    facts = browser.texts("#panel")[0]
    assert "v1.2.0" in facts and "it depends on a replaced source" in facts
    assert browser.texts("#panel h3") == ["Here because of", "Needed by"]
    assert browser.texts("#panel p") == ["app → base"]
    browser.click("#panel button.link")
    assert browser.texts("#panel h2") == ["app"]
    assert browser.texts("#panel h3") == ["Needs"]


def test_search_fades_what_does_not_match(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, shop())

    browser.type("#search", "provider v2")

    assert shown(browser) == ["provider-net"]
    assert browser.texts("#count") == ["1 of 5 packages"]
    browser.type("#search", ENTER)
    assert browser.texts("#panel h2") == ["provider-net"]
    browser.press(ESCAPE)
    assert len(shown(browser)) == 5


def test_kinds_and_states_are_filtered(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, shop())

    browser.click('input[value="Provider"]')
    assert sorted(shown(browser)) == ["app", "base"]
    browser.click('input[value="Provider"]')
    browser.click('input[value="orphaned"]')

    assert "provider-lost" not in shown(browser)
    assert len(shown(browser)) == 4


def test_keys_do_what_the_mouse_does(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, shop())

    browser.press("/")
    assert browser.run("return document.activeElement.id") == "search"
    browser.run("document.querySelector('.node[data-key$=\"/app\"]').focus()")
    browser.press(ENTER)

    assert browser.texts("#panel h2") == ["app"]
    assert browser.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    browser.press(DOWN)
    browser.press(DOWN)
    browser.press(ENTER)
    assert browser.texts("#panel h2") == ["provider-old"]
    assert browser.run("return document.querySelectorAll('.node[tabindex=\"0\"]').length") == 1


def test_a_screen_reader_hears_every_package(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, shop())

    spoken = browser.run(
        "return [...document.querySelectorAll('.node')].map((n) => n.getAttribute('aria-label'))"
    )

    assert "base, Configuration, v1.2.0, detached" in spoken


def test_two_locks_show_what_changed(browser: Browser, tmp_path: Path) -> None:
    before = shop()
    after = lock(
        [
            package("app v2.0.0", "provider-net", kind=Kind.CONFIGURATION),
            package("provider-net v2.3.0"),
            package("new v1.0.0"),
        ]
    )

    show(browser, tmp_path, after, before)

    assert browser.texts(".node.added .label") == ["new"]
    assert browser.texts(".node.updated .version") == ["v1.0.0 → v2.0.0"]
    assert sorted(browser.texts(".node.removed .label")) == ["base", "provider-lost", "provider-old"]
    browser.click('.node[data-key$="/app"]')
    assert "major" in browser.texts("#panel")[0]


def test_changes_are_listed_and_filtered(browser: Browser, tmp_path: Path) -> None:
    before = lock([package("up v1.0.0"), package("gone v1.0.0"), package("kept v1.0.0")])
    after = lock([package("up v1.1.0"), package("new v1.0.0"), package("kept v1.0.0")])
    show(browser, tmp_path, after, before)

    assert browser.texts("#panel h3") == ["Removed: 1", "Updated: 1", "Added: 1"]
    assert browser.texts("#panel li") == ["gone v1.0.0", "up v1.0.0 → v1.1.0 (minor)", "new v1.0.0"]
    browser.click('input[value="unchanged"]')

    assert sorted(shown(browser)) == ["gone", "new", "up"]


@pytest.mark.parametrize("count", [5, 200])
def test_a_page_opens_in_a_size_that_can_be_read(browser: Browser, tmp_path: Path, count: int) -> None:
    show(browser, tmp_path, lock([package(f"p{i} v1.0.0") for i in range(count)]))

    assert 0.69 < browser.run("return picture.getBoundingClientRect().width / size.width") <= 1.01


@pytest.mark.parametrize("count", [5, 300])
def test_a_picture_is_printed_on_one_sheet(browser: Browser, tmp_path: Path, count: int) -> None:
    show(
        browser,
        tmp_path,
        lock([package(f"p{i} v1.0.0", *([f"p{i // 2}"] if i else [])) for i in range(count)]),
    )

    assert len(re.findall(rb"/Type\s*/Page\b", browser.print())) == 1


def test_hostile_names_are_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, hostile_lock())

    made = browser.run(
        """
        const elements = () => document.images.length + document.querySelectorAll("aside script").length;
        return [elements(), ...[...nodes].map(([, node]) => {
          node.dispatchEvent(new Event("click"));
          return elements();
        })];
        """
    )
    assert made == [0] * (1 + len(HOSTILE))
    browser.type("#search", "<script>")

    assert browser.run("return window.hit ?? null") is None
    assert browser.run("return document.scripts.length") == 2
    assert HOSTILE[0] in browser.run(
        "return document.getElementById('data').textContent.length ? JSON.stringify([...packages.values()]) : ''"
    ).replace('\\"', '"')


def hostile_lock() -> Lock:
    """A lock whose every text tries to run something; no parser would accept most of them."""
    packages = []
    for i, text in enumerate(HOSTILE):
        made = package(f"p{i} v1.0.0")
        packages.append(
            replace(made, version=text, object_name=text, root=text, detached=(text,), objects={text: 1})
        )
    made_lock = lock(packages)
    known = {source: _with_root(one) for source, one in made_lock.packages.items()}
    return replace(made_lock, packages=known)


def _with_root(one: LockedPackage) -> LockedPackage:
    return replace(one, root=one.version)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = format_page(make_graph(shop()), "A closure")

    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in page


def test_a_thousand_packages_are_searched_at_once(browser: Browser, tmp_path: Path) -> None:
    many = [package(f"p{i} v1.0.0", *([f"p{i // 2}"] if i else [])) for i in range(1_000)]
    show(browser, tmp_path, lock(many))

    browser.type("#search", "p999")

    assert shown(browser) == ["p999"]
