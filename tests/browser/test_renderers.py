"""GPUs and workers that are not there, not allowed, or go away: the match is drawn all the same, and says how."""

import pytest
from playwright.sync_api import BrowserContext, Route

from tests.browser.conftest import OpenPage
from tests.harness.browser.bare_page import BarePage
from tests.harness.browser.counting import COUNT_DEVICES
from tests.harness.browser.page import WidgetPage, launch_chromium
from tests.harness.browser.watching import begin, inject, plays_on, ticks_on

pytestmark = pytest.mark.browser

NO_OFFSCREEN_CANVAS = "delete window.OffscreenCanvas; delete HTMLCanvasElement.prototype.transferControlToOffscreen;"


def test_a_lost_device_is_replaced(chromium, open_page: OpenPage):
    page, widget = begin(open_page, chromium, prepare=inject(COUNT_DEVICES))
    for _ in range(2):
        widget.wait_number("fps", lambda fps: fps > 1)
        widget.page.workers[0].evaluate("self.devices.at(-1).destroy()")
        widget.wait_number("fps", lambda fps: fps > 1)
        assert widget.wait_attribute("renderer", bool) == "webgpu"
        widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 60, "a picture")
        before = widget.picture()
        assert ticks_on(widget)
        assert widget.picture() != before
    worker = widget.page.workers[0]
    assert worker.evaluate("self.devices.length") >= 3, "a busy browser takes some away by itself"
    kept = lambda: worker.evaluate("[self.living.size, self.buffers.size]")  # noqa: E731
    widget.until(kept, [1, 3].__eq__, 60, "nothing to be kept of the lost ones")
    # A busy browser may refuse the first frame of a new device; the next one is drawn.
    page.console_errors[:] = [line for line in page.console_errors if "WebGPU did not draw a frame" not in line]


def kicks(page: BarePage, widget: WidgetPage) -> None:
    """Wait until the person's action in a snapshot taken from now on is "kick: yes"."""
    action = 'import struct; print(struct.unpack_from("<i", w.snapshot["state"], 16)[0] if w.snapshot else "none yet")'
    page.kernel.run("w.snapshot = None")
    widget.until(lambda: page.kernel.run(action).strip(), "1".__eq__, 60, "a kick")


@pytest.mark.slow
def test_the_browsers_gpu_process_may_die(playwright, open_page: OpenPage):
    browser = launch_chromium(playwright)
    try:
        page, widget = begin(open_page, browser)
        widget.wait_number("fps", lambda fps: fps > 1)
        widget.control("mode").select_option("human_vs_ai")
        widget.canvas.focus()
        page.page.keyboard.down("Space")
        kicks(page, widget)
        browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
        widget.page.wait_for_timeout(3000)
        widget.wait_number("fps", lambda fps: fps > 1)
        assert ticks_on(widget)
        widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 60, "a picture")
        before = widget.picture()
        assert ticks_on(widget)
        assert widget.picture() != before
        kicks(page, widget)  # the hands are still on the keys
        page.page.keyboard.up("Space")
        page.console_errors.clear()  # the browser's own words on its GPU process
    finally:
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("browser", "renderer", "said"), [("chromium", "webgpu", "workers"), ("plain_chromium", "canvas2d", "")]
)
def test_without_offscreen_canvas_the_page_draws(request, open_page: OpenPage, browser, renderer, said):
    _, widget = begin(open_page, request.getfixturevalue(browser), prepare=inject(NO_OFFSCREEN_CANVAS))
    assert (reason := plays_on(widget, renderer, "page")) and said in reason


SPOILED = """
    const ask = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...wanted) {
        return (window.device = await ask.apply(this, wanted));
    };
    window.complain = (times) => { while (times--) window.device.createBuffer({ size: 16, usage: 0 }); };
    const copy = GPUCommandEncoder.prototype.copyTextureToTexture;
    window.spoiled = 0; // so many of the next frames are refused by WebGPU
    GPUCommandEncoder.prototype.copyTextureToTexture = function (from, to, [width, height]) {
        copy.call(this, from, to, [window.spoiled-- > 0 ? width + 1 : width, height]);
    };
"""


@pytest.mark.slow
def test_a_frame_that_webgpu_refuses_is_not_missed_and_of_several_canvas2d_takes_over(chromium, open_page: OpenPage):
    page, widget = begin(open_page, chromium, prepare=inject(NO_OFFSCREEN_CANVAS + SPOILED))
    plays_on(widget, "webgpu", "page")
    widget.page.evaluate("window.spoiled = 1")
    widget.until(lambda: widget.page.evaluate("window.spoiled"), lambda left: left <= 0, 60, "the refused frame")
    plays_on(widget, "webgpu", "page")
    assert "WebGPU:" not in widget.root.inner_text()
    widget.page.evaluate("window.complain(5)")  # as it may of one frame: its texture, its pass, its commands
    widget.page.wait_for_timeout(1000)
    plays_on(widget, "webgpu", "page")
    widget.page.evaluate("window.spoiled = 1000")
    widget.wait_attribute("renderer", lambda renderer: renderer == "canvas2d")
    assert "WebGPU failed to draw" in plays_on(widget, "canvas2d", "page")
    refused = [line for line in page.console_errors if "WebGPU did not draw a frame" in line]
    assert len(refused) >= 9
    page.console_errors.clear()


@pytest.fixture
def lenient_chromium(playwright):
    """A Chromium that lets a page whose answer was changed on the way talk to this machine."""
    browser = launch_chromium(playwright, True, "--disable-features=LocalNetworkAccessChecks")
    yield browser
    browser.close()


@pytest.mark.slow
def test_a_content_policy_that_forbids_workers(lenient_chromium, open_page: OpenPage):
    def forbid(context: BrowserContext) -> None:
        def answer(route: Route) -> None:
            given = route.fetch()
            route.fulfill(response=given, headers={**given.headers, "content-security-policy": "worker-src 'none'"})

        context.route("**/?token=*", answer)

    page, widget = begin(open_page, lenient_chromium, prepare=forbid)
    assert plays_on(widget, "webgpu", "page") == "This page cannot start workers."
    assert page.page.workers == []
    page.console_errors.clear()  # the browser's own words on that policy


@pytest.mark.slow
def test_a_person_may_choose_what_draws(chromium, open_page: OpenPage):
    page, widget = begin(
        open_page, chromium, "from dshq_widget import DrillWidget; w = DrillWidget(renderer='canvas2d'); w"
    )
    for renderer in ("canvas2d", "webgpu", "canvas2d"):
        page.kernel.run(f"w.renderer = {renderer!r}")
        widget.wait_attribute("renderer", renderer.__eq__)
        assert ticks_on(widget)
        widget.until(lambda: widget.colours(widget.picture()), lambda count: count > 5, 60, "a picture")
    assert "must be one of 'auto', 'webgpu', 'canvas2d'" in page.kernel.run(
        "try: w.renderer = 'opengl'\nexcept ValueError as error: print(error)"
    )


@pytest.mark.slow
def test_training_is_spared_half_of_the_frames_that_a_processor_draws(chromium, open_page: OpenPage):
    small = "num_envs=64, minibatch_size=1024, workers=0"
    page, widget = begin(
        open_page, chromium, f"from dshq_widget import DrillWidget; w = DrillWidget({small}); w", calm=False
    )
    page.kernel.run("w.train()")
    widget.wait_attribute("status", "training".__eq__)
    widget.wait_number("fps", lambda fps: 1 < fps <= 34)
    for _ in range(5):
        assert ticks_on(widget)
        assert widget.number("fps") <= 34
    assert widget.number("frame-ms") > 0
