"""The static site in the browser, from disk and under a path of a host: it plays, searches, and asks nobody else."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import dshq_widget
from dshq_widget.drills import drills
from dshq_widget.lessons import LESSONS, lesson
from tests.harness.browser.console import Console
from tests.harness.browser.hosts import headers, served
from tests.harness.browser.page import WidgetPage
from tools import pages as lesson_pages
from tools.notebooks import SOURCE, notebook

for needed in ("material", "mkdocstrings"):
    pytest.importorskip(needed, reason="the site's generator is not installed: `make site` installs the extra `site`")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PLAYED = "replay"
"""The lesson that is worked through; the others have their text and code, without what the cells showed."""
PATH = "some/sub/path"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a host; the site lies under PATH."""
    from tools.site.__main__ import build

    pages, root = tmp_path_factory.mktemp("lessons"), tmp_path_factory.mktemp("root")
    for row in LESSONS.values():
        text = (SOURCE / f"{row.stem}.md").read_text(encoding="utf-8")
        cells = [cell for cell in notebook(text).cells if cell.cell_type == "code"]
        shown = lesson_pages.recorded(row, text, 2) if row.name == PLAYED else [""] * len(cells)
        (pages / f"{row.stem}.html").write_text(lesson_pages.page(row, text, shown), encoding="utf-8")
    lesson_pages.share(pages)
    build(root / PATH, tmp_path_factory.mktemp("stage") / "pages", pages)
    return root


@pytest.fixture(scope="module")
def host(built: Path) -> Iterator[str]:
    with served(built, headers()["nginx"]) as address:
        yield address


@pytest.fixture(params=["disk", "host"])
def place(request: pytest.FixtureRequest, built: Path) -> str:
    """Where the site lies, with a slash at its end."""
    root = built.as_uri() + "/" if request.param == "disk" else request.getfixturevalue("host")
    return f"{root}{PATH}/"


@pytest.fixture
def page(plain_chromium: Browser, place: str) -> Iterator[Page]:
    """A tab that reaches only the site; its console must stay empty, and nothing else may be asked for."""
    context = plain_chromium.new_context(viewport={"width": 1280, "height": 800})
    asked: list[str] = []

    def answer(route) -> None:
        if route.request.url.startswith(place):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    context.route(re.compile("^(?!blob:|data:)"), answer)
    tab, console = context.new_page(), Console()
    console.watch(tab)
    yield tab
    context.close()
    assert asked == [], "nothing outside the site may be asked for"
    assert console.problems == []


def plays(page: Page) -> WidgetPage:
    """The first match of the page, once its picture has changed."""
    frame = page.locator("iframe.match").first
    frame.scroll_into_view_if_needed()
    widget = WidgetPage(page, frame.content_frame.locator(".dshq-widget"))
    tick = widget.wait_number("tick", lambda tick: tick > 0)
    before = widget.picture()
    widget.wait_number("tick", lambda now: now > tick + 30)
    widget.until(widget.picture, lambda now: now != before, 60, "another picture")
    return widget


def test_the_home_page_plays_above_the_fold(page: Page, place: str):
    page.goto(f"{place}index.html")
    widget = plays(page)
    box = widget.root.locator("canvas").first.bounding_box()
    assert box and box["y"] < 350 and box["width"] > 500
    button = widget.control("train").bounding_box()
    assert button and button["y"] + button["height"] < 800, "Train stands above the fold"
    widget.control("train").click()
    widget.wait_number("version", lambda version: version >= 2, timeout=120)
    page.wait_for_function("document.querySelector('iframe.match').style.height !== ''")


def test_search_finds_a_page(page: Page, place: str):
    page.goto(f"{place}drills/index.html")
    page.get_by_role("textbox", name="Search").press_sequentially("parasites")
    result = page.locator(".md-search-result__link", has_text="Territory Drill").first
    result.wait_for()
    result.click()
    page.wait_for_url(re.compile(r"drills/territory\.html"))


@pytest.mark.parametrize("name", ["drills/sumo.html", "play/gold.html"])
def test_a_drill_and_a_rung_play(page: Page, place: str, name: str):
    page.goto(place + name)
    widget = plays(page)
    if name.startswith("play"):
        assert "You" in widget.root.locator(".scoreboard").inner_text()
    assert widget.control("train").is_visible()


def test_a_lesson_shows_its_match(page: Page, place: str):
    page.goto(f"{place}lessons/{lesson(PLAYED).stem}.html")
    plays(page)
    assert page.get_by_role("heading", name="The same again").count() == 1


@pytest.mark.parametrize("name", [PLAYED, "q-learning", "continuous"])
def test_a_lesson_fits_a_narrow_window_and_formulas_stay_in_their_lines(page: Page, place: str, name: str):
    page.goto(f"{place}lessons/{lesson(name).stem}.html")
    formulas = page.locator(".math.inline")
    placed = formulas.evaluate_all("all => all.map(one => getComputedStyle(one).float)")
    assert set(placed) <= {"none"}
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_every_drill_lesson_and_public_name_has_its_page(built: Path):
    site = built / PATH
    missing = [name for name in drills if not (site / "drills" / f"{name}.html").is_file()]
    missing += [row.stem for row in LESSONS.values() if not (site / "lessons" / f"{row.stem}.html").is_file()]
    reference = "".join(path.read_text() for path in (site / "api").glob("*.html"))
    public = [name for name in dshq_widget.__all__ if not name.startswith("_")]
    missing += [name for name in public if f'id="dshq_widget.{name}"' not in reference]
    assert missing == []
    assert "<code>tick_rate</code>: ticks per second" in reference, "a column of names is a list"


def test_every_link_leads_to_a_file_of_the_site(built: Path):
    """From this page to that, whatever wrote the link: mkdocs looks only at those in Markdown."""
    site = built / PATH
    lost = [
        f"{path.relative_to(site)}: {target}"
        for path in site.rglob("*.html")
        for target in re.findall(
            r'(?:href|src)="([^"#?]+)', re.sub(r"<script\b.*?</script>", "", path.read_text(), flags=re.S)
        )
        if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists()
    ]
    assert lost == []
