"""The harness itself, on the smallest widget that has the page contract: if this fails, blame no other browser test."""

import pytest

from tests.browser.conftest import OpenNotebook, SharedPage
from tests.harness.browser.watching import PLAIN

pytestmark = pytest.mark.browser

# One attribute that the page counts up, one button, one trait, and a WebGPU canvas cleared to a colour that changes.
CELL = '''
import anywidget, traitlets

class Clock(anywidget.AnyWidget):
    _esm = """
    async function render({ model, el }) {
      el.classList.add("dshq-widget");
      el.innerHTML = "<button data-control=train>Train</button>" +
        "<label>Speed <input data-control=speed type=number></label>" +
        "<canvas data-control=match aria-label=Match width=64 height=64></canvas>";
      const press = () => { model.set("pressed", model.get("pressed") + 1); model.save_changes(); };
      el.querySelector("button").onclick = press;
      el.dataset.pressed = model.get("pressed");
      model.on("change:pressed", () => { el.dataset.pressed = model.get("pressed"); });
      const adapter = await navigator.gpu?.requestAdapter();
      el.dataset.renderer = adapter ? "webgpu" : "none";
      if (!adapter) return;
      const device = await adapter.requestDevice(), context = el.querySelector("canvas").getContext("webgpu");
      context.configure({ device, format: navigator.gpu.getPreferredCanvasFormat() });
      let tick = 0;
      const draw = () => {
        el.dataset.tick = ++tick;
        const encoder = device.createCommandEncoder();
        encoder.beginRenderPass({ colorAttachments: [{ view: context.getCurrentTexture().createView(),
          loadOp: "clear", storeOp: "store", clearValue: [tick % 200 / 200, 0.2, 0.4, 1] }] }).end();
        device.queue.submit([encoder.finish()]);
        requestAnimationFrame(draw);
      };
      draw();
    }
    export default { render };
    """
    pressed = traitlets.Int(0).tag(sync=True)

w = Clock()
w
'''


@pytest.mark.slow
def test_a_widget_lives_in_the_page_and_in_the_kernel(chromium, open_notebook: OpenNotebook, tmp_path):
    notebook = open_notebook(chromium, CELL)
    notebook.run_all()
    widget = notebook.widget()

    assert widget.wait_attribute("renderer", bool) == "webgpu"
    first = widget.wait_number("tick", lambda tick: tick > 0)
    before = widget.picture()
    widget.wait_number("tick", lambda tick: tick > first + 10)
    assert widget.picture() != before

    assert widget.control("speed").count() == 1
    widget.control("train").click()
    widget.wait_attribute("pressed", lambda pressed: pressed == "1")
    assert notebook.kernel.run("print(w.pressed)").strip() == "1"
    notebook.kernel.run("w.pressed = 7")
    widget.wait_attribute("pressed", lambda pressed: pressed == "7")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        notebook.kernel.run("1 / 0")

    notebook.theme(dark=True)
    dark = notebook.screenshot(tmp_path / "dark.png").read_bytes()
    notebook.theme(dark=False)
    assert notebook.screenshot(tmp_path / "light.png").read_bytes() != dark

    notebook.page.evaluate("setTimeout(() => { throw new Error('something broke') })")
    widget.until(lambda: notebook.console_errors, bool, 60, "the error")
    assert "something broke" in notebook.console_errors.pop()
    assert notebook.console_errors == []


def test_without_the_flags_there_is_no_webgpu(shared_page: SharedPage):
    opened, _ = shared_page(PLAIN)
    assert opened.page.evaluate("navigator.gpu.requestAdapter()") is None


def test_an_error_and_a_warning_in_the_page_are_seen(shared_page: SharedPage):
    opened, widget = shared_page(PLAIN)
    opened.page.evaluate("setTimeout(() => { throw new Error('something broke') })")
    opened.page.evaluate("console.warn('something creaks')")
    seen = lambda: sorted(text.splitlines()[0] for text in opened.console_errors)  # noqa: E731
    widget.until(seen, ["something creaks", "uncaught: something broke"].__eq__, 60, "both")
    opened.console_errors.clear()
