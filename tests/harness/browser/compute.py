"""The page's WebGPU room (js/compute) in a real browser: a learner on a page, asked from Python."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page

from tests.harness.typescript import bundled

SOURCE = 'export * from "./js/compute"; export { PLANES } from "./js/compute/samples";'
HELPERS = """
<!doctype html><script type="module">
import * as compute from "/compute.js";
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const read = (value) => {
    if (value?.f32 !== undefined) return new Float32Array(bytes(value.f32));
    if (value?.u32 !== undefined) return new Uint32Array(bytes(value.u32));
    if (Array.isArray(value)) return value.map(read);
    if (value && typeof value === "object") {
        return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, read(part)]));
    }
    return value;
};
const write = (value) => {
    if (value instanceof Float32Array || value instanceof Uint32Array) {
        let text = "";
        const all = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
        for (const byte of all) text += String.fromCharCode(byte);
        return { [value instanceof Float32Array ? "f32" : "u32"]: btoa(text) };
    }
    if (value && typeof value === "object") {
        return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, write(part)]));
    }
    return value;
};
const adapter = await navigator.gpu.requestAdapter();
const requiredFeatures = ["timestamp-query"].filter((name) => adapter.features.has(name));
const device = await adapter.requestDevice({ requiredFeatures });
window.timed = device.features.has("timestamp-query");
window.passes = 0;
const begin = GPUCommandEncoder.prototype.beginComputePass;
GPUCommandEncoder.prototype.beginComputePass = function (...given) {
    window.passes += 1;
    return begin.apply(this, given);
};
window.make = async (options) => {
    window.learner?.destroy();
    window.learner = await compute.GpuLearner.create(device, read(options));
};
const reads = {
    async readSlope({ kit, network }) {  // the last minibatch's gradient, before its norm was limited
        const [slope] = await kit.read(network.slope);
        return slope.subarray(0, network.floats);
    },
    async readSamples({ kit, samples: { planes, observations, masks, count, nObs, words } }) {
        const [all, seen, allowed] = await kit.read(planes, observations, masks);
        const rows = compute.PLANES.map((name, k) => [name, all.subarray(k * count, (k + 1) * count)]);
        const mask = new Uint32Array(allowed.buffer, 0, count * words);
        return { ...Object.fromEntries(rows), observations: seen.subarray(0, count * nObs), mask };
    },
};
window.ask = async (method, given) => {
    const { learner } = window;
    return write(await (reads[method] ? reads[method](learner) : learner[method](...read(given))));
};
window.probe = async (given) => write(await compute.probe(device, ...read(given)));
window.ready = true;
</script>
"""


def packed(value: Any) -> Any:
    """Arrays in `value` as base64."""
    if isinstance(value, np.ndarray):
        kind = "u32" if value.dtype == np.uint32 else "f32"
        return {kind: base64.b64encode(np.ascontiguousarray(value, kind.replace("32", "4")).tobytes()).decode()}
    if isinstance(value, dict):
        return {key: packed(part) for key, part in value.items()}
    return [packed(part) for part in value] if isinstance(value, (list, tuple)) else value


def unpacked(value: Any) -> Any:
    """The inverse."""
    if isinstance(value, dict) and set(value) in ({"f32"}, {"u32"}):
        ((kind, text),) = value.items()
        return np.frombuffer(base64.b64decode(text), kind.replace("32", "4"))
    return {key: unpacked(part) for key, part in value.items()} if isinstance(value, dict) else value


class ComputePage:
    """One learner at a time on a page with software WebGPU."""

    def __init__(self, browser: Browser):
        self.page: Page = browser.new_page()
        self.page.route("http://localhost/", lambda route: route.fulfill(body=HELPERS, content_type="text/html"))
        self.page.route(
            "http://localhost/compute.js",
            lambda route: route.fulfill(body=bundled(SOURCE, "esm"), content_type="text/javascript"),
        )
        self.page.goto("http://localhost/")
        self.page.wait_for_function("window.ready")

    def make(self, **options: Any) -> None:
        """`GpuLearner.create`; replaces the last learner."""
        self.page.evaluate("given => make(given)", packed(options))

    def ask(self, method: str, *given: Any) -> Any:
        """A method of the learner; arrays travel as f32 or u32."""
        return unpacked(self.page.evaluate("([method, given]) => ask(method, given)", [method, packed(given)]))

    def samples(self) -> dict[str, NDArray]:
        """What the learner learns from."""
        return self.ask("readSamples")

    def close(self) -> None:
        self.page.close()
