"""Training in the page on software WebGPU: it is measured and not chosen, and works where it is forced."""

import json
import math
import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Worker

from dshq_widget import DrillWidget, Trainer
from dshq_widget.policy import checkpoint
from tests.harness.browser.exported_page import PATIENCE, Opened, train
from tests.harness.browser.files import saved
from tests.harness.browser.page import WidgetPage
from tests.harness.browser.watching import stops

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DIFFERENT = "learn different things from the same samples"
ON_GPU, IN_PAGE = "Training on this page's GPU", "Training in this page"
FORCED = """
const send = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...more) {
    return send.call(this, message?.type === "START" ? { ...message, prefer: "webgpu" } : message, ...more);
};
"""


def in_workers(code: str) -> str:
    """A script of the page by which `code` runs in every worker that it starts, before the worker's own."""
    return f"""
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => {{
            const script = blob.type === "text/javascript";
            return make.call(URL, script ? new Blob([{json.dumps(code)}, blob]) : blob);
        }};
    """


WATCHED = in_workers("""
    globalThis.opened = [];
    globalThis.closed = [];
    if (globalThis.GPUAdapter) {
        const ask = GPUAdapter.prototype.requestDevice;
        GPUAdapter.prototype.requestDevice = function (...given) {
            globalThis.opened.push(performance.now());
            return ask.apply(this, given);
        };
        const end = GPUDevice.prototype.destroy;
        GPUDevice.prototype.destroy = function () {
            globalThis.closed.push(performance.now());
            return end.call(this);
        };
    }
""")
"""Every worker notes when it opened and closed a device."""
COMPARED = "globalThis.dshqCompare = 2;"
WRONG_BIASES = in_workers("""
    if (globalThis.GPUDevice) {
        const make = GPUDevice.prototype.createShaderModule;
        GPUDevice.prototype.createShaderModule = function ({ code, ...more }) {
            const right = "row == layer.n_in) { return 1.0; }";
            const wrong = "row == layer.n_in) { return select(1.0, -1.0, layer.n_in == layer.n_out); }";
            return make.call(this, { code: code.replace(right, wrong), ...more });
        };
    }
""")
"""A GPU that learns the biases of the layer between two equally large ones with the wrong sign."""
MEASURING_MS = 60_000
"""The measurement takes about a second on two free cores; more than this means that it does not end by itself."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policy and value in networks of their own, and few games: the software adapter is slow."""
    with DrillWidget("cartpole", num_envs=64, minibatch_size=512, seed=3) as made:
        return made.export_html(tmp_path_factory.mktemp("exported") / "cartpole.html", train=True)


def text_has(widget: WidgetPage, words: str) -> None:
    widget.control("pause-learning")  # opens the Lab, which says where it trains
    widget.until(widget.root.inner_text, lambda text: words in text, 60, words)


def trainer_of(opened: Opened) -> Worker:
    return next(worker for worker in opened.page.workers if worker.evaluate("self.name") == "dshq-widget trainer")


def test_forced_it_trains_and_its_files_go_on_in_python(chromium, exported, tmp_path):
    opened = Opened(chromium, exported, FORCED)
    widget = opened.widget()
    train(widget, 3)
    text_has(widget, ON_GPU)
    before = widget.number("version")
    widget.wait_number("version", lambda version: version >= before + 4, timeout=PATIENCE)
    running = checkpoint.load(saved(widget, "save-policy", tmp_path))
    metrics = running.metrics
    assert metrics["gpu_time_ms"] > 0 and all(math.isfinite(value) for value in metrics.values())
    assert metrics["agent_steps"] == running.step > 0 and metrics["agent_steps_per_second"] > 0
    assert 0 < metrics["entropy"] <= math.log(2) + 1e-6
    assert int(running.state["adam_step"]) > 0 and running.state["adam_v"].max() > 0
    assert running.state["adam_m"].shape == running.weights.shape
    stops(widget)
    path = saved(widget, "save-policy", tmp_path)
    kept = checkpoint.load(path)
    with Trainer(path, workers=0) as trainer:
        trainer.train_for(updates=2, progress=False)
        assert trainer.version == kept.version + 2
    train(widget, 2)  # from its own file
    text_has(widget, ON_GPU)
    opened.close()


