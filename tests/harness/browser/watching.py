"""What a person does with a widget in nearly every test of the page, and the cells in which it stands."""

from collections.abc import Callable
from typing import Any, TypeVar

from playwright.sync_api import BrowserContext

from tests.harness.browser.bare_page import BarePage
from tests.harness.browser.page import NotebookPage, WidgetPage, inner

PLAIN = "from dshq_widget import DrillWidget; w = DrillWidget(); w"
GOLD = "from dshq_widget import DrillWidget; w = DrillWidget('ball', policy='gold'); w"
CARTPOLE = "from dshq_widget import DrillWidget; w = DrillWidget('cartpole'); w"
SMALL = """
from dshq_widget import DrillWidget
w = DrillWidget(num_envs=64, minibatch_size=1024, workers=0, pace=30_000)
w
"""
"""What learns here: few games, and a pace that leaves the processors to the others."""

TRAINED = 600  # seconds for the first new version on a busy machine that never compiled anything

OUTSIDE = """root => {
    const edge = root.getBoundingClientRect();
    const seen = element => element.checkVisibility() && !element.closest(".unseen");
    return [...root.querySelectorAll("*")].filter(seen).filter(element => {
        const { left, right, width } = element.getBoundingClientRect();
        return width > 0 && (left < edge.left - 2 || right > edge.right + 2);
    }).map(element => element.outerHTML.slice(0, 120));
}"""
"""What of a widget lies beside it: the markup of each, as JavaScript of its root."""
OVERLAPS = """root => {
    const parts = [...root.querySelectorAll(".scoreboard :is(.version, .name, .goals, .time, .fps, button > *)")];
    const shown = parts.filter(part => part.checkVisibility() && !part.closest(".unseen"));
    const beside = (a, b) => a.left > b.right - 1 || b.left > a.right - 1;
    const over = (a, b) => !beside(a, b) && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return shown.flatMap((part, k) => shown.slice(k + 1)
        .filter(other => over(part.getBoundingClientRect(), other.getBoundingClientRect()))
        .map(other => `${part.className} over ${other.className}`));
}"""
"""Which parts of the scoreboard lie over others, the same way."""

Opened = TypeVar("Opened", NotebookPage, BarePage)


def begin(open_: Callable[..., Opened], browser: Any, *cells: str, **how: Any) -> tuple[Opened, WidgetPage]:
    """A notebook or a bare page with a widget whose match is running."""
    opened = open_(browser, *(cells or (PLAIN,)), **how)
    opened.run_all()
    widget = opened.widget()
    widget.wait_number("tick", lambda tick: tick > 0)
    return opened, widget


def ticks_on(widget: WidgetPage) -> bool:
    """True once the match has continued by a quarter of a second."""
    seen = widget.number("tick")
    return widget.wait_number("tick", lambda tick: tick > seen + 30) > seen


def pause(widget: WidgetPage) -> float:
    """Pause, and return the tick at which the match stands."""
    widget.control("pause").first.click()
    return standing_tick(widget)


def pause_known(page: BarePage, widget: WidgetPage) -> float:
    """The same, once the kernel knows where the match stands, too."""
    tick = pause(widget)
    told = "print(w.snapshot and w.snapshot['tick'])"
    widget.until(lambda: page.run(told).strip(), str(int(tick)).__eq__, 60, f"a snapshot of tick {tick:g}")
    return tick


def standing_tick(widget: WidgetPage) -> float:
    """The tick at which a match stands that somebody pauses: the same in two readings half a second apart."""
    widget.wait_attribute("playing", lambda playing: playing == "false")

    def reading() -> tuple[float, float]:
        before = widget.number("tick")
        widget.page.wait_for_timeout(500)
        return before, widget.number("tick")

    return widget.until(reading, lambda read: read[0] == read[1], 60, "the match to stand")[1]


def still_picture(widget: WidgetPage) -> bytes:
    """The picture of a match that stands, once a dash's or a kick's traces have faded; compare the `inner` of it."""

    def unchanged() -> bytes | None:
        before = widget.picture()
        widget.page.wait_for_timeout(1000)
        after = widget.picture()
        return after if inner(after) == inner(before) else None

    still = widget.until(unchanged, bool, 60, "the picture to stand")
    assert still
    return still


def rests(widget: WidgetPage) -> None:
    """Wait until nothing trains, whoever trained before."""
    if widget.attribute("status") == "training":
        stops(widget)


def ball_place(widget: WidgetPage, x: float, y: float) -> tuple[float, float]:
    """Where the point x, y of the Ball Drill's world is on the page, in CSS pixels."""
    box = widget.canvas.bounding_box()
    assert box
    scale = min(box["width"] / 9.4, box["height"] / 6.2) / 1.07  # js/renderer/scene.ts, place
    return box["x"] + box["width"] / 2 + x * scale, box["y"] + box["height"] / 2 - y * scale


def learns(widget: WidgetPage) -> float:
    """Press Train and wait for the next version in the match."""
    before = widget.number("version")
    widget.control("train").click()
    return widget.wait_number("version", lambda version: version > before, TRAINED)


def stops(widget: WidgetPage) -> None:
    """Press Stop and wait until it has."""
    widget.control("stop").click()
    widget.wait_attribute("status", lambda status: status == "stopped", TRAINED)


def plays_on(widget: WidgetPage, renderer: str, thread: str) -> str:
    """It plays and is drawn, on this rung of the ladder; returns the reason it gives."""
    assert widget.wait_attribute("renderer", bool) == renderer
    assert widget.attribute("renderer-thread") == thread
    assert ticks_on(widget)
    before = widget.picture()
    assert widget.colours(before) > 5
    assert ticks_on(widget)
    assert widget.picture() != before
    reason = widget.attribute("renderer-reason")
    assert reason in widget.root.inner_text()
    return reason


def stands_alone(widget: WidgetPage, advice: str = "Run the cell that makes the widget again") -> None:
    """The kernel is disconnected: the page says so and what to do, and the match continues."""
    widget.wait_attribute("status", lambda status: status == "disconnected")
    banner = widget.root.get_by_role("alert")
    assert "Kernel disconnected" in banner.inner_text()
    assert advice in banner.inner_text()
    assert ticks_on(widget)


def inject(script: str) -> Callable[[BrowserContext], None]:
    """A `prepare` that runs `script` in every page before anything else."""

    def prepare(context: BrowserContext) -> None:
        context.add_init_script(script)

    return prepare
