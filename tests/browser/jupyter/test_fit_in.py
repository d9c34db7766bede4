"""The widget as a good guest: habits, keyboard, screen reader, contrast, width (docs/reference/front-ends.md)."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import OpenNotebook, OpenPage, SharedPage
from tests.harness.browser.front_ends import AS_ROOT, needs, served
from tests.harness.browser.lab import write_notebook
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import CARTPOLE, OUTSIDE, OVERLAPS, PLAIN, TRAINED, begin, stops, ticks_on

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_observe_link_and_layout(chromium, open_notebook: OpenNotebook):
    cell = """
import ipywidgets
from dshq_widget import DrillWidget
w, label, mirror = DrillWidget(), ipywidgets.Label(), ipywidgets.Label()
ipywidgets.jslink((w, "status_text"), (label, "value"))
ipywidgets.dlink((w, "status"), (mirror, "value"))
seen = []
w.observe(lambda change: seen.append(change["new"]["speed"]), "show")
w.layout.width = "400px"
w.layout.border = "3px solid red"
ipywidgets.VBox([w, label, mirror])
"""
    notebook, widget = begin(open_notebook, chromium, cell)
    box = widget.root.bounding_box()
    assert 380 <= box["width"] <= 400
    widget.control("speed").select_option("2")
    widget.until(lambda: notebook.kernel.run("print(seen)"), lambda seen: "2.0" in seen, 60, "observe")
    notebook.kernel.run("w.layout.width = '600px'")
    widget.until(lambda: widget.root.bounding_box()["width"], lambda width: 580 <= width <= 600, 60, "the new width")
    labels = notebook.page.locator(".widget-label")
    assert labels.nth(1).inner_text() == "idle"
    notebook.kernel.run("w.train()")
    widget.wait_attribute("status", lambda status: status == "training", TRAINED)
    widget.until(lambda: labels.nth(1).inner_text(), lambda text: text == "training", 60, "dlink")
    widget.until(lambda: labels.nth(0).inner_text(), bool, 60, "jslink")
    notebook.kernel.run("w.close()")


def test_every_control_has_a_name_and_is_reached_by_tab(shared_page: SharedPage):
    _, widget = shared_page(PLAIN)
    for summary in widget.root.locator("summary:visible").all():
        summary.click()
    widget.page.wait_for_timeout(500)
    nameless = widget.root.evaluate(
        """root => [...root.querySelectorAll("button, input, select, summary, canvas[tabindex], [role=button]")]
            .filter(element => element.checkVisibility())
            .filter(element => !element.ariaLabel && !element.labels?.length && !element.textContent.trim())
            .map(element => element.outerHTML.slice(0, 200))"""
    )
    assert nameless == []
    session = widget.page.context.new_cdp_session(widget.page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "spinbutton", "checkbox", "slider", "textbox", "application"}
    controls = [node for node in tree if not node["ignored"] and node.get("role", {}).get("value") in roles]
    names = [node.get("name", {}).get("value", "") for node in controls]
    assert {"Train", "Pause", "Speed", "Mode", "Match seed", "Match"} <= set(names)

    widget.root.evaluate("root => root.querySelectorAll('button, canvas')[0].focus()")
    wanted = widget.root.evaluate(
        """root => [...root.querySelectorAll("button, input, select, summary, canvas[tabindex]")]
            .filter(element => !element.disabled && element.tabIndex >= 0 && element.checkVisibility()).length"""
    )
    met, unringed = [], []
    for _ in range(wanted + 20):
        focus = widget.page.evaluate(
            """() => {
                const element = document.activeElement;
                if (!element.closest(".dshq-widget")) return null;
                const { outlineStyle, outlineWidth } = getComputedStyle(element);
                element.dataset.met ??= String(performance.now());
                const name = element.ariaLabel || element.textContent.trim() || element.name;
                const ring = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
                return { name, key: element.dataset.met, ring };
            }"""
        )
        if focus is None:
            break
        if met and focus["key"] == met[-1]["key"]:
            break
        met.append(focus)
        if not focus["ring"]:
            unringed.append(focus["name"])
        widget.page.keyboard.press("Tab")
    assert unringed[1:] == [], "the first one was focused by script, the others by keyboard"
    assert len({focus["key"] for focus in met}) >= wanted - 1, [focus["name"] for focus in met]


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_the_systems_own_few_colours(shared_page: SharedPage, scheme: str):
    opened, widget = shared_page(PLAIN)
    opened.page.emulate_media(forced_colors="active", contrast="more", color_scheme=scheme, reduced_motion="reduce")
    opened.reload()
    widget = opened.widget()
    widget.wait_number("tick", lambda tick: tick > 0)
    chosen, other = (widget.control(key) for key in ("tab-learn", "tab-mind"))
    style = "element => getComputedStyle(element).backgroundColor"
    assert chosen.evaluate(style) != other.evaluate(style), "what is chosen is seen without colours"
    marks = (
        "root => [...root.querySelectorAll('.side')].map(side => getComputedStyle(side, '::before').backgroundColor)"
    )
    assert len(set(widget.root.evaluate(marks))) == 2
    bar = widget.tab("mind").locator(".track .fill").first
    bar.wait_for(state="attached")
    assert bar.evaluate(style) != widget.root.evaluate(style), "bars are seen, too"
    widget.wait_drawn()
    assert ticks_on(widget)


LONG_NAME = """
import shutil
from dshq_widget import DrillWidget; from dshq_widget.policy import ladder
shutil.copyfile(ladder.path("ball", "bronze"), "my_second_attempt_with_more_games.dshq")
w = DrillWidget(mode="sandbox", opponent="my_second_attempt_with_more_games.dshq")
w
"""


@pytest.mark.slow
def test_from_a_phone_to_a_wall_nothing_sticks_out(plain_chromium, open_page: OpenPage):
    _, widget = begin(open_page, plain_chromium, LONG_NAME)
    for width in (320, 390, 768, 1400, 2560):
        widget.page.set_viewport_size({"width": width, "height": 1000})
        widget.page.wait_for_timeout(500)
        assert (width, widget.root.evaluate(OUTSIDE), widget.root.evaluate(OVERLAPS)) == (width, [], [])
    assert ticks_on(widget)


def test_a_long_return_leaves_the_other_parts_of_the_board_their_places(shared_page: SharedPage):
    _, widget = shared_page(CARTPOLE)
    for width in (390, 500, 600):
        widget.page.set_viewport_size({"width": width, "height": 900})
        widget.page.wait_for_timeout(200)
        found = widget.root.evaluate(
            f"""root => {{
                root.querySelector(".goals").textContent = "-88.88";
                root.querySelector(".fps").textContent = "100 fps";
                const end = root.querySelector(".scoreboard").getBoundingClientRect().right;
                const right = part => part.getBoundingClientRect().right;
                const seen = [...root.querySelectorAll(".scoreboard *")].filter(part => !part.closest(".unseen"));
                const out = seen.filter(part => right(part) > end);
                return [...({OVERLAPS})(root), ...out.map(part => `${{part.outerHTML}} sticks out`)];
            }}"""
        )
        assert (width, found) == (width, [])


def test_full_screen_and_back(shared_page: SharedPage):
    _, widget = shared_page(PLAIN)
    widget.page.evaluate("scrollTo(0, 0)")  # a control further down may have been clicked; full screen scrolls back
    full, before = widget.control("full-screen"), widget.canvas.bounding_box()
    window = widget.page.viewport_size
    assert before and window
    full.click()
    widget.until(
        lambda: widget.canvas.bounding_box()["width"],  # type: ignore[index]
        lambda width: width > max(0.6 * window["width"], before["width"] + 50),
        60,
        "a larger match",
    )
    assert widget.page.evaluate("document.fullscreenElement.contains(document.activeElement)")
    assert ticks_on(widget)
    widget.control("full-screen").click()
    widget.until(widget.canvas.bounding_box, lambda box: box == before, 60, "the match as it was")
    assert ticks_on(widget)


def plays_and_learns(page: Page, url: str, before: Callable[[], None] = lambda: None) -> None:
    """What every front end has to do."""
    page.goto(url, timeout=120_000)
    before()
    root = page.locator(".dshq-widget").first
    root.wait_for(state="visible", timeout=120_000)
    widget = WidgetPage(page, root)
    assert widget.wait_attribute("renderer", bool) == "webgpu"
    assert ticks_on(widget)
    widget.wait_drawn()
    widget.control("train").click()
    assert widget.wait_number("version", lambda version: version >= 1, TRAINED) >= 1
    stops(widget)


@pytest.fixture
def page(chromium) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    yield context.new_page()
    context.close()


@pytest.mark.fronts
def test_in_notebook_7(page: Page, tmp_path: Path):
    needs("notebook")
    write_notebook(tmp_path / "match.ipynb", PLAIN)
    command = ["notebook", "--no-browser", "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", *AS_ROOT]

    def run() -> None:
        page.locator(".jp-Cell .cm-content").first.click(timeout=120_000)
        page.wait_for_timeout(3000)
        page.keyboard.press("Shift+Enter")

    with served(command, tmp_path, "/notebooks/match.ipynb") as url:
        plays_and_learns(page, url, run)


@pytest.mark.fronts
def test_in_voila(page: Page, tmp_path: Path):
    needs("voila")
    write_notebook(tmp_path / "match.ipynb", PLAIN)
    with served(["voila", "match.ipynb", "--no-browser", "--Voila.ip=127.0.0.1"], tmp_path, "/") as url:
        plays_and_learns(page, url)


MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo
    from dshq_widget import DrillWidget

    w = DrillWidget()
    marimo.ui.anywidget(w)
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.mark.fronts
def test_in_marimo(page: Page, tmp_path: Path):
    needs("marimo")
    (tmp_path / "match.py").write_text(MARIMO)
    with served(["marimo", "run", "match.py", "--headless", "--host=127.0.0.1", "--no-token"], tmp_path, "/") as url:
        plays_and_learns(page, url)