def test_settings_that_it_lacks_bring_it_back(chromium, exported):
    opened = Opened(chromium, exported, FORCED)
    widget = opened.widget()
    train(widget, 2)
    text_has(widget, ON_GPU)
    trainer_of(opened).evaluate(
        """() => self.onmessage({ data: { type: "SET_HYPER", key: "priority_alpha", value: 0.5 } })"""
    )
    text_has(widget, IN_PAGE)
    before = widget.number("version")
    widget.wait_number("version", lambda version: version >= before + 3)
    opened.close()


def test_a_software_adapter_is_measured_and_not_chosen(chromium, exported):
    opened = Opened(chromium, exported, WATCHED)
    widget = opened.widget()
    train(widget, 1)
    worker = trainer_of(opened)
    closed = widget.until(lambda: worker.evaluate("closed"), bool, 60, "a measurement that ended")
    (begun,) = worker.evaluate("opened")
    assert 0 < closed[0] - begun < MEASURING_MS
    before = widget.number("version")
    widget.wait_number("version", lambda version: version >= before + 20, timeout=PATIENCE)
    text_has(widget, IN_PAGE)
    assert ON_GPU not in widget.root.inner_text()
    assert len(worker.evaluate("opened")) == len(worker.evaluate("closed")) == 1
    opened.close()


def test_a_gpu_that_is_gone_is_replaced(chromium, exported):
    opened = Opened(chromium, exported, FORCED)
    widget = opened.widget()
    train(widget, 3)
    text_has(widget, ON_GPU)
    widget.tab("learn").locator("details.log summary").click()
    told = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    for process in (int(one["id"]) for one in told if one["type"] == "GPU"):
        os.kill(process, signal.SIGKILL)
    text_has(widget, "Training continues without the GPU, from the last published weights")
    version = widget.number("version")
    widget.wait_number("version", lambda now: now > version + 5, timeout=PATIENCE)
    assert widget.attribute("status") == "training"
    opened.context.close()


def test_both_learn_the_same_side_by_side(chromium, exported):
    """`dshqCompare`: every second update; the software adapter is right, so nothing is warned of."""
    opened = Opened(chromium, exported, COMPARED)
    tables: list[dict] = []
    opened.page.on(
        "console", lambda message: tables.append(message.args[0].json_value()) if message.type == "table" else None
    )
    widget = opened.widget()
    train(widget, 5)
    text_has(widget, "compared with this page's GPU")
    assert ON_GPU not in widget.root.inner_text()
    widget.until(lambda: tables[1:], bool, PATIENCE, "two tables")
    names = {"loss_policy", "loss_value", "entropy", "grad_norm", *(f"weights of layer {k}" for k in (1, 2, 3))}
    for table in tables:
        assert names <= set(table)
        assert all(0 <= row["difference"] <= row["largest"] <= 0.01 for row in table.values())
        assert table["weights of layer 2"]["WebAssembly"] > 1e-3, "it did learn"
    widget.tab("learn").locator("details.log summary").click()
    assert DIFFERENT not in widget.root.inner_text()
    opened.close()


def test_a_gpu_that_learns_a_layer_wrongly_is_found(chromium, exported):
    opened = Opened(chromium, exported, COMPARED + WRONG_BIASES)
    widget = opened.widget()
    train(widget, 3)
    widget.tab("learn").locator("details.log summary").click()
    text_has(widget, DIFFERENT)
    assert "most in weights of layer 2" in widget.root.inner_text()
    before = widget.number("version")
    widget.wait_number("version", lambda version: version >= before + 3)
    opened.close()
